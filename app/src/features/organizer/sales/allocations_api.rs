//! Server functions of kept seats: thin adapters to the use-cases.

use crate::error::AppError;
use domain::organizer::allocations::{AllocationForm, AllocationsView, CodeForm, KeptStep};
use domain::{AllocationCodeId, AllocationId, PerformanceId};
use leptos::prelude::*;

/// The allocations of a performance.
#[server(endpoint = "organizer-allocations")]
pub async fn organizer_allocations(
    /// Which performance.
    id: PerformanceId,
) -> Result<AllocationsView, AppError> {
    use crate::context;
    Ok(context::backend()?.allocations(&context::session()?, id).await?)
}

/// Keeps the chosen seats under a name.
#[server(endpoint = "organizer-allocation-create")]
pub async fn allocation_create(
    /// Which performance.
    id: PerformanceId,
    /// Name, kind, release and seats.
    form: AllocationForm,
) -> Result<AllocationId, AppError> {
    use crate::context;
    let made = context::backend()?.create_allocation(&context::session()?, id, form).await?;
    context::redirect_form(&page_of(id));
    Ok(made)
}

/// Gives an allocation another name and another instant of release.
#[server(endpoint = "organizer-allocation-edit")]
pub async fn allocation_edit(
    /// Which performance.
    id: PerformanceId,
    /// Which allocation.
    allocation: AllocationId,
    /// The version that was looked at.
    version: i32,
    /// Its name.
    name: String,
    /// When its seats go on general sale, in the venue's local time; empty when by hand only.
    release: String,
) -> Result<(), AppError> {
    use crate::context;
    let fields = (name.as_str(), release.as_str());
    context::backend()?.edit_allocation(&context::session()?, id, allocation, version, fields).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Adds seats to an allocation, or takes them out.
#[server(endpoint = "organizer-allocation-seats")]
pub async fn allocation_seats(
    /// Which performance.
    id: PerformanceId,
    /// Which allocation.
    allocation: AllocationId,
    /// Whether they come in or go out.
    step: KeptStep,
    /// Seats that were picked on the map.
    picked: String,
    /// Seats that were typed.
    typed: String,
) -> Result<(), AppError> {
    use crate::context;
    let seats = (picked.as_str(), typed.as_str());
    context::backend()?.change_allocation_seats(&context::session()?, id, allocation, step, seats).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Puts all seats of an allocation on general sale.
#[server(endpoint = "organizer-allocation-release")]
pub async fn allocation_release(
    /// Which performance.
    id: PerformanceId,
    /// Which allocation.
    allocation: AllocationId,
    /// That it is meant.
    sure: Option<bool>,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.release_allocation(&context::session()?, id, allocation, sure == Some(true)).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Adds a code to an allocation: the code, for the last time.
#[server(endpoint = "organizer-allocation-code-add")]
pub async fn allocation_code_add(
    /// Which performance.
    id: PerformanceId,
    /// Which allocation.
    allocation: AllocationId,
    /// The code and its bounds.
    form: CodeForm,
) -> Result<String, AppError> {
    use crate::context;
    let code = form.code.trim().to_owned();
    context::backend()?.add_code(&context::session()?, id, allocation, form).await?;
    context::redirect_form(&page_of(id));
    Ok(code)
}

/// Revokes a code.
#[server(endpoint = "organizer-allocation-code-revoke")]
pub async fn allocation_code_revoke(
    /// Which performance.
    id: PerformanceId,
    /// Which code.
    code: AllocationCodeId,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.revoke_code(&context::session()?, id, code).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Lets one account take from an allocation.
#[server(endpoint = "organizer-allocation-grant")]
pub async fn allocation_grant(
    /// Which performance.
    id: PerformanceId,
    /// Which allocation.
    allocation: AllocationId,
    /// The account's address.
    email: String,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.grant_allocation(&context::session()?, id, allocation, &email).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Address of the page of allocations.
pub(super) fn page_of(id: PerformanceId) -> String {
    format!("/organizer/performances/{id}/allocations")
}
