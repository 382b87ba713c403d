//! Server functions of the event page.

use crate::error::AppError;
use domain::catalog::EventView;
use leptos::prelude::*;

/// One event by the name in its address.
#[server(endpoint = "event")]
pub async fn event(
    /// Part of its address.
    slug: String,
) -> Result<EventView, AppError> {
    Ok(crate::context::backend()?.event(&slug).await?)
}
