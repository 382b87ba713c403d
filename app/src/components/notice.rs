//! What happened, what is safe, what to do: calm boxes for refusals and good news.

use super::icon::{Icon, Sign};
use crate::error::AppError;
use crate::i18n::Locale;
use crate::lang::lang;
use leptos::prelude::*;

/// A refusal in the reader's language, announced when it appears.
#[component]
pub fn Refused(
    /// The refusal, while there is one.
    #[prop(into)]
    error: Signal<Option<AppError>>,
    /// Whether the sentence that names the field is shown too: organizers' forms have many.
    #[prop(optional)]
    detail: bool,
) -> impl IntoView {
    let lang = lang();
    announced(error, move |error| (error.text(lang).to_owned(), detail.then(|| error.0.message.clone())))
}

/// A refusal in the words of a page, which are closer than those of its code; announced when it appears.
#[component]
pub fn RefusedAs<T>(
    /// The refusal, while there is one.
    #[prop(into)]
    error: Signal<Option<AppError>>,
    /// The words.
    text: fn(Locale, &AppError) -> T,
    /// What is shown behind them of what the server said, where it says more.
    #[prop(optional)]
    detail: Option<fn(&AppError) -> Option<String>>,
) -> impl IntoView
where
    T: Into<String> + 'static,
{
    let lang = lang();
    announced(error, move |error| (text(lang, error).into(), detail.and_then(|detail| detail(error))))
}

/// The place where refusals appear, each with its text and with what is shown behind it.
fn announced(
    error: Signal<Option<AppError>>,
    say: impl Fn(&AppError) -> (String, Option<String>) + Send + Sync + 'static,
) -> AnyView {
    view! {
        <div class="notice-place" role="alert">
            {move || error.get().map(|error| {
                let (text, detail) = say(&error);
                view! {
                    <p class="notice notice-bad" data-testid="refusal" data-code=error.code().as_str()>
                        <Sign icon=Icon::Attention/>
                        <span>
                            {text}
                            {detail.map(|detail| view! { " " <small lang="en" data-testid="refusal-detail">{detail}</small> })}
                        </span>
                    </p>
                }
            })}
        </div>
    }
    .into_any()
}

/// A calm remark.
#[component]
pub fn Remark(
    /// What it is about.
    icon: Icon,
    /// The text.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="notice">
            <Sign icon/>
            <div>{children()}</div>
        </div>
    }
    .into_any()
}
