//! What happened, what is safe, what to do: calm boxes for refusals and good news.

use super::icon::{Icon, Sign};
use crate::error::AppError;
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
    view! {
        <div class="notice-place" role="alert">
            {move || {
                error
                    .get()
                    .map(|error| {
                        view! {
                            <p class="notice notice-bad" data-testid="refusal" data-code=error.code().as_str()>
                                <Sign icon=Icon::Attention/>
                                <span>
                                    {error.text(lang)}
                                    {detail.then(|| view! { " " <small lang="en" data-testid="refusal-detail">{error.0.message.clone()}</small> })}
                                </span>
                            </p>
                        }
                    })
            }}
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
