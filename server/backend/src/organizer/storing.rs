//! The storing of a plan: its rows, its written forms, and its published map.

use crate::error::{Error, Result};
use crate::postgres::plans::{PlanInsert, Written};
use domain::venue::import::House;
use domain::venue::static_map::StaticMap;
use domain::venue::{Plan, plan::Kind, pretix, static_map};
use domain::{Millis, OrganizationId, PlanId};
use sha2::{Digest as _, Sha256};
use std::io::Write as _;
use std::path::Path;

/// Compression of published maps: done once, read a million times.
const BROTLI_QUALITY: u32 = 9;
/// Window of that compression, as a power of two: the map fits into it.
const BROTLI_WINDOW: u32 = 22;

/// A plan whose map is published and whose written forms are made: ready for its rows.
pub(super) struct Prepared {
    pub(super) plan: Plan,
    pub(super) map_digest: String,
    source: String,
    document: Option<String>,
    house: House,
    renews: Option<PlanId>,
}

impl Prepared {
    /// Publishes the map and writes the plan.
    pub(super) async fn new(dir: &Path, plan: Plan, house: House) -> Result<Self> {
        let dir = dir.to_owned();
        tokio::task::spawn_blocking(move || {
            let map_digest = publish(&dir, &plan)?;
            let (source, document) = (pretix::export(&plan), Some(plan.to_document()));
            Ok(Self { source, document, map_digest, plan, house, renews: None })
        })
        .await
        .map_err(|e| Error::Broken(format!("publishing ended early: {e}")))?
    }

    /// As [`Prepared::new`], for a plan that carries `renews` over into the numbers of an older one.
    pub(super) async fn renewed(dir: &Path, plan: Plan, renews: PlanId) -> Result<Self> {
        let dir = dir.to_owned();
        tokio::task::spawn_blocking(move || {
            let map_digest = publish(&dir, &plan)?;
            // The exchange forms have no word for a number that is gone: nobody exports this plan.
            let (source, document) = (String::new(), Some(plan.to_renewed_document()));
            Ok(Self { source, document, map_digest, plan, house: House::default(), renews: Some(renews) })
        })
        .await
        .map_err(|e| Error::Broken(format!("publishing ended early: {e}")))?
    }

    /// The rows of the plan at a place.
    pub(super) fn insert<'a>(
        &'a self,
        organization: OrganizationId,
        venue: &'a str,
        city: &'a str,
        time_zone: &'a str,
        now: Millis,
    ) -> PlanInsert<'a> {
        let plan = &self.plan;
        let row = |index: u32| plan.rows.get(index as usize).map(|row| row.label.clone()).unwrap_or_default();
        let section = |index: u16| plan.sections.get(usize::from(index)).map(|s| s.name.clone()).unwrap_or_default();
        PlanInsert {
            id: PlanId(uuid::Uuid::now_v7()),
            organization,
            venue,
            city,
            time_zone,
            map_digest: &self.map_digest,
            source: &self.source,
            document: self.document.as_deref(),
            house: &self.house,
            categories: plan.categories.iter().map(|c| c.name.clone()).collect(),
            sections_no: plan.seats.iter().map(|s| i16::try_from(s.section).unwrap_or(i16::MAX)).collect(),
            sections: plan.seats.iter().map(|s| section(s.section)).collect(),
            rows_no: plan.seats.iter().map(|s| i32::try_from(s.row).unwrap_or(i32::MAX)).collect(),
            rows: plan.seats.iter().map(|s| row(s.row)).collect(),
            labels: plan.seats.iter().map(|s| s.label.clone()).collect(),
            seat_categories: plan.seats.iter().map(|s| i16::from(s.category)).collect(),
            accessible: plan.seats.iter().map(|s| matches!(s.kind, Kind::Wheelchair | Kind::Companion)).collect(),
            standing: plan.seats.iter().map(|s| s.kind == Kind::Standing).collect(),
            gone: plan.seats.iter().map(|s| s.gone).collect(),
            renews: self.renews,
            now,
        }
    }
}

/// The plan that was stored.
pub(crate) fn plan_of(written: &Written) -> Result<Plan> {
    let unreadable = |e: &dyn std::fmt::Display| Error::Broken(format!("a stored plan can't be read: {e}"));
    match &written.document {
        Some(document) => Plan::from_document(document).map_err(|e| unreadable(&e)),
        // Plans from before have the exchange form alone; it was checked when they were stored.
        None => match pretix::import(&written.source, pretix::Mode::Tolerant) {
            Ok(imported) => Ok(imported.plan),
            Err(e) => Err(unreadable(&e)),
        },
    }
}

/// Publishes the map of a plan; see [`publish_map`].
pub(super) fn publish(dir: &Path, plan: &Plan) -> Result<String> {
    publish_map(dir, &static_map::encode(plan))
}

/// Writes the static map under the digest of its content, each file beside its compressed forms.
pub(super) fn publish_map(dir: &Path, map: &StaticMap) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(&map.bin);
    hash.update(map.json.as_bytes());
    let digest = hex::encode(hash.finalize());
    std::fs::create_dir_all(dir)?;
    for (ext, content) in [("bin", map.bin.as_slice()), ("json", map.json.as_bytes())] {
        let (brotli_path, gzip_path) = (dir.join(format!("{digest}.{ext}.br")), dir.join(format!("{digest}.{ext}.gz")));
        if !brotli_path.exists() {
            let mut brotli = brotli::CompressorWriter::new(Vec::new(), 4096, BROTLI_QUALITY, BROTLI_WINDOW);
            brotli.write_all(content)?;
            write_once(&brotli_path, &brotli.into_inner())?;
        }
        if !gzip_path.exists() {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            gzip.write_all(content)?;
            write_once(&gzip_path, &gzip.finish()?)?;
        }
        write_once(&dir.join(format!("{digest}.{ext}")), content)?;
    }
    Ok(digest)
}

/// Content-addressed files never change: what is there is right. A crash leaves a temporary file only.
pub(super) fn write_once(path: &Path, content: &[u8]) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    // A name of its own for each writer: two may publish the same at once, in one process or in two.
    let temporary = path.with_extension(format!("tmp{}", uuid::Uuid::now_v7().simple()));
    std::fs::write(&temporary, content)?;
    std::fs::rename(&temporary, path)?;
    Ok(())
}
