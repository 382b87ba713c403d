//! The frame of every page: header with the sign-in, footer with the language switch.

use super::icon::{Icon, Sign};
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::route::here;
use crate::session::use_visitor;
use domain::account::Me;
use leptos::either::Either;
use leptos::prelude::*;
use leptos_i18n::Locale as _;

/// Brand, orders, and who is signed in.
#[component]
pub fn Header() -> impl IntoView {
    let (lang, visitor) = (lang(), use_visitor());
    view! {
        <a class="skip" href="#main">{td_string!(lang, common.skip)}</a>
        // What is known stays until the answer is there: the header never goes away.
        <Transition>
            {move || visitor.me().map(|me| {
                let unconfirmed = me.as_ref().filter(|me| !me.verified).map(|me| me.email.clone());
                view! {
                    <header class="header">
                        <Brand/>
                        <nav class="header-nav" aria-label=td_string!(lang, common.nav)>
                            {match me {
                                Some(me) => Either::Left(view! { <SignedIn me/> }),
                                None => Either::Right(view! { <Guest/> }),
                            }}
                        </nav>
                    </header>
                    {unconfirmed.map(|email| view! {
                        <div class="confirm-hint" data-testid="confirm-hint">
                            <Sign icon=Icon::Mail/>
                            <p>
                                {td_string!(lang, common.confirm_hint, email = email)}
                                " "
                                <a href="/confirm">{td_string!(lang, common.confirm_hint_link)}</a>
                            </p>
                        </div>
                    })}
                }
            })}
        </Transition>
    }
    .into_any()
}

#[component]
fn Brand() -> impl IntoView {
    view! {
        <a class="brand" href="/" aria-label="StarArena">
            <svg class="brand-mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false">
                <path class="brand-rows" d="M3 23a13 13 0 0126 0M8.5 23a7.5 7.5 0 0115 0"></path>
                <circle class="brand-stage" cx="16" cy="23" r="3.5"></circle>
            </svg>
            <span>"StarArena"</span>
        </a>
    }
}

#[component]
fn SignedIn(me: Me) -> impl IntoView {
    let lang = lang();
    view! {
        <span class="header-who" data-testid="who">{me.email}</span>
        {me.role.is_some().then(|| view! {
            <a href="/organizer" data-testid="organizer-link">{td_string!(lang, organizer.link)}</a>
        })}
        <a href="/orders">{td_string!(lang, common.my_orders)}</a>
        // The next page is loaded: nothing that this one knew of somebody stays behind.
        <form action="/api/sign-out" method="post">
            <button class="link" type="submit">{td_string!(lang, common.sign_out)}</button>
        </form>
    }
}

#[component]
fn Guest() -> impl IntoView {
    let lang = lang();
    let path = here().path;
    let next = move || match path.get().as_str() {
        "/" | "/sign-in" | "/sign-up" | "/confirm" => "/sign-in".to_owned(),
        path => format!("/sign-in?next={path}"),
    };
    view! { <a href=next data-testid="sign-in-link">{td_string!(lang, common.sign_in)}</a> }
}

/// What this is, and the language switch: a form, so that it works without JavaScript.
#[component]
pub fn Footer() -> impl IntoView {
    let lang = lang();
    let here = here();
    let next = move || {
        let (path, query) = (here.path.get(), here.query.get());
        if query.is_empty() { path } else { format!("{path}?{}", query.trim_start_matches('?')) }
    };
    // Each language is named in itself, for those who can't read the present one.
    let (other, name) = match lang {
        Locale::en => (Locale::zh, "中文"),
        Locale::zh => (Locale::en, "English"),
    };
    view! {
        <footer class="footer">
            <p>{td_string!(lang, common.footer)}</p>
            <form action="/api/language" method="post">
                <input type="hidden" name="language" value=other.as_str()/>
                <input type="hidden" name="next" value=next/>
                <button class="link" type="submit" lang=other.as_str() data-testid="language">{name}</button>
            </form>
        </footer>
    }
    .into_any()
}
