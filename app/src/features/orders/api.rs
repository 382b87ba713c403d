//! Server functions of orders.

use crate::error::AppError;
use domain::{
    OrderId,
    document::Receipt,
    order::{OrderRow, OrderView, PayStarted},
};
use leptos::prelude::*;

/// One of the caller's orders.
#[server(endpoint = "order")]
pub async fn order(
    /// The order.
    id: String,
) -> Result<OrderView, AppError> {
    use crate::context;
    let id = order_id(&id)?;
    Ok(context::backend()?.order(&context::session()?, id).await?)
}

/// The caller's orders, the newest first.
#[server(endpoint = "orders")]
pub async fn orders() -> Result<Vec<OrderRow>, AppError> {
    use crate::context;
    Ok(context::backend()?.orders(&context::session()?).await?)
}

/// Starts an attempt to pay, and says where to go on.
#[server(endpoint = "order-pay")]
pub async fn order_pay(
    /// The order.
    order: OrderId,
) -> Result<PayStarted, AppError> {
    use crate::context;
    let started = context::backend()?.pay(&context::session()?, order).await?;
    context::redirect_form(&started.redirect_url);
    Ok(started)
}

/// Gives the seats back.
#[server(endpoint = "order-cancel")]
pub async fn order_cancel(
    /// The order.
    order: OrderId,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.cancel_order(&context::session()?, order).await?;
    context::redirect_form(&format!("/orders/{order}"));
    Ok(())
}

/// The receipt of one of the caller's orders, or another document of it.
#[server(endpoint = "order-receipt")]
pub async fn order_receipt(
    /// The order.
    id: String,
    /// The document; none for the invoice, with or without its number.
    document: Option<String>,
) -> Result<Receipt, AppError> {
    use crate::context;
    let id = order_id(&id)?;
    let document = match document {
        Some(text) => {
            let known = text.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such document"))?;
            Some(known)
        }
        None => None,
    };
    Ok(context::backend()?.receipt(&context::session()?, id, document).await?)
}

/// The order of an address: anything else isn't there.
#[cfg(feature = "ssr")]
fn order_id(text: &str) -> Result<OrderId, AppError> {
    text.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such order"))
}
