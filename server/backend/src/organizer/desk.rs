//! The on-sale desk: live numbers, samples, and the controls of a running sale.
//!
//! Seats and shoppers are read from Redis, orders from Postgres, money from the ledger. All numbers
//! of one performance are read at most once a second by each process, however many organizers look.

use crate::backend::Backend;
use crate::catalog::{Sale, zoned};
use crate::error::{Result, not_found, refuse};
use crate::organizer::Member;
use crate::postgres::{desk as rows, detached, draws, log};
use crate::work::guardian;
use domain::account::Session;
use domain::hold::{SeatByte, SeatState};
use domain::organizer::Action;
use domain::organizer::desk::{
    DeskSeries, DeskView, DeskWindow, DoorSample, MINUTE_MS, MINUTES_MAX, MinutePoint, POINTS_MAX, Readiness,
    SaleChange, SaleSettings, Sample, SeatCounts, SeriesPoint, ZoneSales, by_minute, thin, waiting,
};
use domain::queue::{Mode, Window};
use domain::{Code, Millis, Money, PerformanceId};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long numbers are shown before they are read again; pages ask once a second.
const VIEW_FRESH: Duration = Duration::from_millis(900);
/// How long sums of money are: they go over all paid orders.
const MONEY_FRESH: Duration = Duration::from_secs(2);
/// Desks that nobody looked at for so long are forgotten.
const IDLE: Duration = Duration::from_secs(60);
/// Rates a minute look back so far.
const RECENT_MS: i64 = MINUTE_MS;
/// What the controller decided before that is not what it does now: it leaves a sample every few seconds.
const DOOR_FRESH_MS: i64 = 30_000;

/// The desks that are looked at in this process.
#[derive(Default)]
pub(crate) struct Desks(Mutex<HashMap<PerformanceId, Arc<Place>>>);

/// One desk: who asks while another reads waits for the same answer.
struct Place {
    looked: Mutex<Instant>,
    view: tokio::sync::Mutex<Option<Looked>>,
}

/// What was read, and when.
struct Looked {
    view: Arc<DeskView>,
    read: Instant,
    money: Sums,
    money_read: Instant,
}

/// Money by the ledger and by zone, in minor units.
#[derive(Clone)]
struct Sums {
    total: i64,
    recent: i64,
    zones: Vec<(u8, i64)>,
}

impl Desks {
    fn place(&self, id: PerformanceId) -> Arc<Place> {
        let mut desks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let looked = |place: &Place| *place.looked.lock().unwrap_or_else(PoisonError::into_inner);
        desks.retain(|_, place| looked(place).elapsed() < IDLE);
        let new = || Arc::new(Place { looked: Mutex::new(Instant::now()), view: tokio::sync::Mutex::default() });
        let place = Arc::clone(desks.entry(id).or_insert_with(new));
        *place.looked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        place
    }

    fn forget(&self, id: PerformanceId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

/// What the controller of the door does.
struct DoorSeen {
    sample: Option<DoorSample>,
    /// The open window of a lottery.
    window: Option<Window>,
}

/// The hot numbers of a sale, with the seats by zone.
struct Hot {
    now: Millis,
    places: u32,
    serving: u32,
    shoppers: u32,
    open_holds: u32,
    writer_lag_ms: i64,
    /// None while the state of the seats is built.
    seats: Option<Vec<SeatCounts>>,
}

impl Backend {
    /// The desk of a performance, for every role that may watch it.
    ///
    /// # Errors
    /// `not_found` for another organization's performance; `forbidden` by role.
    pub async fn desk(self: &Arc<Self>, session: &Session, id: PerformanceId) -> Result<Arc<DeskView>> {
        let member = self.member(session, Action::ReadDesk).await?;
        self.own_performance(&member, id).await?;
        let place = self.desks.place(id);
        let mut slot = place.view.lock().await;
        if let Some(looked) = slot.as_ref().filter(|looked| looked.read.elapsed() < VIEW_FRESH) {
            return Ok(Arc::clone(&looked.view));
        }
        let looked = self.look(id, slot.as_ref()).await?;
        let view = Arc::clone(&looked.view);
        *slot = Some(looked);
        Ok(view)
    }

    /// What the charts show: samples and minutes of the last `minutes`.
    ///
    /// # Errors
    /// As [`Backend::desk`]; `invalid_input` for none or too many minutes.
    pub async fn desk_series(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        minutes: u32,
    ) -> Result<DeskSeries> {
        let member = self.member(session, Action::ReadDesk).await?;
        self.own_performance(&member, id).await?;
        if !(1..=MINUTES_MAX).contains(&minutes) {
            return refuse(Code::InvalidInput, format!("minutes: a number from 1 to {MINUTES_MAX} is expected"));
        }
        let sale = self.sale(id).await?;
        let (now, zone) = (self.now(), sale.row.time_zone.as_str());
        let from = now.plus(-i64::from(minutes) * MINUTE_MS);
        let samples = rows::samples(&self.pg, id, from).await?;
        // A sample is of Redis's clock, which may be a little ahead of ours.
        let until = samples.last().map_or(now, |last| last.at.max(now)).plus(1);
        let samples = thin(&samples, from, until, POINTS_MAX);
        let sums = by_minute(&rows::minutes(&self.pg, id, from.plus(-MINUTE_MS)).await?, now, minutes);
        Ok(DeskSeries {
            samples: samples
                .into_iter()
                .map(|sample| Ok(SeriesPoint { time: zoned(sample.at, zone)?, sample }))
                .collect::<Result<_>>()?,
            minutes: sums
                .into_iter()
                .map(|sum| Ok(MinutePoint { time: zoned(sum.at, zone)?, sum }))
                .collect::<Result<_>>()?,
            zero: Money::new(0, sale.row.currency),
            shoppers_max: sale.row.shoppers_max,
        })
    }

    /// Opens, pauses, resumes, steers or closes a sale. The change and its audit row are one
    /// transaction; the running sale has it at once, every process within a second.
    ///
    /// # Errors
    /// `not_found` for another organization's performance; `forbidden` by role; `wrong_state` when
    /// the sale does not stand as expected; `invalid_input` names the number.
    pub async fn change_sale(self: &Arc<Self>, session: &Session, id: PerformanceId, change: SaleChange) -> Result<()> {
        let member = self.member(session, Action::RunSale).await?;
        self.own_performance(&member, id).await?;
        self.change_sale_as(&member, id, change).await
    }

    /// [`Backend::change_sale`] for a member who was checked.
    pub(crate) async fn change_sale_as(
        self: &Arc<Self>,
        member: &Member,
        id: PerformanceId,
        change: SaleChange,
    ) -> Result<()> {
        // Seats and queue go by Redis's clock. When it can't be asked, ours is near enough to pause.
        let now = self.seats.time_of(id).await.unwrap_or_else(|_| self.now());
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let Some(old) = rows::lock_settings(&mut *tx, id).await? else { return not_found("performance") };
            let new = change.apply(&old, now)?;
            if !rows::put_settings(&mut *tx, id, &old, &new).await? {
                return refuse(Code::WrongState, "somebody changed this sale meanwhile: look at it again");
            }
            if new.opens != old.opens {
                if rows::frozen(&mut *tx, id).await? {
                    return refuse(Code::WrongState, "the lobby is frozen: the opening can't be moved any more");
                }
                draws::commit(&mut *tx, id, new.opens, this.name_round(new.opens).as_ref(), now).await?;
            }
            let detail = json!({ "old": settings_json(&old), "new": settings_json(&new) });
            this.record(&mut *tx, &member, change.word(), &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            this.carry_settings(id).await
        })
        .await
    }

    /// Carries the stored settings of a sale into Redis and into this process's caches.
    pub(crate) async fn carry_settings(&self, id: PerformanceId) -> Result<()> {
        let sale = self.reload_sale(id).await?;
        self.desks.forget(id);
        // They are stored: what Redis misses now, the guardian carries as soon as it can.
        match guardian::refresh_settings(self, &sale).await {
            Ok(true) => {}
            Ok(false) => tracing::info!(%id, "the sale takes its new settings when its seats are ready"),
            Err(error) => {
                tracing::warn!(%id, error = &error as &dyn std::error::Error, "the sale takes its new settings later");
            }
        }
        Ok(())
    }

    async fn look(self: &Arc<Self>, id: PerformanceId, before: Option<&Looked>) -> Result<Looked> {
        let sale = self.sale(id).await?;
        let since = self.now().plus(-RECENT_MS);
        let (money, money_read) = match before.filter(|before| before.money_read.elapsed() < MONEY_FRESH) {
            Some(before) => (before.money.clone(), before.money_read),
            None => {
                let (total, recent) = rows::revenue(&self.pg, id, since).await?;
                (Sums { total, recent, zones: rows::revenue_by_zone(&self.pg, id).await? }, Instant::now())
            }
        };
        let counts = rows::counts(&self.pg, id, since).await?;
        let hot = match self.hot(&sale).await {
            Ok(hot) => Some(hot),
            Err(error) => {
                tracing::debug!(%id, error = &error as &dyn std::error::Error, "the desk could not read the seat store");
                None
            }
        };
        let door = self.door_seen(&sale).await?;
        let view = self.view(&sale, before.map(|before| &*before.view), hot, door, &counts, &money)?;
        Ok(Looked { view: Arc::new(view), read: Instant::now(), money, money_read })
    }

    /// What the door does, as its leader tells it.
    async fn door_seen(self: &Arc<Self>, sale: &Sale) -> Result<DoorSeen> {
        let sample = rows::last_door(&self.pg, sale.id(), self.now().plus(-DOOR_FRESH_MS)).await?;
        let window = match sale.row.mode {
            Mode::Queue => None,
            // As fans are told.
            Mode::Lottery => self.queue_status(sale.id()).await?.window,
        };
        Ok(DoorSeen { sample, window })
    }

    /// Puts a view together. What the seat store can't say now stays as it was seen last.
    fn view(
        &self,
        sale: &Sale,
        before: Option<&DeskView>,
        hot: Option<Hot>,
        door: DoorSeen,
        counts: &rows::CountsRow,
        money: &Sums,
    ) -> Result<DeskView> {
        let row = &sale.row;
        let readiness = match &hot {
            None => Readiness::Away,
            Some(Hot { seats: None, .. }) => Readiness::Building,
            Some(_) => Readiness::Ready,
        };
        let amount = |minor| Money::new(minor, row.currency);
        let zones = zone_sales(sale, hot.as_ref().and_then(|hot| hot.seats.as_deref()), before, money);
        let now = hot.as_ref().map_or_else(|| self.now(), |hot| hot.now);
        let kept = |of_hot: fn(&Hot) -> u32, of_view: fn(&DeskView) -> u32| {
            hot.as_ref().map(of_hot).or_else(|| before.map(of_view)).unwrap_or(0)
        };
        let joined = kept(|hot| hot.places, |view| view.joined);
        Ok(DeskView {
            performance: row.id,
            event: row.event,
            slug: row.slug.clone(),
            title: row.title.clone(),
            artist: row.artist.clone(),
            venue: row.venue.clone(),
            city: row.city.clone(),
            starts: zoned(row.starts, &row.time_zone)?,
            mode: row.mode,
            registers: sale.view.registers.clone(),
            opens: zoned(row.opens, &row.time_zone)?,
            closes: zoned(row.closes, &row.time_zone)?,
            map_digest: row.map_digest.clone(),
            now,
            phase: sale.phase(now),
            settings: settings_of(sale),
            price_version: row.price_version,
            epoch: row.epoch,
            readiness,
            joined,
            waiting: waiting(joined, counts.admitted),
            serving: kept(|hot| hot.serving, |view| view.serving),
            window: door.window.map(|window| shown_window(window, &row.time_zone)).transpose()?,
            door: door.sample,
            shoppers: kept(|hot| hot.shoppers, |view| view.shoppers),
            seats: sum(zones.iter().map(|zone| zone.seats)),
            open_holds: kept(|hot| hot.open_holds, |view| view.open_holds),
            in_payment: counts.in_payment,
            paid_orders: counts.paid,
            revenue: amount(money.total),
            orders_per_min: counts.paid_since,
            revenue_per_min: amount(money.recent),
            zones,
            writer_lag_ms: hot.as_ref().map_or(0, |hot| hot.writer_lag_ms),
        })
    }

    async fn hot(&self, sale: &Sale) -> Result<Hot> {
        let position = log::position(&self.pg, sale.id()).await?.map_or_else(|| "0-0".to_owned(), |(_, at)| at);
        let read = self.seats.sale_read(&sale.keys, &position).await?;
        let map = self.seats.snapshot(&sale.keys, sale.row.epoch).await?;
        Ok(Hot {
            now: read.now,
            places: read.places,
            serving: read.serving,
            shoppers: read.shoppers,
            open_holds: read.open_holds,
            writer_lag_ms: read.unwritten_since.map_or(0, |at| at.until(read.now)),
            seats: map.map(|map| count_by_zone(sale, &map.bytes)),
        })
    }

    /// A sample of a sale; `None` while its seats are being built.
    pub(crate) async fn sample(&self, sale: &Sale) -> Result<Option<Sample>> {
        let hot = self.hot(sale).await?;
        let Some(seats) = hot.seats else { return Ok(None) };
        let seats = sum(seats.into_iter());
        let counts = rows::counts(&self.pg, sale.id(), hot.now).await?;
        Ok(Some(Sample {
            at: hot.now,
            waiting: waiting(hot.places, counts.admitted),
            serving: hot.serving,
            shoppers: hot.shoppers,
            available: seats.free,
            held: seats.held,
            sold: seats.sold,
            // What the controller decided the door's leader adds, which knows it.
            door: None,
        }))
    }
}

/// Sales by price zone. Seats that the store can't count now stay as they were seen last.
fn zone_sales(sale: &Sale, by_zone: Option<&[SeatCounts]>, before: Option<&DeskView>, money: &Sums) -> Vec<ZoneSales> {
    let seats_of = |index: usize| match (by_zone, before) {
        (Some(seats), _) => seats.get(index).copied().unwrap_or_default(),
        (None, Some(before)) => before.zones.get(index).map(|zone| zone.seats).unwrap_or_default(),
        (None, None) => SeatCounts::default(),
    };
    let revenue = |category: u8| money.zones.iter().find(|(zone, _)| *zone == category).map_or(0, |(_, minor)| *minor);
    sale.view
        .zones
        .iter()
        .enumerate()
        .map(|(index, zone)| ZoneSales {
            zone: zone.clone(),
            seats: seats_of(index),
            revenue: Money::new(revenue(zone.category), sale.row.currency),
        })
        .collect()
}

/// What controls change, as it stands.
fn settings_of(sale: &Sale) -> SaleSettings {
    let row = &sale.row;
    SaleSettings {
        registers: row.registers,
        opens: row.opens,
        closes: row.closes,
        paused: row.paused,
        rate_per_min: row.release_per_min,
        shoppers_max: row.shoppers_max,
    }
}

fn shown_window(window: Window, time_zone: &str) -> Result<DeskWindow> {
    Ok(DeskWindow { window, closes: zoned(window.closes, time_zone)? })
}

/// Seats by state for each price zone. A seat without a zone can't be bought and is not counted.
fn count_by_zone(sale: &Sale, bytes: &[u8]) -> Vec<SeatCounts> {
    let mut counts = vec![SeatCounts::default(); sale.view.zones.len()];
    for (byte, seat) in bytes.iter().zip(&sale.seats.seats) {
        if let Some(zone) = counts.get_mut(usize::from(seat.category)) {
            let byte = SeatByte(*byte);
            match byte.state() {
                SeatState::Available if byte.allocation() != 0 => zone.kept += 1,
                SeatState::Available => zone.free += 1,
                SeatState::Held => zone.held += 1,
                SeatState::Sold => zone.sold += 1,
                SeatState::Blocked => zone.blocked += 1,
            }
        }
    }
    counts
}

fn sum(zones: impl Iterator<Item = SeatCounts>) -> SeatCounts {
    zones.fold(SeatCounts::default(), |all, zone| SeatCounts {
        free: all.free + zone.free,
        held: all.held + zone.held,
        sold: all.sold + zone.sold,
        blocked: all.blocked + zone.blocked,
        kept: all.kept + zone.kept,
    })
}

/// The settings as the audit log keeps them.
fn settings_json(settings: &SaleSettings) -> serde_json::Value {
    json!({
        "opens_ms": settings.opens.0,
        "closes_ms": settings.closes.0,
        "paused": settings.paused,
        "rate_per_min": settings.rate_per_min,
        "shoppers_max": settings.shoppers_max,
    })
}
