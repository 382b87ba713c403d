//! Refusals about plans: the sentence in the reader's language, and the particulars below it.

use crate::components::icon::{Icon, Sign};
use crate::error::AppError;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::Code;
use domain::refusal::Refusal;
use leptos::prelude::*;

fn text(lang: Locale, error: &AppError) -> &'static str {
    match error.code() {
        Code::WrongState => td_string!(lang, plans.moved_on),
        Code::SeatTaken => td_string!(lang, plans.seats_missing),
        Code::TooLarge => td_string!(lang, plans.too_large),
        Code::Unavailable => td_string!(lang, plans.busy),
        Code::InvalidInput => match error.0.message.split_once(':') {
            Some(("confirmed", _)) => td_string!(lang, plans.not_confirmed),
            Some(("time_zone", _)) => td_string!(lang, plans.zone_unknown),
            Some(("file", _)) => td_string!(lang, plans.no_file),
            _ => error.text(lang),
        },
        _ => error.text(lang),
    }
}

/// A refusal, announced when it appears.
#[component]
pub(super) fn Said(
    /// The refusal, while there is one.
    #[prop(into)]
    error: Signal<Option<AppError>>,
) -> impl IntoView {
    view! { <SaidInFull error text/> }.into_any()
}

/// A refusal about a plan in the words of a page, with its particulars below it; announced when it appears.
#[component]
pub(in super::super) fn SaidInFull(
    /// The refusal, while there is one.
    #[prop(into)]
    error: Signal<Option<AppError>>,
    /// The words.
    text: fn(Locale, &AppError) -> &'static str,
) -> impl IntoView {
    let lang = lang();
    view! {
        <div class="notice-place" role="alert">
            {move || error.get().map(|error| {
                let particulars = matches!(error.code(), Code::SeatTaken | Code::InvalidInput)
                    .then(|| error.0.message.clone())
                    .filter(|message| !message.is_empty())
                    .map(|message| view! { <p class="plans-particulars" lang="en" data-testid="why">{message}</p> });
                view! {
                    <div class="notice notice-bad" data-testid="refusal" data-code=error.code().as_str()>
                        <Sign icon=Icon::Attention/>
                        <div>
                            <p>{text(lang, &error)}</p>
                            {particulars}
                        </div>
                    </div>
                }
            })}
        </div>
    }
    .into_any()
}

/// The refusal that an upload without JavaScript brought back, by its code: only codes are believed,
/// never a sentence of an address.
pub(super) fn brought_back(code: Option<&str>) -> Option<AppError> {
    let code = Code::ALL.iter().copied().find(|known| Some(known.as_str()) == code)?;
    let message = if code == Code::InvalidInput { "file: a file that can be read is expected" } else { "" };
    Some(AppError(Refusal::new(code, message)))
}
