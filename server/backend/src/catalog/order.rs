//! The order in which the list tells rows and seats.
//!
//! Seats are numbered as they sit in the plan that a sale began with. What a newer version of the plan
//! adds comes after all of them, whatever row it is in, and is put in its place here, by its label: where
//! it lies is not known.

use domain::catalog::{ListRow, ListSeat};
use std::collections::HashMap;

/// The rows of a section while they are gathered.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<ListRow>,
    at: HashMap<i32, usize>,
}

impl Rows {
    /// Adds a seat, in the order of seat numbers.
    pub(super) fn add(&mut self, row_no: i32, label: &str, seat: ListSeat) {
        let at = *self.at.entry(row_no).or_insert_with(|| {
            self.rows.push(ListRow { label: label.to_owned(), seats: Vec::new() });
            self.rows.len() - 1
        });
        self.rows[at].seats.push(seat);
    }

    /// The rows as people look for them: by number where all have one, else as they first came.
    pub(super) fn in_order(self) -> Vec<ListRow> {
        let mut rows = self.rows;
        if rows.iter().all(|row| number(&row.label).is_some()) {
            rows.sort_by_key(|row| number(&row.label));
        }
        rows.iter_mut().for_each(|row| sort(&mut row.seats));
        rows
    }
}

/// A label that is a whole number.
fn number(label: &str) -> Option<i64> {
    label.trim().parse().ok()
}

/// Sorts by number where all seats have one. Other labels say nothing of the order of sitting, unless the
/// seats that the row began with are in their order.
fn sort(seats: &mut [ListSeat]) {
    if seats.iter().all(|seat| number(&seat.label).is_some()) {
        seats.sort_by_key(|seat| number(&seat.label));
        return;
    }
    let first = 1 + seats.windows(2).take_while(|pair| pair[1].seat.0 == pair[0].seat.0 + 1).count();
    let Some((first, later)) = seats.split_at_checked(first) else { return };
    if !later.is_empty() && first.len() > 1 && first.is_sorted_by_key(|seat| parts(&seat.label)) {
        seats.sort_by_cached_key(|seat| parts(&seat.label));
    }
}

/// A part of a label; numbers are compared as such: "A2" comes before "A10".
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// How many digits follow the leading zeros, and they.
    Number(usize, String),
    Text(String),
}

fn parts(label: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = label.trim();
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (part, others) = rest.split_at(end);
        parts.push(if digits {
            let value = part.trim_start_matches('0');
            Part::Number(value.len(), value.to_owned())
        } else {
            Part::Text(part.to_owned())
        });
        rest = others;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SeatNo;

    /// Rows from seats in the order of their numbers: number, row object, its label, the seat's label.
    fn listed(seats: &[(u32, i32, &str, &str)]) -> Vec<String> {
        let mut rows = Rows::default();
        for (no, row_no, row, label) in seats {
            let seat = ListSeat {
                seat: SeatNo(*no),
                label: (*label).to_owned(),
                category: 0,
                available: true,
                accessible: false,
                kept: false,
            };
            rows.add(*row_no, row, seat);
        }
        let told = |row: ListRow| {
            let labels: Vec<String> = row.seats.into_iter().map(|seat| seat.label).collect();
            format!("{}: {}", row.label, labels.join(" "))
        };
        rows.in_order().into_iter().map(told).collect()
    }

    #[test]
    fn seats_and_rows_that_were_added_are_told_in_their_place() {
        let seats = [
            (0, 0, "1", "2"),
            (1, 0, "1", "4"),
            (2, 1, "3", "9"),
            (3, 1, "3", "10"),
            (40, 0, "1", "3"),
            (41, 0, "1", "1"),
            (42, 1, "3", "11"),
            (43, 7, "2", "1"),
        ];
        assert_eq!(listed(&seats), ["1: 1 2 3 4", "2: 1", "3: 9 10 11"]);
    }

    #[test]
    fn rows_whose_numbers_alternate_are_told_one_by_one() {
        let seats = [(0, 0, "A", "1"), (1, 1, "A", "1"), (2, 0, "A", "2"), (3, 1, "A", "2"), (4, 2, "", "1")];
        assert_eq!(listed(&seats), ["A: 1 2", "A: 1 2", ": 1"]);
    }

    #[test]
    fn labels_with_letters_are_put_in_their_place_where_the_row_follows_them() {
        let row = |seats: &[(u32, &'static str)]| {
            let seats: Vec<_> = seats.iter().map(|(no, label)| (*no, 0, "B", *label)).collect();
            listed(&seats).concat()
        };
        assert_eq!(row(&[(0, "A2"), (1, "A9"), (2, "A10"), (30, "A3"), (31, "A1")]), "B: A1 A2 A3 A9 A10");
        assert_eq!(row(&[(0, "L2"), (1, "L1"), (2, "R1"), (30, "L3")]), "B: L2 L1 R1 L3", "no order to follow");
        assert_eq!(row(&[(0, "12"), (1, "12a"), (2, "11")]), "B: 12 12a 11", "nothing was added");
    }
}
