//! Best available, and the single-seat rule: what is asked for, before Redis decides.
//!
//! Owns the pick on the live map as this process knows it, and the tries after somebody was quicker.
//! What is better than what is `domain`'s; a hold of picked seats is a hold like any other.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result};
use crate::organizer::plan_of;
use crate::postgres::plans;
use crate::redis::{HoldAnswer, HoldCall};
use domain::account::Session;
use domain::hold::{Picked, SeatState, check_key, hold_id, over_limit};
use domain::venue::adjacency::Adjacency;
use domain::venue::alone;
use domain::venue::best::{NoneLeft, SPREAD_AMONG, Spread, Wish};
use domain::{Code, OrderId, PerformanceId, PlanId, Refusal, SeatNo};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// Picks before giving up. Each spreads a crowd over twice as many choices as the one before, so that
/// a thousand who ask at once find their seats well before the last.
const PICKS_MAX: u32 = 10;
/// How long whoever lost every pick waits before another try.
const PICK_AGAIN_MS: u32 = 500;

/// The neighbours of one plan: made by whoever asks first, waited for by the others.
pub(crate) type Neighbours = Arc<OnceCell<Arc<Adjacency>>>;

impl Backend {
    /// Who sits beside whom in a plan.
    pub(crate) async fn adjacency(&self, plan: PlanId) -> Result<Arc<Adjacency>> {
        let cell = {
            let mut cells = self.adjacency.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Arc::clone(cells.entry(plan).or_default())
        };
        let made = cell.get_or_try_init(move || async move {
            let Some(written) = plans::written(&self.pg, plan).await? else {
                return Err(Error::Broken(format!("the plan {plan} of a performance is gone")));
            };
            tokio::task::spawn_blocking(move || Ok::<_, Error>(Arc::new(Adjacency::of(&plan_of(&written)?))))
                .await
                .map_err(|e| Error::Broken(format!("the search for neighbours ended early: {e}")))?
        });
        made.await.cloned()
    }

    /// Picks the best free seats for a wish and holds them: all of them, or none. The same key and wish
    /// again give the same hold, wherever the map has moved to.
    ///
    /// # Errors
    /// `invalid_input` names the field of the wish; `none_left` says what else is left; otherwise as
    /// [`Backend::hold`].
    pub async fn hold_best(
        self: &Arc<Self>,
        session: &Session,
        pass: Option<&str>,
        performance: PerformanceId,
        wish: Wish,
        key: &str,
    ) -> Result<Picked> {
        let sale = self.sale(performance).await?;
        let pass = self.check_pass(session, pass, performance)?;
        check_key(key)?;
        check_wish(&sale, &wish)?;
        let id = hold_id(session.account, performance, key);
        let runs = self.adjacency(sale.row.plan).await?;
        let line = wish.line();
        let call = |seats| self.hold_picked(&sale, id, session, &pass.nonce, &line, seats);
        let mut lost = Vec::new();
        for attempt in 0..PICKS_MAX {
            let answer = match self.pick(&sale, &runs, &wish, &lost, spread(id, attempt)).await? {
                Ok(seats) => match call(seats).await? {
                    // A record that was rebuilt from its order has forgotten the wish, but not the seats.
                    HoldAnswer::KeyReused => match self.seats_of_record(&sale, id).await? {
                        Some(seats) => call(seats).await?,
                        None => HoldAnswer::KeyReused,
                    },
                    answer => answer,
                },
                // The seats of an earlier call with this key are held, not free: that hold is the answer.
                Err(none) => match self.seats_of_record(&sale, id).await? {
                    Some(seats) => call(seats).await?,
                    None => return Err(none_left(wish.count, &none).into()),
                },
            };
            match answer {
                HoldAnswer::Taken(seats) | HoldAnswer::Blocked(seats) | HoldAnswer::Reserved(seats)
                    if !seats.is_empty() =>
                {
                    lost.extend(seats);
                }
                answer => {
                    let held = self.held(&sale, id, answer).await?;
                    return Ok(Picked { seating: runs.seating(&held.seats), held });
                }
            }
        }
        metrics::counter!("stararena_picks_lost_total").increment(1);
        let message = "others were quicker each time; try again in a moment";
        Err(Refusal::new(Code::NoneLeft, message).retry_after_ms(PICK_AGAIN_MS).into())
    }

    async fn hold_picked(
        self: &Arc<Self>,
        sale: &Arc<Sale>,
        id: OrderId,
        session: &Session,
        nonce: &str,
        wish: &str,
        seats: Vec<SeatNo>,
    ) -> Result<HoldAnswer> {
        let call = HoldCall {
            hold: id,
            account: session.account,
            nonce,
            wish,
            seats: &seats,
            areas: &[],
            allocations: &[],
            lag_max_ms: self.config.writer_lag_max_ms,
        };
        self.hold_call(sale, &call).await
    }

    /// The seats of the hold that a key made, if it made one.
    async fn seats_of_record(&self, sale: &Sale, id: OrderId) -> Result<Option<Vec<SeatNo>>> {
        let record = self.hold_record(sale, id).await?;
        let seats = record.map(|record| domain::ids::parse_seats(&record.s)).transpose();
        seats.map_err(|part| Error::Broken(format!("a hold names the seat {part}")))
    }

    /// The best of what this process takes for free, without what was lost before.
    async fn pick(
        self: &Arc<Self>,
        sale: &Sale,
        runs: &Adjacency,
        wish: &Wish,
        lost: &[SeatNo],
        spread: Spread,
    ) -> Result<std::result::Result<Vec<SeatNo>, NoneLeft>> {
        let mut free = self.free_seats(sale).await?;
        for seat in lost {
            if let Some(free) = free.get_mut(seat.0 as usize) {
                *free = false;
            }
        }
        let is_free = |seat: SeatNo| free.get(seat.0 as usize).copied().unwrap_or(false);
        let offered = |seat: SeatNo| {
            wish.zones.is_empty()
                || sale.zone(seat).is_some_and(|zone| wish.zones.iter().any(|wanted| usize::from(*wanted) == zone))
        };
        Ok(runs.best(wish, is_free, offered, spread).map(|best| best.seats))
    }

    /// By seat number, what could be held now as far as this process knows.
    async fn free_seats(self: &Arc<Self>, sale: &Sale) -> Result<Vec<bool>> {
        let states = self.seat_states(sale).await?;
        let free =
            (0_u32..).zip(states).map(|(no, state)| state == SeatState::Available && sale.price(SeatNo(no)).is_some());
        Ok(free.collect())
    }

    /// Refuses a choice that leaves a seat alone, where the performance says so. What a hold of this key
    /// stands on was allowed once, and stays so.
    pub(crate) async fn check_alone(self: &Arc<Self>, sale: &Sale, id: OrderId, seats: &[SeatNo]) -> Result<()> {
        if !sale.row.single_seat_rule {
            return Ok(());
        }
        let runs = self.adjacency(sale.row.plan).await?;
        let free = self.free_seats(sale).await?;
        let is_free = |seat: SeatNo| free.get(seat.0 as usize).copied().unwrap_or(false);
        let Some(found) = alone::check(&runs, is_free, seats) else { return Ok(()) };
        if self.hold_record(sale, id).await?.is_some() {
            return Ok(());
        }
        let [lonely, instead] = [&found.lonely, &found.instead].map(|seats| names(sale, seats));
        let message = format!("{lonely} would be left alone; {instead} would not do so");
        Err(Refusal::new(Code::LeavesSingle, message).with_seats(found.lonely).with_instead(found.instead).into())
    }
}

fn check_wish(sale: &Sale, wish: &Wish) -> Result<()> {
    let invalid = |message: String| Err(Refusal::new(Code::InvalidInput, message).into());
    if wish.count > sale.row.seat_limit {
        return Err(over_limit(sale.row.seat_limit).into());
    }
    if let Some(zone) = wish.zones.iter().find(|zone| usize::from(**zone) >= sale.seats.categories.len()) {
        return invalid(format!("zone: there is no price zone {zone} in this performance"));
    }
    match wish.section {
        Some(section) if !sale.seats.seats.iter().any(|seat| seat.section_no == section) => {
            invalid(format!("section: there is no section {section} in this performance"))
        }
        _ => Ok(()),
    }
}

/// Different for each hold and each try, the same for the same ones.
fn spread(id: OrderId, attempt: u32) -> Spread {
    let (number, _) = id.0.as_u64_pair();
    Spread { number: number.wrapping_add(u64::from(attempt)).max(1), among: SPREAD_AMONG << attempt }
}

fn none_left(count: u32, none: &NoneLeft) -> Refusal {
    let left: u32 = none.groups.iter().sum();
    let groups: Vec<String> = none.groups.iter().map(ToString::to_string).collect();
    let message = match (count, left) {
        (_, 0) => "no such seat is left".to_owned(),
        (count, left) if left < count => format!("no {count} such seats are left; {} are", groups.join(" + ")),
        (count, _) => format!("no {count} seats together are left; {} are", groups.join(" + ")),
    };
    Refusal::new(Code::NoneLeft, message)
}

/// Seats in words, for API clients and logs.
fn names(sale: &Sale, seats: &[SeatNo]) -> String {
    let name = |seat: &SeatNo| match sale.seats.seats.get(seat.0 as usize) {
        Some(row) if row.row.is_empty() => format!("seat {} ({seat})", row.label),
        Some(row) => format!("row {} seat {} ({seat})", row.row, row.label),
        None => format!("seat {seat}"),
    };
    seats.iter().map(name).collect::<Vec<_>>().join(", ")
}
