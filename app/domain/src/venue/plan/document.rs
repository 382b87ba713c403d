//! A plan as a document without loss, for the store.
//!
//! Owns the written form and the checks on its way back: a document becomes a draft again and is
//! numbered anew, so that it can hold nothing that a draft could not have become. A plan that keeps the
//! numbers of an older one (see [`super::renew`]) can't be numbered anew: it has a version of its own,
//! and its indices are checked where they stand.

use serde::{Deserialize, Serialize};

use super::{
    Area, AreaText, Draft, DraftArea, DraftRow, DraftSeat, DraftSection, MAX_COORDINATE, MAX_ROWS, MAX_SEATS,
    MAX_SECTIONS, Plan, PlanError, Seat,
};

/// The version of a plan in the canonical order; others are refused rather than guessed at.
const VERSION: u32 = 1;
/// The version of a plan that keeps the numbers of an older one.
const RENEWED: u32 = 2;

/// Why a document is no plan.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Not JSON, or not of this form.
    #[error("the plan's document can't be read: {0}")]
    Syntax(#[from] serde_json::Error),
    /// A version that this program does not know.
    #[error("the plan's document is of version {0}, {VERSION} or {RENEWED} is expected")]
    Version(u32),
    /// An index that leads nowhere, or seats that are not in the order of their numbers.
    #[error("the plan's document contradicts itself: {0}")]
    Inconsistent(&'static str),
    /// It breaks a limit or a rule of plans.
    #[error("the plan's document breaks a rule: {0}")]
    Rule(#[from] PlanError),
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    plan: &'a Plan,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Deserialize)]
struct Read {
    plan: Plan,
}

impl Plan {
    /// The whole plan as JSON, without loss.
    #[must_use]
    pub fn to_document(&self) -> String {
        serde_json::to_string(&Written { version: VERSION, plan: self })
            .expect("plain structs of strings and finite numbers always serialise into memory")
    }

    /// As [`Self::to_document`], for a plan in the numbers of an older one.
    #[must_use]
    pub fn to_renewed_document(&self) -> String {
        serde_json::to_string(&Written { version: RENEWED, plan: self })
            .expect("plain structs of strings and finite numbers always serialise into memory")
    }

    /// A plan from its document; limits and indices are checked again.
    ///
    /// # Errors
    ///
    /// A document that is no JSON, of another version, or that no draft could have become.
    pub fn from_document(text: &str) -> Result<Self, DocumentError> {
        let Version { version } = serde_json::from_str(text)?;
        if version != VERSION && version != RENEWED {
            return Err(DocumentError::Version(version));
        }
        let Read { plan } = serde_json::from_str(text)?;
        if version == RENEWED {
            check_renewed(&plan)?;
            return Ok(plan);
        }
        let order: Vec<String> = plan.seats.iter().map(|seat| seat.guid.clone()).collect();
        let plan = draft(plan)?.finish()?;
        if !plan.seats.iter().map(|seat| &seat.guid).eq(&order) {
            return Err(DocumentError::Inconsistent("the seats are not in the order of their numbers"));
        }
        Ok(plan)
    }
}

/// Whether all indices lead somewhere and all numbers are numbers.
fn check_renewed(plan: &Plan) -> Result<(), DocumentError> {
    if plan.seats.len() > MAX_SEATS || plan.sections.len() > MAX_SECTIONS || plan.rows.len() > MAX_ROWS {
        return Err(DocumentError::Inconsistent("more seats, rows or sections than a plan may hold"));
    }
    if plan.rows.iter().any(|row| usize::from(row.section) >= plan.sections.len()) {
        return Err(DocumentError::Inconsistent("a row of no section"));
    }
    if plan.areas.iter().any(|area| usize::from(area.section) >= plan.sections.len()) {
        return Err(DocumentError::Inconsistent("an area of no section"));
    }
    let out_of_row = |seat: &Seat| plan.rows.get(seat.row as usize).is_none_or(|row| row.section != seat.section);
    if plan.seats.iter().any(out_of_row) {
        return Err(DocumentError::Inconsistent("a seat out of its row"));
    }
    if plan.seats.iter().any(|seat| usize::from(seat.category) >= plan.categories.len()) {
        return Err(DocumentError::Inconsistent("a seat of no category"));
    }
    let in_range = |value: f64| value.is_finite() && value.abs() <= MAX_COORDINATE;
    if plan
        .seats
        .iter()
        .any(|seat| !(in_range(seat.x) && in_range(seat.y) && in_range(seat.radius) && seat.radius > 0.0))
    {
        return Err(DocumentError::Inconsistent("a seat in no place"));
    }
    Ok(())
}

/// Back to the drawing, from which [`Draft::finish`] makes the same plan again, checks and all.
fn draft(plan: Plan) -> Result<Draft, DocumentError> {
    if !plan.rows.is_sorted_by_key(|row| row.section) {
        return Err(DocumentError::Inconsistent("rows are not in the order of their sections"));
    }
    let by_row = rows_of_seats(&plan)?;
    let mut sections: Vec<DraftSection> = plan
        .sections
        .into_iter()
        .map(|section| DraftSection {
            name: section.name,
            id: section.id,
            uuid: section.uuid,
            position: section.position,
            ..DraftSection::default()
        })
        .collect();
    for (row, seats) in plan.rows.into_iter().zip(by_row) {
        let section = sections.get_mut(usize::from(row.section));
        section.ok_or(DocumentError::Inconsistent("a row of no section"))?.rows.push(DraftRow {
            label: row.label,
            number_position: row.number_position,
            row_label: row.row_label,
            seat_label: row.seat_label,
            uuid: row.uuid,
            position: row.position,
            seats,
        });
    }
    for area in plan.areas {
        let section = sections.get_mut(usize::from(area.section));
        section.ok_or(DocumentError::Inconsistent("an area of no section"))?.areas.push(drawn(area));
    }
    Ok(Draft { name: plan.name, size: Some(plan.size), categories: plan.categories, sections, kept: plan.kept })
}

/// The seats of each row in the order of sitting.
fn rows_of_seats(plan: &Plan) -> Result<Vec<Vec<DraftSeat>>, DocumentError> {
    let by_row = plan.seats_by_row();
    if by_row.iter().map(Vec::len).sum::<usize>() != plan.seats.len() {
        return Err(DocumentError::Inconsistent("a seat of no row"));
    }
    let mut rows = Vec::with_capacity(by_row.len());
    for (row, seat_nos) in plan.rows.iter().zip(by_row) {
        let mut seats = Vec::with_capacity(seat_nos.len());
        for (position, seat) in (0_u32..).zip(seat_nos.iter().filter_map(|seat_no| plan.seat(*seat_no))) {
            if seat.section != row.section || seat.index_in_row != position {
                return Err(DocumentError::Inconsistent("a seat out of its row"));
            }
            seats.push(DraftSeat {
                guid: seat.guid.clone(),
                label: seat.label.clone(),
                position: seat.local,
                radius: seat.radius,
                category: usize::from(seat.category),
                kind: seat.kind,
                restricted_view: seat.restricted_view,
                start_direction: seat.start_direction.clone(),
                uuid: seat.uuid.clone(),
            });
        }
        rows.push(seats);
    }
    Ok(rows)
}

fn drawn(area: Area) -> DraftArea {
    DraftArea {
        position: area.local,
        rotation: area.rotation,
        shape: area.shape,
        color: area.color,
        border_color: area.border_color,
        text: area.text.map(|AreaText { text, local, color, size, .. }| (text, local, color, size)),
        uuid: area.uuid,
    }
}
