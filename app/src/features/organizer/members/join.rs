//! Accepting an invitation. The link of the mail shows a button: mail scanners follow links, and
//! must not use them up.

use super::super::frame::role_name;
use super::api::{self, OrganizerJoin};
use super::{Refusal, refusal_text};
use crate::components::missing::LinkFailure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::session::use_visitor;
use domain::Code;
use domain::organizer::members::Offer;
use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_query_map},
};

/// The page behind the link of an invitation.
#[component]
pub fn JoinPage() -> impl IntoView {
    let (lang, visitor) = (lang(), use_visitor());
    let token = use_query_map().read_untracked().get("token").unwrap_or_default();
    let sent = token.clone();
    let offer = Resource::new(move || visitor.changes(), move |_| api::organizer_invitation(sent.clone()));
    let join = ServerAction::<OrganizerJoin>::new();
    let navigate = use_navigate();
    Effect::new(move |_| {
        if matches!(join.value().get(), Some(Ok(()))) {
            navigate("/organizer", NavigateOptions::default());
            visitor.changed();
        }
    });
    view! {
        <Title text=td_string!(lang, organizer.join)/>
        <section class="column account">
            <h1>{td_string!(lang, organizer.join)}</h1>
            <Suspense>
                {move || {
                    let token = token.clone();
                    Suspend::new(async move {
                        match offer.await {
                            Ok(offer) => view! { <Accept offer token join/> }.into_any(),
                            Err(error) => view! { <NotYet error token/> }.into_any(),
                        }
                    })
                }}
            </Suspense>
        </section>
    }
    .into_any()
}

#[component]
fn Accept(offer: Offer, token: String, join: ServerAction<OrganizerJoin>) -> impl IntoView {
    let lang = lang();
    let value = join.value();
    view! {
        <p data-testid="offer">
            {td_string!(lang, organizer.join_text, organization = offer.organization, role = role_name(lang, offer.role))}
        </p>
        <Refusal error=Signal::derive(move || value.get().and_then(Result::err))/>
        <ActionForm action=join attr:class="form">
            <input type="hidden" name="token" value=token/>
            <button class="button button-accent button-wide" type="submit" data-testid="join">
                {td_string!(lang, organizer.join_button)}
            </button>
        </ActionForm>
    }
    .into_any()
}

/// Why the invitation can't be accepted by who looks at it, and what to do.
#[component]
fn NotYet(error: AppError, token: String) -> impl IntoView {
    let lang = lang();
    let text = match error.code() {
        Code::SignInRequired => td_string!(lang, organizer.join_sign_in),
        _ => refusal_text(lang, &error),
    };
    let back = format!("/organizer/join?token={token}");
    view! { <LinkFailure error text back/> }.into_any()
}
