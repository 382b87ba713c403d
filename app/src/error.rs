//! What a server function answers when it doesn't succeed, and how people read it.

use crate::i18n::{Locale, td_string};
use crate::response;
use domain::{Code, Refusal};
use leptos::server_fn::{
    codec::JsonEncoding,
    error::{FromServerFnError, ServerFnErrorErr},
};
use serde::{Deserialize, Serialize};

/// The refusal that a caller gets. Outages and faults of ours have become one by here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(transparent)]
#[error("{0}")]
pub struct AppError(pub Refusal);

impl AppError {
    /// A refusal that starts here; sets the status of the answer.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self::from(Refusal::new(code, message))
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The sentence for people in their language: what happened, what is safe, what to do.
    pub fn text(&self, lang: Locale) -> &'static str {
        match self.0.message.split_once(':') {
            Some(("email", _)) if self.0.code == Code::InvalidInput => td_string!(lang, errors.invalid_email),
            Some(("password", _)) if self.0.code == Code::InvalidInput => td_string!(lang, errors.invalid_password),
            _ => text(lang, self.0.code),
        }
    }
}

impl From<Refusal> for AppError {
    fn from(refusal: Refusal) -> Self {
        response::set_status_of(&refusal);
        Self(refusal)
    }
}

impl FromServerFnError for AppError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Args(text)
            | ServerFnErrorErr::MissingArg(text)
            | ServerFnErrorErr::Deserialization(text) => Self::new(Code::InvalidInput, text),
            // In the browser: the network, or an answer that isn't ours.
            ServerFnErrorErr::Request(text) | ServerFnErrorErr::Response(text) => Self::new(Code::Unavailable, text),
            ServerFnErrorErr::UnsupportedRequestMethod(text)
            | ServerFnErrorErr::Registration(text)
            | ServerFnErrorErr::ServerError(text)
            | ServerFnErrorErr::MiddlewareError(text)
            | ServerFnErrorErr::Serialization(text) => Self::new(Code::Internal, text),
        }
    }
}

/// The text of every code; a code without one doesn't compile.
fn text(lang: Locale, code: Code) -> &'static str {
    match code {
        Code::InvalidInput => td_string!(lang, errors.invalid_input),
        Code::SignInRequired => td_string!(lang, errors.sign_in_required),
        Code::WrongCredentials => td_string!(lang, errors.wrong_credentials),
        Code::EmailUnconfirmed => td_string!(lang, errors.email_unconfirmed),
        Code::EmailTaken => td_string!(lang, errors.email_taken),
        Code::LinkInvalid => td_string!(lang, errors.link_invalid),
        Code::Forbidden => td_string!(lang, errors.forbidden),
        Code::CrossSite => td_string!(lang, errors.cross_site),
        Code::NotFound => td_string!(lang, errors.not_found),
        Code::TooManyRequests => td_string!(lang, errors.too_many_requests),
        Code::QueueClosed => td_string!(lang, errors.queue_closed),
        Code::LeavesSingle => td_string!(lang, errors.leaves_single),
        Code::NoneLeft => td_string!(lang, errors.none_left),
        Code::SaleClosed => td_string!(lang, errors.sale_closed),
        Code::Paused => td_string!(lang, errors.paused),
        Code::NotYourTurn => td_string!(lang, errors.not_your_turn),
        Code::TurnPassed => td_string!(lang, errors.turn_passed),
        Code::AccountTooNew => td_string!(lang, errors.account_too_new),
        Code::Overloaded => td_string!(lang, errors.overloaded),
        Code::Full => td_string!(lang, errors.full),
        Code::PassInvalid => td_string!(lang, errors.pass_invalid),
        Code::PassRequired => td_string!(lang, errors.pass_required),
        Code::SeatTaken => td_string!(lang, errors.seat_taken),
        Code::AreaFull => td_string!(lang, errors.area_full),
        Code::UnknownSeat => td_string!(lang, errors.unknown_seat),
        Code::CodeInvalid => td_string!(lang, errors.code_invalid),
        Code::SeatNotForSale => td_string!(lang, errors.seat_not_for_sale),
        Code::LimitExceeded => td_string!(lang, errors.limit_exceeded),
        Code::HoldOpen => td_string!(lang, errors.hold_open),
        Code::HoldClosed => td_string!(lang, errors.hold_closed),
        Code::KeyReused => td_string!(lang, errors.key_reused),
        Code::WrongState => td_string!(lang, errors.wrong_state),
        Code::NotReady => td_string!(lang, errors.not_ready),
        Code::Unavailable => td_string!(lang, errors.unavailable),
        Code::ProviderUnavailable => td_string!(lang, errors.provider_unavailable),
        Code::BadSignature => td_string!(lang, errors.bad_signature),
        Code::TooLarge => td_string!(lang, errors.too_large),
        Code::Internal => td_string!(lang, errors.internal),
    }
}
