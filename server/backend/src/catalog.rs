//! What is on, and the sale of one performance as every use-case needs it: cached for a second.

mod order;
mod prices;

use self::order::Rows;
use self::prices::by_zone;
use crate::backend::Backend;
use crate::error::{Error, Result, not_found};
use crate::postgres::{catalog as rows, fees, plans, publishing};
use crate::redis::Keys;
use domain::account::Session;
use domain::catalog::{
    EventCard, EventView, ListArea, ListSeat, ListSection, PerformanceRow, PerformanceView, PriceZone, SeatList,
    area_name,
};
use domain::hold::SeatState;
use domain::queue::Phase;
use domain::{Millis, Money, PerformanceId, PlanId, SeatNo, ZonedTime};
use jiff::{Timestamp, tz::TimeZone};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a sale's settings are used before they are read again: an organizer's change shows within it.
const SALE_FRESH: Duration = Duration::from_secs(1);

/// A sale with the instant at which it was read.
#[derive(Clone)]
pub(crate) struct CachedSale {
    sale: Arc<Sale>,
    read: Instant,
}

/// One performance's sale: its settings, its epoch and its keys.
pub(crate) struct Sale {
    pub(crate) row: rows::PerformanceRow,
    pub(crate) keys: Keys,
    pub(crate) view: Arc<PerformanceView>,
    pub(crate) seats: Arc<PlanSeats>,
}

/// The seats of a plan, or of a performance with zones of its own in place of the categories: immutable.
pub(crate) struct PlanSeats {
    pub(crate) seats: Vec<plans::PlanSeatRow>,
    pub(crate) categories: Vec<String>,
    /// Standing areas by the number of their row object: first and last seat of each stretch. A stretch
    /// is of one category.
    pub(crate) areas: HashMap<u32, Vec<(u32, u32)>>,
}

impl PlanSeats {
    fn new(seats: Vec<plans::PlanSeatRow>, categories: Vec<String>) -> Self {
        let mut areas: HashMap<u32, Vec<(u32, u32)>> = HashMap::new();
        for (no, seat) in (0_u32..).zip(&seats).filter(|(_, seat)| seat.standing && !seat.gone) {
            let stretches = areas.entry(u32::try_from(seat.row_no).unwrap_or(u32::MAX)).or_default();
            match stretches.last_mut() {
                Some((first, last)) if *last + 1 == no && seats[*first as usize].category == seat.category => {
                    *last = no
                }
                _ => stretches.push((no, no)),
            }
        }
        Self { seats, categories, areas }
    }
}

impl Sale {
    pub(crate) fn id(&self) -> PerformanceId {
        self.row.id
    }

    /// The zone of a seat, or none when there is no such seat.
    pub(crate) fn zone(&self, seat: SeatNo) -> Option<usize> {
        Some(usize::from(self.seats.seats.get(seat.0 as usize)?.category))
    }

    /// What a seat costs now, or none when there is no such seat or it has no price.
    pub(crate) fn price(&self, seat: SeatNo) -> Option<Money> {
        self.view.zones.get(self.zone(seat)?)?.price
    }

    /// The stretches of a standing area that are for sale; none where there is no such area.
    pub(crate) fn drawn_from(&self, area: u32) -> Option<Vec<(u32, u32)>> {
        let stretches = self.seats.areas.get(&area)?;
        // A stretch is of one category, and so has one price or none.
        Some(stretches.iter().copied().filter(|(first, _)| self.price(SeatNo(*first)).is_some()).collect())
    }

    /// Where the sale stands at an instant.
    pub(crate) fn phase(&self, now: Millis) -> Phase {
        phase(&self.row, now)
    }
}

fn phase(row: &rows::PerformanceRow, now: Millis) -> Phase {
    Phase::at(now, row.registers, row.opens, row.closes, row.paused)
}

/// From when on places can be taken, as people at the venue read it.
fn registration(row: &rows::PerformanceRow) -> Result<Option<ZonedTime>> {
    row.registers_from().map(|at| zoned(at, &row.time_zone)).transpose()
}

/// An instant as people in a zone read it.
///
/// # Errors
/// When the zone is unknown: plans are checked when they are stored.
pub(crate) fn zoned(at: Millis, zone: &str) -> Result<ZonedTime> {
    let unknown = |e: jiff::Error| Error::Broken(format!("the time zone {zone} can't be used: {e}"));
    let local =
        Timestamp::from_millisecond(at.0).map_err(unknown)?.to_zoned_datetime(TimeZone::get(zone).map_err(unknown)?);
    let small = |value: i8| u8::try_from(value).unwrap_or(0);
    Ok(ZonedTime {
        at,
        zone: zone.to_owned(),
        year: local.year(),
        month: small(local.month()),
        day: small(local.day()),
        hour: small(local.hour()),
        minute: small(local.minute()),
        weekday: small(local.weekday().to_monday_one_offset()),
        offset_min: local.offset().seconds() / 60,
    })
}

impl Backend {
    /// The sale of a performance, at most a second old.
    pub(crate) async fn sale(&self, id: PerformanceId) -> Result<Arc<Sale>> {
        let cached = self.lock_sales().get(&id).cloned();
        match cached {
            Some(cached) if cached.read.elapsed() < SALE_FRESH => Ok(cached.sale),
            _ => self.reload_sale(id).await,
        }
    }

    /// Reads a sale now: after a change, or when Redis answers that the epoch moved on.
    pub(crate) async fn reload_sale(&self, id: PerformanceId) -> Result<Arc<Sale>> {
        let Some(row) = rows::one(&self.pg, id).await? else { return not_found("performance") };
        let seats =
            if row.own_zones { self.zoned_seats(id, row.plan).await? } else { self.plan_seats(row.plan).await? };
        let prices = rows::prices(&self.pg, id, row.price_version).await?;
        let prices = by_zone(&prices, seats.categories.len(), row.currency);
        let fees = fees::of_version(&self.pg, id, row.price_version).await?;
        let zones = (0_u8..).zip(&seats.categories).zip(prices).map(|((category, name), price)| PriceZone {
            category,
            name: name.clone(),
            price,
        });
        let view = Arc::new(PerformanceView {
            id,
            slug: row.slug.clone(),
            title: row.title.clone(),
            artist: row.artist.clone(),
            cover: row.cover,
            picture: row.picture.clone(),
            venue: row.venue.clone(),
            city: row.city.clone(),
            starts: zoned(row.starts, &row.time_zone)?,
            opens: zoned(row.opens, &row.time_zone)?,
            mode: row.mode,
            registers: registration(&row)?,
            closes_at: row.closes,
            zones: zones.collect(),
            fees,
            limit: row.seat_limit,
            hold_ttl_ms: row.hold_ttl_ms,
            map_digest: row.map_digest.clone(),
            seat_count: row.seat_count,
        });
        let sale = Arc::new(Sale { keys: Keys::new(id), view, seats, row });
        self.lock_sales().insert(id, CachedSale { sale: Arc::clone(&sale), read: Instant::now() });
        Ok(sale)
    }

    fn lock_sales(&self) -> std::sync::MutexGuard<'_, std::collections::HashMap<PerformanceId, CachedSale>> {
        self.sales.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The seats of a plan in the zones of a performance.
    async fn zoned_seats(&self, id: PerformanceId, plan: PlanId) -> Result<Arc<PlanSeats>> {
        let cached = self.zoned.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&id).cloned();
        if let Some((_, seats)) = cached.filter(|(of, _)| *of == plan) {
            return Ok(seats);
        }
        let mut seats = self.plan_seats(plan).await?.seats.clone();
        for (seat, zone) in publishing::moved(&self.pg, id).await? {
            match seats.get_mut(seat) {
                // Its zone is kept for the case that it comes back.
                Some(seat) if seat.gone => {}
                Some(seat) => seat.category = zone,
                None => return Err(Error::Broken(format!("seat {seat} of a zone is not in the plan"))),
            }
        }
        let seats = Arc::new(PlanSeats::new(seats, publishing::zones(&self.pg, id).await?));
        self.zoned.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(id, (plan, Arc::clone(&seats)));
        Ok(seats)
    }

    pub(crate) async fn plan_seats(&self, plan: PlanId) -> Result<Arc<PlanSeats>> {
        let cached = self.plans.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&plan).cloned();
        if let Some(seats) = cached {
            return Ok(seats);
        }
        let seats =
            Arc::new(PlanSeats::new(plans::seats(&self.pg, plan).await?, plans::categories(&self.pg, plan).await?));
        self.plans.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(plan, Arc::clone(&seats));
        Ok(seats)
    }

    /// The events on the home page, by date of their first performance.
    ///
    /// # Errors
    /// Outages only.
    pub async fn events(&self) -> Result<Vec<EventCard>> {
        let now = self.now();
        let mut cards: Vec<EventCard> = Vec::new();
        for row in rows::all(&self.pg, None).await? {
            if row.closes <= now || cards.iter().any(|card| card.id == row.event) {
                continue;
            }
            cards.push(EventCard {
                id: row.event,
                slug: row.slug.clone(),
                title: row.title.clone(),
                artist: row.artist.clone(),
                venue: row.venue.clone(),
                city: row.city.clone(),
                cover: row.cover,
                picture: row.picture.clone(),
                starts: zoned(row.starts, &row.time_zone)?,
                from_price: row.from_minor.map(|minor| Money::new(minor, row.currency)),
                phase: phase(&row, now),
                opens: zoned(row.opens, &row.time_zone)?,
                mode: row.mode,
                registers: registration(&row)?,
            });
        }
        Ok(cards)
    }

    /// An event with its performances.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn event(self: &Arc<Self>, slug: &str) -> Result<EventView> {
        let now = self.now();
        let rows = rows::all(&self.pg, Some(slug)).await?;
        let Some(first) = rows.first() else { return not_found("event") };
        let mut performances = Vec::with_capacity(rows.len());
        for row in &rows {
            performances.push(PerformanceRow {
                id: row.id,
                starts: zoned(row.starts, &row.time_zone)?,
                venue: row.venue.clone(),
                city: row.city.clone(),
                phase: phase(row, now),
                opens: zoned(row.opens, &row.time_zone)?,
                mode: row.mode,
                registers: registration(row)?,
                from_price: row.from_minor.map(|minor| Money::new(minor, row.currency)),
                seats: row.seats(),
                stock: self.queue_status(row.id).await?.stock,
            });
        }
        Ok(EventView {
            id: first.event,
            slug: first.slug.clone(),
            title: first.title.clone(),
            artist: first.artist.clone(),
            description: first.description.clone(),
            cover: first.cover,
            picture: first.picture.clone(),
            performances,
        })
    }

    /// A performance as queue page and seat map need it.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn performance(&self, id: PerformanceId) -> Result<Arc<PerformanceView>> {
        Ok(Arc::clone(&self.sale(id).await?.view))
    }

    /// The list alternative to the map.
    ///
    /// # Errors
    /// `not_found`; `unavailable` while the seats are being rebuilt.
    pub async fn seat_list(self: &Arc<Self>, id: PerformanceId, chosen: Option<u16>) -> Result<SeatList> {
        self.seat_list_for(None, id, chosen).await
    }

    /// [`Backend::seat_list`] for a fan, with the kept seats that are open to them.
    ///
    /// # Errors
    /// As there.
    pub async fn seat_list_for(
        self: &Arc<Self>,
        session: Option<&Session>,
        id: PerformanceId,
        chosen: Option<u16>,
    ) -> Result<SeatList> {
        let sale = self.sale(id).await?;
        let opened = self.opened_free(session, id).await?;
        let states = self.seat_states(&sale).await?;
        let available = |no: usize| states.get(no) == Some(&SeatState::Available) || opened.contains(&no);
        let mut sections: Vec<ListSection> = Vec::new();
        let mut rows = Rows::default();
        for (no, seat) in sale.seats.seats.iter().enumerate().filter(|(_, seat)| !seat.gone) {
            let at = match sections.iter().position(|s| s.index == seat.section_no) {
                Some(at) => at,
                None => {
                    sections.push(ListSection {
                        index: seat.section_no,
                        name: seat.section.clone(),
                        available: 0,
                        from_price: None,
                        to_price: None,
                    });
                    sections.len() - 1
                }
            };
            let number = SeatNo(u32::try_from(no).map_err(|e| Error::Broken(e.to_string()))?);
            let price = sale.price(number);
            if available(no) && price.is_some() {
                let section = &mut sections[at];
                section.available += 1;
                section.from_price = min_by(section.from_price, price, |a, b| a < b);
                section.to_price = min_by(section.to_price, price, |a, b| a > b);
            }
            // Places to stand are all alike: they are told by area.
            if chosen == Some(seat.section_no) && !seat.standing {
                let item = ListSeat {
                    seat: number,
                    label: seat.label.clone(),
                    category: seat.category,
                    available: available(no) && price.is_some(),
                    accessible: seat.accessible,
                    kept: opened.contains(&no),
                };
                rows.add(seat.row_no, &seat.row, item);
            }
        }
        // Those of added seats alone were met last.
        sections.sort_by_key(|section| section.index);
        let areas = list_areas(&sale, available);
        Ok(SeatList { sections, rows: rows.in_order(), areas, chosen })
    }
}

/// The standing areas that have places for sale, in the order of the plan.
fn list_areas(sale: &Sale, available: impl Fn(usize) -> bool) -> Vec<ListArea> {
    let listed = |area: &u32| list_area(sale, &available, *area);
    let mut areas: Vec<ListArea> = sale.seats.areas.keys().filter_map(listed).collect();
    areas.sort_unstable_by_key(|area| area.area);
    areas
}

/// One standing area; none where nothing of it is for sale.
fn list_area(sale: &Sale, available: impl Fn(usize) -> bool, area: u32) -> Option<ListArea> {
    let stretches = sale.drawn_from(area)?;
    let first = sale.seats.seats.get(stretches.first()?.0 as usize)?;
    let prices = || stretches.iter().filter_map(|(first, _)| sale.price(SeatNo(*first)));
    let places = stretches.iter().flat_map(|(first, last)| *first as usize..=*last as usize);
    let free = places.filter(|place| available(*place)).count();
    Some(ListArea {
        area,
        section: first.section_no,
        name: area_name(&first.section, &first.row),
        free: u32::try_from(free).unwrap_or(u32::MAX),
        from_price: prices().min_by_key(|price| price.minor),
        to_price: prices().max_by_key(|price| price.minor),
    })
}

fn min_by(a: Option<Money>, b: Option<Money>, better: impl Fn(i64, i64) -> bool) -> Option<Money> {
    match (a, b) {
        (Some(x), Some(y)) => Some(if better(y.minor, x.minor) { y } else { x }),
        (x, y) => x.or(y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(row_no: i32, category: u8, standing: bool) -> plans::PlanSeatRow {
        let text = String::new;
        plans::PlanSeatRow {
            section_no: 0,
            section: text(),
            row_no,
            row: text(),
            label: text(),
            category,
            accessible: false,
            standing,
            gone: false,
        }
    }

    #[test]
    fn stretches_of_an_area_end_at_seats_other_areas_and_other_categories() {
        let seats = [(1, 0, true), (1, 0, true), (2, 0, true), (1, 0, true), (1, 1, true), (1, 1, false), (1, 1, true)];
        let seats = seats.map(|(row, category, standing)| place(row, category, standing)).to_vec();
        let areas = PlanSeats::new(seats, Vec::new()).areas;
        assert_eq!(areas[&1], [(0, 1), (3, 3), (4, 4), (6, 6)]);
        assert_eq!((areas[&2].as_slice(), areas.len()), (&[(2, 2)][..], 2));
    }

    #[test]
    fn every_place_is_in_exactly_one_stretch_of_its_area() {
        // Every order of seven seats of two rows and two kinds.
        for pattern in 0..4_u32.pow(7) {
            let list: Vec<(i32, bool)> =
                (0..7).map(|at| pattern >> (2 * at)).map(|bits| ((bits & 1).cast_signed(), bits & 2 == 2)).collect();
            let seats: Vec<_> = list.iter().map(|(row, standing)| place(*row, 0, *standing)).collect();
            let areas = PlanSeats::new(seats, Vec::new()).areas;
            let mut drawn: Vec<(u32, i32)> = areas
                .iter()
                .flat_map(|(area, stretches)| {
                    let row = i32::try_from(*area).unwrap();
                    stretches.iter().flat_map(move |(first, last)| (*first..=*last).map(move |no| (no, row)))
                })
                .collect();
            drawn.sort_unstable();
            let wanted: Vec<(u32, i32)> =
                (0..).zip(&list).filter(|(_, seat)| seat.1).map(|(no, seat)| (no, seat.0)).collect();
            assert_eq!(drawn, wanted, "{list:?}");
        }
    }

    #[test]
    fn venue_time_follows_the_zone_and_its_summer_time() {
        // 2026-03-29 00:59:59Z is the last second of winter time in Berlin.
        let winter = zoned(Millis(1_774_745_999_000), "Europe/Berlin").unwrap();
        assert_eq!((winter.hour, winter.minute, winter.offset_min), (1, 59, 60));
        let summer = zoned(Millis(1_774_746_000_000), "Europe/Berlin").unwrap();
        assert_eq!((summer.hour, summer.minute, summer.offset_min, summer.weekday), (3, 0, 120, 7));
        assert!(zoned(Millis(0), "Mars/Olympus").is_err());
    }
}
