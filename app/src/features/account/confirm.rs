//! Confirming an e-mail address. The link of the mail shows a button: mail scanners follow links, and
//! must not use them up.

use super::api::{ConfirmEmail, ResendConfirmation};
use crate::components::raw_text::Title;
use crate::components::{
    icon::{Icon, Sign},
    notice::{Refused, Remark},
};
use crate::i18n::td_string;
use crate::lang::lang;
use crate::session::use_visitor;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// The page behind the link, and the one that says where the link is.
#[component]
pub fn ConfirmPage() -> impl IntoView {
    let (lang, visitor) = (lang(), use_visitor());
    let query = use_query_map();
    let token = query.read_untracked().get("token").filter(|token| !token.is_empty());
    let done_before = query.read_untracked().get_str("done").is_some();
    let confirm = ServerAction::<ConfirmEmail>::new();
    let done = move || done_before || matches!(confirm.value().get(), Some(Ok(())));
    Effect::new(move |_| {
        if matches!(confirm.value().get(), Some(Ok(()))) {
            visitor.changed();
        }
    });
    view! {
        <Title text=td_string!(lang, account.confirm_title)/>
        <section class="column account">
            <h1>{td_string!(lang, account.confirm_title)}</h1>
            {move || match (done(), token.clone()) {
                (true, _) => view! { <Confirmed/> }.into_any(),
                (false, Some(token)) => view! { <Confirm action=confirm token/> }.into_any(),
                (false, None) => view! { <Inbox/> }.into_any(),
            }}
        </section>
    }
    .into_any()
}

#[component]
fn Confirmed() -> impl IntoView {
    let lang = lang();
    view! {
        <div data-testid="confirmed">
            <Remark icon=Icon::Check>
                <p>{td_string!(lang, account.confirmed)}</p>
            </Remark>
        </div>
        <p>
            <a class="button button-accent" href="/">
                {td_string!(lang, account.go_on)}
                <Sign icon=Icon::Arrow/>
            </a>
        </p>
    }
    .into_any()
}

#[component]
fn Confirm(action: ServerAction<ConfirmEmail>, token: String) -> impl IntoView {
    let lang = lang();
    let value = action.value();
    view! {
        <p>{td_string!(lang, account.confirm_text)}</p>
        <Refused error=Signal::derive(move || value.get().and_then(Result::err))/>
        <ActionForm action attr:class="form">
            <input type="hidden" name="token" value=token/>
            <button class="button button-accent button-wide" type="submit" data-testid="confirm">
                {td_string!(lang, account.confirm_button)}
            </button>
        </ActionForm>
    }
    .into_any()
}

/// Where the link is, and how to get another one.
#[component]
fn Inbox() -> impl IntoView {
    let (lang, visitor) = (lang(), use_visitor());
    let resend = ServerAction::<ResendConfirmation>::new();
    let value = resend.value();
    let sent_before = use_query_map().read_untracked().get_str("sent").is_some();
    let sent = move || sent_before || matches!(value.get(), Some(Ok(())));
    view! {
        <p>{td_string!(lang, account.inbox_text)}</p>
        <Refused error=Signal::derive(move || value.get().and_then(Result::err))/>
        <div aria-live="polite">
            {move || sent().then(|| view! { <Remark icon=Icon::Mail><p>{td_string!(lang, account.sent)}</p></Remark> })}
        </div>
        <Suspense>
            {move || {
                visitor.me().flatten().filter(|me| !me.verified).map(|_| view! {
                    <ActionForm action=resend>
                        <button class="button" type="submit">{td_string!(lang, account.resend)}</button>
                    </ActionForm>
                })
            }}
        </Suspense>
    }
    .into_any()
}
