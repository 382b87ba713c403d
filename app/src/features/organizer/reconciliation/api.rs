//! Server functions of the daily match.

use crate::error::AppError;
use domain::DifferenceId;
use domain::organizer::money::Reconciliation;
use leptos::prelude::*;

/// Where a form without JavaScript comes back to.
#[cfg(feature = "ssr")]
const PAGE: &str = "/organizer/money/reconciliation";

/// Days and differences of the organization.
#[server(endpoint = "organizer-reconciliation")]
pub async fn organizer_reconciliation() -> Result<Reconciliation, AppError> {
    use crate::context;
    Ok(context::backend()?.reconciliation(&context::session()?).await?)
}

/// Repairs a difference now, as far as the program can.
#[server(endpoint = "organizer-difference-repair")]
pub async fn organizer_difference_repair(
    /// The difference.
    id: DifferenceId,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.repair_difference(&context::session()?, id).await?;
    context::redirect_form(PAGE);
    Ok(())
}

/// Settles a difference by a member's word.
#[server(endpoint = "organizer-difference-settle")]
pub async fn organizer_difference_settle(
    /// The difference.
    id: DifferenceId,
    /// Why it is settled.
    note: String,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.settle_difference(&context::session()?, id, &note).await?;
    context::redirect_form(PAGE);
    Ok(())
}
