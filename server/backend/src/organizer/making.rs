//! Organizations and plans as they are stored and published, and what is steered in a running sale,
//! below sessions: pages, commands and the demo all come here.

use super::access::Member;
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Error, Result, not_found, refuse};
use crate::postgres::{accounts, catalog, detached, events, plans};
use crate::redis::ShortAnswer;
use domain::hold::SeatState;
use domain::venue::static_map::StaticMap;
use domain::venue::{Plan, plan::Kind, pretix, static_map};
use domain::{Code, Currency, Millis, OrganizationId, PerformanceId, PlanId, Refusal, SeatNo};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Compression of published maps: done once, read a million times.
const BROTLI_QUALITY: u32 = 9;
/// Window of that compression, as a power of two: the map fits into it.
const BROTLI_WINDOW: u32 = 22;
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
    /// When the sale ends.
    pub closes: Millis,
    /// Most seats for one account.
    pub seat_limit: u32,
    /// Length of a hold.
    pub hold_ttl_ms: i64,
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
    /// `invalid_input` names the field.
    pub async fn store_plan(
        self: &Arc<Self>,
        organization: OrganizationId,
        plan: Plan,
        venue: &str,
        city: &str,
        time_zone: &str,
    ) -> Result<StoredPlan> {
        check_text("venue", venue, NAME_MAX_CHARS)?;
        check_text("city", city, NAME_MAX_CHARS)?;
        if zoned(Millis(0), time_zone).is_err() {
            return invalid(format!("time_zone: `{time_zone}` is not a zone such as Europe/Berlin"));
        }
        let dir = self.config.maps_dir();
        let (digest, plan) =
            tokio::task::spawn_blocking(move || publish(&dir, &static_map::encode(&plan)).map(|digest| (digest, plan)))
                .await
                .map_err(|e| Error::Broken(format!("publishing ended early: {e}")))??;
        let this = Arc::clone(self);
        let (venue, city, time_zone) = (venue.to_owned(), city.to_owned(), time_zone.to_owned());
        detached(async move {
            let source = pretix::export(&plan);
            let names = |index: u32| plan.rows.get(index as usize).map(|row| row.label.clone()).unwrap_or_default();
            let insert = plans::PlanInsert {
                id: PlanId(uuid::Uuid::now_v7()),
                organization,
                venue: &venue,
                city: &city,
                time_zone: &time_zone,
                map_digest: &digest,
                source: &source,
                categories: plan.categories.iter().map(|c| c.name.clone()).collect(),
                sections_no: plan.seats.iter().map(|s| i16::try_from(s.section).unwrap_or(i16::MAX)).collect(),
                sections: plan
                    .seats
                    .iter()
                    .map(|s| plan.sections.get(usize::from(s.section)).map(|s| s.name.clone()).unwrap_or_default())
                    .collect(),
                rows_no: plan.seats.iter().map(|s| i32::try_from(s.row).unwrap_or(i32::MAX)).collect(),
                rows: plan.seats.iter().map(|s| names(s.row)).collect(),
                labels: plan.seats.iter().map(|s| s.label.clone()).collect(),
                seat_categories: plan.seats.iter().map(|s| i16::from(s.category)).collect(),
                accessible: plan.seats.iter().map(|s| matches!(s.kind, Kind::Wheelchair | Kind::Companion)).collect(),
                now: this.now(),
            };
            let mut tx = this.pg.begin().await?;
            let id = plans::insert(&mut tx, &insert).await?;
            tx.commit().await?;
            Ok(StoredPlan { id, map_digest: digest.clone(), seats: plan.seats.len() })
        })
        .await
    }

    /// A stored plan in the pretix form.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn export_plan(&self, venue: &str) -> Result<String> {
        let Some(id) = plans::by_venue(&self.pg, venue).await? else { return not_found("venue") };
        match plans::source(&self.pg, id).await? {
            Some(source) => Ok(source),
            None => not_found("plan"),
        }
    }

    /// The newest plan of a venue, with its categories.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn plan_of_venue(&self, venue: &str) -> Result<(PlanId, Vec<String>)> {
        let Some(id) = plans::by_venue(&self.pg, venue).await? else { return not_found("venue") };
        Ok((id, plans::categories(&self.pg, id).await?))
    }

    /// Pauses or resumes entry; whoever is inside goes on.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn set_paused(&self, id: PerformanceId, paused: bool) -> Result<()> {
        if !catalog::set_paused(&self.pg, id, paused).await? {
            return not_found("performance");
        }
        self.reload_sale(id).await?;
        Ok(())
    }

    /// Pauses or resumes entry of the member's own performance.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn pause_for(self: &Arc<Self>, member: &Member, id: PerformanceId, paused: bool) -> Result<()> {
        self.own_performance(member, id).await?;
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !catalog::set_paused(&mut *tx, id, paused).await? {
                return not_found("performance");
            }
            let action = if paused { "performance.pause" } else { "performance.resume" };
            this.record(&mut *tx, &member, action, &format!("performance {id}"), &json!({})).await?;
            tx.commit().await?;
            this.reload_sale(id).await?;
            Ok(())
        })
        .await
    }

    /// Takes seats of the member's own performance off sale, with a reason, or puts them back.
    ///
    /// # Errors
    /// `not_found`; those of [`Backend::set_blocked`].
    pub async fn block_for(
        self: &Arc<Self>,
        member: &Member,
        id: PerformanceId,
        seats: &[SeatNo],
        reason: Option<&str>,
    ) -> Result<()> {
        self.own_performance(member, id).await?;
        self.set_blocked(id, seats, reason).await?;
        let action = if reason.is_some() { "performance.block" } else { "performance.unblock" };
        let detail = json!({ "seats": seats, "reason": reason });
        self.record(&self.pg, member, action, &format!("performance {id}"), &detail).await
    }

    /// Refuses what is another organization's.
    pub(super) async fn own_performance(&self, member: &Member, id: PerformanceId) -> Result<()> {
        if events::owns_performance(&self.pg, member.organization, id).await? {
            Ok(())
        } else {
            not_found("performance")
        }
    }

    /// Takes seats off sale, with a reason, or puts them back: all of them, or none.
    ///
    /// # Errors
    /// `unknown_seat`, `seat_taken` with the seats, `unavailable`.
    pub async fn set_blocked(
        self: &Arc<Self>,
        id: PerformanceId,
        seats: &[SeatNo],
        reason: Option<&str>,
    ) -> Result<()> {
        let sale = self.sale(id).await?;
        let (from, to) = match reason {
            Some(reason) => {
                check_text("reason", reason, NAME_MAX_CHARS)?;
                (SeatState::Available, SeatState::Blocked)
            }
            None => (SeatState::Blocked, SeatState::Available),
        };
        match self.seats.block(&sale.keys, sale.row.epoch, seats, from as u8, to as u8).await? {
            ShortAnswer::Done | ShortAnswer::Again => {}
            ShortAnswer::Rebuilding => return crate::holds::rebuilding(),
            ShortAnswer::No(word, seats) => {
                let code = if word == "unknown" { Code::UnknownSeat } else { Code::SeatTaken };
                let text = format!("seat {} can't change: {word}", domain::ids::join_seats(&seats));
                return Err(Error::Refused(Refusal::new(code, text).with_seats(seats)));
            }
        }
        let numbers: Vec<i32> = seats.iter().filter_map(|s| i32::try_from(s.0).ok()).collect();
        match reason {
            Some(reason) => catalog::insert_blocked(&self.pg, id, &numbers, reason).await?,
            None => catalog::delete_blocked(&self.pg, id, &numbers).await?,
        }
        Ok(())
    }
}

/// Writes the static map under the digest of its content, each file beside its compressed forms.
pub(super) fn publish(dir: &Path, map: &StaticMap) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(&map.bin);
    hash.update(map.json.as_bytes());
    let digest = hex::encode(hash.finalize());
    std::fs::create_dir_all(dir)?;
    for (ext, content) in [("bin", map.bin.as_slice()), ("json", map.json.as_bytes())] {
        write_once(&dir.join(format!("{digest}.{ext}")), content)?;
        let mut brotli = brotli::CompressorWriter::new(Vec::new(), 4096, BROTLI_QUALITY, BROTLI_WINDOW);
        brotli.write_all(content)?;
        write_once(&dir.join(format!("{digest}.{ext}.br")), &brotli.into_inner())?;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(content)?;
        write_once(&dir.join(format!("{digest}.{ext}.gz")), &gzip.finish()?)?;
    }
    Ok(digest)
}

/// Content-addressed files never change: what is there is right. A crash leaves a temporary file only.
fn write_once(path: &Path, content: &[u8]) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    // A name of its own for each writer: two may publish the same at once, in one process or in two.
    let temporary = path.with_extension(format!("tmp{}", uuid::Uuid::now_v7().simple()));
    std::fs::write(&temporary, content)?;
    std::fs::rename(&temporary, path)?;
    Ok(())
}
