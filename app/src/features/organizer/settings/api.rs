//! Server functions of settings: thin adapters to the use-cases.
//!
//! A secret is answered once, to the call that made it. A form without JavaScript has it handed over to the
//! page that it is sent to.

use crate::error::AppError;
use domain::EndpointId;
use domain::organizer::settings::{EndpointPage, EndpointSecret, SettingsView};
use leptos::prelude::*;

/// Providers and endpoints.
#[server(endpoint = "organizer-settings")]
pub async fn organizer_settings() -> Result<SettingsView, AppError> {
    use crate::context;
    let (backend, session) = (context::backend()?, context::session()?);
    let provider = backend.provider_choice(&session).await?;
    let webhooks = backend.webhook_list(&session).await?;
    let secret = handed_over(&backend, &session)
        .filter(|made| webhooks.endpoints.iter().any(|endpoint| endpoint.id == made.endpoint));
    Ok(SettingsView { provider, webhooks, secret })
}

/// Chooses the provider through which the organization is paid from now on.
#[server(endpoint = "organizer-provider-choose")]
pub async fn provider_choose(
    /// Its name.
    name: String,
) -> Result<(), AppError> {
    use crate::context;
    use domain::organizer::Action;
    let (backend, session) = (context::backend()?, context::session()?);
    let member = backend.member(&session, Action::EditSettings).await?;
    backend.choose_provider(&member, &name).await?;
    context::redirect_form("/organizer/settings?chosen=1");
    Ok(())
}

/// Adds an endpoint; answers its secret.
#[server(endpoint = "organizer-webhook-add")]
pub async fn webhook_add(
    /// Where events are sent.
    url: String,
    /// The text forms of what it is told; absent when no box is checked.
    kinds: Option<Vec<String>>,
) -> Result<EndpointSecret, AppError> {
    use crate::context;
    use backend::WebhookEvent;
    use domain::Code;
    use domain::organizer::Action;
    let (backend, session) = (context::backend()?, context::session()?);
    let member = backend.member(&session, Action::EditSettings).await?;
    let mut events = Vec::new();
    for kind in kinds.unwrap_or_default() {
        match WebhookEvent::parse(&kind) {
            Some(event) => events.push(event),
            None => return Err(AppError::new(Code::InvalidInput, format!("events: `{kind}` is no event"))),
        }
    }
    let made = backend.add_webhook(&member, &url, &events).await?;
    let made = EndpointSecret { endpoint: made.id, secret: made.secret };
    hand_over(&backend, &session, &made);
    context::redirect_form("/organizer/settings");
    Ok(made)
}

/// An endpoint with its newest deliveries.
#[server(endpoint = "organizer-webhook")]
pub async fn organizer_webhook(
    /// Which endpoint.
    id: EndpointId,
    /// The delivery that is told in full.
    delivery: Option<i64>,
) -> Result<EndpointPage, AppError> {
    use crate::context;
    let (backend, session) = (context::backend()?, context::session()?);
    let page = backend.webhook_page(&session, id, delivery).await?;
    let secret = handed_over(&backend, &session).filter(|made| made.endpoint == id);
    Ok(EndpointPage { secret, ..page })
}

/// Tells an endpoint of events again.
#[server(endpoint = "organizer-webhook-enable")]
pub async fn webhook_enable(
    /// Which endpoint.
    id: EndpointId,
) -> Result<(), AppError> {
    use crate::context;
    use domain::organizer::Action;
    let (backend, session) = (context::backend()?, context::session()?);
    let member = backend.member(&session, Action::EditSettings).await?;
    backend.enable_webhook(&member, id).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Gives an endpoint a new secret; answers it.
#[server(endpoint = "organizer-webhook-rotate")]
pub async fn webhook_rotate(
    /// Which endpoint.
    id: EndpointId,
) -> Result<EndpointSecret, AppError> {
    use crate::context;
    use domain::organizer::Action;
    let (backend, session) = (context::backend()?, context::session()?);
    let member = backend.member(&session, Action::EditSettings).await?;
    let secret = backend.rotate_webhook(&member, id).await?;
    let made = EndpointSecret { endpoint: id, secret };
    hand_over(&backend, &session, &made);
    context::redirect_form(&page_of(id));
    Ok(made)
}

/// Takes an endpoint out.
#[server(endpoint = "organizer-webhook-remove")]
pub async fn webhook_remove(
    /// Which endpoint.
    id: EndpointId,
) -> Result<(), AppError> {
    use crate::context;
    use domain::organizer::Action;
    let (backend, session) = (context::backend()?, context::session()?);
    let member = backend.member(&session, Action::EditSettings).await?;
    backend.remove_webhook(&member, id).await?;
    context::redirect_form("/organizer/settings?removed=1");
    Ok(())
}

/// Sends again what has ended; answers how many.
#[server(endpoint = "organizer-webhook-redeliver")]
pub async fn webhook_redeliver(
    /// Which endpoint.
    id: EndpointId,
    /// This delivery alone; absent for all that were given up.
    delivery: Option<i64>,
) -> Result<u64, AppError> {
    use crate::context;
    use domain::organizer::Action;
    let (backend, session) = (context::backend()?, context::session()?);
    let member = backend.member(&session, Action::EditSettings).await?;
    let count = backend.redeliver(&member, id, delivery).await?;
    let opened = delivery.map(|number| format!("&delivery={number}")).unwrap_or_default();
    context::redirect_form(&format!("{}?sent={count}{opened}", page_of(id)));
    Ok(count)
}

/// Address of the page of an endpoint.
pub(super) fn page_of(id: EndpointId) -> String {
    format!("/organizer/settings/webhooks/{id}")
}

/// Hands a secret over to the page that follows, for this account alone.
#[cfg(feature = "ssr")]
fn hand_over(backend: &backend::Backend, session: &domain::account::Session, made: &EndpointSecret) {
    let value = format!("{}.{}.{}", session.account, made.endpoint, made.secret);
    crate::context::hand_over(backend, value);
}

/// The secret that the form before this page made for this account.
#[cfg(feature = "ssr")]
fn handed_over(backend: &backend::Backend, session: &domain::account::Session) -> Option<EndpointSecret> {
    let value = crate::context::handed_over(backend)?;
    let mut parts = value.splitn(3, '.');
    let (account, endpoint, secret) = (parts.next()?, parts.next()?, parts.next()?);
    if account != session.account.to_string() {
        return None;
    }
    Some(EndpointSecret { endpoint: endpoint.parse().ok()?, secret: secret.to_owned() })
}
