//! Server functions of another plan for a published performance: thin adapters to the use-cases.

use crate::error::AppError;
use domain::organizer::replanning::{PlanChange, ReplanningView};
use domain::{PerformanceId, PlanId};
use leptos::prelude::*;

/// The plans that could take the place of a performance's plan.
#[server(endpoint = "organizer-plan-choices")]
pub async fn plan_choices(
    /// Which performance.
    id: PerformanceId,
) -> Result<ReplanningView, AppError> {
    use crate::context;
    Ok(context::backend()?.replanning(&context::session()?, id).await?)
}

/// What another plan would change.
#[server(endpoint = "organizer-plan-preview")]
pub async fn plan_preview(
    /// Which performance.
    id: PerformanceId,
    /// The other plan.
    plan: PlanId,
) -> Result<PlanChange, AppError> {
    use crate::context;
    Ok(context::backend()?.preview_plan_change(&context::session()?, id, plan).await?)
}

/// Puts another plan in place.
#[server(endpoint = "organizer-plan-replace")]
pub async fn plan_replace(
    /// Which performance.
    id: PerformanceId,
    /// The plan in use that it was compared with.
    from: PlanId,
    /// The other plan.
    plan: PlanId,
) -> Result<PlanChange, AppError> {
    use crate::context;
    let change = context::backend()?.change_plan(&context::session()?, id, from, plan).await?;
    context::redirect_form(&done(id));
    Ok(change)
}

/// Address of the page.
pub(super) fn page_of(id: PerformanceId) -> String {
    format!("/organizer/performances/{id}/plan")
}

/// Where one is led after a change: the performance, which says that it was made.
pub(super) fn done(id: PerformanceId) -> String {
    format!("/organizer/performances/{id}?replaced=1")
}
