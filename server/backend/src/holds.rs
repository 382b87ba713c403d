//! Holds: leases on seats, decided by Redis in one script, written to Postgres by the order writer.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result, not_found, refuse};
use crate::postgres::orders;
use crate::redis::{AREA_START_MAX, AreaDraw, HoldAnswer, HoldCall, ShortAnswer};
use domain::account::Session;
use domain::hold::{Held, HoldRequest, HoldWish, hold_id};
use domain::order::OrderStatus;
use domain::queue::{PASS_PURPOSE, Pass};
use domain::{AccountId, Code, Millis, OrderId, PerformanceId, Refusal, SeatNo};
use redis::AsyncCommands as _;
use serde::Deserialize;
use std::sync::Arc;

/// How long callers wait while the seats are rebuilt.
const REBUILD_RETRY_MS: u32 = 500;
/// How long callers wait while the order writer catches up.
const BEHIND_RETRY_MS: u32 = 2_000;

/// A hold's record, as the scripts keep it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct HoldRecord {
    /// Account, 32 hexadecimal digits.
    pub(crate) a: String,
    /// Seats, comma separated.
    pub(crate) s: String,
    /// Version of the prices that it was made with.
    pub(crate) v: i32,
    /// When it ends.
    pub(crate) x: i64,
    /// State.
    pub(crate) st: String,
    /// Number of the attempt whose late money took these seats once more.
    #[serde(default)]
    rc: Option<i64>,
}

impl HoldRecord {
    /// Whether late money has these seats, and Postgres decides about it: its order is closed until then.
    pub(crate) fn is_reclaiming(&self) -> bool {
        self.rc.is_some() && self.st == "paying"
    }
}

pub(crate) fn rebuilding<T>() -> Result<T> {
    Err(Error::Refused(
        Refusal::new(Code::Unavailable, "the seats are being rebuilt; nothing was changed")
            .retry_after_ms(REBUILD_RETRY_MS),
    ))
}

impl Backend {
    /// Takes seats, and places of standing areas, for the fan who presents a pass: all, or none.
    ///
    /// # Errors
    /// Every refusal of DESIGN's hold: `pass_required`, `pass_invalid`, `sale_closed`, `seat_taken` (with the
    /// seats), `area_full`, `unknown_seat`, `seat_not_for_sale`, `limit_exceeded`, `hold_open`, `hold_closed`,
    /// `key_reused`, `invalid_input`, `leaves_single` where the performance has that rule; `unavailable` while the seats are away, being rebuilt, or written
    /// too slowly.
    pub async fn hold(
        self: &Arc<Self>,
        session: &Session,
        pass: Option<&str>,
        performance: PerformanceId,
        wish: impl Into<HoldWish>,
        key: &str,
    ) -> Result<Held> {
        let sale = self.sale(performance).await?;
        let pass = self.check_pass(session, pass, performance)?;
        let request = HoldRequest::new(wish, key, sale.row.seat_limit)?;
        check_priced(&sale, &request.seats)?;
        let id = hold_id(session.account, performance, &request.key);
        self.check_alone(&sale, id, &request.seats).await?;
        let wish = request.wish();
        let numbers = self.may_take(&sale, session.account, &request).await?;
        let areas = draws(&sale, &request, id)?;
        let call = |allocations| HoldCall {
            hold: id,
            account: session.account,
            nonce: &pass.nonce,
            wish: &wish,
            seats: &request.seats,
            areas: &areas,
            allocations,
            lag_max_ms: self.config.writer_lag_max_ms,
        };
        let mut answer = self.hold_call(&sale, &call(&numbers)).await?;
        if let HoldAnswer::Reserved(seats) = &answer
            && self.is_news(&sale, seats).await?
        {
            let fresh = self.reload_sale(performance).await?;
            let numbers = self.may_take(&fresh, session.account, &request).await?;
            answer = self.hold_call(&fresh, &call(&numbers)).await?;
        }
        if let HoldAnswer::AreaFull(at, left) = answer {
            let area = request.areas.get(at).map(|wish| wish.area);
            return Err(Error::Refused(area_full(&sale, area, left)));
        }
        self.held(&sale, id, answer).await
    }

    /// One call of the script, and once more where the first answer was out of date.
    pub(crate) async fn hold_call(self: &Arc<Self>, sale: &Arc<Sale>, call: &HoldCall<'_>) -> Result<HoldAnswer> {
        let started = std::time::Instant::now();
        let answer = match self.seats.hold(&sale.keys, sale.row.epoch, call).await? {
            // The epoch may have moved on since the sale was read: look once more.
            HoldAnswer::Rebuilding => {
                let sale = self.reload_sale(sale.id()).await?;
                self.seats.hold(&sale.keys, sale.row.epoch, call).await?
            }
            // Paid already, and not marked so in Redis yet: that is no open hold.
            HoldAnswer::HoldOpen(Some(open)) if self.confirm_paid(sale, open).await? => {
                self.seats.hold(&sale.keys, sale.row.epoch, call).await?
            }
            answer => answer,
        };
        metrics::counter!("stararena_holds_total", "outcome" => answer.word()).increment(1);
        metrics::histogram!("stararena_hold_seconds").record(started.elapsed().as_secs_f64());
        self.pulses.note_hold(sale.id(), started.elapsed());
        Ok(answer)
    }

    /// What the fan is told of the script's answer.
    pub(crate) async fn held(&self, sale: &Sale, id: OrderId, answer: HoldAnswer) -> Result<Held> {
        match answer {
            HoldAnswer::Held { expires, price_version, seats } => {
                let total = self.prices_of(sale, price_version).await?.total(sale, &seats)?;
                Ok(Held { order: id, seats, expires, total })
            }
            other => Err(Error::Refused(not_held(other))),
        }
    }

    /// Marks the seats of an order sold if it is paid; whether it was.
    async fn confirm_paid(&self, sale: &Sale, order: OrderId) -> Result<bool> {
        match orders::one(&self.pg, order).await? {
            Some(row) if matches!(row.status, OrderStatus::Paid | OrderStatus::Fulfilled) => {
                self.seats.confirm(&sale.keys, sale.row.epoch, order).await?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Gives a hold back. A hold that has ended already counts as given back.
    ///
    /// # Errors
    /// `not_found` for another's hold, `wrong_state` while it is being paid or when it was sold.
    pub async fn release(self: &Arc<Self>, session: &Session, order: OrderId) -> Result<()> {
        let Some((sale, record)) = self.find_hold(session.account, order).await? else { return not_found("hold") };
        let call = || self.seats.release(&sale.keys, sale.row.epoch, order, session.account);
        let answer = match call().await? {
            // The payment has failed, and Redis was not told yet: nobody pays for these seats.
            ShortAnswer::No(word, _) if word == "paying" && self.take_last_back(order).await? => call().await?,
            answer => answer,
        };
        match answer {
            ShortAnswer::Done | ShortAnswer::Again => Ok(()),
            ShortAnswer::Rebuilding => rebuilding(),
            ShortAnswer::No(word, _) if word == "missing" => not_found("hold"),
            ShortAnswer::No(word, _) => {
                tracing::debug!(%order, state = record.st, word, "a hold was not given back");
                refuse(Code::WrongState, "these seats are being paid for, or are paid: cancel the order instead")
            }
        }
    }

    /// The fan's own open hold for a performance.
    ///
    /// # Errors
    /// `not_found` for an unknown performance.
    pub async fn my_hold(self: &Arc<Self>, session: &Session, performance: PerformanceId) -> Result<Option<Held>> {
        let sale = self.sale(performance).await?;
        let open: Option<String> = self.seats.connection().hget(sale.keys.held_by(), session.account.simple()).await?;
        let Some(id) = open.and_then(|text| text.split_once(':')?.1.parse::<OrderId>().ok()) else { return Ok(None) };
        let Some(record) = self.hold_record(&sale, id).await? else { return Ok(None) };
        if record.st != "held" && record.st != "paying" {
            return Ok(None);
        }
        let seats = domain::ids::parse_seats(&record.s)
            .map_err(|part| Error::Broken(format!("a hold names the seat {part}")))?;
        let total = self.prices_of(&sale, record.v).await?.total(&sale, &seats)?;
        Ok(Some(Held { order: id, seats, expires: Millis(record.x), total }))
    }

    pub(crate) async fn hold_record(&self, sale: &Sale, id: OrderId) -> Result<Option<HoldRecord>> {
        let raw: Option<String> = self.seats.connection().hget(sale.keys.holds(), id.simple()).await?;
        raw.map(|raw| {
            serde_json::from_str(&raw).map_err(|e| Error::Broken(format!("the record of a hold can't be read: {e}")))
        })
        .transpose()
    }

    /// Finds an account's hold: by its order, or, before that is written, in the sales of this account's visit.
    pub(crate) async fn find_hold(
        self: &Arc<Self>,
        account: AccountId,
        order: OrderId,
    ) -> Result<Option<(Arc<Sale>, HoldRecord)>> {
        let written = orders::one(&self.pg, order).await?;
        let candidates = match written {
            Some(row) if row.account != account => return Ok(None),
            Some(row) => vec![row.performance],
            // A hold that was taken just before the end of its sale may still be paid.
            None => crate::postgres::catalog::on_sale(&self.pg, self.now().plus(-crate::work::AFTER_SALE_MS)).await?,
        };
        // A server that is away must not hide a hold that another has.
        let mut away = None;
        for performance in candidates {
            let sale = self.sale(performance).await?;
            match self.hold_record(&sale, order).await {
                Ok(Some(record)) if record.a == account.simple() => return Ok(Some((sale, record))),
                Ok(_) => {}
                Err(error @ Error::Redis(_)) => away = Some(error),
                Err(error) => return Err(error),
            }
        }
        away.map_or(Ok(None), Err)
    }

    /// Checks a pass's signature, owner, performance, session and time: cheap, before any store.
    pub(crate) fn check_pass(&self, session: &Session, pass: Option<&str>, performance: PerformanceId) -> Result<Pass> {
        let Some(text) = pass else { return refuse(Code::PassRequired, "come in through the queue first") };
        let Ok(pass) = self.tokens.read::<Pass>(PASS_PURPOSE, text) else {
            return refuse(Code::PassInvalid, "this pass is not one of ours");
        };
        if pass.account != session.account || pass.session != session.session {
            return refuse(Code::PassInvalid, "this pass was given to another sign-in");
        }
        if pass.performance != performance {
            return refuse(Code::PassInvalid, "this pass is for another performance");
        }
        Ok(pass)
    }

    /// The state of an order whose row is not written yet, by its hold.
    pub(crate) fn status_of_record(record: &HoldRecord) -> OrderStatus {
        match record.st.as_str() {
            "held" => OrderStatus::PendingPayment,
            "paying" => OrderStatus::PaymentProcessing,
            "sold" => OrderStatus::Paid,
            _ => OrderStatus::Closed,
        }
    }
}

fn check_priced(sale: &Sale, seats: &[SeatNo]) -> Result<()> {
    let unknown: Vec<SeatNo> = seats.iter().copied().filter(|s| s.0 >= sale.row.seat_count).collect();
    if !unknown.is_empty() {
        return Err(Error::Refused(unknown_seats(unknown)));
    }
    let unpriced: Vec<SeatNo> = seats.iter().copied().filter(|s| sale.price(*s).is_none()).collect();
    if !unpriced.is_empty() {
        return Err(Error::Refused(
            Refusal::new(Code::SeatNotForSale, "a seat without a price is not for sale").with_seats(unpriced),
        ));
    }
    Ok(())
}

fn unknown_seats(seats: Vec<SeatNo>) -> Refusal {
    Refusal::new(Code::UnknownSeat, format!("there is no seat {} in this performance", domain::ids::join_seats(&seats)))
        .with_seats(seats)
}

/// The stretches of seats that the script draws from, for each area of a request.
fn draws(sale: &Sale, request: &HoldRequest, id: OrderId) -> Result<Vec<AreaDraw>> {
    // From the hold's own id: a repeated call searches from the same place.
    let start = u32::try_from(id.0.as_u128() % u128::from(AREA_START_MAX)).unwrap_or(0);
    request
        .areas
        .iter()
        .map(|wish| match sale.drawn_from(wish.area) {
            Some(ranges) if ranges.is_empty() => {
                refuse(Code::SeatNotForSale, format!("areas: area {} is not for sale", wish.area))
            }
            Some(ranges) => Ok(AreaDraw { count: wish.count, start, ranges }),
            None => {
                refuse(Code::UnknownSeat, format!("areas: there is no standing area {} in this performance", wish.area))
            }
        })
        .collect()
}

fn area_full(sale: &Sale, area: Option<u32>, left: u32) -> Refusal {
    let name = area
        .and_then(|area| sale.seats.areas.get(&area)?.first())
        .and_then(|(first, _)| sale.seats.seats.get(*first as usize))
        .map_or_else(String::new, |seat| format!(" in {}", domain::catalog::area_name(&seat.section, &seat.row)));
    let text = match left {
        0 => format!("no place is left{name}"),
        1 => format!("only one place is left{name}"),
        left => format!("only {left} places are left{name}"),
    };
    Refusal::new(Code::AreaFull, text)
}

fn not_held(answer: HoldAnswer) -> Refusal {
    let no = Refusal::new;
    match answer {
        HoldAnswer::Held { .. } | HoldAnswer::AreaFull(..) => no(Code::Internal, "a hold was taken for a refusal"),
        HoldAnswer::Rebuilding => {
            no(Code::Unavailable, "the seats are being rebuilt; nothing was changed").retry_after_ms(REBUILD_RETRY_MS)
        }
        HoldAnswer::Behind => no(Code::Unavailable, "orders are written too slowly right now; nothing was changed")
            .retry_after_ms(BEHIND_RETRY_MS),
        HoldAnswer::KeyReused => no(Code::KeyReused, "this key was used with other seats"),
        HoldAnswer::Closed => no(Code::HoldClosed, "this hold has ended: choose seats again"),
        HoldAnswer::SaleClosed => no(Code::SaleClosed, "the sale has not opened yet, or has ended"),
        HoldAnswer::PassRequired => {
            no(Code::PassRequired, "the visit has ended, or goes on in another window: come in through the queue again")
        }
        HoldAnswer::HoldOpen(_) => no(Code::HoldOpen, "you hold seats already: pay for them or give them back first"),
        HoldAnswer::Limit => no(Code::LimitExceeded, "more seats than one account may have"),
        HoldAnswer::Unknown(seats) => unknown_seats(seats),
        HoldAnswer::Taken(seats) => {
            no(Code::SeatTaken, format!("seat {} was just taken", domain::ids::join_seats(&seats)).as_str())
                .with_seats(seats)
        }
        HoldAnswer::Blocked(seats) => no(Code::SeatNotForSale, "a blocked seat is not for sale").with_seats(seats),
        HoldAnswer::Reserved(seats) => {
            no(Code::SeatNotForSale, "a seat that is kept for others is not for sale here").with_seats(seats)
        }
    }
}
