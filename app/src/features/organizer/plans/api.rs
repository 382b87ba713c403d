//! Server functions of venue plans. Files go in and out by plain routes of the server.

use crate::error::AppError;
use domain::organizer::plans::{Choices, Filter, ImportView, PlanList, PlanView};
use domain::{ImportId, PlanId};
use leptos::prelude::*;

/// The plans, and the files that were uploaded lately.
#[server(endpoint = "organizer-plans")]
pub async fn plans() -> Result<PlanList, AppError> {
    use crate::context;
    Ok(context::backend()?.plans(&context::session()?).await?)
}

/// A plan in full.
#[server(endpoint = "organizer-plan")]
pub async fn plan(
    /// The plan.
    id: String,
) -> Result<PlanView, AppError> {
    use crate::context;
    let session = context::session()?;
    let id = id.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such plan"))?;
    Ok(context::backend()?.plan(&session, id).await?)
}

/// A file with one page of what its check found.
#[server(endpoint = "organizer-import")]
pub async fn plan_import(
    /// The upload.
    id: String,
    /// Which findings.
    filter: Filter,
    /// Which page of them, from 1.
    page: u32,
) -> Result<ImportView, AppError> {
    use crate::context;
    let session = context::session()?;
    let id = id.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such upload"))?;
    Ok(context::backend()?.plan_import(&session, id, filter, page).await?)
}

/// Checks a file again under other choices.
#[server(endpoint = "organizer-import-recheck")]
pub async fn recheck_import(
    /// The upload.
    id: ImportId,
    /// The version that was seen.
    version: i32,
    /// The choices.
    #[server(default)]
    choices: Choices,
) -> Result<(), AppError> {
    use crate::context;
    let session = context::session()?;
    context::backend()?.recheck_import(&session, id, version, choices.options()?).await?;
    context::redirect_form(&format!("/organizer/imports/{id}"));
    Ok(())
}

/// Forgets a file.
#[server(endpoint = "organizer-import-discard")]
pub async fn discard_import(
    /// The upload.
    id: ImportId,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.discard_import(&context::session()?, id).await?;
    context::redirect_form("/organizer/plans");
    Ok(())
}

/// Makes a file the newest plan of a venue.
#[server(endpoint = "organizer-import-accept")]
pub async fn accept_import(
    /// The upload.
    id: ImportId,
    /// The version that was seen.
    version: i32,
    /// Name of the venue.
    venue: String,
    /// City.
    city: String,
    /// Time zone.
    time_zone: String,
    /// Whether the repairs were read.
    #[server(default)]
    confirmed: bool,
) -> Result<PlanId, AppError> {
    use crate::context;
    use domain::organizer::plans::Place;
    let session = context::session()?;
    let place = Place { venue, city, time_zone };
    let plan = context::backend()?.accept_import(&session, id, version, place, confirmed).await?;
    context::redirect_form(&format!("/organizer/plans/{plan}"));
    Ok(plan)
}
