//! Server functions of the seat map and its list: thin adapters to the use-cases.

use crate::error::AppError;
use domain::catalog::{self, PerformanceView};
#[cfg(feature = "ssr")]
use domain::hold::HoldWish;
use domain::hold::{Held, Picked};
use domain::{OrderId, PerformanceId, SeatNo};
use leptos::prelude::*;
use std::collections::BTreeMap;

/// A performance with its prices and the name of its map.
#[server(endpoint = "performance")]
pub async fn performance(
    /// Which one.
    id: PerformanceId,
) -> Result<PerformanceView, AppError> {
    use crate::context;
    Ok((*context::backend()?.performance(id).await?).clone())
}

/// All sections, and the rows of the chosen one.
#[server(endpoint = "seat-list")]
pub async fn seat_list(
    /// Which performance.
    id: PerformanceId,
    /// Index of the section whose rows are wanted.
    section: Option<u16>,
) -> Result<catalog::SeatList, AppError> {
    use crate::context;
    let session = context::caller().and_then(|caller| caller.session);
    Ok(context::backend()?.seat_list_for(session.as_ref(), id, section).await?)
}

/// Holds seats and places of standing areas, all or none. The same key and wish again give the same hold.
#[server(endpoint = "hold")]
pub async fn hold(
    /// Which performance.
    performance: PerformanceId,
    /// Seat numbers, separated by commas.
    #[server(default)]
    seats: String,
    /// Places to be drawn from standing areas: `area:count`, separated by commas.
    #[server(default)]
    areas: String,
    /// The idempotency key of this wish.
    key: String,
) -> Result<Held, AppError> {
    use domain::Code;
    let invalid = |message: String| AppError::new(Code::InvalidInput, message);
    let seats =
        domain::ids::parse_seats(&seats).map_err(|part| invalid(format!("seats: `{part}` is not a seat number")))?;
    let areas = domain::hold::parse_areas(&areas)
        .map_err(|part| invalid(format!("areas: `{part}` is not an area and a count, like 12:2")))?;
    hold_wish(performance, HoldWish { seats, areas }, &key).await
}

/// The form of the list: `seats[]` once for each checked box, `areas[12]` the count for area 12.
#[server(endpoint = "hold-list")]
pub async fn hold_list(
    /// Which performance.
    performance: PerformanceId,
    /// The idempotency key that the form was rendered with.
    key: String,
    /// The checked seats; absent when none is.
    seats: Option<Vec<SeatNo>>,
    /// The number fields by area; an empty field counts as 0.
    areas: Option<BTreeMap<String, String>>,
) -> Result<Held, AppError> {
    use domain::Code;
    let areas = domain::hold::typed_areas(&areas.unwrap_or_default()).map_err(|field| {
        AppError::new(Code::InvalidInput, format!("areas[{field}]: a number of places is expected"))
    })?;
    hold_wish(performance, HoldWish { seats: seats.unwrap_or_default(), areas }, &key).await
}

/// Finds and holds the best seats that are left. The same key and wish again give the same hold.
#[server(endpoint = "hold-best")]
pub async fn hold_best(
    /// Which performance.
    performance: PerformanceId,
    /// How many seats, everybody included.
    count: u32,
    /// The price zone; empty or absent: any.
    zone: Option<String>,
    /// Not empty when one of the seats is to be a place for a wheelchair.
    wheelchair: Option<String>,
    /// The idempotency key of this wish.
    key: String,
) -> Result<Picked, AppError> {
    use crate::context;
    use domain::Code;
    use domain::venue::best::Wish;
    let zones = match zone.as_deref().map(str::trim) {
        None | Some("") => Vec::new(),
        Some(zone) => vec![
            zone.parse()
                .map_err(|_| AppError::new(Code::InvalidInput, "zone: the number of a price zone is expected"))?,
        ],
    };
    let wheelchairs = u32::from(wheelchair.is_some_and(|text| !text.is_empty()));
    let wish = Wish::new(count, zones, None, wheelchairs)?;
    let (backend, session) = (context::backend()?, context::session()?);
    let pass = context::cookie(&backend.cookie_name(&context::pass_cookie(performance)));
    let picked = backend.hold_best(&session, pass.as_deref(), performance, wish, &key).await?;
    context::redirect_form(&format!("/orders/{}", picked.held.order));
    Ok(picked)
}

/// Gives the seats of an open hold back.
#[server(endpoint = "hold-release")]
pub async fn hold_release(
    /// The hold.
    order: OrderId,
) -> Result<(), AppError> {
    use crate::context;
    Ok(context::backend()?.release(&context::session()?, order).await?)
}

/// The caller's own open hold, so that a reload finds it again.
#[server(endpoint = "my-hold")]
pub async fn my_hold(
    /// Which performance.
    performance: PerformanceId,
) -> Result<Option<Held>, AppError> {
    use crate::context;
    Ok(context::backend()?.my_hold(&context::session()?, performance).await?)
}

/// One hold, whichever way it was asked for; the pass comes from its cookie.
#[cfg(feature = "ssr")]
async fn hold_wish(performance: PerformanceId, wish: HoldWish, key: &str) -> Result<Held, AppError> {
    use crate::context;
    let (backend, session) = (context::backend()?, context::session()?);
    let pass = context::cookie(&backend.cookie_name(&context::pass_cookie(performance)));
    let held = backend.hold(&session, pass.as_deref(), performance, wish, key).await?;
    context::redirect_form(&format!("/orders/{}", held.order));
    Ok(held)
}
