//! A plan as a table: RFC 4180, UTF-8, CRLF, a line for each place.
//!
//! Owns the written form. Reading it back gives every place again; what a table has no column for is
//! named by [`losses`], never dropped unsaid.

use std::collections::HashMap;

use super::cells;
use super::{blocked_path, note_path, price_path};
use crate::money::Money;
use crate::venue::finding::{Code, Finding};
use crate::venue::import::COLUMNS;
use crate::venue::plan::{Kind, Plan, Row, Seat, stepped};

/// Places that one finding names.
const MAX_SEATS_NAMED: usize = 100;

/// What a plan set aside that a table has columns for, by its path.
struct Kept<'a>(HashMap<&'a str, &'a str>);

impl<'a> Kept<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self(plan.kept.iter().map(|kept| (kept.path.as_str(), kept.json.as_str())).collect())
    }

    fn note(&self, guid: &str) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let json = self.0.get(note_path(guid).as_str());
        json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
    }

    fn blocked(&self, guid: &str) -> bool {
        !self.0.is_empty() && self.0.contains_key(blocked_path(guid).as_str())
    }

    fn price(&self, category: &str) -> Option<Money> {
        serde_json::from_str(self.0.get(price_path(category).as_str())?).ok()
    }
}

/// Writes the plan. Places to stand are told one by one, each with its own id.
#[must_use]
pub fn export(plan: &Plan) -> String {
    let kept = Kept::new(plan);
    let prices: Vec<Option<Money>> = plan.categories.iter().map(|category| kept.price(&category.name)).collect();
    let mut writer = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
    let written = "a record of as many texts as the header has always goes into memory";
    writer.write_record(COLUMNS).expect(written);
    for (row, seat_nos) in plan.rows.iter().zip(plan.seats_by_row()) {
        for seat in seat_nos.iter().filter_map(|seat_no| plan.seat(*seat_no)) {
            let price = prices.get(usize::from(seat.category)).copied().flatten();
            writer.write_record(record(plan, row, seat, price, &kept)).expect(written);
        }
    }
    let bytes = writer.into_inner().expect("flushing into memory does not fail");
    String::from_utf8(bytes).expect("only texts were written")
}

fn record(plan: &Plan, row: &Row, seat: &Seat, price: Option<Money>, kept: &Kept<'_>) -> [String; 13] {
    let section = plan.sections.get(usize::from(seat.section)).map_or("", |section| section.name.as_str());
    let category = plan.categories.get(usize::from(seat.category)).map_or("", |category| category.name.as_str());
    // An empty row or note is simply none; elsewhere an empty text must not be taken for the default.
    let optional = |text: &str| if text.is_empty() { String::new() } else { cells::guarded(text, false) };
    [
        cells::guarded(section, false),
        optional(&row.label),
        cells::guarded(&seat.label, true),
        stepped(seat.x).to_string(),
        stepped(seat.y).to_string(),
        cells::guarded(category, false),
        price.map(Money::decimal).unwrap_or_default(),
        price.map(|price| price.currency.to_string()).unwrap_or_default(),
        cells::type_word(seat.kind, kept.blocked(&seat.guid)).to_owned(),
        String::new(),
        if seat.restricted_view { "yes" } else { "no" }.to_owned(),
        optional(&kept.note(&seat.guid)),
        optional(&seat.guid),
    ]
}

/// What the written form can't carry, each kind of thing once, with how many and the seats concerned.
#[must_use]
pub fn losses(plan: &Plan) -> Vec<Finding> {
    let mut losses = Vec::new();
    let mut tell = |path: &str, count: usize, seats: Vec<u32>, what: &str| {
        if count > 0 {
            let finding = Finding::new(Code::NotCarried, path, format!("{count} {what}"));
            losses.push(Finding { seats, ..finding });
        }
    };
    tell("areas", plan.areas.len(), Vec::new(), "areas to look at, which a table has no lines for");
    let colors = plan.categories.iter().filter(|category| category.color.is_some()).count();
    tell("categories", colors, Vec::new(), "colours of categories");
    let ids = plan.sections.iter().filter(|section| section.id.is_some() || section.uuid.is_some()).count();
    tell("sections", ids, Vec::new(), "ids of sections");
    let words = |row: &&Row| {
        let made = [false, true].iter().flat_map(|restricted| KINDS.map(|kind| kind.words(*restricted)));
        row.row_label.is_some()
            || row.uuid.is_some()
            || row.number_position.is_some()
            || made.into_iter().all(|words| words != row.seat_label.as_deref())
    };
    tell(
        "rows",
        plan.rows.iter().filter(words).count(),
        Vec::new(),
        "rows with words, ids or drawn numbers of their own",
    );
    tell(
        "rows",
        merged(plan),
        Vec::new(),
        "row objects that share section and label with another and become one with it",
    );
    let ours = |path: &str| path.starts_with("seats[\"") || path.starts_with("categories[\"");
    let foreign = plan.kept.iter().filter(|kept| !ours(&kept.path)).count();
    tell("kept", foreign, Vec::new(), "foreign properties that were set aside");
    for (standing, what) in [(false, "sizes of seats"), (true, "sizes of places to stand")] {
        let of = plan.seats.iter().filter(|seat| (seat.kind == Kind::Standing) == standing);
        let sizes: std::collections::BTreeSet<u64> = of.map(|seat| seat.radius.to_bits()).collect();
        let what = format!("different {what}, which are told from distances");
        tell("seats", if sizes.len() > 1 { sizes.len() } else { 0 }, Vec::new(), &what);
    }
    let (count, seats) = seats_where(plan, |seat| seat.uuid.is_some() || seat.start_direction.is_some());
    tell("seats", count, seats, "UUIDs or start directions of seats");
    let (count, seats) = seats_where(plan, |seat| {
        let section = plan.sections.get(usize::from(seat.section)).map_or("", |section| section.name.as_str());
        let row = plan.rows.get(seat.row as usize).map_or("", |row| row.label.as_str());
        let category = plan.categories.get(usize::from(seat.category)).map_or("", |c| c.name.as_str());
        let same = |text: &str| cells::label(text).text == text;
        let id = seat.guid.trim() == seat.guid && !seat.guid.chars().any(cells::steers);
        !(same(section) && same(row) && same(&seat.label) && same(category) && id)
    });
    tell("seats", count, seats, "seats with texts that are not trimmed and normalised");
    losses
}

const KINDS: [Kind; 4] = [Kind::Seat, Kind::Wheelchair, Kind::Companion, Kind::Standing];

/// Row objects beyond the first of their section, label and kind.
fn merged(plan: &Plan) -> usize {
    let mut seen = std::collections::HashSet::new();
    let mut standing = vec![false; plan.rows.len()];
    for seat in &plan.seats {
        if let Some(standing) = standing.get_mut(seat.row as usize) {
            *standing = seat.kind == Kind::Standing;
        }
    }
    plan.rows.iter().zip(standing).filter(|(row, standing)| !seen.insert((row.section, &row.label, *standing))).count()
}

fn seats_where(plan: &Plan, lost: impl Fn(&Seat) -> bool) -> (usize, Vec<u32>) {
    let numbers: Vec<u32> =
        (0_u32..).zip(&plan.seats).filter(|(_, seat)| lost(seat)).map(|(seat_no, _)| seat_no).collect();
    (numbers.len(), numbers.into_iter().take(MAX_SEATS_NAMED).collect())
}
