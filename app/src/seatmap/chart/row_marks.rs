//! Where rows are named: beside the seat that a row begins with.

use domain::venue::Point;
use domain::venue::static_map::{MapData, MapRow, SeatInfo};

/// Most new seats in front of a row's first that its name gives way to: more than any row gains.
const STEPS_MAX: usize = 100;

/// The name of a row beside its first seat.
#[derive(Clone, Debug, PartialEq)]
pub struct RowMark {
    /// Its number or letter.
    pub label: String,
    /// Where it stands.
    pub at: Point,
}

/// Each row's name, one seat's width before its first seat in the direction of the row.
pub(super) fn of(map: &MapData) -> Vec<RowMark> {
    (0..).zip(map.rows()).filter_map(|(index, row)| mark(map, row, &sitting(map, index))).collect()
}

/// The seats of a row in the order of sitting, as far as numbers on seats tell it. In a plan that nothing
/// was put in the place of, this is the order of `seat_no`.
fn sitting(map: &MapData, row: u32) -> Vec<u32> {
    let mut members = map.row_seats(row).to_vec();
    let number = |seat: &u32| map.seat(*seat).and_then(|seat| seat.label.trim().parse::<i64>().ok());
    if members.iter().all(|seat| number(seat).is_some()) {
        members.sort_by_key(number);
    }
    members
}

fn mark(map: &MapData, row: &MapRow, members: &[u32]) -> Option<RowMark> {
    if row.label.is_empty() {
        return None;
    }
    let first = map.seat(*members.first()?)?;
    let ahead = members.get(1).and_then(|next| map.seat(*next)).map_or(Point::new(1.0, 0.0), |next| {
        let step = place(&next).minus(place(&first));
        let length = step.distance(Point::default());
        if length > 0.0 { Point::new(step.x / length, step.y / length) } else { Point::new(1.0, 0.0) }
    });
    let before = |seat: &SeatInfo<'_>| {
        let back = seat.radius * 2.1;
        place(seat).plus(Point::new(-ahead.x * back, -ahead.y * back))
    };
    let mut at = before(&first);
    // What a newer version of the plan put in front of the first seat comes later among the numbers.
    let gap = members.windows(2).position(|pair| pair[1] != pair[0] + 1);
    let later = gap.map_or(&[][..], |gap| &members[gap + 1..]);
    for _ in 0..STEPS_MAX {
        let mut seats = later.iter().filter_map(|seat| map.seat(*seat));
        let Some(on) = seats.find(|seat| place(seat).distance(at) < seat.radius) else { break };
        at = before(&on);
    }
    Some(RowMark { label: row.label.clone(), at })
}

fn place(seat: &SeatInfo<'_>) -> Point {
    Point::new(seat.x, seat.y)
}
