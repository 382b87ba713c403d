//! Server functions of the search.

use crate::error::AppError;
use domain::organizer::search::{Found, OrderStory};
use leptos::prelude::*;

/// Orders of the organization.
#[server(endpoint = "organizer-orders")]
pub async fn organizer_orders(
    /// Anything: an order's id or its beginning, an address or its beginning, a ticket, its code.
    text: Option<String>,
    /// Orders of this performance only.
    performance: Option<String>,
    /// Orders of this status only.
    status: Option<String>,
    /// Where the page before ended.
    before: Option<String>,
) -> Result<Found, AppError> {
    use crate::context;
    use backend::OrderSearch;
    use domain::order::OrderStatus;
    let search = OrderSearch {
        text: text.unwrap_or_default(),
        performance: chosen("performance", performance, |text| text.parse().ok())?,
        status: chosen("status", status, OrderStatus::parse)?,
        before: chosen("before", before, |text| text.parse().ok())?,
    };
    Ok(context::backend()?.find_orders(&context::session()?, &search).await?)
}

/// One order with all that happened to it.
#[server(endpoint = "organizer-order")]
pub async fn organizer_order(
    /// The order.
    id: String,
) -> Result<OrderStory, AppError> {
    use crate::context;
    let session = context::session()?;
    let id = id.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such order"))?;
    Ok(context::backend()?.order_story(&session, id).await?)
}

/// A choice of a form: none where nothing was chosen.
#[cfg(feature = "ssr")]
fn chosen<T>(field: &str, text: Option<String>, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, AppError> {
    match text.as_deref().filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => read(text).map(Some).ok_or_else(|| {
            AppError::new(domain::Code::InvalidInput, format!("{field}: one of the form's choices is expected"))
        }),
    }
}
