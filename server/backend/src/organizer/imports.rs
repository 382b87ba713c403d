//! Venue plans on their way in: upload, check, choices, acceptance; the list, and the way out again.
//!
//! A file is kept with what its check found, also when it is refused, so that the findings can be read.
//! Reading is bounded: one file at a time in each process, and never while a request's own task waits
//! on it. Nothing becomes a plan before people have seen what was repaired.

use super::access::Member;
use super::making::{StoredPlan, check_place, invalid};
use super::storing::{Prepared, plan_of, publish};
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Error, Result, not_found, refuse};
use crate::postgres::imports::{self as rows, ImportFile, ImportInsert};
use crate::postgres::{detached, plans};
use bytes::Bytes;
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::plans::{
    COLUMNS, COLUMNS_MAX, Checked, ExportFormat, Filter, ImportState, ImportView, LOSSES_SHOWN_MAX, Outline, Place,
    PlanList, PlanRow, PlanView, shown,
};
use domain::venue::import::{self, MAX_FILE_BYTES, Options};
use domain::venue::{Plan, csv, plan, pretix};
use domain::{Code, ImportId, Millis, PlanId, Refusal, ZonedTime};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// Files of one organization that wait for a decision; of more, the oldest go.
const OPEN_IMPORTS_MAX: i64 = 50;
/// Files in the list.
const IMPORTS_LISTED_MAX: i64 = 20;
/// Plans in the list.
const PLANS_LISTED_MAX: i64 = 500;
/// Venues that a form offers.
const PLACES_MAX: i64 = 50;
/// Longest name of a file that is kept, in characters.
const FILE_NAME_MAX_CHARS: usize = 120;
/// Longest choice, in characters: a pattern for ids is the longest.
const OPTION_MAX_CHARS: usize = 500;
/// Missing seats that a refusal names.
const LABELS_MAX: usize = 30;
/// How long a request waits for its turn to have a file read, and is told to come back after.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// A plan as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// Name of the venue: the file is called after it.
    pub venue: String,
    /// What is in it.
    pub content: String,
}

fn utc(at: Millis) -> Result<ZonedTime> {
    zoned(at, "UTC")
}

/// The name of a file without its folders, as it can be kept.
fn file_name_of(text: &str) -> String {
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = name.chars().filter(|c| !c.is_control()).collect();
    let clean = clean.trim();
    if clean.is_empty() { "plan".to_owned() } else { shown(clean, FILE_NAME_MAX_CHARS) }
}

fn check_options(options: &Options) -> Result<()> {
    let short = |text: &str| text.chars().count() <= OPTION_MAX_CHARS;
    if options.encoding.as_deref().is_some_and(|label| !short(label)) {
        return invalid("encoding: the name of an encoding is expected");
    }
    if options.id_pattern.as_deref().is_some_and(|pattern| !short(pattern)) {
        return invalid(format!("id_pattern: at most {OPTION_MAX_CHARS} characters are expected"));
    }
    if options.columns.len() > COLUMNS_MAX || options.columns.keys().any(|ours| !COLUMNS.contains(&ours.as_str())) {
        return invalid("columns: the names of our columns are expected");
    }
    Ok(())
}

fn moved_on<T>() -> Result<T> {
    refuse(Code::WrongState, "version: the file was checked again, accepted or discarded meanwhile; load it anew")
}

impl Backend {
    /// Waits for the turn to have one file read.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        match tokio::time::timeout(TURN_TIMEOUT, Arc::clone(&self.reading).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::Refused(
                Refusal::new(Code::Unavailable, "other files are being read; nothing was changed, try again soon")
                    .retry_after_ms(10_000),
            )),
        }
    }

    /// Checks a file, and publishes the map of what can be drawn.
    async fn check_file(&self, content: Bytes, file_name: String, options: Options) -> Result<Read> {
        let dir = self.config.maps_dir();
        tokio::task::spawn_blocking(move || {
            let report = import::read(&content, &file_name, &options);
            let map_digest = report.plan.as_ref().map(|plan| publish(&dir, plan)).transpose()?;
            Ok(Read { checked: Checked::of(&report), map_digest, house: report.house(), plan: report.plan })
        })
        .await
        .map_err(|e| Error::Broken(format!("the check of a file ended early: {e}")))?
    }

    /// Takes a venue file in and checks it. A file that is refused is kept too, with all its findings.
    ///
    /// # Errors
    /// `too_large` names the limit; `invalid_input` for an empty file; `unavailable` while others are read.
    pub async fn upload_plan(self: &Arc<Self>, session: &Session, file_name: &str, content: Bytes) -> Result<ImportId> {
        let member = self.member(session, Action::EditPlans).await?;
        if content.len() > MAX_FILE_BYTES {
            let limit_mib = MAX_FILE_BYTES / 1024 / 1024;
            return refuse(Code::TooLarge, format!("file: at most {limit_mib} MiB are expected"));
        }
        if content.is_empty() {
            return invalid("file: a file with something in it is expected");
        }
        let turn = self.turn().await?;
        let (file_name, options) = (file_name_of(file_name), Options::default());
        let read = self.check_file(content.clone(), file_name.clone(), options.clone()).await?;
        let this = Arc::clone(self);
        detached(async move {
            let _turn = turn;
            let id = ImportId(uuid::Uuid::now_v7());
            let insert = ImportInsert {
                id,
                organization: member.organization,
                account: member.account,
                file_name: &file_name,
                content: &content,
                options: &options,
                checked: &read.checked,
                map_digest: read.map_digest.as_deref(),
                now: this.now(),
            };
            let mut tx = this.pg.begin().await?;
            rows::insert(&mut *tx, &insert).await?;
            let dropped = rows::drop_oldest(&mut *tx, member.organization, OPEN_IMPORTS_MAX).await?;
            let detail = json!({ "file": file_name, "bytes": content.len(), "accepted": read.checked.accepted,
                "errors": read.checked.error_count, "dropped": dropped });
            this.record(&mut *tx, &member, "plan.upload", &format!("import {id}"), &detail).await?;
            tx.commit().await?;
            Ok(id)
        })
        .await
    }

    async fn import_file(&self, member: &Member, id: ImportId) -> Result<ImportFile> {
        match rows::get(&self.pg, member.organization, id).await? {
            Some(file) => Ok(file),
            None => not_found("upload"),
        }
    }

    /// A file with what its check found; one page of the findings.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn plan_import(&self, session: &Session, id: ImportId, filter: Filter, page: u32) -> Result<ImportView> {
        let member = self.member(session, Action::ReadPlans).await?;
        let file = self.import_file(&member, id).await?;
        let checked = file.checked;
        let (findings, pages) = checked.page(filter, page);
        Ok(ImportView {
            id,
            file_name: file.file_name,
            version: file.version,
            state: ImportState::of(checked.accepted, file.plan),
            options: file.options,
            format: checked.format,
            map_digest: file.map_digest,
            error_count: checked.error_count,
            warning_count: checked.warning_count,
            filter,
            page: page.clamp(1, pages),
            pages,
            findings,
            findings_kept: u32::try_from(checked.errors.len() + checked.warnings.len()).unwrap_or(u32::MAX),
            outline: checked.outline,
            bad: checked.bad,
            care: checked.care,
            table: checked.table,
            plan: file.plan,
            uploaded: utc(file.created)?,
            places: rows::places(&self.pg, member.organization, PLACES_MAX).await?,
        })
    }

    /// Checks a file again under other choices.
    ///
    /// # Errors
    /// `not_found`; `wrong_state` when the file moved on meanwhile; `invalid_input` names the choice.
    pub async fn recheck_import(
        self: &Arc<Self>,
        session: &Session,
        id: ImportId,
        version: i32,
        options: Options,
    ) -> Result<()> {
        let member = self.member(session, Action::EditPlans).await?;
        check_options(&options)?;
        let (turn, file, content) = self.open_file(&member, id, version).await?;
        let read = self.check_file(content, file.file_name, options.clone()).await?;
        let this = Arc::clone(self);
        detached(async move {
            let _turn = turn;
            let mut tx = this.pg.begin().await?;
            if !rows::put(&mut *tx, id, version, &options, &read.checked, read.map_digest.as_deref()).await? {
                return moved_on();
            }
            let detail = json!({ "options": options, "accepted": read.checked.accepted,
                "errors": read.checked.error_count });
            this.record(&mut *tx, &member, "plan.recheck", &format!("import {id}"), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// A file of that version which is no plan yet, with its content, and the turn to read it.
    async fn open_file(
        &self,
        member: &Member,
        id: ImportId,
        version: i32,
    ) -> Result<(OwnedSemaphorePermit, ImportFile, Bytes)> {
        let file = self.import_file(member, id).await?;
        if file.version != version || file.plan.is_some() {
            return moved_on();
        }
        let turn = self.turn().await?;
        match rows::content(&self.pg, id).await? {
            Some(content) => Ok((turn, file, Bytes::from(content))),
            None => not_found("upload"),
        }
    }

    /// Forgets a file that became no plan.
    ///
    /// # Errors
    /// `not_found`; `wrong_state` once it is a plan.
    pub async fn discard_import(self: &Arc<Self>, session: &Session, id: ImportId) -> Result<()> {
        let member = self.member(session, Action::EditPlans).await?;
        let file = self.import_file(&member, id).await?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !rows::delete(&mut *tx, member.organization, id).await? {
                return moved_on();
            }
            let detail = json!({ "file": file.file_name });
            this.record(&mut *tx, &member, "plan.discard", &format!("import {id}"), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Makes a file the newest plan of a venue. The same file again gives the same plan.
    ///
    /// # Errors
    /// `invalid_input` names the field: `confirmed` when there are repairs that nobody confirmed;
    /// `wrong_state` when the file has errors or moved on; `seat_taken` names seats that somebody holds or
    /// bought and that the file lacks.
    pub async fn accept_import(
        self: &Arc<Self>,
        session: &Session,
        id: ImportId,
        version: i32,
        place: Place,
        confirmed: bool,
    ) -> Result<PlanId> {
        let member = self.member(session, Action::EditPlans).await?;
        let file = self.import_file(&member, id).await?;
        if let Some(plan) = file.plan {
            return Ok(plan);
        }
        let place = Place {
            venue: place.venue.trim().to_owned(),
            city: place.city.trim().to_owned(),
            time_zone: place.time_zone.trim().to_owned(),
        };
        check_place(&place.venue, &place.city, &place.time_zone)?;
        if !file.checked.accepted {
            return refuse(Code::WrongState, "the file has errors: mend them, or check it with other choices");
        }
        if file.checked.warning_count > 0 && !confirmed {
            return invalid(format!(
                "confirmed: {} repairs and remarks must be read and confirmed first",
                file.checked.warning_count
            ));
        }
        let (turn, file, content) = self.open_file(&member, id, version).await?;
        let read = self.check_file(content, file.file_name, file.options).await?;
        let (true, Some(plan)) = (read.checked.accepted, read.plan) else {
            return Err(Error::Broken(format!("import {id} was accepted by its check, and is refused now")));
        };
        let plan = self.check_missing(&member, &place.venue, plan).await?;
        let prepared = Prepared::new(&self.config.maps_dir(), plan, read.house).await?;
        let this = Arc::clone(self);
        detached(async move {
            let _turn = turn;
            this.store_accepted(&member, id, version, &place, &prepared).await.map(|stored| stored.id)
        })
        .await
    }

    /// The rows of an accepted file, in one transaction.
    async fn store_accepted(
        &self,
        member: &Member,
        id: ImportId,
        version: i32,
        place: &Place,
        prepared: &Prepared,
    ) -> Result<StoredPlan> {
        let stored = |id| StoredPlan { id, map_digest: prepared.map_digest.clone(), seats: prepared.plan.seats.len() };
        let mut tx = self.pg.begin().await?;
        match rows::lock(&mut tx, member.organization, id).await? {
            Some((_, Some(plan))) => return Ok(stored(plan)),
            Some((found, None)) if found == version => {}
            _ => return moved_on(),
        }
        let insert = prepared.insert(member.organization, &place.venue, &place.city, &place.time_zone, self.now());
        let plan = plans::insert(&mut tx, &insert).await?;
        if !rows::link(&mut *tx, id, version, plan).await? {
            return moved_on();
        }
        let detail = json!({ "import": id, "venue": place.venue, "city": place.city,
            "time_zone": place.time_zone, "seats": prepared.plan.seats.len() });
        self.record(&mut *tx, member, "plan.accept", &format!("plan {plan}"), &detail).await?;
        tx.commit().await?;
        Ok(stored(plan))
    }

    /// Refuses a plan that lacks seats of the venue which somebody holds or bought for a performance that
    /// is still to come: those people would be asked to sit nowhere.
    pub(super) async fn check_missing(&self, member: &Member, venue: &str, new: Plan) -> Result<Plan> {
        let mut taken: BTreeMap<PlanId, Vec<u32>> = BTreeMap::new();
        for (plan, seat) in plans::taken_seats(&self.pg, member.organization, venue, self.now()).await? {
            taken.entry(plan).or_default().push(seat.0);
        }
        let mut new = new;
        let mut labels = Vec::new();
        for (id, seats) in taken {
            let Some(written) = plans::written(&self.pg, id).await? else { continue };
            let (back, missing) = tokio::task::spawn_blocking(move || {
                let old = plan_of(&written)?;
                let missing = plan::missing_seats(&old, &new, &seats);
                Ok::<_, Error>((new, missing))
            })
            .await
            .map_err(|e| Error::Broken(format!("the comparison of plans ended early: {e}")))??;
            new = back;
            labels.extend(missing.into_iter().filter(|label| !labels.contains(label)).collect::<Vec<_>>());
        }
        if labels.is_empty() {
            return Ok(new);
        }
        let more = labels.len().saturating_sub(LABELS_MAX);
        let mut text = labels.iter().take(LABELS_MAX).map(String::as_str).collect::<Vec<_>>().join("; ");
        if more > 0 {
            text = format!("{text}; and {more} more");
        }
        refuse(Code::SeatTaken, format!("file: seats that are held or sold are missing: {text}"))
    }

    /// The plans of the member's organization, and the files that were uploaded lately.
    ///
    /// # Errors
    /// Outages only.
    pub async fn plans(&self, session: &Session) -> Result<PlanList> {
        let member = self.member(session, Action::ReadPlans).await?;
        let found = plans::of_organization(&self.pg, member.organization, None, PLANS_LISTED_MAX).await?;
        let broken = |e: Error| sqlx::Error::Decode(e.to_string().into());
        let imports = rows::newest(&self.pg, member.organization, IMPORTS_LISTED_MAX, |at| utc(at).map_err(broken));
        Ok(PlanList { plans: found.into_iter().map(plan_row).collect::<Result<_>>()?, imports: imports.await? })
    }

    async fn own_plan(&self, session: &Session, id: PlanId) -> Result<(plans::PlanListRow, plans::Written)> {
        let member = self.member(session, Action::ReadPlans).await?;
        let found = plans::of_organization(&self.pg, member.organization, Some(id), 1).await?.pop();
        match (found, plans::written(&self.pg, id).await?) {
            (Some(row), Some(written)) => Ok((row, written)),
            _ => not_found("plan"),
        }
    }

    /// A plan in full.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn plan(&self, session: &Session, id: PlanId) -> Result<PlanView> {
        let (row, written) = self.own_plan(session, id).await?;
        let turn = self.turn().await?;
        let (outline, losses) = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            plan_of(&written).map(|plan| (Outline::of(&plan), pretix::losses(&plan)))
        })
        .await
        .map_err(|e| Error::Broken(format!("the reading of a plan ended early: {e}")))??;
        Ok(PlanView {
            map_digest: row.map_digest.clone(),
            row: plan_row(row)?,
            outline,
            loss_count: u32::try_from(losses.len()).unwrap_or(u32::MAX),
            losses: losses.into_iter().take(LOSSES_SHOWN_MAX).collect(),
        })
    }

    /// A plan as a file.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn plan_file(&self, session: &Session, id: PlanId, format: ExportFormat) -> Result<PlanFile> {
        let (row, written) = self.own_plan(session, id).await?;
        let content = match format {
            ExportFormat::Json => written.source,
            ExportFormat::Csv => {
                let turn = self.turn().await?;
                tokio::task::spawn_blocking(move || {
                    let _turn = turn;
                    plan_of(&written).map(|plan| csv::export(&plan))
                })
                .await
                .map_err(|e| Error::Broken(format!("the writing of a plan ended early: {e}")))??
            }
        };
        Ok(PlanFile { venue: row.venue, content })
    }
}

/// What a check found, with the plan itself.
struct Read {
    checked: Checked,
    map_digest: Option<String>,
    house: import::House,
    plan: Option<Plan>,
}

fn plan_row(row: plans::PlanListRow) -> Result<PlanRow> {
    Ok(PlanRow {
        id: row.id,
        made: zoned(row.created, &row.time_zone)?,
        place: Place { venue: row.venue, city: row.city, time_zone: row.time_zone },
        seats: row.seats,
        performances: row.performances,
        newest: row.newest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_name_without_folders_and_controls() {
        assert_eq!(file_name_of("C:\\halls\\arena 1.json"), "arena 1.json");
        assert_eq!(file_name_of("../../etc/passwd"), "passwd");
        assert_eq!(file_name_of("a\r\nset-cookie: x\0.csv"), "aset-cookie: x.csv");
        assert_eq!(file_name_of("///"), "plan");
        assert_eq!(file_name_of("зал.csv"), "зал.csv");
        assert!(file_name_of(&"x".repeat(9_000)).chars().count() <= FILE_NAME_MAX_CHARS + 1);
    }
}
