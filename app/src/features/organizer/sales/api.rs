//! Server functions of events and of performances in the making.

use crate::error::AppError;
use domain::organizer::sales::{DraftForm, DraftView, EventFields, EventLine, OrganizerEvent, Readiness};
use domain::{EventId, PerformanceId};
use leptos::prelude::*;

/// The organization's events.
#[server(endpoint = "organizer-events")]
pub async fn organizer_events() -> Result<Vec<EventLine>, AppError> {
    use crate::context;
    Ok(context::backend()?.organizer_events(&context::session()?).await?)
}

/// One event.
#[server(endpoint = "organizer-event")]
pub async fn event_of(
    /// The event.
    id: EventId,
) -> Result<OrganizerEvent, AppError> {
    use crate::context;
    Ok(context::backend()?.organizer_event(&context::session()?, id).await?)
}

/// Makes or changes an event.
#[server(endpoint = "organizer-event-save")]
pub async fn event_save(
    /// The event; none for a new one.
    id: Option<EventId>,
    /// What is written about it.
    fields: EventFields,
) -> Result<EventId, AppError> {
    use crate::context;
    let id = context::backend()?.save_event(&context::session()?, id, fields).await?;
    context::redirect_form(&format!("/organizer/events/{id}?saved=1"));
    Ok(id)
}

/// Begins a performance of an event.
#[server(endpoint = "organizer-draft-new")]
pub async fn draft_new(
    /// The event.
    event: EventId,
) -> Result<PerformanceId, AppError> {
    use crate::context;
    let id = context::backend()?.new_draft(&context::session()?, event).await?;
    context::redirect_form(&format!("/organizer/performances/{id}"));
    Ok(id)
}

/// A performance in the making, or published.
#[server(endpoint = "organizer-draft")]
pub async fn organizer_draft(
    /// The performance.
    id: PerformanceId,
) -> Result<DraftView, AppError> {
    use crate::context;
    Ok(context::backend()?.draft(&context::session()?, id).await?)
}

/// Saves the form of a performance in the making.
#[server(endpoint = "organizer-draft-save")]
pub async fn draft_save(
    /// The performance.
    id: PerformanceId,
    /// The version that the form began from.
    version: i32,
    /// What the form says.
    form: DraftForm,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.save_draft(&context::session()?, id, version, form).await?;
    context::redirect_form(&format!("/organizer/performances/{id}?saved=1"));
    Ok(())
}

/// Drops a performance in the making; answers its event.
#[server(endpoint = "organizer-draft-delete")]
pub async fn draft_delete(
    /// The performance.
    id: PerformanceId,
    /// The version that was seen.
    version: i32,
) -> Result<EventId, AppError> {
    use crate::context;
    let event = context::backend()?.delete_draft(&context::session()?, id, version).await?;
    context::redirect_form(&format!("/organizer/events/{event}"));
    Ok(event)
}

/// Publishes a performance.
#[server(endpoint = "organizer-draft-publish")]
pub async fn draft_publish(
    /// The performance.
    id: PerformanceId,
    /// The version that was seen.
    version: i32,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.publish_draft(&context::session()?, id, version).await?;
    context::redirect_form(&format!("/organizer/performances/{id}"));
    Ok(())
}

/// Whether the seats of a published performance are in place.
#[server(endpoint = "organizer-readiness")]
pub async fn organizer_readiness(
    /// The performance.
    id: PerformanceId,
) -> Result<Readiness, AppError> {
    use crate::context;
    Ok(context::backend()?.sale_readiness(&context::session()?, id).await?)
}
