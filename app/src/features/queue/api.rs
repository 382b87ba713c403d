//! Server functions of the waiting room.

use crate::error::AppError;
use domain::{
    PerformanceId, ZonedTime,
    account::Me,
    queue::{Entered, Joined, QueueStatus},
};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// What is waited for: of a performance, what a waiting page shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// The performance.
    pub id: PerformanceId,
    /// Part of the event's address.
    pub slug: String,
    /// Who plays.
    pub artist: String,
    /// Picture theme.
    pub cover: u8,
    /// Digest of its own picture.
    pub picture: Option<String>,
    /// Name of the venue.
    pub venue: String,
    /// City.
    pub city: String,
    /// When it begins, at the venue.
    pub starts: ZonedTime,
    /// When the sale opens, at the venue.
    pub opens: ZonedTime,
    /// Length of a hold.
    pub hold_ttl_ms: i64,
}

/// What the page needs at first; afterwards it polls the status alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomView {
    /// What is waited for.
    pub performance: Waited,
    /// Where the sale stands.
    pub status: QueueStatus,
    /// Who waits.
    pub me: Option<Me>,
    /// The arrival number in the browser's own ticket.
    pub arrival: Option<u32>,
    /// For the entry form without JavaScript: a repeated post is the same entry.
    pub nonce: String,
    /// What a form without JavaScript was told.
    pub refused: Option<AppError>,
}

/// The waiting room as this caller sees it. Changes nothing.
#[server(endpoint = "queue-view")]
pub async fn queue_view(
    /// The performance.
    performance: String,
) -> Result<RoomView, AppError> {
    use crate::context;
    use leptos::server_fn::ServerFn as _;
    let backend = context::backend()?;
    let id = performance_id(&performance)?;
    let session = context::caller().and_then(|caller| caller.session);
    let view = backend.performance(id).await?;
    let status = backend.queue_status(id).await?;
    Ok(RoomView {
        performance: waited(&view),
        status: (*status).clone(),
        arrival: session.as_ref().and_then(|session| context::shown_arrival(&backend, session, id)),
        me: session.as_ref().map(context::me_of),
        nonce: uuid::Uuid::new_v4().simple().to_string(),
        refused: context::refused_form(&[QueueJoin::PATH, QueueEnter::PATH]),
    })
}

#[cfg(feature = "ssr")]
fn waited(view: &domain::catalog::PerformanceView) -> Waited {
    Waited {
        id: view.id,
        slug: view.slug.clone(),
        artist: view.artist.clone(),
        cover: view.cover,
        picture: view.picture.clone(),
        venue: view.venue.clone(),
        city: view.city.clone(),
        starts: view.starts.clone(),
        opens: view.opens.clone(),
        hold_ttl_ms: view.hold_ttl_ms,
    }
}

/// Takes a place, or finds the one that was taken before.
#[server(endpoint = "queue-join")]
pub async fn queue_join(
    /// The performance.
    performance: PerformanceId,
) -> Result<Joined, AppError> {
    use crate::context;
    let backend = context::backend()?;
    let before = context::cookie(&backend.cookie_name(&context::queue_cookie(performance)));
    let joined = backend.join_queue(&context::session()?, performance, before.as_deref()).await?;
    context::set_queue_cookie(&backend, &context::queue_cookie(performance), joined.ticket.clone());
    Ok(joined)
}

/// Exchanges a place that has been reached for the right to be inside.
#[server(endpoint = "queue-enter")]
pub async fn queue_enter(
    /// The performance.
    performance: PerformanceId,
    /// The signed ticket; by default the one in the cookie.
    ticket: Option<String>,
    /// Chosen by the caller: the same again, after a lost answer, is the same entry.
    nonce: String,
) -> Result<Entered, AppError> {
    use crate::context;
    let backend = context::backend()?;
    let ticket = ticket
        .or_else(|| context::cookie(&backend.cookie_name(&context::queue_cookie(performance))))
        .ok_or_else(|| AppError::new(domain::Code::PassInvalid, "there is no ticket of this queue: join first"))?;
    let entered = backend.enter(&context::session()?, performance, &ticket, &nonce).await?;
    context::set_queue_cookie(&backend, &context::pass_cookie(performance), entered.pass.clone());
    context::redirect_form(&format!("/performances/{performance}/list"));
    Ok(entered)
}

/// The performance of an address: anything else isn't there.
#[cfg(feature = "ssr")]
fn performance_id(text: &str) -> Result<PerformanceId, AppError> {
    text.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such performance"))
}
