//! Performances in the making: their form, their times at the venue and their checklist.

use super::access::Member;
use super::events::PLANS_MAX;
use super::making::invalid;
use super::venue_time::{local_text, venue_instant};
use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Result, not_found, refuse};
use crate::postgres::drafts::{self, DraftRow};
use crate::postgres::{catalog, detached, events, fees, plans, publishing};
use domain::account::Session;
use domain::hold::SEATS_PER_HOLD_MAX;
use domain::organizer::Action;
use domain::organizer::draft::{Draft, FLOW_MAX, PlanFacts};
use domain::organizer::sales::{
    DraftForm, DraftView, LocalText, NameTerms, PlanHead, Published, Readiness, ZoneTotal, hold_time, whole_number,
    window_time,
};
use domain::queue::Mode;
use domain::{Code, Currency, EventId, Millis, Money, PerformanceId, PlanId};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// Performances of one event in the making at once: more are a script that went wrong.
const DRAFTS_MAX: usize = 200;

/// Somebody else was quicker: what is on the screen is old.
pub(super) fn changed_meanwhile<T>() -> Result<T> {
    refuse(Code::WrongState, "someone else changed it meanwhile: reload, and make your change again")
}

fn published_already<T>() -> Result<T> {
    refuse(Code::WrongState, "this performance is published: what was decided with it stays")
}

impl Backend {
    /// Begins a performance of an event.
    ///
    /// # Errors
    /// `forbidden`; `not_found`; `limit_exceeded`.
    pub async fn new_draft(self: &Arc<Self>, session: &Session, event: EventId) -> Result<PerformanceId> {
        let member = self.member(session, Action::EditEvents).await?;
        self.own_event(&member, event).await?;
        if events::drafts(&self.pg, &[event.0]).await?.len() >= DRAFTS_MAX {
            return refuse(
                Code::LimitExceeded,
                format!("an event has at most {DRAFTS_MAX} performances in the making"),
            );
        }
        self.insert_draft(&member, event, Draft::default()).await
    }

    pub(super) async fn insert_draft(
        self: &Arc<Self>,
        member: &Member,
        event: EventId,
        draft: Draft,
    ) -> Result<PerformanceId> {
        let id = PerformanceId(uuid::Uuid::now_v7());
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            drafts::insert(&mut *tx, member.organization, event, id, &draft, this.now()).await?;
            let detail = told(&draft, 1);
            this.record(&mut *tx, &member, "performance.draft", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(id)
        })
        .await
    }

    /// A performance in the making or published, with its checklist.
    ///
    /// # Errors
    /// `not_found`, also for another organization's.
    pub async fn draft(&self, session: &Session, id: PerformanceId) -> Result<DraftView> {
        let member = self.member(session, Action::ReadEvents).await?;
        if events::owns_performance(&self.pg, member.organization, id).await? {
            let blocked = catalog::blocked(&self.pg, id).await?;
            let sale = self.reload_sale(id).await?;
            // The page is of use also while the seats can't be reached.
            let readiness = self.readiness(&sale).await.unwrap_or(Readiness::Building { seats: sale.row.seats() });
            let names = self.names_of(&sale).await?;
            return self.published_view(&sale, &blocked, readiness, names);
        }
        let row = self.own_draft(&member, id).await?;
        self.draft_view(&member, row).await
    }

    /// Saves what the form says, if the draft is still of that version.
    ///
    /// # Errors
    /// `forbidden`; `not_found`; `wrong_state` when somebody else changed it, or it is published;
    /// `invalid_input` names the field.
    pub async fn save_draft(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        version: i32,
        form: DraftForm,
    ) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        let row = self.editable_draft(&member, id, version).await?;
        let draft = self.filled(&member, row.draft, &form).await?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !drafts::put(&mut *tx, id, version, &draft).await? {
                return changed_meanwhile();
            }
            let detail = told(&draft, version + 1);
            this.record(&mut *tx, &member, "performance.edit", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Drops a performance in the making.
    ///
    /// # Errors
    /// `forbidden`; `not_found`; `wrong_state`.
    pub async fn delete_draft(self: &Arc<Self>, session: &Session, id: PerformanceId, version: i32) -> Result<EventId> {
        let member = self.member(session, Action::EditEvents).await?;
        let row = self.editable_draft(&member, id, version).await?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !publishing::delete(&mut *tx, member.organization, id, version).await? {
                return changed_meanwhile();
            }
            let detail = told(&row.draft, version);
            this.record(&mut *tx, &member, "performance.delete", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(row.event)
        })
        .await
    }

    /// A draft of the member's organization.
    pub(super) async fn own_draft(&self, member: &Member, id: PerformanceId) -> Result<DraftRow> {
        match drafts::get(&self.pg, member.organization, id).await? {
            Some(row) => Ok(row),
            None => not_found("performance"),
        }
    }

    /// A draft that may still be changed, of that version.
    pub(super) async fn editable_draft(&self, member: &Member, id: PerformanceId, version: i32) -> Result<DraftRow> {
        let row = match drafts::get(&self.pg, member.organization, id).await? {
            Some(row) => row,
            None if events::owns_performance(&self.pg, member.organization, id).await? => return published_already(),
            None => return not_found("performance"),
        };
        if row.published.is_some() {
            return published_already();
        }
        if row.version != version {
            return changed_meanwhile();
        }
        Ok(row)
    }

    /// What a draft must know of a plan.
    pub(super) async fn plan_facts(&self, plan: PlanId) -> Result<PlanFacts> {
        let seats = self.plan_seats(plan).await?;
        Ok(PlanFacts {
            categories: seats.categories.clone(),
            seat_categories: seats.seats.iter().map(|seat| seat.category).collect(),
            house: plans::house(&self.pg, plan).await?,
        })
    }

    /// The draft with what the form says.
    async fn filled(&self, member: &Member, mut draft: Draft, form: &DraftForm) -> Result<Draft> {
        let limit_max = u32::try_from(SEATS_PER_HOLD_MAX).unwrap_or(u32::MAX);
        draft.seat_limit = whole_number("seat_limit", &form.seat_limit, 1, limit_max)?;
        draft.hold_ttl_ms = hold_time("hold_ttl_min", &form.hold_ttl_min)?;
        draft.single_seat_rule = !form.single_seat_rule.is_empty();
        draft.shoppers_max = whole_number("shoppers_max", &form.shoppers_max, 1, FLOW_MAX)?;
        draft.release_per_min = whole_number("release_per_min", &form.release_per_min, 1, FLOW_MAX)?;
        set_currency(&mut draft, form.currency.trim())?;
        draft.mode = mode(form.mode.trim())?;
        if !form.window_min.trim().is_empty() {
            draft.window_ms = window_time("window_min", &form.window_min)?;
        }
        let Some(plan) = self.chosen_plan(member, &mut draft, form).await? else {
            for (field, text) in [
                ("starts", &form.starts),
                ("opens", &form.opens),
                ("closes", &form.closes),
                ("registers", &form.registers),
                ("account_cutoff", &form.account_cutoff),
            ] {
                if !text.trim().is_empty() {
                    return invalid(format!(
                        "{field}: choose the plan first; the venue's zone says which instant this is"
                    ));
                }
            }
            return Ok(draft);
        };
        draft.starts = instant("starts", &form.starts, &form.starts_offset, draft.starts, &plan.zone)?;
        draft.opens = instant("opens", &form.opens, &form.opens_offset, draft.opens, &plan.zone)?;
        draft.closes = instant("closes", &form.closes, &form.closes_offset, draft.closes, &plan.zone)?;
        draft.registers = instant("registers", &form.registers, &form.registers_offset, draft.registers, &plan.zone)?;
        let (cutoff, offset) = (&form.account_cutoff, &form.account_cutoff_offset);
        draft.account_cutoff = instant("account_cutoff", cutoff, offset, draft.account_cutoff, &plan.zone)?;
        Ok(draft)
    }

    /// The plan that the form names, taken into the draft when it is another one.
    async fn chosen_plan(&self, member: &Member, draft: &mut Draft, form: &DraftForm) -> Result<Option<PlanHead>> {
        let text = form.plan.trim();
        let Ok(id) = text.parse::<PlanId>() else {
            return match (text.is_empty(), draft.plan) {
                (true, None) => Ok(None),
                (true, Some(_)) => invalid("plan: another plan can be chosen, but not none"),
                (false, _) => invalid("plan: one of your plans is expected"),
            };
        };
        let Some(head) = events::plan_of(&self.pg, member.organization, id).await? else {
            return invalid("plan: one of your plans is expected");
        };
        if draft.plan == Some(id) {
            return Ok(Some(head));
        }
        if let Some(old) = draft.plan {
            let categories = self.plan_facts(old).await?.categories.len();
            if draft.loses_with_plan(categories) && form.drop_zones.is_empty() {
                return invalid(
                    "drop_zones: another plan drops the added zones and the blocked seats of this one; confirm that",
                );
            }
        }
        draft.choose_plan(id, &self.plan_facts(id).await?);
        Ok(Some(head))
    }

    async fn draft_view(&self, member: &Member, row: DraftRow) -> Result<DraftView> {
        let draft = row.draft;
        let event = self.own_event(member, row.event).await?;
        let plans = events::plan_heads(&self.pg, member.organization, PLANS_MAX).await?;
        let (plan, facts) = match draft.plan {
            Some(id) => (events::plan_of(&self.pg, member.organization, id).await?, Some(self.plan_facts(id).await?)),
            None => (None, None),
        };
        let fees = match draft.currency {
            Some(currency) => fees::of_currency(&self.pg, member.organization, currency).await?,
            None => None,
        };
        let zone = plan.as_ref().map(|plan| plan.zone.as_str());
        let local =
            |at: Option<Millis>| zone.zip(at).map_or(Ok(LocalText::default()), |(zone, at)| local_text(at, zone));
        let sellable = facts.as_ref().map(|facts| draft.sellable(facts)).unwrap_or_default();
        let zones = draft.zones.iter().zip(&sellable).map(|(zone, sellable)| ZoneTotal {
            name: zone.name.clone(),
            sellable: *sellable,
            price: zone.price_minor.zip(draft.currency).map(|(minor, currency)| Money::new(minor, currency)),
        });
        let blocked = facts.as_ref().map_or(0, |facts| draft.seats_blocked(facts).into_iter().filter(|b| *b).count());
        Ok(DraftView {
            id: row.id,
            version: row.version,
            event: event.id,
            slug: event.slug,
            title: event.title,
            artist: event.artist,
            starts: local(draft.starts)?,
            opens: local(draft.opens)?,
            mode: draft.mode,
            registers: local(draft.registers)?,
            account_cutoff: local(draft.account_cutoff)?,
            window_ms: draft.window_ms,
            closes: local(draft.closes)?,
            seat_limit: draft.seat_limit,
            hold_ttl_ms: draft.hold_ttl_ms,
            single_seat_rule: draft.single_seat_rule,
            shoppers_max: draft.shoppers_max,
            release_per_min: draft.release_per_min,
            currency: draft.currency,
            fees: fees.filter(|fees| !fees.is_nothing()),
            zones: zones.collect(),
            blocked: u32::try_from(blocked).unwrap_or(u32::MAX),
            loses_with_plan: facts.as_ref().is_some_and(|facts| draft.loses_with_plan(facts.categories.len())),
            checks: draft.checklist(facts.as_ref(), self.now()),
            published: None,
            plan,
            plans,
        })
    }

    fn published_view(
        &self,
        sale: &Sale,
        blocked: &[u32],
        readiness: Readiness,
        names: NameTerms,
    ) -> Result<DraftView> {
        let row = &sale.row;
        let local = |at: Millis| local_text(at, &row.time_zone);
        let perhaps = |at: Option<Millis>| at.map_or(Ok(LocalText::default()), local);
        let mut zones: Vec<ZoneTotal> = sale
            .view
            .zones
            .iter()
            .map(|zone| ZoneTotal { name: zone.name.clone(), sellable: 0, price: zone.price })
            .collect();
        let off: HashSet<u32> = blocked.iter().copied().collect();
        for (_, seat) in (0..).zip(&sale.seats.seats).filter(|(number, _)| !off.contains(number)) {
            if let Some(zone) = zones.get_mut(usize::from(seat.category)) {
                zone.sellable += 1;
            }
        }
        Ok(DraftView {
            id: row.id,
            version: 0,
            event: row.event,
            slug: row.slug.clone(),
            title: row.title.clone(),
            artist: row.artist.clone(),
            plan: Some(PlanHead {
                id: row.plan,
                venue: row.venue.clone(),
                city: row.city.clone(),
                zone: row.time_zone.clone(),
                map_digest: row.map_digest.clone(),
                seats: row.seats(),
            }),
            plans: Vec::new(),
            starts: local(row.starts)?,
            opens: local(row.opens)?,
            mode: row.mode,
            registers: perhaps(row.registers_from())?,
            account_cutoff: perhaps(row.account_cutoff)?,
            window_ms: row.window_ms,
            closes: local(row.closes)?,
            seat_limit: row.seat_limit,
            hold_ttl_ms: row.hold_ttl_ms,
            single_seat_rule: row.single_seat_rule,
            shoppers_max: row.shoppers_max,
            release_per_min: row.release_per_min,
            currency: Some(row.currency),
            fees: sale.view.fees,
            zones,
            blocked: u32::try_from(off.len()).unwrap_or(u32::MAX),
            loses_with_plan: false,
            checks: Vec::new(),
            published: Some(Published {
                commitment: hex::encode(&row.draw_commitment),
                phase: sale.phase(self.now()),
                readiness,
                names,
            }),
        })
    }
}

/// A field of the form as an instant. What was not touched stays to the millisecond.
fn instant(field: &str, text: &str, offset: &str, before: Option<Millis>, zone: &str) -> Result<Option<Millis>> {
    let (text, offset) = (text.trim(), offset.trim());
    if text.is_empty() {
        return Ok(None);
    }
    if let Some(at) = before {
        let shown = local_text(at, zone)?;
        if shown.text == text && shown.offset == offset {
            return Ok(Some(at));
        }
    }
    Ok(Some(venue_instant(field, &format!("{text}{offset}"), zone)?))
}

/// How places become turns, as the form says it.
fn mode(text: &str) -> Result<Mode> {
    match Mode::parse(text) {
        Some(mode) => Ok(mode),
        None if text.is_empty() => Ok(Mode::default()),
        None => invalid("mode: queue or lottery is expected"),
    }
}

/// Takes another currency. Where a minor unit is worth something else the prices would be others
/// than were meant: they go, and the checklist asks for them.
fn set_currency(draft: &mut Draft, text: &str) -> Result<()> {
    if text.is_empty() {
        draft.currency = None;
        return Ok(());
    }
    let Some(currency) = text.parse::<Currency>().ok().filter(|currency| currency.is_in_force()) else {
        return invalid("currency: three letters of a currency in force are expected, such as EUR");
    };
    if draft.currency.is_some_and(|before| before.exponent() != currency.exponent()) {
        for zone in &mut draft.zones {
            zone.price_minor = None;
        }
    }
    draft.currency = Some(currency);
    Ok(())
}

/// A draft as the audit log tells it: without its lists of seats.
pub(super) fn told(draft: &Draft, version: i32) -> Value {
    json!({
        "version": version,
        "plan": draft.plan,
        "starts": draft.starts,
        "opens": draft.opens,
        "mode": draft.mode,
        "registers": draft.registers,
        "account_cutoff": draft.account_cutoff,
        "window_ms": draft.window_ms,
        "closes": draft.closes,
        "seat_limit": draft.seat_limit,
        "hold_ttl_ms": draft.hold_ttl_ms,
        "single_seat_rule": draft.single_seat_rule,
        "shoppers_max": draft.shoppers_max,
        "release_per_min": draft.release_per_min,
        "currency": draft.currency,
        "zones": draft.zones.iter().map(|zone| json!({ "name": zone.name, "price_minor": zone.price_minor, "seats": zone.seats.len() })).collect::<Vec<_>>(),
        "blocked": draft.blocked.iter().map(|group| group.seats.len()).sum::<usize>(),
    })
}
