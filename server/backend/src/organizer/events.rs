//! Events as their organizers make and see them.

use super::access::Member;
use super::making::{DESCRIPTION_MAX_CHARS, NAME_MAX_CHARS, check_text, invalid};
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Result, not_found};
use crate::postgres::catalog::{self, EventInsert};
use crate::postgres::detached;
use crate::postgres::events::{self, EventRow};
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::sales::{
    EventFields, EventLine, OrganizerEvent, PerformanceLine, PlanHead, SLUG_MAX_BYTES, check_slug, suggest_slug,
};
use domain::queue::{Mode, Phase};
use domain::{EventId, OrganizationId};
use serde_json::json;
use std::sync::Arc;

/// Events in one list: the newest, which are the ones that are worked on.
const EVENTS_MAX: i64 = 500;
/// Plans to choose from.
pub(super) const PLANS_MAX: i64 = 500;
/// Suggested addresses that are tried before the organizer is asked for one.
const SUGGESTIONS_MAX: usize = 50;

impl Backend {
    /// The events of the member's organization, the newest first, each with its performances.
    ///
    /// # Errors
    /// `not_found` for who is no member.
    pub async fn organizer_events(&self, session: &Session) -> Result<Vec<EventLine>> {
        let member = self.member(session, Action::ReadEvents).await?;
        let list = events::of_organization(&self.pg, member.organization, EVENTS_MAX).await?;
        self.event_lines(member.organization, list).await
    }

    /// One event, to be edited.
    ///
    /// # Errors
    /// `not_found`, also for another organization's.
    pub async fn organizer_event(&self, session: &Session, id: EventId) -> Result<OrganizerEvent> {
        let member = self.member(session, Action::ReadEvents).await?;
        let row = self.own_event(&member, id).await?;
        let description = row.description.clone();
        let Some(line) = self.event_lines(member.organization, vec![row]).await?.pop() else {
            return not_found("event");
        };
        let slug_frozen = line.performances.iter().any(|performance| performance.phase.is_some());
        Ok(OrganizerEvent { line, description, slug_frozen })
    }

    /// Makes an event, or changes the one named.
    ///
    /// # Errors
    /// `forbidden`; `not_found`; `invalid_input` names the field: the address may be taken, or fixed
    /// since a performance was published.
    pub async fn save_event(
        self: &Arc<Self>,
        session: &Session,
        id: Option<EventId>,
        fields: EventFields,
    ) -> Result<EventId> {
        let member = self.member(session, Action::EditEvents).await?;
        self.save_event_for(&member, id, fields).await
    }

    /// As [`Backend::save_event`], for a member who was checked.
    ///
    /// # Errors
    /// Those of [`Backend::save_event`].
    pub async fn save_event_for(
        self: &Arc<Self>,
        member: &Member,
        id: Option<EventId>,
        fields: EventFields,
    ) -> Result<EventId> {
        let mut fields = EventFields {
            slug: fields.slug.trim().to_owned(),
            title: fields.title.trim().to_owned(),
            artist: fields.artist.trim().to_owned(),
            // Forms send lines as networks do.
            description: fields.description.replace("\r\n", "\n").trim().to_owned(),
            cover: fields.cover,
        };
        check_text("title", &fields.title, NAME_MAX_CHARS)?;
        check_text("artist", &fields.artist, NAME_MAX_CHARS)?;
        check_text("description", &fields.description, DESCRIPTION_MAX_CHARS)?;
        let before = match id {
            Some(id) => Some(self.own_event(member, id).await?),
            None => None,
        };
        let id = id.unwrap_or_else(|| EventId(uuid::Uuid::now_v7()));
        if fields.slug.is_empty() {
            fields.slug = match &before {
                Some(row) => row.slug.clone(),
                None => self.free_slug(&fields.title, id).await?,
            };
        }
        check_slug(&fields.slug)?;
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move { this.store_event(&member, id, before, fields).await }).await
    }

    /// Finds the organization's event with this address, or makes it.
    ///
    /// # Errors
    /// Those of [`Backend::save_event`].
    pub async fn ensure_event(self: &Arc<Self>, member: &Member, fields: EventFields) -> Result<EventId> {
        match events::by_slug(&self.pg, member.organization, &fields.slug).await? {
            Some(id) => Ok(id),
            None => self.save_event_for(member, None, fields).await,
        }
    }

    /// The organization's event with this address.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn event_by_slug(&self, member: &Member, slug: &str) -> Result<EventId> {
        match events::by_slug(&self.pg, member.organization, slug).await? {
            Some(id) => Ok(id),
            None => not_found("event"),
        }
    }

    /// An event that must be this organization's.
    pub(super) async fn own_event(&self, member: &Member, id: EventId) -> Result<EventRow> {
        match events::get(&self.pg, member.organization, id).await? {
            Some(row) => Ok(row),
            None => not_found("event"),
        }
    }

    async fn store_event(
        &self,
        member: &Member,
        id: EventId,
        before: Option<EventRow>,
        fields: EventFields,
    ) -> Result<EventId> {
        let insert = EventInsert {
            id,
            organization: member.organization,
            slug: &fields.slug,
            title: &fields.title,
            artist: &fields.artist,
            description: &fields.description,
            cover: fields.cover,
            now: self.now(),
        };
        let mut tx = self.pg.begin().await?;
        let action = match &before {
            None => {
                if !catalog::insert_event(&mut *tx, &insert).await? {
                    return invalid(taken(&fields.slug));
                }
                "event.create"
            }
            Some(row) => {
                match events::update(&mut *tx, &insert).await {
                    Ok(true) => {}
                    Ok(false) => {
                        return invalid(format!(
                            "slug: it stays `{}`, since a performance was published and links to it are out",
                            row.slug
                        ));
                    }
                    Err(sqlx::Error::Database(e)) if e.is_unique_violation() => return invalid(taken(&fields.slug)),
                    Err(e) => return Err(e.into()),
                }
                "event.edit"
            }
        };
        let was = before.map(|row| json!({ "slug": row.slug, "title": row.title, "artist": row.artist }));
        let detail = json!({ "slug": fields.slug, "title": fields.title, "artist": fields.artist, "was": was });
        self.record(&mut *tx, member, action, &format!("event {id}"), &detail).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// An address made of the title that nobody has; of the id where the title gives none.
    async fn free_slug(&self, title: &str, id: EventId) -> Result<String> {
        let base = suggest_slug(title).unwrap_or_else(|| format!("event-{}", &id.simple()[24..]));
        for number in 1..=SUGGESTIONS_MAX {
            let slug = if number == 1 { base.clone() } else { format!("{base}-{number}") };
            if slug.len() <= SLUG_MAX_BYTES && !catalog::slug_taken(&self.pg, &slug).await? {
                return Ok(slug);
            }
        }
        invalid(taken(&base))
    }

    async fn event_lines(&self, organization: OrganizationId, list: Vec<EventRow>) -> Result<Vec<EventLine>> {
        let now = self.now();
        let ids: Vec<uuid::Uuid> = list.iter().map(|event| event.id.0).collect();
        let published = events::published(&self.pg, &ids).await?;
        let drafts = events::drafts(&self.pg, &ids).await?;
        let plans = events::plan_heads(&self.pg, organization, PLANS_MAX).await?;
        let mut lines: Vec<EventLine> = list
            .into_iter()
            .map(|event| EventLine {
                id: event.id,
                slug: event.slug,
                title: event.title,
                artist: event.artist,
                cover: event.cover,
                picture: event.picture,
                performances: Vec::new(),
            })
            .collect();
        let mut add = |event: EventId, line: PerformanceLine| {
            if let Some(found) = lines.iter_mut().find(|line| line.id == event) {
                found.performances.push(line);
            }
        };
        for row in published {
            let line = PerformanceLine {
                id: row.id,
                phase: Some(Phase::at(now, row.registers, row.opens, row.closes, row.paused)),
                mode: row.mode,
                venue: Some(format!("{}, {}", row.venue, row.city)),
                starts: Some(zoned(row.starts, &row.time_zone)?),
                opens: Some(zoned(row.opens, &row.time_zone)?),
                sold: row.sold,
                seats: row.seats,
            };
            add(row.event, line);
        }
        for row in drafts {
            let plan: Option<&PlanHead> = plans.iter().find(|plan| Some(plan.id) == row.plan);
            let at_venue =
                |at: Option<domain::Millis>| plan.zip(at).map(|(plan, at)| zoned(at, &plan.zone)).transpose();
            let line = PerformanceLine {
                id: row.id,
                phase: None,
                mode: Mode::default(),
                venue: plan.map(|plan| format!("{}, {}", plan.venue, plan.city)),
                starts: at_venue(row.starts)?,
                opens: at_venue(row.opens)?,
                sold: 0,
                seats: plan.map_or(0, |plan| plan.seats),
            };
            add(row.event, line);
        }
        Ok(lines)
    }
}

fn taken(slug: &str) -> String {
    format!("slug: another event has the address `{slug}` already")
}
