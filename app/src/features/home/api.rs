//! Server functions of the home page.

use crate::error::AppError;
use domain::catalog::EventCard;
use leptos::prelude::*;

/// What is on.
#[server(endpoint = "events")]
pub async fn events() -> Result<Vec<EventCard>, AppError> {
    Ok(crate::context::backend()?.events().await?)
}
