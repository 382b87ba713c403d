//! A plan as a document without loss, for the store.
//!
//! Owns the written form and the checks on its way back: a document becomes a draft again and is
//! numbered anew, so that it can hold nothing that a draft could not have become.

use serde::{Deserialize, Serialize};

use super::{Area, AreaText, Draft, DraftArea, DraftRow, DraftSeat, DraftSection, Plan, PlanError};

/// The version that is written; others are refused rather than guessed at.
const VERSION: u32 = 1;

/// Why a document is no plan.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Not JSON, or not of this form.
    #[error("the plan's document can't be read: {0}")]
    Syntax(#[from] serde_json::Error),
    /// A version that this program does not know.
    #[error("the plan's document is of version {0}, {VERSION} is expected")]
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

    /// A plan from its document; limits and indices are checked again.
    ///
    /// # Errors
    ///
    /// A document that is no JSON, of another version, or that no draft could have become.
    pub fn from_document(text: &str) -> Result<Self, DocumentError> {
        let Version { version } = serde_json::from_str(text)?;
        if version != VERSION {
            return Err(DocumentError::Version(version));
        }
        let Read { plan } = serde_json::from_str(text)?;
        let order: Vec<String> = plan.seats.iter().map(|seat| seat.guid.clone()).collect();
        let plan = draft(plan)?.finish()?;
        if !plan.seats.iter().map(|seat| &seat.guid).eq(&order) {
            return Err(DocumentError::Inconsistent("the seats are not in the order of their numbers"));
        }
        Ok(plan)
    }
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
