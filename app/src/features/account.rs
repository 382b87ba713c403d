//! Accounts: signing in and up, confirming an e-mail address, and the mailbox of development.

pub mod api;
mod confirm;
mod mailbox;

pub use confirm::ConfirmPage;
pub use mailbox::MailboxPage;

use crate::components::notice::Refused;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::route::local_path;
use crate::session::use_visitor;
use domain::account::{EMAIL_MAX_BYTES, Me, PASSWORD_MIN_CHARS};
use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_query_map},
};

/// Where to go after signing in, from this page's query.
fn next_path() -> String {
    local_path(use_query_map().read_untracked().get_str("next"))
}

/// The other of the two pages, with the same way onward.
fn with_next(page: &str, next: &str) -> String {
    if next == "/" { page.to_owned() } else { format!("{page}?next={next}") }
}

/// Once signed in: tell the other parts of the page, and go on.
fn go_on_after(answer: impl Fn() -> Option<Result<Me, AppError>> + Send + Sync + 'static, next: String) {
    let (visitor, navigate) = (use_visitor(), use_navigate());
    Effect::new(move |_| {
        if let Some(Ok(_)) = answer() {
            visitor.changed();
            navigate(&next, NavigateOptions::default());
        }
    });
}

/// Signing in.
#[component]
pub fn SignInPage() -> impl IntoView {
    let lang = lang();
    let next = next_path();
    let action = ServerAction::<api::SignIn>::new();
    let value = action.value();
    go_on_after(move || value.get(), next.clone());
    let other = with_next("/sign-up", &next);
    view! {
        <Title text=td_string!(lang, account.sign_in)/>
        <section class="column account">
            <h1>{td_string!(lang, account.sign_in)}</h1>
            <Refused error=Signal::derive(move || value.get().and_then(Result::err))/>
            <ActionForm action attr:class="form">
                <Credentials new=false next/>
                <button class="button button-accent button-wide" type="submit" disabled=move || action.pending().get()>
                    {td_string!(lang, account.sign_in)}
                </button>
            </ActionForm>
            <p class="account-other">
                {td_string!(lang, account.no_account)} " "
                <a href=other>{td_string!(lang, account.sign_up)}</a>
            </p>
        </section>
    }
    .into_any()
}

/// A new account.
#[component]
pub fn SignUpPage() -> impl IntoView {
    let lang = lang();
    let next = next_path();
    let action = ServerAction::<api::SignUp>::new();
    let value = action.value();
    go_on_after(move || value.get(), next.clone());
    let other = with_next("/sign-in", &next);
    view! {
        <Title text=td_string!(lang, account.sign_up)/>
        <section class="column account">
            <h1>{td_string!(lang, account.sign_up)}</h1>
            <p>{td_string!(lang, account.sign_up_text)}</p>
            <Refused error=Signal::derive(move || value.get().and_then(Result::err))/>
            <ActionForm action attr:class="form">
                <Credentials new=true next/>
                <button class="button button-accent button-wide" type="submit" disabled=move || action.pending().get()>
                    {td_string!(lang, account.sign_up)}
                </button>
            </ActionForm>
            <p class="account-other">
                {td_string!(lang, account.have_account)} " "
                <a href=other>{td_string!(lang, account.sign_in)}</a>
            </p>
        </section>
    }
    .into_any()
}

/// The fields that both forms share.
#[component]
fn Credentials(new: bool, next: String) -> impl IntoView {
    let lang = lang();
    view! {
        <input type="hidden" name="next" value=next/>
        <label class="field">
            <span>{td_string!(lang, account.email)}</span>
            <input type="email" name="email" required autocomplete="email" inputmode="email" maxlength=EMAIL_MAX_BYTES.to_string()/>
        </label>
        <label class="field">
            <span>{td_string!(lang, account.password)}</span>
            <input
                type="password"
                name="password"
                required
                autocomplete=if new { "new-password" } else { "current-password" }
                minlength=new.then(|| PASSWORD_MIN_CHARS.to_string())
            />
            {new.then(|| view! { <small>{td_string!(lang, account.password_hint)}</small> })}
        </label>
    }
    .into_any()
}
