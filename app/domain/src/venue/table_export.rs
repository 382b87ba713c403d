//! A plan as a table: a line for each seat, and one for each standing area. What has no column (the
//! stage, decoration, where row numbers are drawn) is not in it.

use super::plan::{Kind, Plan, Seat};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Writes the plan: comma, UTF-8, CRLF and quotes as RFC 4180 has them.
#[must_use]
pub fn to_csv(plan: &Plan) -> String {
    let mut text = String::with_capacity(64 + plan.seats.len() * 80);
    text.push_str("section,row,seat,x,y,category,type,capacity,restricted_view,id\r\n");
    let mut crowds: HashMap<(u32, u8), u32> = HashMap::new();
    for seat in plan.seats.iter().filter(|seat| seat.kind == Kind::Standing) {
        *crowds.entry((seat.row, seat.category)).or_default() += 1;
    }
    for seat in &plan.seats {
        if seat.kind != Kind::Standing {
            line(&mut text, plan, seat, None);
        } else if let Some(capacity) = crowds.remove(&(seat.row, seat.category)) {
            // The first place stands for the whole area.
            line(&mut text, plan, seat, Some(capacity));
        }
    }
    text
}

fn line(text: &mut String, plan: &Plan, seat: &Seat, capacity: Option<u32>) {
    let section = plan.sections.get(usize::from(seat.section)).map_or("", |section| section.name.as_str());
    let row = plan.rows.get(seat.row as usize).map_or("", |row| row.label.as_str());
    let category = plan.categories.get(usize::from(seat.category)).map_or("", |category| category.name.as_str());
    cell(text, section);
    cell(text, row);
    cell(text, if capacity.is_some() { "" } else { &seat.label });
    // Writing to a String cannot fail.
    let _ = write!(text, "{},{},", seat.x, seat.y);
    cell(text, category);
    text.push_str(match seat.kind {
        Kind::Seat => "seat,",
        Kind::Wheelchair => "wheelchair,",
        Kind::Companion => "companion,",
        Kind::Standing => "standing,",
    });
    if let Some(capacity) = capacity {
        let _ = write!(text, "{capacity}");
    }
    text.push_str(if seat.restricted_view { ",yes," } else { ",," });
    // Places to stand get their ids from their area.
    quoted(text, if capacity.is_some() { "" } else { &seat.guid });
    text.push_str("\r\n");
}

fn cell(text: &mut String, value: &str) {
    quoted(text, value);
    text.push(',');
}

/// Quoted where the value could be read as something else than itself.
fn quoted(text: &mut String, value: &str) {
    let plain = !value.contains([',', '"', '\r', '\n', ';', '\t', '|']) && value.trim() == value;
    if plain {
        text.push_str(value);
    } else {
        text.push('"');
        text.push_str(&value.replace('"', "\"\""));
        text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::venue::generate;

    #[test]
    fn each_seat_is_a_line_and_hostile_labels_stay_in_their_cell() {
        let mut plan = generate::arena(generate::MIN_ARENA_SEATS, "House");
        plan.sections[0].name = "Floor, \"A\"\nleft".to_owned();
        let text = to_csv(&plan);
        let seats =
            text.matches(",seat,").count() + text.matches(",wheelchair,").count() + text.matches(",companion,").count();
        assert_eq!(seats, plan.seats.len());
        assert!(text.contains("\"Floor, \"\"A\"\"\nleft\","));
        assert!(plan.seats.iter().all(|seat| text.contains(&seat.guid)));
    }

    #[test]
    fn a_standing_area_is_one_line_with_its_capacity() {
        let mut plan = generate::arena(generate::MIN_ARENA_SEATS, "House");
        let row = plan.seats[0].row;
        let mut capacity = 0;
        for seat in plan.seats.iter_mut().filter(|seat| seat.row == row) {
            seat.kind = Kind::Standing;
            seat.category = 0;
            capacity += 1;
        }
        let text = to_csv(&plan);
        assert_eq!(text.matches(",standing,").count(), 1);
        assert!(text.contains(&format!(",standing,{capacity},")));
        assert_eq!(text.lines().count(), 2 + plan.seats.len() - capacity);
    }
}
