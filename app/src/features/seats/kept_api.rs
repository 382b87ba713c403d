//! Server functions of kept seats: thin adapters to the use-cases.

use crate::error::AppError;
use domain::PerformanceId;
use domain::allocation::Openings;
use leptos::prelude::*;

/// Which kept seats concern the caller.
#[server(endpoint = "seat-openings")]
pub async fn seat_openings(
    /// Which performance.
    performance: PerformanceId,
) -> Result<Openings, AppError> {
    use crate::context;
    let session = context::caller().and_then(|caller| caller.session);
    Ok(context::backend()?.openings(session.as_ref(), performance).await?)
}

/// Opens the seats that a code is for.
#[server(endpoint = "seat-code")]
pub async fn code_open(
    /// Which performance.
    performance: PerformanceId,
    /// The code, as people write it.
    code: String,
) -> Result<(), AppError> {
    use crate::context;
    let (backend, session) = (context::backend()?, context::session()?);
    backend.open_by_code(&session, performance, &code, &context::client()?).await?;
    context::redirect_form(&list_of(performance));
    Ok(())
}

/// Opens the accessible seats to who says that they need one.
#[server(endpoint = "seat-need")]
pub async fn need_open(
    /// Which performance.
    performance: PerformanceId,
    /// That somebody needs one.
    sure: Option<bool>,
) -> Result<(), AppError> {
    use crate::context;
    let (backend, session) = (context::backend()?, context::session()?);
    backend.open_accessible(&session, performance, sure == Some(true)).await?;
    context::redirect_form(&list_of(performance));
    Ok(())
}

/// Address of the list, where forms without JavaScript lead.
#[cfg(feature = "ssr")]
fn list_of(performance: PerformanceId) -> String {
    format!("/performances/{performance}/list")
}
