//! From a performance in the making to one that fans see: everything at once, or nothing. The leader
//! warms its seats up afterwards.

use super::access::Member;
use super::drafts::{changed_meanwhile, told};
use super::making::{NewPerformance, invalid};
use super::storing::publish_map;
use crate::backend::{Backend, random_bytes};
use crate::catalog::Sale;
use crate::error::{Error, Result, not_found, refuse};
use crate::postgres::publishing::{self, PerformanceInsert};
use crate::postgres::{detached, draws, events, fees};
use domain::account::Session;
use domain::hold::SeatState;
use domain::money::fees::FeeSchedule;
use domain::organizer::Action;
use domain::organizer::draft::{Draft, PlanFacts, Zone, missing};
use domain::organizer::sales::{Readiness, SectionReady};
use domain::venue::static_map::{StaticMap, ZoneColor, with_zones};
use domain::{Code, Currency, EventId, Millis, PerformanceId, PlanId};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;
use std::path::Path;
use std::sync::Arc;

/// The version of the prices that a performance is published with.
const FIRST_PRICES: i32 = 1;

/// A draft that was checked, with all that publishing needs.
struct Publication {
    id: PerformanceId,
    event: EventId,
    plan: PlanId,
    draft: Draft,
    /// Starts, opens, closes.
    times: [Millis; 3],
    currency: Currency,
    map_digest: Option<String>,
    moved: Vec<(i32, i16)>,
    seed: [u8; 32],
}

impl Backend {
    /// Publishes a draft of that version: from then on fans see it. Its queue's secret seed is made, and
    /// the commitment to it published with the round of public randomness, in the same step.
    ///
    /// # Errors
    /// `forbidden`; `not_found`; `wrong_state` when somebody else changed it, or it is published
    /// already; `not_ready` lists all that is missing.
    pub async fn publish_draft(self: &Arc<Self>, session: &Session, id: PerformanceId, version: i32) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        self.publish_draft_for(&member, id, version).await
    }

    /// As [`Backend::publish_draft`], for a member who was checked.
    async fn publish_draft_for(self: &Arc<Self>, member: &Member, id: PerformanceId, version: i32) -> Result<()> {
        let row = self.editable_draft(member, id, version).await?;
        let publication = self.prepare(member, id, row.event, row.draft).await?;
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let now = this.now();
            let mut tx = this.pg.begin().await?;
            if !publishing::mark(&mut *tx, id, version, now).await? {
                return changed_meanwhile();
            }
            publication.insert(&mut tx, now).await?;
            let fees = publication.take_fees(&mut tx, &member).await?;
            let [_, opens, _] = publication.times;
            draws::commit(&mut *tx, id, opens, this.name_round(opens).as_ref(), now).await?;
            let mut detail = told(&publication.draft, version);
            detail["fees"] = json!(fees);
            detail["commitment"] = json!(hex::encode(Sha256::digest(publication.seed)));
            this.record(&mut *tx, &member, "performance.publish", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Makes a performance of all that is known about it, and publishes it.
    ///
    /// # Errors
    /// `not_found`; `invalid_input` names the field; `not_ready` lists all that is missing.
    pub async fn sell(
        self: &Arc<Self>,
        member: &Member,
        event: EventId,
        plan: PlanId,
        new: &NewPerformance,
    ) -> Result<PerformanceId> {
        self.own_event(member, event).await?;
        if events::plan_of(&self.pg, member.organization, plan).await?.is_none() {
            return not_found("plan");
        }
        let facts = self.plan_facts(plan).await?;
        let draft = new.draft(plan, &facts)?;
        let lacking = missing(&draft.checklist(Some(&facts), self.now()));
        if !lacking.is_empty() {
            return refuse(Code::NotReady, lacking);
        }
        let id = self.insert_draft(member, event, draft).await?;
        self.publish_draft_for(member, id, 1).await?;
        Ok(id)
    }

    /// Checks a draft, and publishes the map that it needs: a file more than needed harms nobody.
    async fn prepare(&self, member: &Member, id: PerformanceId, event: EventId, draft: Draft) -> Result<Publication> {
        let head = match draft.plan {
            Some(plan) => events::plan_of(&self.pg, member.organization, plan).await?,
            None => None,
        };
        let facts = match &head {
            Some(head) => Some(self.plan_facts(head.id).await?),
            None => None,
        };
        let lacking = missing(&draft.checklist(facts.as_ref(), self.now()));
        let (Some(head), Some(facts), true) = (head, facts, lacking.is_empty()) else {
            return refuse(Code::NotReady, lacking);
        };
        let (Some(starts), Some(opens), Some(closes), Some(currency)) =
            (draft.starts, draft.opens, draft.closes, draft.currency)
        else {
            return refuse(Code::NotReady, "starts, opens, closes, currency: not set");
        };
        let (mut map_digest, mut moved) = (None, Vec::new());
        if draft.has_own_zones(&facts) {
            map_digest = Some(self.publish_zones(&head.map_digest, &draft, &facts).await?);
            moved = moved_seats(&draft, &facts);
        }
        Ok(Publication {
            id,
            event,
            plan: head.id,
            draft,
            times: [starts, opens, closes],
            currency,
            map_digest,
            moved,
            seed: random_bytes(),
        })
    }

    /// Publishes the plan's map with the draft's zones in place of the categories.
    async fn publish_zones(&self, plan_digest: &str, draft: &Draft, facts: &PlanFacts) -> Result<String> {
        let zones = draft.zones.iter().map(|zone| (zone.name.clone(), zone.color.clone())).collect();
        self.publish_zoned_map(plan_digest, zones, draft.seat_zones(facts)).await
    }

    /// Publishes the map of a plan with zones, each of a name and a colour, in place of the categories.
    pub(super) async fn publish_zoned_map(
        &self,
        plan_digest: &str,
        zones: Vec<(String, Option<String>)>,
        zone_of: Vec<u8>,
    ) -> Result<String> {
        let (dir, digest) = (self.config.maps_dir(), plan_digest.to_owned());
        tokio::task::spawn_blocking(move || {
            let colors: Vec<ZoneColor<'_>> =
                zones.iter().map(|(name, color)| ZoneColor { name, color: color.as_deref() }).collect();
            let map = with_zones(&read_map(&dir, &digest)?, &colors, &zone_of)
                .map_err(|e| Error::Broken(format!("the map {digest} can't carry the zones: {e}")))?;
            publish_map(&dir, &map)
        })
        .await
        .map_err(|e| Error::Broken(format!("publishing ended early: {e}")))?
    }

    /// Whether the seats of a published performance are in place, counted by section.
    ///
    /// # Errors
    /// `not_found`, also for another organization's and for what is not published.
    pub async fn sale_readiness(&self, session: &Session, id: PerformanceId) -> Result<Readiness> {
        let member = self.member(session, Action::ReadEvents).await?;
        self.own_performance(&member, id).await?;
        self.readiness(&*self.reload_sale(id).await?).await
    }

    pub(super) async fn readiness(&self, sale: &Sale) -> Result<Readiness> {
        let seats = sale.row.seats();
        if sale.row.epoch > 0
            && let Some(read) = self.seats.snapshot(&sale.keys, sale.row.epoch).await?
            && read.bytes.len() == sale.seats.seats.len()
        {
            return Ok(Readiness::Ready { seats, epoch: sale.row.epoch, sections: sections(sale, &read.bytes) });
        }
        Ok(Readiness::Building { seats })
    }
}

impl Publication {
    async fn insert(&self, db: &mut PgConnection, now: Millis) -> Result<()> {
        let [starts, opens, closes] = self.times;
        let insert = PerformanceInsert {
            id: self.id,
            event: self.event,
            plan: self.plan,
            draft: &self.draft,
            starts,
            opens,
            closes,
            currency: self.currency.code(),
            map_digest: self.map_digest.as_deref(),
            moved: &self.moved,
            seed: &self.seed,
            now,
        };
        Ok(publishing::insert(db, &insert).await?)
    }

    /// Takes over the schedule that the organization has for the currency at this moment: later changes of
    /// it are for what is published later.
    async fn take_fees(&self, db: &mut PgConnection, member: &Member) -> Result<Option<FeeSchedule>> {
        let found = fees::of_currency(&mut *db, member.organization, self.currency).await?;
        let Some(schedule) = found.filter(|schedule| !schedule.is_nothing()) else { return Ok(None) };
        fees::publish(db, self.id, FIRST_PRICES, &schedule).await?;
        Ok(Some(schedule))
    }
}

impl NewPerformance {
    /// As a draft over that plan.
    fn draft(&self, plan: PlanId, facts: &PlanFacts) -> Result<Draft> {
        let mut draft = Draft {
            starts: Some(self.starts),
            opens: Some(self.opens),
            mode: self.mode,
            registers: self.registers,
            account_cutoff: self.account_cutoff,
            window_ms: self.window_ms,
            closes: Some(self.closes),
            seat_limit: self.seat_limit,
            hold_ttl_ms: self.hold_ttl_ms,
            single_seat_rule: self.single_seat_rule,
            shoppers_max: self.shoppers_max,
            release_per_min: self.release_per_min,
            currency: Some(self.currency),
            ..Draft::default()
        };
        draft.choose_plan(plan, facts);
        for (category, amount) in &self.prices {
            match draft.zones.get_mut(usize::from(*category)) {
                Some(Zone { price_minor, .. }) => *price_minor = Some(*amount),
                None => return invalid(format!("prices: category {category} is not in the plan")),
            }
        }
        Ok(draft)
    }
}

fn moved_seats(draft: &Draft, facts: &PlanFacts) -> Vec<(i32, i16)> {
    (0_i32..)
        .zip(draft.seat_zones(facts).into_iter().zip(&facts.seat_categories))
        .filter(|(_, (zone, category))| zone != *category)
        .map(|(seat, (zone, _))| (seat, i16::from(zone)))
        .collect()
}

fn read_map(dir: &Path, digest: &str) -> Result<StaticMap> {
    Ok(StaticMap {
        bin: std::fs::read(dir.join(format!("{digest}.bin")))?,
        json: std::fs::read_to_string(dir.join(format!("{digest}.json")))?,
    })
}

fn sections(sale: &Sale, bytes: &[u8]) -> Vec<SectionReady> {
    let mut sections: Vec<(u16, SectionReady)> = Vec::new();
    for (byte, seat) in bytes.iter().zip(&sale.seats.seats).filter(|(_, seat)| !seat.gone) {
        let at = match sections.iter().position(|(number, _)| *number == seat.section_no) {
            Some(at) => at,
            None => {
                let empty = SectionReady { name: seat.section.clone(), seats: 0, blocked: 0, taken: 0 };
                sections.push((seat.section_no, empty));
                sections.len() - 1
            }
        };
        let section = &mut sections[at].1;
        section.seats += 1;
        match SeatState::from_byte(*byte) {
            SeatState::Available => {}
            SeatState::Blocked => section.blocked += 1,
            SeatState::Held | SeatState::Sold => section.taken += 1,
        }
    }
    sections.into_iter().map(|(_, section)| section).collect()
}
