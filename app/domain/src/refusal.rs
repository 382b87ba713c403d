//! The business "no": stable codes that server, browser and API clients share.
//!
//! A refusal is an expected answer with a sentence for people; an outage or a bug is not a refusal.

use crate::ids::SeatNo;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)+) => {
        /// Why a request was refused. The text form is part of the public API and never changes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $name,)+
        }

        impl Code {
            /// Every code, for documentation and tests.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The stable text form.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// The HTTP status that carries this code.
            pub fn http_status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }
        }
    };
}

codes! {
    /// A field is missing or out of its range; the message names it.
    InvalidInput = "invalid_input", 400;
    /// Nobody is signed in.
    SignInRequired = "sign_in_required", 401;
    /// E-mail and password do not belong together.
    WrongCredentials = "wrong_credentials", 401;
    /// The e-mail address must be confirmed first.
    EmailUnconfirmed = "email_unconfirmed", 403;
    /// The address has an account already.
    EmailTaken = "email_taken", 409;
    /// The link was used, has expired or never existed.
    LinkInvalid = "link_invalid", 400;
    /// The role of the account does not allow this.
    Forbidden = "forbidden", 403;
    /// The request came from another site.
    CrossSite = "cross_site", 403;
    /// There is no such thing, or it belongs to somebody else.
    NotFound = "not_found", 404;
    /// Too many requests; try again after the time stated.
    TooManyRequests = "too_many_requests", 429;
    /// The queue takes nobody yet, or no longer.
    QueueClosed = "queue_closed", 409;
    /// The sale has not opened, or has ended.
    SaleClosed = "sale_closed", 409;
    /// Entry is paused by the organizer.
    Paused = "paused", 409;
    /// The place in the queue has not been reached.
    NotYourTurn = "not_your_turn", 409;
    /// The window of a lottery in which this place could enter is over.
    TurnPassed = "turn_passed", 409;
    /// The account is younger than this on-sale allows.
    AccountTooNew = "account_too_new", 403;
    /// The server sheds load: nothing was changed; try again after the time stated.
    Overloaded = "overloaded", 503;
    /// As many shoppers as allowed are inside; try again in a moment.
    Full = "full", 503;
    /// The ticket of the queue or the pass is forged, expired, or another's.
    PassInvalid = "pass_invalid", 403;
    /// No pass for this performance: the door was not passed, or the visit has ended.
    PassRequired = "pass_required", 403;
    /// At least one seat is held or sold; `seats` names them.
    SeatTaken = "seat_taken", 409;
    /// Fewer places are left in a standing area than were asked for.
    AreaFull = "area_full", 409;
    /// There is no such seat in this performance.
    UnknownSeat = "unknown_seat", 404;
    /// The choice would leave a seat alone: `seats` names it, `instead` a choice that does not.
    LeavesSingle = "leaves_single", 422;
    /// Nothing that fits the wish is left; the message says what is.
    NoneLeft = "none_left", 409;
    /// The code opens nothing here: there is no such one, or it was revoked or used up.
    CodeInvalid = "code_invalid", 404;
    /// The seat is not for sale here: blocked, or without a price.
    SeatNotForSale = "seat_not_for_sale", 409;
    /// More seats than one account may have.
    LimitExceeded = "limit_exceeded", 409;
    /// The account has an open hold for this performance; it must be paid or given back first.
    HoldOpen = "hold_open", 409;
    /// The hold ended: it ran out, was given back or was taken over.
    HoldClosed = "hold_closed", 410;
    /// The same key was used with other parameters.
    KeyReused = "key_reused", 422;
    /// The order is not in a state that allows this.
    WrongState = "wrong_state", 409;
    /// What is to be published is not complete; the message names what is missing.
    NotReady = "not_ready", 409;
    /// The stores are being rebuilt or are out of reach; nothing was changed.
    Unavailable = "unavailable", 503;
    /// The payment provider can't be reached; nothing was charged.
    ProviderUnavailable = "provider_unavailable", 503;
    /// A signature does not fit its body.
    BadSignature = "bad_signature", 400;
    /// The body is larger than allowed.
    TooLarge = "too_large", 413;
    /// A fault of ours: it was logged under the request id.
    Internal = "internal", 500;
}

/// A refused request: nothing was changed by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The stable code.
    pub code: Code,
    /// One English sentence that names the field, the seat or the rule. The interface shows its own
    /// text by `code`; this one is for API clients and logs.
    pub message: String,
    /// The seats concerned, where seats are the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<SeatNo>,
    /// Seats that could be chosen in place of those asked for, where there is such a choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instead: Vec<SeatNo>,
    /// How long to wait before another try, where waiting helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u32>,
}

impl Refusal {
    /// A refusal with its sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), seats: Vec::new(), instead: Vec::new(), retry_after_ms: None }
    }

    /// Names the seats that are the reason.
    #[must_use]
    pub fn with_seats(mut self, seats: Vec<SeatNo>) -> Self {
        self.seats = seats;
        self
    }

    /// Names seats that could be chosen in place of those asked for.
    #[must_use]
    pub fn with_instead(mut self, instead: Vec<SeatNo>) -> Self {
        self.instead = instead;
        self
    }

    /// States how long to wait before another try.
    #[must_use]
    pub fn retry_after_ms(mut self, retry_after_ms: u32) -> Self {
        self.retry_after_ms = Some(retry_after_ms);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_a_round_trip_and_are_unique() {
        let mut seen = std::collections::HashSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.as_str()), "{code:?}");
            let json = serde_json::to_string(code).unwrap();
            assert_eq!(json, format!("\"{}\"", code.as_str()));
            assert_eq!(serde_json::from_str::<Code>(&json).unwrap(), *code);
            assert!((400..=503).contains(&code.http_status()));
        }
    }
}
