//! Server functions of giving tickets back.

use crate::error::AppError;
use domain::OrderId;
use domain::refund::view::{RefundOffer, RefundQuote, RefundView};
use leptos::prelude::*;

/// What can be given back of one of the caller's orders, and what became of what was.
#[server(endpoint = "order-refund-offer")]
pub async fn order_refund_offer(
    /// The order.
    order: String,
) -> Result<RefundOffer, AppError> {
    use crate::context;
    let order = order.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such order"))?;
    Ok(context::backend()?.refund_offer(&context::session()?, order).await?)
}

/// What a choice of seats comes to now. Changes nothing.
#[server(endpoint = "order-refund-quote")]
pub async fn order_refund_quote(
    /// The order.
    order: OrderId,
    /// Numbers of the seats, between commas.
    seats: String,
) -> Result<RefundQuote, AppError> {
    use crate::context;
    let seats = seats_of(&seats)?;
    Ok(context::backend()?.refund_quote(&context::session()?, order, &seats).await?)
}

/// Asks for a refund.
#[server(endpoint = "order-refund-ask")]
pub async fn order_refund_ask(
    /// The order.
    order: OrderId,
    /// Numbers of the seats, between commas.
    seats: String,
    /// What the page showed, in minor units: another amount is refused.
    expected_minor: i64,
) -> Result<RefundView, AppError> {
    use crate::context;
    let seats = seats_of(&seats)?;
    let refund = context::backend()?.ask_refund(&context::session()?, order, &seats, expected_minor).await?;
    context::redirect_form(&format!("{}?asked=1", page_of(&order.to_string())));
    Ok(refund)
}

/// The address of the page.
pub(super) fn page_of(order: &str) -> String {
    format!("/orders/{order}/refund")
}

#[cfg(feature = "ssr")]
fn seats_of(text: &str) -> Result<Vec<domain::SeatNo>, AppError> {
    domain::ids::parse_seats(text)
        .map_err(|part| AppError::new(domain::Code::InvalidInput, format!("seats: `{part}` is no number of a seat")))
}
