//! Server functions of the seat map and its list: thin adapters to the use-cases.

use crate::error::AppError;
use domain::catalog::{self, PerformanceView};
use domain::hold::{Held, Picked};
use domain::{OrderId, PerformanceId, SeatNo};
use leptos::prelude::*;

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
    Ok(context::backend()?.seat_list(id, section).await?)
}

/// Holds seats, all or none. The same key and seats again give the same hold.
#[server(endpoint = "hold")]
pub async fn hold(
    /// Which performance.
    performance: PerformanceId,
    /// Seat numbers, separated by commas.
    seats: String,
    /// The idempotency key of this set of seats.
    key: String,
) -> Result<Held, AppError> {
    use domain::Code;
    let seats = domain::ids::parse_seats(&seats)
        .map_err(|part| AppError::new(Code::InvalidInput, format!("seats: `{part}` is not a seat number")))?;
    hold_seats(performance, seats, &key).await
}

/// The form of the list: `seats[]` once for each checked box.
#[server(endpoint = "hold-list")]
pub async fn hold_list(
    /// Which performance.
    performance: PerformanceId,
    /// The idempotency key that the form was rendered with.
    key: String,
    /// The checked seats; absent when none is.
    seats: Option<Vec<SeatNo>>,
) -> Result<Held, AppError> {
    hold_seats(performance, seats.unwrap_or_default(), &key).await
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
async fn hold_seats(performance: PerformanceId, seats: Vec<SeatNo>, key: &str) -> Result<Held, AppError> {
    use crate::context;
    let (backend, session) = (context::backend()?, context::session()?);
    let pass = context::cookie(&backend.cookie_name(&context::pass_cookie(performance)));
    let held = backend.hold(&session, pass.as_deref(), performance, seats, key).await?;
    context::redirect_form(&format!("/orders/{}", held.order));
    Ok(held)
}
