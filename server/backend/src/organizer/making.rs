//! Organizations and plans as they are stored and published, and what is steered in a running sale,
//! below sessions: pages, commands and the demo all come here.

use super::access::Member;
use super::storing::{Prepared, plan_of};
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Result, not_found, refuse};
use crate::organizer::blocking::BlockChange;
use crate::postgres::{accounts, detached, events, plans};
use domain::organizer::desk::SaleChange;
use domain::organizer::plans::Place;
use domain::queue::Mode;
use domain::venue::Plan;
use domain::venue::import::House;
use domain::{Code, Currency, Millis, OrganizationId, PerformanceId, PlanId, SeatNo};
use serde_json::json;
use std::sync::Arc;

/// Longest name of an event, an artist or a venue, in characters.
pub(super) const NAME_MAX_CHARS: usize = 120;
/// Longest description, in characters.
pub(super) const DESCRIPTION_MAX_CHARS: usize = 10_000;

/// A plan that was stored and published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlan {
    /// The plan.
    pub id: PlanId,
    /// Name of its static map.
    pub map_digest: String,
    /// Number of seats.
    pub seats: usize,
}

/// A performance to be made.
#[derive(Clone, Debug)]
pub struct NewPerformance {
    /// When it begins.
    pub starts: Millis,
    /// When the on-sale opens.
    pub opens: Millis,
    /// How places become turns.
    pub mode: Mode,
    /// From when on places can be taken; none: from publication on.
    pub registers: Option<Millis>,
    /// Accounts that were made after this instant get no place; none: all may.
    pub account_cutoff: Option<Millis>,
    /// Length of a lottery's window.
    pub window_ms: i64,
    /// When the sale ends.
    pub closes: Millis,
    /// Most seats for one account.
    pub seat_limit: u32,
    /// Length of a hold.
    pub hold_ttl_ms: i64,
    /// Whether a choice that leaves one seat alone is refused.
    pub single_seat_rule: bool,
    /// Most shoppers inside at once.
    pub shoppers_max: u32,
    /// Places released a minute.
    pub release_per_min: u32,
    /// Currency of all prices.
    pub currency: Currency,
    /// Price in minor units by category; seats of other categories are not for sale.
    pub prices: Vec<(u8, i64)>,
}

pub(super) fn invalid<T>(message: impl Into<String>) -> Result<T> {
    refuse(Code::InvalidInput, message)
}

pub(super) fn check_text(field: &str, text: &str, most: usize) -> Result<()> {
    let count = text.chars().count();
    if count == 0 || count > most || text.chars().any(|c| c.is_control() && c != '\n') {
        return invalid(format!("{field}: 1 to {most} characters without control characters are expected"));
    }
    Ok(())
}

/// Refuses a place that no plan may have.
pub(super) fn check_place(venue: &str, city: &str, time_zone: &str) -> Result<()> {
    check_text("venue", venue, NAME_MAX_CHARS)?;
    check_text("city", city, NAME_MAX_CHARS)?;
    if zoned(Millis(0), time_zone).is_err() {
        return invalid(format!("time_zone: `{time_zone}` is not a zone such as Europe/Berlin"));
    }
    Ok(())
}

impl Backend {
    /// Finds or makes an organization by its name.
    ///
    /// # Errors
    /// Outages only.
    pub async fn ensure_organization(&self, name: &str) -> Result<OrganizationId> {
        check_text("name", name, NAME_MAX_CHARS)?;
        Ok(accounts::ensure_organization(&self.pg, OrganizationId(uuid::Uuid::now_v7()), name, self.now()).await?)
    }

    /// Stores a plan with its seats and publishes its static map. The same plan again is the same.
    ///
    /// # Errors
    /// As [`Backend::store_venue`].
    pub async fn store_plan(
        self: &Arc<Self>,
        member: &Member,
        plan: Plan,
        venue: &str,
        city: &str,
        time_zone: &str,
    ) -> Result<StoredPlan> {
        let place = Place { venue: venue.to_owned(), city: city.to_owned(), time_zone: time_zone.to_owned() };
        self.store_venue(member, plan, House::default(), place).await
    }

    /// As [`Backend::store_plan`], with what the plan's file says about selling.
    ///
    /// # Errors
    /// `invalid_input` names the field; `wrong_state` names seats that somebody has and the plan lacks.
    pub async fn store_venue(
        self: &Arc<Self>,
        member: &Member,
        plan: Plan,
        house: House,
        place: Place,
    ) -> Result<StoredPlan> {
        check_place(&place.venue, &place.city, &place.time_zone)?;
        let plan = self.check_missing(member, &place.venue, plan).await?;
        let prepared = Prepared::new(&self.config.maps_dir(), plan, house).await?;
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let Place { venue, city, time_zone } = &place;
            let insert = prepared.insert(member.organization, venue, city, time_zone, this.now());
            let mut tx = this.pg.begin().await?;
            let id = plans::insert(&mut tx, &insert).await?;
            let seats = prepared.plan.seats.len();
            let detail = json!({ "venue": venue, "city": city, "time_zone": time_zone, "seats": seats });
            this.record(&mut *tx, &member, "plan.import", &format!("plan {id}"), &detail).await?;
            tx.commit().await?;
            Ok(StoredPlan { id, map_digest: prepared.map_digest.clone(), seats })
        })
        .await
    }

    /// The newest plan of a venue, in full.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn export_plan(&self, member: &Member, venue: &str) -> Result<Plan> {
        let Some(id) = plans::by_venue(&self.pg, member.organization, venue).await? else { return not_found("venue") };
        match plans::written(&self.pg, id).await? {
            Some(written) => plan_of(&written),
            None => not_found("plan"),
        }
    }

    /// The newest plan of a venue, with its categories.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn plan_of_venue(&self, member: &Member, venue: &str) -> Result<(PlanId, Vec<String>)> {
        let Some(id) = plans::by_venue(&self.pg, member.organization, venue).await? else { return not_found("venue") };
        Ok((id, plans::categories(&self.pg, id).await?))
    }

    /// Pauses or resumes entry of the member's own performance.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn pause_for(self: &Arc<Self>, member: &Member, id: PerformanceId, paused: bool) -> Result<()> {
        self.own_performance(member, id).await?;
        let change = if paused { SaleChange::Pause } else { SaleChange::Resume };
        self.change_sale_as(member, id, change).await
    }

    /// Takes seats of the member's own performance off sale, with a reason, or puts them back: all of
    /// them, or none.
    ///
    /// # Errors
    /// `not_found`, `unknown_seat`, `seat_taken` with the seats, `unavailable`.
    pub async fn block_for(
        self: &Arc<Self>,
        member: &Member,
        id: PerformanceId,
        seats: &[SeatNo],
        reason: Option<&str>,
    ) -> Result<()> {
        self.own_performance(member, id).await?;
        let change = match reason {
            Some(reason) => BlockChange::Block(reason.to_owned()),
            None => BlockChange::Unblock,
        };
        self.change_blocked(id, seats.iter().copied().collect(), change, member).await
    }

    /// Refuses what is another organization's.
    pub(crate) async fn own_performance(&self, member: &Member, id: PerformanceId) -> Result<()> {
        if events::owns_performance(&self.pg, member.organization, id).await? {
            Ok(())
        } else {
            not_found("performance")
        }
    }
}
