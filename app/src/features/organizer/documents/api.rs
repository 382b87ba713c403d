//! Server functions of documents and of what they say about the organization.

use crate::error::AppError;
use domain::OrderId;
use domain::document::{DetailsView, Issued};
use leptos::prelude::*;

/// What documents say about the organization, and the newest of them.
#[server(endpoint = "organizer-details")]
pub async fn organizer_details() -> Result<DetailsView, AppError> {
    use crate::context;
    Ok(context::backend()?.document_settings(&context::session()?).await?)
}

/// Changes what documents say from now on.
#[server(endpoint = "organizer-details-set")]
pub async fn organizer_details_set(
    /// Postal address, in lines.
    address: String,
    /// Number at the tax office.
    tax_id: String,
    /// Beginning of numbers.
    prefix: String,
    /// The version that was read.
    version: i32,
) -> Result<(), AppError> {
    use crate::context;
    use domain::document::Details;
    let typed = Details { address: address.clone(), tax_id: tax_id.clone(), prefix: prefix.clone() };
    let set = context::backend()?.set_details(&context::session()?, typed, version).await;
    context::keep_typed(set, || OrganizerDetailsSet { address, tax_id, prefix, version })?;
    context::redirect_form(&format!("{}?saved=1", super::PATH));
    Ok(())
}

/// The numbered documents of an order of the organization.
#[server(endpoint = "organizer-order-documents")]
pub async fn organizer_order_documents(
    /// The order.
    order: OrderId,
) -> Result<Vec<Issued>, AppError> {
    use crate::context;
    Ok(context::backend()?.order_documents(&context::session()?, order).await?)
}
