//! Server functions of disputes and of money that was set aside.

use crate::error::AppError;
use domain::organizer::disputes::DisputeDesk;
use leptos::prelude::*;

/// Where the page is.
#[cfg(feature = "ssr")]
const PAGE: &str = "/organizer/money/disputes";

/// Disputes, what was set aside, and what becomes of seats.
#[server(endpoint = "organizer-disputes")]
pub async fn organizer_disputes() -> Result<DisputeDesk, AppError> {
    use crate::context;
    Ok(context::backend()?.dispute_desk(&context::session()?).await?)
}

/// Sets what becomes of the seats of a lost dispute.
#[server(endpoint = "organizer-dispute-policy")]
pub async fn organizer_dispute_policy(
    /// `keep` or `sell`.
    seats: String,
    /// Up to so many hours before the start they are sold.
    hours: Option<String>,
) -> Result<(), AppError> {
    use crate::context;
    let session = context::session()?;
    context::backend()?.set_dispute_policy(&session, &seats, &hours.unwrap_or_default()).await?;
    context::redirect_form(PAGE);
    Ok(())
}

/// Returns money that was set aside now.
#[server(endpoint = "organizer-quarantine-return")]
pub async fn organizer_quarantine_return(
    /// Its number.
    id: i64,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.return_set_aside(&context::session()?, id).await?;
    context::redirect_form(PAGE);
    Ok(())
}

/// Says that what was set aside is settled another way.
#[server(endpoint = "organizer-quarantine-settle")]
pub async fn organizer_quarantine_settle(
    /// Its number.
    id: i64,
    /// How it was settled.
    note: String,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.settle_aside(&context::session()?, id, &note).await?;
    context::redirect_form(PAGE);
    Ok(())
}
