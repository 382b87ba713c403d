//! What the seats of a drawing are called and what they are for.
//!
//! Owns the defaults for what the drawing doesn't say, and the reading of `data-type` and the like.

use std::collections::HashMap;

use super::label;
use super::state::Data;
use super::tell::{MAX_GUIDS, Place, Tells};
use super::walk::Found;
use crate::venue::finding::Code;
use crate::venue::plan::{Category, Kind, MAX_CATEGORIES};

/// The section of seats that name none.
const DEFAULT_SECTION: &str = "Main";
/// The row of seats that name none.
const DEFAULT_ROW: &str = "1";
/// The category of seats that name none.
const DEFAULT_CATEGORY: &str = "Standard";

/// A seat or standing area by name.
pub(super) struct Named {
    pub(super) label: String,
    pub(super) section: String,
    pub(super) row: String,
    pub(super) category: usize,
    pub(super) kind: Kind,
    pub(super) restricted_view: bool,
}

/// What is told of many seats at once, when their identities are known.
pub(super) struct Later {
    code: Code,
    message: &'static str,
    places: Vec<usize>,
}

/// Names as they are given out.
pub(super) struct Names {
    pub(super) categories: Vec<Category>,
    by_name: HashMap<String, usize>,
    section: Later,
    row: Later,
    category: Later,
    blocked: Later,
}

impl Names {
    pub(super) fn new() -> Self {
        let later = |code, message| Later { code, message, places: Vec::new() };
        Self {
            categories: Vec::new(),
            by_name: HashMap::new(),
            section: later(Code::DefaultUsed, "× no data-section; the section is \"Main\""),
            row: later(Code::DefaultUsed, "× no data-row; the row is \"1\""),
            category: later(Code::DefaultUsed, "× no data-category, where others have one; it is \"Standard\""),
            blocked: later(
                Code::SeatBlocked,
                "× data-type is blocked; a performance blocks seats, a plan has them all",
            ),
        }
    }

    /// The names of a place; `None`, and told, when it has none of its own.
    pub(super) fn of(&mut self, index: usize, found: &Found<'_>, tells: &mut Tells) -> Option<Named> {
        let label = bounded(found.label, found, tells);
        if label.is_empty() {
            let what = if found.area.is_some() { "data-area" } else { "data-seat" };
            tells.add(Code::MissingProperty, found.place(), format!("{what} is missing or empty"), Vec::new());
            return None;
        }
        let Data { section, row, category, kind, restricted } = found.data;
        let mut text =
            |text: Option<&str>| text.map(|text| bounded(text, found, tells)).filter(|text| !text.is_empty());
        let (section, row, category) = (text(section), text(row), text(category));
        let area = found.area.is_some();
        if section.is_none() && !area {
            self.section.places.push(index);
        }
        if row.is_none() && !area {
            self.row.places.push(index);
        }
        let or_area = |default: &str| if area { label.clone() } else { default.to_owned() };
        Some(Named {
            section: section.unwrap_or_else(|| or_area(DEFAULT_SECTION)),
            row: row.unwrap_or_else(|| or_area(DEFAULT_ROW)),
            category: self.category(index, category, found, tells),
            kind: if area { Kind::Standing } else { self.kind(index, kind, found, tells) },
            restricted_view: restricted_view(restricted, found, tells),
            label,
        })
    }

    fn category(&mut self, index: usize, name: Option<String>, found: &Found<'_>, tells: &mut Tells) -> usize {
        let name = name.unwrap_or_else(|| {
            self.category.places.push(index);
            DEFAULT_CATEGORY.to_owned()
        });
        let known = self.by_name.get(&name).copied();
        let color = found.fill.clone().filter(|_| name != DEFAULT_CATEGORY && found.area.is_none());
        if let Some(category) = known {
            if let Some(known) = self.categories.get_mut(category) {
                known.color = known.color.take().or(color);
            }
            return category;
        }
        if self.categories.len() >= MAX_CATEGORIES {
            if self.by_name.len() == MAX_CATEGORIES {
                let message = format!("more than {MAX_CATEGORIES} categories");
                tells.add(Code::LimitExceeded, found.place(), message, Vec::new());
                // One more than there are: told once.
                self.by_name.insert(name, MAX_CATEGORIES - 1);
            }
            return MAX_CATEGORIES - 1;
        }
        self.by_name.insert(name.clone(), self.categories.len());
        self.categories.push(Category { name, color });
        self.categories.len() - 1
    }

    fn kind(&mut self, index: usize, text: Option<&str>, found: &Found<'_>, tells: &mut Tells) -> Kind {
        match text.map(|text| text.trim().to_lowercase()).as_deref() {
            None | Some("seat" | "") => Kind::Seat,
            Some("wheelchair") => Kind::Wheelchair,
            Some("companion") => Kind::Companion,
            Some("standing") => Kind::Standing,
            Some("blocked") => {
                self.blocked.places.push(index);
                Kind::Seat
            }
            Some(other) => {
                let other = label::short(other);
                let message = format!("data-type {other:?} is none of seat, wheelchair, companion, standing, blocked");
                tells.add(Code::UnknownValue, found.place(), message, Vec::new());
                Kind::Seat
            }
        }
    }

    /// Tells what stands for many. `finals` are the identities of each place.
    pub(super) fn tell(mut self, places: &[Found<'_>], finals: &[Vec<String>], tells: &mut Tells) -> Vec<Category> {
        if self.category.places.len() == places.len() {
            self.category.places.clear();
        }
        for Later { code, message, places: indices } in [self.section, self.row, self.category, self.blocked] {
            let Some(first) = indices.first().and_then(|index| places.get(*index)) else { continue };
            let guids =
                indices.iter().filter_map(|index| finals.get(*index)).flatten().take(MAX_GUIDS).cloned().collect();
            tells.add(code, first.place(), format!("{} {message}", indices.len()), guids);
        }
        self.categories
    }
}

fn bounded(text: &str, found: &Found<'_>, tells: &mut Tells) -> String {
    let (text, cut) = label::bounded(text);
    if cut {
        let message = format!("a label of more than {} bytes begins {:?}", label::MAX_LABEL_BYTES, label::short(&text));
        tells.add(Code::TextTooLong, found.place(), message, Vec::new());
    }
    text
}

fn restricted_view(text: Option<&str>, found: &Found<'_>, tells: &mut Tells) -> bool {
    match text.map(|text| text.trim().to_lowercase()).as_deref() {
        None | Some("false" | "0" | "no") => false,
        Some("" | "true" | "1" | "yes") => true,
        Some(other) => {
            let message = format!("data-restricted-view {:?} is neither true nor false", label::short(other));
            tells.add(Code::UnknownValue, found.place(), message, Vec::new());
            true
        }
    }
}

/// How many a standing area takes; `None`, and told, when that can't be.
pub(super) fn capacity(text: &str, room: usize, place: Place, tells: &mut Tells) -> Option<usize> {
    let (code, message) = match text.trim().parse::<u64>() {
        Ok(0) => (Code::NumberOutOfRange, "data-capacity is 0".to_owned()),
        Ok(count) => match usize::try_from(count).ok().filter(|count| *count <= room) {
            Some(count) => return Some(count),
            None => {
                (Code::LimitExceeded, format!("data-capacity is {count}, but the plan takes only {room} more places"))
            }
        },
        Err(_) if text.trim().is_empty() => (Code::MissingProperty, "a standing area needs data-capacity".to_owned()),
        Err(_) => (Code::NumberOutOfRange, format!("data-capacity {:?} is no number of places", label::short(text))),
    };
    tells.add(code, place, message, Vec::new());
    None
}
