//! A newer version of a plan in the numbers of the one that seats are sold by.
//!
//! Owns what stays the same when a plan is replaced: a seat's number is its name in claims, orders,
//! tickets, logs and open pages, so that it means the same seat for ever. Seats that both versions have
//! keep their numbers, new ones follow behind, and one that was taken away keeps its number as
//! [gone](Seat::gone). The indices of rows and sections, by which standing places are drawn and lists are
//! linked, stay as well.

use super::{Area, Kind, MAX_ROWS, MAX_SEATS, MAX_SECTIONS, Plan, PlanError, Row, Seat, Section};
use crate::venue::static_map;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Centres that are no further apart, in plan units, are one place: a stored plan comes back with its
/// numbers read from text.
const SAME_PLACE: f64 = 1e-6;

/// A newer version in the older one's numbers, and what it changes; numbers are of the new plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Renewal {
    /// The plan.
    pub plan: Plan,
    /// Seats of both versions.
    pub kept: usize,
    /// Seats that the older version lacks.
    pub added: Vec<u32>,
    /// Seats that were gone and are back, under their old number.
    pub revived: Vec<u32>,
    /// Seats that the newer version lacks.
    pub gone: Vec<u32>,
    /// Kept seats that are drawn elsewhere.
    pub moved: usize,
    /// Kept seats whose section, row or label reads differently.
    pub renamed: Vec<u32>,
    /// Kept seats that the newer version counts to another category: they stay in theirs.
    pub recategorized: usize,
}

/// Why a newer version can't take the place of the older one, whatever is sold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenewError {
    /// Seats are added in categories that have no price here.
    #[error("the new plan adds seats in categories that this performance has no price for: {}", .0.join(", "))]
    Categories(Vec<String>),
    /// Together with those that are gone there would be more than a plan may hold.
    #[error(transparent)]
    Limit(#[from] PlanError),
}

/// Puts `new` into the numbers of `old`. Seats are the same by their guid, or else by the words for
/// them, where these are told once in each version; a seat and a place to stand never are.
///
/// # Errors
/// See [`RenewError`].
pub fn renew(old: &Plan, new: &Plan) -> Result<Renewal, RenewError> {
    let old_of = same_seats(old, new);
    let category_of = categories(old, new, &old_of)?;
    let mut merged = Merged::new(old, new);
    let section_of = merged.sections(&old_of)?;
    let row_of = merged.rows(&old_of, &section_of)?;
    let mut seats = merged.leavers(&old_of)?;
    let mut told = Renewal {
        plan: old.clone(),
        kept: 0,
        added: Vec::new(),
        revived: Vec::new(),
        gone: Vec::new(),
        moved: 0,
        renamed: Vec::new(),
        recategorized: 0,
    };
    for (seat, (counterpart, category)) in new.seats.iter().zip(old_of.iter().zip(category_of)) {
        let seat = Seat {
            section: section_of[usize::from(seat.section)],
            row: row_of[seat.row as usize],
            category,
            gone: false,
            ..seat.clone()
        };
        match counterpart {
            Some(number) => {
                let before = &old.seats[*number as usize];
                if before.gone {
                    told.revived.push(*number);
                } else {
                    told.kept += 1;
                    told.moved += usize::from(before.center().distance(seat.center()) > SAME_PLACE);
                }
                seats[*number as usize] = seat;
            }
            None => {
                told.added.push(count_u32(seats.len()));
                seats.push(seat);
            }
        }
    }
    if seats.len() > MAX_SEATS {
        let what = "seats, those that are gone among them";
        return Err(PlanError::TooMany { what, got: seats.len(), limit: MAX_SEATS }.into());
    }
    let Merged { sections, rows, .. } = merged;
    let area = |area: &Area| Area { section: section_of[usize::from(area.section)], ..area.clone() };
    told.plan = Plan {
        name: new.name.clone(),
        size: new.size,
        view_box: new.view_box,
        categories: old.categories.clone(),
        sections,
        rows,
        seats,
        areas: new.areas.iter().map(area).collect(),
        kept: Vec::new(),
    };
    told.revived.sort_unstable();
    told.compare(old, new, &old_of);
    Ok(told)
}

impl Renewal {
    /// Whether nobody would see any difference to the plan in use.
    #[must_use]
    pub fn changes_nothing(&self, old: &Plan) -> bool {
        let same_seats = self.added.is_empty() && self.gone.is_empty() && self.revived.is_empty();
        same_seats && self.renamed.is_empty() && static_map::encode(&self.plan) == static_map::encode(old)
    }

    /// Notes what became of the older version's seats.
    fn compare(&mut self, old: &Plan, new: &Plan, old_of: &[Option<u32>]) {
        for (number, before) in (0_u32..).zip(&old.seats).filter(|(_, before)| !before.gone) {
            let after = &self.plan.seats[number as usize];
            if after.gone {
                self.gone.push(number);
            } else if old.seat_label(number) != self.plan.seat_label(number) {
                self.renamed.push(number);
            }
            debug_assert_eq!(before.category, after.category, "a seat that is kept keeps its category");
        }
        let category =
            |plan: &Plan, seat: &Seat| plan.categories.get(usize::from(seat.category)).map(|c| c.name.clone());
        let other = |(seat, counterpart): (&Seat, &Option<u32>)| {
            let before = counterpart.and_then(|number| old.seat(number));
            before.is_some_and(|before| category(old, before) != category(new, seat))
        };
        self.recategorized = new.seats.iter().zip(old_of).filter(|pair| other(*pair)).count();
    }
}

/// The words for a seat, and whether one stands there.
type Words<'a> = (&'a str, &'a str, &'a str, bool);

fn words(plan: &Plan, seat_no: u32) -> Option<Words<'_>> {
    let (seat, label) = (plan.seat(seat_no)?, plan.seat_label(seat_no)?);
    Some((label.section, label.row, label.seat, stands(seat)))
}

fn stands(seat: &Seat) -> bool {
    seat.kind == Kind::Standing
}

/// The number that each seat of the newer version has in the older one.
pub(super) fn same_seats(old: &Plan, new: &Plan) -> Vec<Option<u32>> {
    // Of two with one guid, of which one is gone, the other one counts.
    let mut by_guid: HashMap<(&str, bool), u32> = HashMap::new();
    for (number, seat) in (0_u32..).zip(&old.seats) {
        let known = by_guid.entry((&seat.guid, stands(seat))).or_insert(number);
        if old.seats[*known as usize].gone && !seat.gone {
            *known = number;
        }
    }
    let mut taken = HashSet::new();
    let mut old_of: Vec<Option<u32>> = new
        .seats
        .iter()
        .map(|seat| by_guid.get(&(seat.guid.as_str(), stands(seat))).copied().filter(|number| taken.insert(*number)))
        .collect();
    let free_old =
        (0_u32..).take(old.seats.len()).filter(|number| !taken.contains(number) && !old.seats[*number as usize].gone);
    let mut by_words = once(free_old.filter_map(|number| Some((words(old, number)?, number))));
    let free_new = (0_u32..).zip(&old_of).filter(|(_, number)| number.is_none()).map(|(index, _)| index);
    for (text, index) in once(free_new.filter_map(|index| Some((words(new, index)?, index)))) {
        old_of[index as usize] = by_words.remove(&text);
    }
    old_of
}

/// What there is one of.
fn once<'a>(all: impl Iterator<Item = (Words<'a>, u32)>) -> BTreeMap<Words<'a>, u32> {
    let mut found: BTreeMap<Words<'a>, Option<u32>> = BTreeMap::new();
    for (text, number) in all {
        found.entry(text).and_modify(|first| *first = None).or_insert(Some(number));
    }
    found.into_iter().filter_map(|(text, number)| Some((text, number?))).collect()
}

/// The older version's category of each seat: its own, or for an added one that of the same name.
fn categories(old: &Plan, new: &Plan, old_of: &[Option<u32>]) -> Result<Vec<u8>, RenewError> {
    let mut names: HashMap<&str, u8> = HashMap::new();
    for (index, category) in (0_u8..).zip(&old.categories) {
        // Of two of one name the first.
        names.entry(&category.name).or_insert(index);
    }
    let (mut found, mut unknown) = (Vec::with_capacity(new.seats.len()), Vec::new());
    for (seat, counterpart) in new.seats.iter().zip(old_of) {
        let name = new.categories.get(usize::from(seat.category)).map_or("", |category| category.name.as_str());
        let category = match counterpart {
            Some(number) => Some(old.seats[*number as usize].category),
            None => names.get(name).copied(),
        };
        if category.is_none() && !unknown.iter().any(|known| known == name) {
            unknown.push(name.to_owned());
        }
        found.push(category.unwrap_or_default());
    }
    if unknown.is_empty() { Ok(found) } else { Err(RenewError::Categories(unknown)) }
}

/// Sections and rows while they are put together: those of the older version at their places, taken over
/// by those of the newer one that continue them.
struct Merged<'a> {
    old: &'a Plan,
    new: &'a Plan,
    sections: Vec<Section>,
    rows: Vec<Row>,
}

impl<'a> Merged<'a> {
    fn new(old: &'a Plan, new: &'a Plan) -> Self {
        Self { old, new, sections: old.sections.clone(), rows: old.rows.clone() }
    }

    /// The index of each section of the newer version: that of the older one of its name, or from which
    /// most of its seats come.
    fn sections(&mut self, old_of: &[Option<u32>]) -> Result<Vec<u16>, PlanError> {
        let pairs = self.new.seats.iter().zip(old_of).filter_map(|(seat, number)| {
            Some((usize::from(seat.section), usize::from(self.old.seat((*number)?)?.section)))
        });
        let names = self.new.sections.iter().enumerate().filter_map(|(index, section)| {
            let named = |old: &Section| old.name == section.name;
            // Of several of one name none is meant.
            let mut of_name = self.old.sections.iter().enumerate().filter(|(_, old)| named(old));
            let (first, _) = of_name.next().filter(|_| of_name.next().is_none())?;
            Some((index, first))
        });
        let heirs = heirs(self.new.sections.len(), names.collect(), pairs);
        let mut found = Vec::with_capacity(heirs.len());
        for (section, heir) in self.new.sections.iter().zip(heirs) {
            found.push(match heir {
                Some(index) => {
                    self.sections[index] = section.clone();
                    u16::try_from(index).unwrap_or(u16::MAX)
                }
                None => self.add_section(section.clone())?,
            });
        }
        Ok(found)
    }

    /// The index of each row of the newer version: that of the older one from which most of its seats
    /// come, within the same section.
    fn rows(&mut self, old_of: &[Option<u32>], section_of: &[u16]) -> Result<Vec<u32>, PlanError> {
        let pairs = self.new.seats.iter().zip(old_of).filter_map(|(seat, number)| {
            let before = self.old.seat((*number)?)?;
            (before.section == section_of[usize::from(seat.section)])
                .then_some((seat.row as usize, before.row as usize))
        });
        let heirs = heirs(self.new.rows.len(), Vec::new(), pairs);
        let mut found = Vec::with_capacity(heirs.len());
        for (row, heir) in self.new.rows.iter().zip(heirs) {
            let row = Row { section: section_of[usize::from(row.section)], ..row.clone() };
            found.push(match heir {
                Some(index) => {
                    self.rows[index] = row;
                    count_u32(index)
                }
                None => self.add_row(row)?,
            });
        }
        Ok(found)
    }

    /// The seats of the older version, all of them as gone, under the words that they always had: whoever
    /// looks up an old order reads these.
    fn leavers(&mut self, old_of: &[Option<u32>]) -> Result<Vec<Seat>, PlanError> {
        let stay: HashSet<u32> = old_of.iter().flatten().copied().collect();
        let (mut sections, mut rows): (HashMap<u16, u16>, HashMap<u32, u32>) = (HashMap::new(), HashMap::new());
        let mut seats = Vec::with_capacity(self.old.seats.len());
        for (number, seat) in (0_u32..).zip(&self.old.seats) {
            let mut seat = Seat { gone: true, ..seat.clone() };
            if !stay.contains(&number) && self.old.seat_label(number) != self.label(&seat) {
                let section = match sections.get(&seat.section) {
                    Some(section) => *section,
                    None => {
                        let before = &self.old.sections[usize::from(seat.section)];
                        let same = self.sections[usize::from(seat.section)].name == before.name;
                        let section = if same { seat.section } else { self.add_section(before.clone())? };
                        sections.insert(seat.section, section);
                        section
                    }
                };
                let row = match rows.get(&seat.row) {
                    Some(row) => *row,
                    None => {
                        let before = self.old.rows[seat.row as usize].clone();
                        let row = self.add_row(Row { section, ..before })?;
                        rows.insert(seat.row, row);
                        row
                    }
                };
                (seat.section, seat.row) = (section, row);
            }
            seats.push(seat);
        }
        Ok(seats)
    }

    fn label<'b>(&'b self, seat: &'b Seat) -> Option<super::SeatLabel<'b>> {
        Some(super::SeatLabel {
            section: &self.sections.get(usize::from(seat.section))?.name,
            row: &self.rows.get(seat.row as usize)?.label,
            seat: &seat.label,
        })
    }

    fn add_section(&mut self, section: Section) -> Result<u16, PlanError> {
        self.sections.push(section);
        let (what, got, limit) = ("sections, those that are gone among them", self.sections.len(), MAX_SECTIONS);
        if got > limit {
            return Err(PlanError::TooMany { what, got, limit });
        }
        Ok(u16::try_from(got - 1).unwrap_or(u16::MAX))
    }

    fn add_row(&mut self, row: Row) -> Result<u32, PlanError> {
        self.rows.push(row);
        let (what, got, limit) = ("rows, those that are gone among them", self.rows.len(), MAX_ROWS);
        if got > limit {
            return Err(PlanError::TooMany { what, got, limit });
        }
        Ok(count_u32(got - 1))
    }
}

/// For each of `count` newer things the older one that it continues, each at most once: the one it is
/// `certain` of, or else the one with which it shares most of the `pairs` (newer, older).
fn heirs(
    count: usize,
    certain: Vec<(usize, usize)>,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> Vec<Option<usize>> {
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for pair in pairs {
        *shared.entry(pair).or_default() += 1;
    }
    let mut ranked: Vec<((usize, usize), usize)> = shared.into_iter().collect();
    ranked.sort_by_key(|(pair, count)| (std::cmp::Reverse(*count), *pair));
    let (mut found, mut taken) = (vec![None; count], HashSet::new());
    for (newer, older) in certain.into_iter().chain(ranked.into_iter().map(|(pair, _)| pair)) {
        if found[newer].is_none() && taken.insert(older) {
            found[newer] = Some(older);
        }
    }
    found
}

/// Plans hold far fewer than 2^32 of anything.
fn count_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
