//! Server functions of prices and seats off sale: thin adapters to the use-cases.

use crate::error::AppError;
use domain::PerformanceId;
use domain::organizer::pricing::{Effect, PricingView, SeatsForm};
use leptos::prelude::*;

/// Prices, zones and blocked seats of a performance.
#[server(endpoint = "organizer-prices")]
pub async fn organizer_prices(
    /// Which performance.
    id: PerformanceId,
) -> Result<PricingView, AppError> {
    use crate::context;
    Ok(context::backend()?.pricing(&context::session()?, id).await?)
}

/// Sets all prices of a performance in the making.
#[server(endpoint = "organizer-prices-set")]
pub async fn prices_set(
    /// Which performance.
    id: PerformanceId,
    /// The version that was looked at.
    version: i32,
    /// One amount a zone, as people write it; empty for none.
    prices: Option<Vec<String>>,
) -> Result<(), AppError> {
    use crate::context;
    use domain::organizer::pricing::Edit;
    let edit = Edit::SetPrices { amounts: prices.unwrap_or_default() };
    context::backend()?.edit_zones(&context::session()?, id, version, edit).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Adds seats to zones, moves them, takes them off sale or puts them back.
#[server(endpoint = "organizer-seats-change")]
pub async fn seats_change(
    /// Which performance.
    id: PerformanceId,
    /// The version that was looked at.
    version: i32,
    /// The seats, and what to do with them.
    form: SeatsForm,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.change_seats(&context::session()?, id, version, form).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Gives a zone of a performance in the making another name.
#[server(endpoint = "organizer-zone-rename")]
pub async fn zone_rename(
    /// Which performance.
    id: PerformanceId,
    /// The version that was looked at.
    version: i32,
    /// Index of the zone.
    zone: u8,
    /// Its new name.
    name: String,
) -> Result<(), AppError> {
    use crate::context;
    use domain::organizer::pricing::Edit;
    context::backend()?.edit_zones(&context::session()?, id, version, Edit::RenameZone { zone, name }).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Takes an added zone away from a performance in the making.
#[server(endpoint = "organizer-zone-remove")]
pub async fn zone_remove(
    /// Which performance.
    id: PerformanceId,
    /// The version that was looked at.
    version: i32,
    /// Index of the zone.
    zone: u8,
) -> Result<(), AppError> {
    use crate::context;
    use domain::organizer::pricing::Edit;
    context::backend()?.edit_zones(&context::session()?, id, version, Edit::RemoveZone { zone }).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// What new prices would do to a published performance.
#[server(endpoint = "organizer-prices-preview")]
pub async fn prices_preview(
    /// Which performance.
    id: PerformanceId,
    /// One amount a zone, as people write it.
    prices: Option<Vec<String>>,
) -> Result<Effect, AppError> {
    use crate::context;
    Ok(context::backend()?.preview_price_change(&context::session()?, id, &prices.unwrap_or_default()).await?)
}

/// Puts new prices of a published performance in force.
#[server(endpoint = "organizer-prices-change")]
pub async fn prices_change(
    /// Which performance.
    id: PerformanceId,
    /// The version of the prices that was looked at.
    version: i32,
    /// One amount a zone, as people write it.
    prices: Option<Vec<String>>,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.change_prices(&context::session()?, id, version, &prices.unwrap_or_default()).await?;
    context::redirect_form(&page_of(id));
    Ok(())
}

/// Address of the page of prices.
pub(super) fn page_of(id: PerformanceId) -> String {
    format!("/organizer/performances/{id}/prices")
}
