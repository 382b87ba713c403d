//! The making of plans, events and performances, below roles: the demo, simulations and publishing use it.

use crate::backend::{Backend, random_bytes};
use crate::catalog::zoned;
use crate::error::{Error, Result, not_found, refuse};
use crate::organizer::blocking::BlockChange;
use crate::postgres::{accounts, catalog, detached, plans};
use domain::hold::SEATS_PER_HOLD_MAX;
use domain::venue::{Plan, plan::Kind, pretix, static_map};
use domain::{Code, Currency, EventId, Millis, OrganizationId, PerformanceId, PlanId, SeatNo};
use sha2::{Digest as _, Sha256};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Compression of published maps: done once, read a million times.
const BROTLI_QUALITY: u32 = 9;
/// Window of that compression, as a power of two: the map fits into it.
const BROTLI_WINDOW: u32 = 22;
/// Longest name of an event, an artist or a venue, in characters.
const NAME_MAX_CHARS: usize = 120;
/// Longest description, in characters.
const DESCRIPTION_MAX_CHARS: usize = 10_000;

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

/// An event to be made.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// Part of its address: lower-case letters, digits and hyphens.
    pub slug: String,
    /// Title.
    pub title: String,
    /// Who plays.
    pub artist: String,
    /// Plain text.
    pub description: String,
    /// Picture theme.
    pub cover: u8,
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

fn invalid<T>(message: impl Into<String>) -> Result<T> {
    refuse(Code::InvalidInput, message)
}

fn check_text(field: &str, text: &str, most: usize) -> Result<()> {
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
        let (digest, plan) = tokio::task::spawn_blocking(move || publish(&dir, &plan).map(|digest| (digest, plan)))
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

    /// Makes an event, or finds the one with this address.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub async fn make_event(&self, organization: OrganizationId, new: &NewEvent) -> Result<EventId> {
        let slug_ok = !new.slug.is_empty()
            && new.slug.len() <= 80
            && new.slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !slug_ok {
            return invalid("slug: 1 to 80 lower-case letters, digits and hyphens are expected");
        }
        check_text("title", &new.title, NAME_MAX_CHARS)?;
        check_text("artist", &new.artist, NAME_MAX_CHARS)?;
        check_text("description", &new.description, DESCRIPTION_MAX_CHARS)?;
        let insert = catalog::EventInsert {
            id: EventId(uuid::Uuid::now_v7()),
            organization,
            slug: &new.slug,
            title: &new.title,
            artist: &new.artist,
            description: &new.description,
            cover: new.cover,
            now: self.now(),
        };
        catalog::insert_event(&self.pg, &insert).await?;
        match catalog::event_id(&self.pg, &new.slug).await? {
            Some(id) => Ok(id),
            None => Err(Error::Broken(format!("event {} was stored and is not there", new.slug))),
        }
    }

    /// The event with this address.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn event_by_slug(&self, slug: &str) -> Result<EventId> {
        match catalog::event_id(&self.pg, slug).await? {
            Some(id) => Ok(id),
            None => not_found("event"),
        }
    }

    /// Makes a performance: its queue's secret seed is drawn and the commitment published now; the
    /// leader warms its seats up.
    ///
    /// # Errors
    /// `invalid_input` names the field or the rule.
    pub async fn make_performance(&self, event: EventId, plan: PlanId, new: &NewPerformance) -> Result<PerformanceId> {
        if new.opens >= new.closes {
            return invalid("closes: the sale must end after it opens");
        }
        if new.seat_limit == 0 || new.seat_limit as usize > SEATS_PER_HOLD_MAX {
            return invalid(format!("seat_limit: a number from 1 to {SEATS_PER_HOLD_MAX} is expected"));
        }
        if !(1_000..=86_400_000).contains(&new.hold_ttl_ms) {
            return invalid("hold_ttl_ms: one second to one day is expected");
        }
        if new.shoppers_max == 0 || new.release_per_min == 0 {
            return invalid("shoppers_max, release_per_min: at least 1 is expected");
        }
        let categories = plans::categories(&self.pg, plan).await?;
        if categories.is_empty() {
            return not_found("plan");
        }
        if let Some((category, _)) =
            new.prices.iter().find(|(c, amount)| usize::from(*c) >= categories.len() || *amount <= 0)
        {
            return invalid(format!("prices: category {category} is not in the plan, or its price is not positive"));
        }
        self.check_all_priced(plan, &categories, new).await?;
        let id = PerformanceId(uuid::Uuid::now_v7());
        catalog::insert_performance(&self.pg, id, event, plan, new, &random_bytes::<32>(), self.now()).await?;
        Ok(id)
    }

    /// A seat that fans can see but not buy for want of a price is an organizer's mistake.
    async fn check_all_priced(&self, plan: PlanId, categories: &[String], new: &NewPerformance) -> Result<()> {
        let seats = self.plan_seats(plan).await?;
        for (index, name) in categories.iter().enumerate() {
            let used = seats.seats.iter().filter(|seat| usize::from(seat.category) == index).count();
            if used > 0 && !new.prices.iter().any(|(c, _)| usize::from(*c) == index) {
                return invalid(format!("prices: category `{name}` has {used} seats and no price"));
            }
        }
        Ok(())
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

    /// Takes seats off sale, with a reason, or puts them back: all of them, or none.
    ///
    /// # Errors
    /// `not_found`, `unknown_seat`, `seat_taken` with the seats, `unavailable`.
    pub async fn set_blocked(
        self: &Arc<Self>,
        id: PerformanceId,
        seats: &[SeatNo],
        reason: Option<&str>,
    ) -> Result<()> {
        let change = match reason {
            Some(reason) => BlockChange::Block(reason.to_owned()),
            None => BlockChange::Unblock,
        };
        self.change_blocked(id, seats.iter().copied().collect(), change, None).await
    }
}

/// Writes the static map under the digest of its content, each file beside its compressed forms.
fn publish(dir: &Path, plan: &Plan) -> Result<String> {
    let map = static_map::encode(plan);
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
    let temporary = path.with_extension(format!("tmp{}", std::process::id()));
    std::fs::write(&temporary, content)?;
    std::fs::rename(&temporary, path)?;
    Ok(())
}
