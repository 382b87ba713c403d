//! Who sits beside whom, the best that is left, and who would be left alone.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod choices;
mod neighbours;
mod oracle;

use domain::SeatNo;
use domain::venue::Point;
use domain::venue::adjacency::Adjacency;
use domain::venue::best::{Best, Spread, Wish};
use domain::venue::plan::{Category, Draft, DraftRow, DraftSeat, DraftSection, Kind, Plan};

/// From row to row in drawn houses.
pub(crate) const DEPTH: f64 = 28.0;

/// Sections, their row objects, and the seats of each.
pub(crate) fn house(sections: Vec<Vec<Vec<(Point, Kind)>>>) -> Plan {
    let mut guid = 0;
    let sections = sections.into_iter().enumerate().map(|(number, rows)| DraftSection {
        name: format!("S{number}"),
        rows: rows
            .into_iter()
            .map(|seats| DraftRow {
                label: "1".to_owned(),
                seats: seats
                    .into_iter()
                    .map(|(position, kind)| {
                        guid += 1;
                        DraftSeat {
                            guid: format!("seat-{guid}"),
                            label: guid.to_string(),
                            position,
                            radius: 9.0,
                            category: 0,
                            kind,
                            restricted_view: false,
                            start_direction: None,
                            uuid: None,
                        }
                    })
                    .collect(),
                ..DraftRow::default()
            })
            .collect(),
        ..DraftSection::default()
    });
    Draft {
        name: "House".to_owned(),
        size: None,
        categories: vec![Category { name: "A".to_owned(), color: None }],
        sections: sections.collect(),
        kept: Vec::new(),
    }
    .finish()
    .unwrap()
}

pub(crate) fn wish(count: u32) -> Wish {
    Wish::new(count, Vec::new(), None, 0).unwrap()
}

pub(crate) fn best(adjacency: &Adjacency, wish: &Wish, free: impl Fn(SeatNo) -> bool) -> Option<Best> {
    adjacency.best(wish, free, |_| true, Spread::NONE).ok()
}
