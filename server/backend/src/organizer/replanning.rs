//! Another version of the plan for a performance that is on sale.
//!
//! Numbers of seats never change, so that claims, tickets, logs and open pages stay right: the new
//! version is carried over into the numbers of the present one (see [`domain::venue::plan::renew`]) and
//! stored as a plan of its own. The sale rests for the moment of the change: what was accepted is
//! written down, then Postgres takes plan and epoch in one transaction that checks once more that nobody
//! loses a seat, and the seats are built from it. Whatever dies in between, the guardian builds the
//! seats of the plan that Postgres has.

use super::storing::{Prepared, plan_of};
use crate::backend::Backend;
use crate::catalog::{Sale, zoned};
use crate::error::{Error, Result, not_found, refuse};
use crate::mail;
use crate::organizer::Member;
use crate::postgres::replanning::{self as rows, PlannedRow};
use crate::postgres::{allocations, catalog, detached, log, plans, prices};
use crate::work::guardian;
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::pricing::tell_seats;
use domain::organizer::replanning::{
    PLACES_MAX, PlanChange, PlanChoice, RENAMED_MAX, Renamed, ReplanningView, SeatPlaces, Taken,
};
use domain::venue::plan::{Renewal, renew};
use domain::venue::{Plan, SeatLabel};
use domain::{Code, PerformanceId, PlanId, Refusal, SeatNo};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// How often a change tries to get hold of the sale: others build its seats for a second or two.
const TRIES: u32 = 50;
/// The pause between tries.
const TRY_EVERY: Duration = Duration::from_millis(100);
/// Seats that an error names, one row a line.
const REFUSED_PLACES_MAX: usize = 10;

/// A change that was worked out, with the plans that it leads from and to.
struct Outcome {
    from: PlannedRow,
    old: Plan,
    renewal: Renewal,
    change: PlanChange,
}

impl Backend {
    /// The plans that could take the place of a published performance's plan.
    ///
    /// # Errors
    /// `not_found`, also for what is not published; `forbidden`.
    pub async fn replanning(&self, session: &Session, id: PerformanceId) -> Result<ReplanningView> {
        let member = self.member(session, Action::ReadEvents).await?;
        self.replanning_for(&member, id).await
    }

    /// As [`Backend::replanning`], for a member who was checked.
    ///
    /// # Errors
    /// As there.
    pub async fn replanning_for(&self, member: &Member, id: PerformanceId) -> Result<ReplanningView> {
        let Some(from) = rows::planned(&self.pg, member.organization, id).await? else {
            return not_found("performance");
        };
        let current = from.renews.unwrap_or(from.plan);
        let choices = rows::choices(&self.pg, member.organization, &from).await?;
        let sale = self.sale(id).await?;
        Ok(ReplanningView {
            performance: id,
            event: sale.row.event,
            title: sale.row.title.clone(),
            seats: sale.row.seats(),
            choices: choices
                .into_iter()
                .map(|row| {
                    Ok(PlanChoice {
                        id: row.id,
                        made: zoned(row.created, &from.time_zone)?,
                        seats: row.seats,
                        current: row.id == current,
                    })
                })
                .collect::<Result<_>>()?,
            venue: from.venue,
            city: from.city,
        })
    }

    /// What another plan of the same venue would change, and whom it would take a seat from.
    ///
    /// # Errors
    /// `not_found`; `forbidden`; `invalid_input` when nothing would change, the plan is of another venue, or
    /// adds seats without a price.
    pub async fn preview_plan_change(&self, session: &Session, id: PerformanceId, plan: PlanId) -> Result<PlanChange> {
        let member = self.member(session, Action::EditEvents).await?;
        Ok(self.plan_change(&member, id, plan).await?.change)
    }

    /// Puts another plan of the same venue in place, as it was shown by a preview against the plan `from`.
    ///
    /// # Errors
    /// Those of the preview; `seat_taken` names sold, held and kept seats that the new plan lacks, and
    /// nothing changes; `wrong_state` when the plan was changed since the preview; `unavailable`.
    pub async fn change_plan(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        from: PlanId,
        plan: PlanId,
    ) -> Result<PlanChange> {
        let member = self.member(session, Action::EditEvents).await?;
        self.change_plan_for(&member, id, from, plan).await
    }

    /// As [`Backend::preview_plan_change`], for a member who was checked.
    ///
    /// # Errors
    /// As there.
    pub async fn preview_plan_change_for(
        &self,
        member: &Member,
        id: PerformanceId,
        plan: PlanId,
    ) -> Result<PlanChange> {
        Ok(self.plan_change(member, id, plan).await?.change)
    }

    /// As [`Backend::change_plan`], for a member who was checked.
    ///
    /// # Errors
    /// As there.
    pub async fn change_plan_for(
        self: &Arc<Self>,
        member: &Member,
        id: PerformanceId,
        from: PlanId,
        plan: PlanId,
    ) -> Result<PlanChange> {
        let outcome = self.plan_change(member, id, plan).await?;
        if outcome.change.from != from {
            return changed_meanwhile();
        }
        // Refused before the sale is disturbed, wherever that can be known before.
        check_lost(&outcome.change.lost)?;
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move { this.change_plan_now(&member, id, outcome).await }).await
    }

    async fn plan_change(&self, member: &Member, id: PerformanceId, plan: PlanId) -> Result<Outcome> {
        let Some(from) = rows::planned(&self.pg, member.organization, id).await? else {
            return not_found("performance");
        };
        let choices = rows::choices(&self.pg, member.organization, &from).await?;
        if !choices.iter().any(|choice| choice.id == plan) {
            let text = format!("plan: a plan of {}, {} is expected", from.venue, from.city);
            return refuse(Code::InvalidInput, text);
        }
        let (old, new) = (self.written_plan(from.plan).await?, self.written_plan(plan).await?);
        let work = move || -> Result<(Plan, Renewal)> {
            let (old, new) = (plan_of(&old)?, plan_of(&new)?);
            let renewal = renew(&old, &new).map_err(|e| Refusal::new(Code::InvalidInput, format!("plan: {e}")))?;
            // Draws both maps: too much for a thread that serves fans.
            if renewal.changes_nothing(&old) {
                return refuse(Code::InvalidInput, "plan: this is the plan in use: nothing would change");
            }
            Ok((old, renewal))
        };
        let (old, renewal) = tokio::task::spawn_blocking(work)
            .await
            .map_err(|e| Error::Broken(format!("comparing plans ended early: {e}")))??;
        let claims = prices::claims(&self.pg, id).await?;
        let lost = lost(&renewal.gone, &old, &claims, &allocations::kept(&self.pg, id).await?);
        let sale = self.reload_sale(id).await?;
        self.check_priced(&sale, &renewal).await?;
        let sold: HashSet<u32> = claims.iter().filter(|claim| claim.sold).map(|claim| claim.seat).collect();
        let change = told(&from, plan, &old, &renewal, &sold, lost);
        Ok(Outcome { from, old, renewal, change })
    }

    async fn written_plan(&self, plan: PlanId) -> Result<plans::Written> {
        match plans::written(&self.pg, plan).await? {
            Some(written) => Ok(written),
            None => not_found("plan"),
        }
    }

    /// Seats that are added must have a price, or nobody could ever buy them.
    async fn check_priced(&self, sale: &Sale, renewal: &Renewal) -> Result<()> {
        let zones = self.zones_of(sale, &renewal.plan).await?;
        let mut without: Vec<&str> = Vec::new();
        for seat in renewal.added.iter().chain(&renewal.revived) {
            let zone = zones.get(*seat as usize).and_then(|zone| sale.view.zones.get(usize::from(*zone)));
            let name = zone.map_or("", |zone| zone.name.as_str());
            if zone.is_none_or(|zone| zone.price.is_none()) && !without.contains(&name) {
                without.push(name);
            }
        }
        if without.is_empty() {
            return Ok(());
        }
        let text = format!("plan: it adds seats in price zones that have no price: {}", without.join(", "));
        refuse(Code::InvalidInput, text)
    }

    /// The price zone of each seat of a plan in this performance.
    async fn zones_of(&self, sale: &Sale, plan: &Plan) -> Result<Vec<u8>> {
        let mut zones: Vec<u8> = plan.seats.iter().map(|seat| seat.category).collect();
        if sale.row.own_zones {
            for (seat, zone) in prices::seat_zones(&self.pg, sale.id()).await? {
                if let Some(slot) = zones.get_mut(seat as usize) {
                    *slot = zone;
                }
            }
        }
        Ok(zones)
    }

    async fn change_plan_now(
        self: &Arc<Self>,
        member: &Member,
        id: PerformanceId,
        outcome: Outcome,
    ) -> Result<PlanChange> {
        let Outcome { from, old, renewal, change } = outcome;
        // Stored before the sale rests: a plan that nobody uses harms nobody.
        let prepared = Prepared::renewed(&self.config.maps_dir(), renewal.plan.clone(), change.to).await?;
        let insert = prepared.insert(member.organization, &from.venue, &from.city, &from.time_zone, self.now());
        let mut tx = self.pg.begin().await?;
        let to = plans::insert(&mut tx, &insert).await?;
        tx.commit().await?;
        let sale = self.sale(id).await?;
        let map_digest = if sale.row.own_zones {
            let zones = prices::zones(&self.pg, id).await?.into_iter().map(|(_, name, color)| (name, color)).collect();
            let zone_of = self.zones_of(&sale, &renewal.plan).await?;
            Some(self.publish_zoned_map(&prepared.map_digest, zones, zone_of).await?)
        } else {
            None
        };
        for _ in 0..TRIES {
            let mut alone = self.pg.begin().await?;
            if catalog::build_alone(&mut *alone, id).await? {
                let replaced = Replaced { from: from.plan, to, map_digest: map_digest.as_deref() };
                if self.replace_at_rest(member, id, &replaced, &old, &renewal, &change).await? {
                    return Ok(change);
                }
            }
            drop(alone);
            tokio::time::sleep(TRY_EVERY).await;
        }
        let refusal =
            Refusal::new(Code::Unavailable, "the seats can't be brought to rest right now; try the same again");
        Err(Error::Refused(refusal.retry_after_ms(1_000)))
    }

    /// The change itself; false when the sale moved on meanwhile, and nothing was changed.
    async fn replace_at_rest(
        self: &Arc<Self>,
        member: &Member,
        id: PerformanceId,
        replaced: &Replaced<'_>,
        old: &Plan,
        renewal: &Renewal,
        change: &PlanChange,
    ) -> Result<bool> {
        let sale = self.reload_sale(id).await?;
        if sale.row.plan != replaced.from {
            return changed_meanwhile();
        }
        let run = self.seats.store_run(&sale.keys).await?;
        let Some(written) = guardian::bring_to_rest(self, &sale).await? else { return Ok(false) };
        self.fault("plan-change-at-rest");
        let mut tx = self.pg.begin().await?;
        let plans = (replaced.from, replaced.to);
        let Some(epoch) = rows::replace(&mut *tx, id, plans, replaced.map_digest, sale.row.epoch).await? else {
            return Ok(false);
        };
        log::start_epoch(&mut *tx, id, epoch).await?;
        // Whoever was quicker than this change keeps the seat: the rows can't change any more.
        let claims = prices::claims(&mut *tx, id).await?;
        let allocated = allocations::kept(&mut *tx, id).await?;
        check_lost(&lost(&renewal.gone, old, &claims, &allocated))?;
        let gone: Vec<i32> = renewal.gone.iter().filter_map(|seat| i32::try_from(*seat).ok()).collect();
        catalog::delete_blocked(&mut *tx, id, &gone).await?;
        self.mail_renamed(&mut tx, &sale, replaced.to, old, renewal).await?;
        let detail = json!({
            "from": change.from, "plan": change.to, "stored": replaced.to, "seats_before": change.seats_before,
            "seats_after": change.seats_after, "added": change.added.count, "back": change.back.count,
            "gone": change.gone, "renamed": change.renamed, "moved": change.moved,
        });
        self.record(&mut *tx, member, "plan.replace", &format!("performance {id}"), &detail).await?;
        tx.commit().await?;
        self.fault("plan-change-committed");
        // The change stands: where the seats can't be put in place now, the guardian does it.
        if let Err(error) = guardian::put_in_place(self, id, (epoch, &written), &run).await {
            tracing::warn!(%id, error = &error as &dyn std::error::Error, "the seats of a replaced plan are not in place yet");
        }
        Ok(true)
    }

    /// Tells those whose sold seats read differently from now on.
    async fn mail_renamed(
        &self,
        tx: &mut sqlx::Transaction<'_, sqlx::Postgres>,
        sale: &Sale,
        to: PlanId,
        old: &Plan,
        renewal: &Renewal,
    ) -> Result<()> {
        let renamed: Vec<i32> = renewal.renamed.iter().filter_map(|seat| i32::try_from(*seat).ok()).collect();
        let holders = rows::holders(&mut **tx, sale.id(), &renamed).await?;
        let event = format!("{} – {}", sale.row.artist, sale.row.title);
        for of_order in holders.chunk_by(|a, b| a.order == b.order) {
            let Some(first) = of_order.first() else { continue };
            let words = |plan: &Plan, seat: u32| plan.seat_label(seat).map(|label| ticket_words(&label, &first.lang));
            let seats: Vec<(String, String)> = of_order
                .iter()
                .filter_map(|row| Some((words(old, row.seat)?, words(&renewal.plan, row.seat)?)))
                .collect();
            let link = format!("{}/orders/{}", self.config.public_url, first.order);
            let mail = mail::seats_renamed(&first.email, &event, &seats, &link, &first.lang);
            mail::enqueue(&mut **tx, &format!("renamed:{}:{to}", first.order), &mail, self.now()).await?;
        }
        Ok(())
    }
}

/// The plans of one change.
struct Replaced<'a> {
    from: PlanId,
    to: PlanId,
    map_digest: Option<&'a str>,
}

fn changed_meanwhile<T>() -> Result<T> {
    refuse(Code::WrongState, "plan: somebody changed the plan meanwhile; look at it again")
}

fn words(label: &SeatLabel<'_>) -> String {
    format!("{} {} {}", label.section, label.row, label.seat)
}

/// A seat as its ticket and the mail with it tell it.
pub(crate) fn ticket_words(label: &SeatLabel<'_>, lang: &str) -> String {
    let SeatLabel { section, row, seat } = label;
    if lang == "zh" {
        format!("{section} · {row} 排 {seat} 座")
    } else {
        format!("{section} · row {row} · seat {seat}")
    }
}

fn places<'a>(seats: &[u32], plan: &'a Plan) -> SeatPlaces {
    let numbers: Vec<SeatNo> = seats.iter().copied().map(SeatNo).collect();
    let label = |seat: SeatNo| -> Option<SeatLabel<'a>> { plan.seat_label(seat.0) };
    SeatPlaces { count: count(seats.len()), places: tell_seats(&numbers, label, PLACES_MAX) }
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// The seats that are taken from somebody, by what they are to them.
fn lost(gone: &[u32], old: &Plan, claims: &[prices::ClaimRow], allocated: &[(u32, u8)]) -> Vec<(Taken, SeatPlaces)> {
    let gone: HashSet<u32> = gone.iter().copied().collect();
    let of = |sold: bool| -> Vec<u32> {
        let mut seats: Vec<u32> = claims
            .iter()
            .filter(|claim| claim.sold == sold)
            .map(|claim| claim.seat)
            .filter(|seat| gone.contains(seat))
            .collect();
        seats.sort_unstable();
        seats
    };
    let kept: Vec<u32> = allocated.iter().map(|(seat, _)| *seat).filter(|seat| gone.contains(seat)).collect();
    [(Taken::Sold, of(true)), (Taken::Held, of(false)), (Taken::Allocated, kept)]
        .into_iter()
        .filter(|(_, seats)| !seats.is_empty())
        .map(|(taken, seats)| (taken, places(&seats, old)))
        .collect()
}

fn check_lost(lost: &[(Taken, SeatPlaces)]) -> Result<()> {
    if lost.is_empty() {
        return Ok(());
    }
    let parts: Vec<String> = lost
        .iter()
        .map(|(taken, seats)| {
            let what = match taken {
                Taken::Sold => "sold",
                Taken::Held => "in open orders",
                Taken::Allocated => "in an allocation",
            };
            let shown = &seats.places[..seats.places.len().min(REFUSED_PLACES_MAX)];
            let more = if shown.len() < seats.places.len() { " and more" } else { "" };
            format!("{} {what}: {}{more}", seats.count, shown.join(" | "))
        })
        .collect();
    refuse(Code::SeatTaken, format!("plan: seats are missing that are {}", parts.join("; ")))
}

fn told(
    from: &PlannedRow,
    to: PlanId,
    old: &Plan,
    renewal: &Renewal,
    sold: &HashSet<u32>,
    lost: Vec<(Taken, SeatPlaces)>,
) -> PlanChange {
    let here = |plan: &Plan| count(plan.seats.iter().filter(|seat| !seat.gone).count());
    let pair = |seat: &u32| {
        Some(Renamed { before: words(&old.seat_label(*seat)?), after: words(&renewal.plan.seat_label(*seat)?) })
    };
    PlanChange {
        from: from.plan,
        to,
        seats_before: here(old),
        seats_after: here(&renewal.plan),
        kept: count(renewal.kept),
        added: places(&renewal.added, &renewal.plan),
        back: places(&renewal.revived, &renewal.plan),
        gone: places(&renewal.gone, old),
        moved: count(renewal.moved),
        renamed: count(renewal.renamed.len()),
        renamed_sold: renewal
            .renamed
            .iter()
            .filter(|seat| sold.contains(seat))
            .filter_map(pair)
            .take(RENAMED_MAX)
            .collect(),
        recategorized: count(renewal.recategorized),
        lost,
    }
}
