//! Prices and zones of performances, in the making and published.

use crate::backend::Backend;
use crate::catalog::PlanSeats;
use crate::error::{Error, Result, not_found, refuse};
use crate::organizer::Member;
use crate::organizer::blocking::BlockChange;
use crate::postgres::drafts::DraftRow;
use crate::postgres::prices::PricedRow;
use crate::postgres::{catalog, detached, drafts, fees, prices};
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::draft::Zone;
use domain::organizer::pricing::{
    self, BlockedGroup, Edit, Effect, House, Marks, PricingView, SeatSet, SeatStep, SeatsForm, ZoneTotal,
};
use domain::venue::{SeatLabel, static_map};
use domain::{Code, OrganizationId, PerformanceId, PlanId, Refusal, SeatNo};
use serde_json::{Value, json};
use std::sync::Arc;

/// Most lines in which the page tells where the seats of one reason are.
const PLACES_MAX: usize = 6;

/// A performance of an organization, wherever it stands.
enum Subject {
    Draft(DraftRow),
    Published(PricedRow),
}

/// A published performance with its zones.
struct Published {
    row: PricedRow,
    seats: Arc<PlanSeats>,
    moved: Vec<(u8, SeatSet)>,
    totals: Vec<ZoneTotal>,
    blocked: Vec<(String, SeatSet)>,
}

fn conflict<T>() -> Result<T> {
    refuse(Code::WrongState, "version: somebody changed this meanwhile; look at it again")
}

fn numbers(seats: &[i32]) -> SeatSet {
    seats.iter().filter_map(|seat| u32::try_from(*seat).ok()).map(SeatNo).collect()
}

impl PlanSeats {
    /// The words for a seat.
    pub(super) fn seat_label(&self, seat: SeatNo) -> Option<SeatLabel<'_>> {
        let row = self.seats.get(seat.0 as usize)?;
        Some(SeatLabel { section: &row.section, row: &row.row, seat: &row.label })
    }

    /// The seats that somebody typed; those that are gone are not meant.
    ///
    /// # Errors
    /// As [`pricing::typed_seats`].
    pub(super) fn typed(&self, text: &str) -> Result<Vec<SeatNo>> {
        let typed = pricing::typed_seats(text, self.labels())?;
        let gone = |seat: &SeatNo| self.seats.get(seat.0 as usize).is_none_or(|row| row.gone);
        Ok(typed.into_iter().filter(|seat| !gone(seat)).collect())
    }

    fn labels(&self) -> impl Iterator<Item = SeatLabel<'_>> {
        self.seats.iter().map(|row| SeatLabel { section: &row.section, row: &row.row, seat: &row.label })
    }

    fn groups(&self, groups: impl IntoIterator<Item = (String, SeatSet)>) -> Vec<BlockedGroup> {
        groups
            .into_iter()
            .map(|(reason, seats)| {
                let places = pricing::tell_seats(seats.list(), |seat| self.seat_label(seat), PLACES_MAX);
                BlockedGroup { reason, seats, places }
            })
            .collect()
    }
}

impl Backend {
    async fn subject(&self, organization: OrganizationId, id: PerformanceId) -> Result<Subject> {
        if let Some(row) = prices::published(&self.pg, organization, id).await? {
            return Ok(Subject::Published(row));
        }
        match drafts::get(&self.pg, organization, id).await? {
            Some(row) => Ok(Subject::Draft(row)),
            None => not_found("performance"),
        }
    }

    async fn published(&self, organization: OrganizationId, id: PerformanceId) -> Result<Published> {
        match self.subject(organization, id).await? {
            Subject::Published(row) => self.priced(organization, id, row).await,
            Subject::Draft(_) => refuse(Code::WrongState, "this performance is not published yet"),
        }
    }

    /// Places to stand, which the published map alone knows of a stored plan.
    async fn standing(&self, organization: OrganizationId, plan: PlanId) -> Result<SeatSet> {
        let Some(digest) = prices::map_digest(&self.pg, organization, plan).await? else { return not_found("plan") };
        let path = self.config.maps_dir().join(&digest);
        let read = move || -> Result<SeatSet> {
            let (bin, json) =
                (std::fs::read(path.with_extension("bin"))?, std::fs::read_to_string(path.with_extension("json"))?);
            let map = static_map::decode(&bin, &json)
                .map_err(|e| Error::Broken(format!("the map {digest} can't be read: {e}")))?;
            let stands = |seat: &u32| map.seat(*seat).is_some_and(|seat| seat.flags.standing());
            Ok((0..map.seat_count()).filter(stands).map(SeatNo).collect())
        };
        tokio::task::spawn_blocking(read).await.map_err(|e| Error::Broken(format!("reading a map ended early: {e}")))?
    }

    async fn house(&self, organization: OrganizationId, plan: PlanId) -> Result<(Arc<PlanSeats>, House)> {
        let standing = self.standing(organization, plan).await?;
        let seats = self.plan_seats(plan).await?;
        let house = House {
            categories: seats.categories.clone(),
            seats: seats.seats.iter().map(|seat| seat.category).collect(),
            standing,
        };
        Ok((seats, house))
    }

    async fn priced(&self, organization: OrganizationId, id: PerformanceId, row: PricedRow) -> Result<Published> {
        let (seats, house) = self.house(organization, row.plan).await?;
        let stored = prices::zones(&self.pg, id).await?;
        let names = if stored.is_empty() {
            house.categories.iter().map(|name| (name.clone(), None)).collect::<Vec<_>>()
        } else {
            stored.into_iter().map(|(_, name, color)| (name, color)).collect()
        };
        let amounts = catalog::prices(&self.pg, id, row.price_version).await?;
        let zones: Vec<Zone> = (0_u8..)
            .zip(names)
            .map(|(index, (name, color))| Zone {
                name,
                color,
                price_minor: amounts.iter().find(|(zone, _)| *zone == index).map(|(_, minor)| *minor),
                seats: Vec::new(),
            })
            .collect();
        let mut zone_of = house.seats;
        let mut moved: Vec<(u8, Vec<SeatNo>)> = Vec::new();
        for (seat, zone) in prices::seat_zones(&self.pg, id).await? {
            if seats.seats.get(seat as usize).is_none_or(|row| row.gone) {
                continue;
            }
            if let Some(slot) = zone_of.get_mut(seat as usize) {
                *slot = zone;
            }
            match moved.iter_mut().find(|(to, _)| *to == zone) {
                Some((_, list)) => list.push(SeatNo(seat)),
                None => moved.push((zone, vec![SeatNo(seat)])),
            }
        }
        let (sold, held): (Vec<_>, Vec<_>) =
            prices::claims(&self.pg, id).await?.into_iter().partition(|claim| claim.sold);
        let blocked: Vec<(String, SeatSet)> =
            prices::blocked(&self.pg, id).await?.into_iter().map(|(reason, seats)| (reason, numbers(&seats))).collect();
        let marks = Marks {
            blocked: blocked.iter().flat_map(|(_, seats)| seats.list().iter().copied()).collect(),
            standing: house.standing,
            held: held.iter().map(|claim| SeatNo(claim.seat)).collect(),
            sold: sold.iter().map(|claim| SeatNo(claim.seat)).collect(),
        };
        let totals = pricing::zone_totals(&zones, house.categories.len(), &zone_of, &marks, Some(row.currency));
        let moved = moved.into_iter().map(|(zone, seats)| (zone, seats.into_iter().collect())).collect();
        Ok(Published { row, seats, moved, totals, blocked })
    }

    /// Prices, zones and blocked seats of a performance, in the making or published.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn pricing(&self, session: &Session, id: PerformanceId) -> Result<PricingView> {
        let member = self.member(session, Action::ReadEvents).await?;
        match self.subject(member.organization, id).await? {
            Subject::Published(row) => {
                let found = self.priced(member.organization, id, row).await?;
                let map_digest = prices::map_digest(&self.pg, member.organization, found.row.plan).await?;
                Ok(PricingView {
                    performance: id,
                    event: found.row.event,
                    title: found.row.title,
                    published: true,
                    version: found.row.price_version,
                    currency: Some(found.row.currency),
                    map_digest,
                    zones: found.totals,
                    moved: found.moved,
                    blocked: found.seats.groups(found.blocked),
                })
            }
            Subject::Draft(row) => self.draft_pricing(&member, id, row).await,
        }
    }

    async fn draft_pricing(&self, member: &Member, id: PerformanceId, row: DraftRow) -> Result<PricingView> {
        let title = prices::event_title(&self.pg, row.event).await?.unwrap_or_default();
        let mut view = PricingView {
            performance: id,
            event: row.event,
            title,
            published: false,
            version: row.version,
            currency: row.draft.currency,
            map_digest: None,
            zones: Vec::new(),
            moved: Vec::new(),
            blocked: Vec::new(),
        };
        let Some(plan) = row.draft.plan else { return Ok(view) };
        let (seats, house) = self.house(member.organization, plan).await?;
        view.map_digest = prices::map_digest(&self.pg, member.organization, plan).await?;
        view.zones = pricing::totals(&row.draft, &house);
        view.moved = (0_u8..)
            .zip(&row.draft.zones)
            .filter(|(_, zone)| !zone.seats.is_empty())
            .map(|(index, zone)| (index, zone.seats.iter().copied().collect()))
            .collect();
        view.blocked =
            seats.groups(row.draft.blocked.into_iter().map(|group| (group.reason, group.seats.into_iter().collect())));
        Ok(view)
    }

    /// Changes zones, prices or blocked seats of a performance in the making: the new version.
    ///
    /// # Errors
    /// Those of [`Edit::applied`]; `not_found`, `forbidden`; `wrong_state` when it is published, or was
    /// changed since that version.
    pub async fn edit_zones(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        version: i32,
        edit: Edit,
    ) -> Result<i32> {
        let member = self.member(session, Action::EditEvents).await?;
        let row = match self.subject(member.organization, id).await? {
            Subject::Draft(row) => row,
            Subject::Published(_) => {
                return refuse(Code::WrongState, "this performance is published: its zones stay as they are");
            }
        };
        if row.version != version {
            return conflict();
        }
        let Some(plan) = row.draft.plan else { return refuse(Code::WrongState, "plan: choose the plan first") };
        let (_, house) = self.house(member.organization, plan).await?;
        let after = edit.applied(&row.draft, &house)?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !drafts::put(&mut *tx, id, version, &after).await? {
                return conflict();
            }
            this.record(&mut *tx, &member, "prices.edit", &format!("performance {id}"), &edit.told()).await?;
            tx.commit().await?;
            Ok(version + 1)
        })
        .await
    }

    /// Does with chosen seats what the form of the page says, in the making or published. The version
    /// matters in the making alone: blocking a published seat depends on that seat only.
    ///
    /// # Errors
    /// `invalid_input` names the field; those of [`Self::edit_zones`] and [`Self::block_seats`].
    pub async fn change_seats(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        version: i32,
        form: SeatsForm,
    ) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        let subject = self.subject(member.organization, id).await?;
        let plan = match &subject {
            Subject::Draft(row) => row.draft.plan,
            Subject::Published(row) => Some(row.plan),
        };
        let Some(plan) = plan else { return refuse(Code::WrongState, "plan: choose the plan first") };
        let seats = self.chosen(plan, &form).await?;
        if let Subject::Published(_) = subject {
            return match form.step {
                SeatStep::Block => self.block_seats(session, id, seats, &form.reason).await,
                SeatStep::Unblock => self.unblock_seats(session, id, seats).await,
                SeatStep::Add | SeatStep::Move => {
                    refuse(Code::WrongState, "this performance is published: its zones stay as they are")
                }
            };
        }
        let zone = form.zone.trim();
        let edit = match form.step {
            SeatStep::Add => Edit::AddZone { name: form.name, amount: form.price, color: None, seats },
            SeatStep::Move if zone.is_empty() => Edit::MoveSeats { zone: None, seats },
            SeatStep::Move => match zone.parse() {
                Ok(zone) => Edit::MoveSeats { zone: Some(zone), seats },
                Err(_) => return refuse(Code::InvalidInput, "zone: the number of a zone is expected"),
            },
            SeatStep::Block => Edit::Block { seats, reason: form.reason },
            SeatStep::Unblock => Edit::Unblock { seats },
        };
        self.edit_zones(session, id, version, edit).await.map(drop)
    }

    /// The seats that were picked and those that were typed.
    async fn chosen(&self, plan: PlanId, form: &SeatsForm) -> Result<SeatSet> {
        let picked: SeatSet =
            form.picked.parse().map_err(|e| Refusal::new(Code::InvalidInput, format!("seats: {e}")))?;
        let plan = self.plan_seats(plan).await?;
        let typed = plan.typed(&form.typed)?;
        Ok(picked.list().iter().copied().chain(typed).collect())
    }

    /// What new prices, one for each zone as people write them, would do to a published performance.
    ///
    /// # Errors
    /// `invalid_input` names the price; `not_found`, `forbidden`; `wrong_state` for a draft.
    pub async fn preview_price_change(
        &self,
        session: &Session,
        id: PerformanceId,
        amounts: &[String],
    ) -> Result<Effect> {
        let member = self.member(session, Action::EditEvents).await?;
        let found = self.published(member.organization, id).await?;
        Ok(change(&found, amounts)?.0)
    }

    /// Puts new prices in force for seats that are taken from now on: the new version. Orders keep theirs.
    ///
    /// # Errors
    /// Those of the preview; `wrong_state` when prices were changed since that version.
    pub async fn change_prices(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        version: i32,
        amounts: &[String],
    ) -> Result<i32> {
        let member = self.member(session, Action::EditEvents).await?;
        let found = self.published(member.organization, id).await?;
        if found.row.price_version != version {
            return conflict();
        }
        let (effect, prices) = change(&found, amounts)?;
        let (zones, amounts): (Vec<i16>, Vec<i64>) =
            (0_i16..).zip(prices).filter_map(|(zone, price)| Some((zone, price?))).unzip();
        let this = Arc::clone(self);
        let next = detached(async move {
            let mut tx = this.pg.begin().await?;
            let Some(next) = prices::next_version(&mut *tx, id, version).await? else { return conflict() };
            prices::insert_version(&mut *tx, id, next, &zones, &amounts).await?;
            fees::carry(&mut *tx, id, version, next).await?;
            let detail = json!({ "version": next, "zones": told(&effect) });
            this.record(&mut *tx, &member, "prices.change", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(next)
        })
        .await?;
        // New holds have the new version at once, this process shows it; all others follow within a second.
        self.carry_settings(id).await?;
        Ok(next)
    }

    /// Takes seats of a published performance off sale: all of them, or none.
    ///
    /// # Errors
    /// `seat_taken` names held and sold seats; `unknown_seat`; `invalid_input` names the field;
    /// `not_found`, `forbidden`, `unavailable`; `wrong_state` for a draft.
    pub async fn block_seats(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        seats: SeatSet,
        reason: &str,
    ) -> Result<()> {
        self.change_blocked_as(session, id, seats, BlockChange::Block(reason.to_owned())).await
    }

    /// Puts blocked seats of a published performance back on sale.
    ///
    /// # Errors
    /// As [`Self::block_seats`]; `invalid_input` when none of them is blocked.
    pub async fn unblock_seats(self: &Arc<Self>, session: &Session, id: PerformanceId, seats: SeatSet) -> Result<()> {
        self.change_blocked_as(session, id, seats, BlockChange::Unblock).await
    }

    async fn change_blocked_as(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        seats: SeatSet,
        change: BlockChange,
    ) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        match self.subject(member.organization, id).await? {
            Subject::Published(_) => self.change_blocked(id, seats, change, &member).await,
            Subject::Draft(_) => refuse(Code::WrongState, "this performance is not published yet"),
        }
    }
}

/// The effect of typed prices, and all prices after it.
fn change(found: &Published, amounts: &[String]) -> Result<(Effect, Vec<Option<i64>>)> {
    let currency = found.row.currency;
    let prices = pricing::typed_prices(amounts, found.totals.len(), currency)?;
    let effect = pricing::effect(found.row.price_version, &found.totals, &prices, currency)?;
    Ok((effect, prices))
}

/// Old and new prices for the audit log.
fn told(effect: &Effect) -> Vec<Value> {
    effect
        .zones
        .iter()
        .map(|zone| {
            let amount = |price: Option<domain::Money>| price.map(domain::Money::decimal);
            json!({ "zone": zone.name, "old": amount(zone.old), "new": amount(zone.new), "held": zone.held, "sold": zone.sold })
        })
        .collect()
}
