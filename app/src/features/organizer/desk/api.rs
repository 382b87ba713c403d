//! Server functions of the on-sale desk.

use crate::error::AppError;
use domain::PerformanceId;
use domain::organizer::desk::DeskView;
#[cfg(feature = "ssr")]
use domain::organizer::desk::SaleChange;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// How far the charts look back: an on-sale's first hour.
#[cfg(feature = "ssr")]
const MINUTES: u32 = 60;

/// The charts of the desk, drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charts {
    /// Waiting fans and places released.
    pub crowd: Figure,
    /// Shoppers inside, beside the maximum.
    pub shoppers: Figure,
    /// The bound of the door's rate, and how many places were released a minute.
    pub rate: Figure,
    /// 99th percentile of holds.
    pub holds: Figure,
    /// The order writer's lag.
    pub writer: Figure,
    /// Orders paid a minute.
    pub orders: Figure,
    /// Revenue a minute.
    pub revenue: Figure,
}

/// A chart with the numbers that it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// The drawing, a whole SVG element; empty while there is nothing to draw.
    pub svg: String,
    /// The numbers, newest first.
    pub rows: Vec<FigureRow>,
}

/// One row of a chart's table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureRow {
    /// The time at the venue, as people read it.
    pub time: String,
    /// The same for machines.
    pub machine: String,
    /// A number for each line of the chart.
    pub cells: Vec<String>,
}

/// The desk of a performance. Changes nothing.
#[server(endpoint = "organizer-sale-desk")]
pub async fn sale_desk(
    /// The performance.
    performance: String,
) -> Result<DeskView, AppError> {
    use crate::context;
    let id = performance_id(&performance)?;
    Ok((*context::backend()?.desk(&context::session()?, id).await?).clone())
}

/// The charts of the last hour with their numbers, in a language. Changes nothing.
#[server(endpoint = "organizer-sale-series")]
pub async fn sale_series(
    /// The performance.
    performance: String,
    /// `en` or `zh`.
    language: String,
) -> Result<Charts, AppError> {
    use crate::context;
    let id = performance_id(&performance)?;
    let lang =
        language.parse().map_err(|_| AppError::new(domain::Code::InvalidInput, "language: en or zh is expected"))?;
    let series = context::backend()?.desk_series(&context::session()?, id, MINUTES).await?;
    Ok(super::chart::charts(lang, &series))
}

/// Opens the sale now.
#[server(endpoint = "organizer-sale-open")]
pub async fn sale_open(
    /// The performance.
    performance: PerformanceId,
) -> Result<(), AppError> {
    change(performance, SaleChange::Open).await
}

/// Lets entry rest.
#[server(endpoint = "organizer-sale-pause")]
pub async fn sale_pause(
    /// The performance.
    performance: PerformanceId,
) -> Result<(), AppError> {
    change(performance, SaleChange::Pause).await
}

/// Lets entry go on.
#[server(endpoint = "organizer-sale-resume")]
pub async fn sale_resume(
    /// The performance.
    performance: PerformanceId,
) -> Result<(), AppError> {
    change(performance, SaleChange::Resume).await
}

/// Sets the places released a minute.
#[server(endpoint = "organizer-sale-rate")]
pub async fn sale_rate(
    /// The performance.
    performance: PerformanceId,
    /// As it was seen.
    from: u32,
    /// As it should be.
    to: u32,
) -> Result<(), AppError> {
    change(performance, SaleChange::Rate { from, to }).await
}

/// Sets the most shoppers inside at once.
#[server(endpoint = "organizer-sale-maximum")]
pub async fn sale_maximum(
    /// The performance.
    performance: PerformanceId,
    /// As it was seen.
    from: u32,
    /// As it should be.
    to: u32,
) -> Result<(), AppError> {
    change(performance, SaleChange::Maximum { from, to }).await
}

/// Ends the sale now.
#[server(endpoint = "organizer-sale-close")]
pub async fn sale_close(
    /// The performance.
    performance: PerformanceId,
) -> Result<(), AppError> {
    change(performance, SaleChange::Close).await
}

#[cfg(feature = "ssr")]
async fn change(performance: PerformanceId, change: SaleChange) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.change_sale(&context::session()?, performance, change).await?;
    context::redirect_form(&super::path(&performance.to_string()));
    Ok(())
}

/// The performance of an address: anything else isn't there.
#[cfg(feature = "ssr")]
fn performance_id(text: &str) -> Result<PerformanceId, AppError> {
    text.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such performance"))
}
