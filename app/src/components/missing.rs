//! Pages that aren't there, pages that can't be shown right now, and links that can't be used.

use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::response;
use crate::route::local_path;
use domain::Code;
use leptos::prelude::*;

/// "There is nothing here": also for what belongs to somebody else.
#[component]
pub fn Missing() -> impl IntoView {
    response::page_status(404);
    let lang = lang();
    view! {
        <Title text=td_string!(lang, common.missing_title)/>
        <section class="column dead-end">
            <h1>{td_string!(lang, common.missing_title)}</h1>
            <p>{td_string!(lang, common.missing_text)}</p>
            <p><a class="button" href="/">{td_string!(lang, common.missing_link)}</a></p>
        </section>
    }
    .into_any()
}

/// A page whose data could not be had: says why, and what to do.
#[component]
pub fn Failure(
    /// Why.
    error: AppError,
    /// This page, to come back to after signing in.
    #[prop(into)]
    back: String,
) -> impl IntoView {
    let lang = lang();
    if error.code() == Code::NotFound {
        return view! { <Missing/> }.into_any();
    }
    response::page_status(error.code().http_status());
    let sign_in = error.code() == Code::SignInRequired;
    let (class, rel, href, way) = if sign_in {
        ("button button-accent", None, format!("/sign-in?next={back}"), td_string!(lang, common.sign_in))
    } else {
        ("button", Some("external"), back, td_string!(lang, common.try_again))
    };
    view! {
        <Title text=td_string!(lang, common.failure_title)/>
        <section class="column dead-end" data-testid="failure" data-code=error.code().as_str()>
            <h1>{if sign_in { td_string!(lang, common.sign_in_first) } else { td_string!(lang, common.failure_title) }}</h1>
            <p>{error.text(lang)}</p>
            <p><a class=class rel=rel href=href>{way}</a></p>
        </section>
    }
    .into_any()
}

/// Why what a link is for can't be done by who looks at it, and what to do.
#[component]
pub fn LinkFailure(
    /// Why.
    error: AppError,
    /// The same in words.
    text: &'static str,
    /// The page of the link, to come back to after signing in.
    back: String,
) -> impl IntoView {
    let lang = lang();
    response::page_status(error.code().http_status());
    let back = local_path(Some(&back));
    let way = match error.code() {
        Code::SignInRequired => Some((format!("/sign-in?next={back}"), td_string!(lang, common.sign_in))),
        Code::EmailUnconfirmed => Some(("/confirm".to_owned(), td_string!(lang, common.confirm_hint_link))),
        _ => None,
    };
    view! {
        <p data-testid="refusal" data-code=error.code().as_str()>{text}</p>
        {way.map(|(href, name)| view! { <p><a class="button button-accent" href=href>{name}</a></p> })}
    }
    .into_any()
}
