//! What a plan holds, in numbers for people.

use crate::venue::plan::{Kind, Plan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sections and standing areas that are listed; the counts tell of all.
const LISTED_MAX: usize = 500;
/// Longest name that is listed, in characters.
const NAME_MAX_CHARS: usize = 120;

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Places, standing ones included.
    pub seats: u32,
    /// Row objects.
    pub rows: u32,
    /// Sections.
    pub sections: u32,
    /// Areas that are drawn and never sold.
    pub areas: u32,
    /// Places for wheelchairs.
    pub wheelchair: u32,
    /// Seats for who comes with a wheelchair.
    pub companion: u32,
    /// Seats with something between them and the stage.
    pub restricted_view: u32,
    /// Places to stand.
    pub standing: u32,
}

/// A category with its seats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryRow {
    /// Its name.
    pub name: String,
    /// Its seats.
    pub seats: u32,
}

/// A section with what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionRow {
    /// Its name.
    pub name: String,
    /// Its row objects.
    pub rows: u32,
    /// Its places.
    pub seats: u32,
}

/// An area to stand in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingRow {
    /// Its section.
    pub section: String,
    /// Its name within the section.
    pub area: String,
    /// How many may stand there.
    pub capacity: u32,
}

/// A plan in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// What the file calls it.
    pub name: String,
    /// How much there is.
    pub counts: Counts,
    /// Categories by index: all of them.
    pub categories: Vec<CategoryRow>,
    /// The first sections, in file order.
    pub sections: Vec<SectionRow>,
    /// The first areas to stand in.
    pub standing: Vec<StandingRow>,
}

impl Outline {
    /// Counts a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let mut counts = Counts {
            seats: count(plan.seats.len()),
            rows: count(plan.rows.len()),
            sections: count(plan.sections.len()),
            areas: count(plan.areas.len()),
            ..Counts::default()
        };
        let mut by_category = vec![0_u32; plan.categories.len()];
        let mut by_section = vec![(0_u32, 0_u32); plan.sections.len()];
        let mut by_area: BTreeMap<u32, u32> = BTreeMap::new();
        for row in &plan.rows {
            if let Some((rows, _)) = by_section.get_mut(usize::from(row.section)) {
                *rows += 1;
            }
        }
        for seat in &plan.seats {
            if let Some(seats) = by_category.get_mut(usize::from(seat.category)) {
                *seats += 1;
            }
            if let Some((_, seats)) = by_section.get_mut(usize::from(seat.section)) {
                *seats += 1;
            }
            match seat.kind {
                Kind::Seat => {}
                Kind::Wheelchair => counts.wheelchair += 1,
                Kind::Companion => counts.companion += 1,
                Kind::Standing => {
                    counts.standing += 1;
                    *by_area.entry(seat.row).or_default() += 1;
                }
            }
            counts.restricted_view += u32::from(seat.restricted_view);
        }
        let standing = |(row, capacity): (u32, u32)| {
            let row = plan.rows.get(row as usize)?;
            let section = plan.sections.get(usize::from(row.section))?;
            Some(StandingRow { section: name(&section.name), area: name(&row.label), capacity })
        };
        Self {
            name: name(&plan.name),
            counts,
            categories: plan
                .categories
                .iter()
                .zip(by_category)
                .map(|(category, seats)| CategoryRow { name: name(&category.name), seats })
                .collect(),
            sections: plan
                .sections
                .iter()
                .zip(by_section)
                .take(LISTED_MAX)
                .map(|(section, (rows, seats))| SectionRow { name: name(&section.name), rows, seats })
                .collect(),
            standing: by_area.into_iter().take(LISTED_MAX).filter_map(standing).collect(),
        }
    }
}

fn name(text: &str) -> String {
    super::shown(text, NAME_MAX_CHARS)
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::venue::generate;

    #[test]
    fn every_seat_is_counted_in_its_category_its_section_and_its_kind() {
        let mut plan = generate::arena(generate::MIN_ARENA_SEATS, "House");
        let first_row = plan.seats[0].row;
        let standing = plan.seats.iter().filter(|seat| seat.row == first_row).count();
        for seat in plan.seats.iter_mut().filter(|seat| seat.row == first_row) {
            seat.kind = Kind::Standing;
        }
        let outline = Outline::of(&plan);
        let all = count(plan.seats.len());
        assert_eq!(outline.counts.seats, all);
        assert_eq!(outline.categories.iter().map(|category| category.seats).sum::<u32>(), all);
        assert_eq!(outline.sections.iter().map(|section| section.seats).sum::<u32>(), all);
        assert_eq!(outline.sections.iter().map(|section| section.rows).sum::<u32>(), outline.counts.rows);
        assert_eq!(outline.standing.iter().map(|area| area.capacity).sum::<u32>(), count(standing));
        assert_eq!(outline.counts.standing, count(standing));
    }
}
