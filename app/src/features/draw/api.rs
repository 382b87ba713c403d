//! Server functions of the draw's page.

use crate::error::AppError;
use domain::{catalog::PerformanceView, queue::facts::DrawFacts};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// What the page tells: everything but `own` is public.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawView {
    /// Which performance.
    pub performance: PerformanceView,
    /// What was published.
    pub facts: DrawFacts,
    /// The arrival number, from 0, in the browser's own ticket.
    pub own: Option<u32>,
    /// Where this site is, for the command line.
    pub origin: String,
}

/// All that is published about the draw of a performance. Changes nothing.
#[server(endpoint = "draw-facts")]
pub async fn read_draw(
    /// The performance.
    performance: String,
) -> Result<DrawView, AppError> {
    use crate::context;
    let backend = context::backend()?;
    let id = performance
        .parse::<domain::PerformanceId>()
        .map_err(|_| AppError::new(domain::Code::NotFound, "there is no such performance"))?;
    let view = backend.performance(id).await?;
    let facts = backend.draw_facts(id).await?;
    let session = context::caller().and_then(|caller| caller.session);
    Ok(DrawView {
        performance: (*view).clone(),
        facts,
        own: session.as_ref().and_then(|session| context::shown_arrival(&backend, session, id)),
        origin: backend.config().public_url.clone(),
    })
}
