//! From the path of a finding to the seat that it is about, so that a drawing can point at it.

use super::super::finding::Finding;
use super::super::plan::Plan;
use std::collections::HashMap;

/// Names the seats of findings that tell a seat by its path alone, such as
/// `zones[0].rows[3].seats[7].seat_guid`. Findings that name their seats already are left as they are.
pub fn locate<'a>(plan: &Plan, findings: impl IntoIterator<Item = &'a mut Finding>) {
    let mut open: Vec<(String, &mut Finding)> = findings
        .into_iter()
        .filter(|finding| finding.seats.is_empty())
        .filter_map(|finding| Some((seat_path(&finding.path)?.to_owned(), finding)))
        .collect();
    if open.is_empty() {
        return;
    }
    let numbers: HashMap<String, u32> =
        (0_u32..).zip(&plan.seats).map(|(seat_no, seat)| (plan.path_of(seat), seat_no)).collect();
    for (path, finding) in &mut open {
        finding.seats.extend(numbers.get(path.as_str()));
    }
}

/// The part of a path that names a seat.
fn seat_path(path: &str) -> Option<&str> {
    const SEATS: &str = ".seats[";
    let number = path.find(SEATS)? + SEATS.len();
    let end = number + path[number..].find(']')?;
    path.get(..=end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::venue::finding::Code;
    use crate::venue::generate;

    #[test]
    fn a_path_leads_to_its_seat_and_other_paths_to_none() {
        let plan = generate::arena(generate::MIN_ARENA_SEATS, "House");
        let path = plan.path_of(plan.seat(17).unwrap());
        let mut known = Finding::new(Code::SeatsOverlap, path.clone(), "told before");
        known.seats.push(3);
        let mut findings = vec![
            Finding::new(Code::GuidRepeated, format!("{path}.seat_guid"), "twice"),
            Finding::new(Code::SeatOutsideSize, path, "outside"),
            Finding::new(Code::CategoryUnused, "categories[1].name", "nobody"),
            Finding::new(Code::UnknownProperty, "zones[9999].rows[0].seats[0].x", "no such zone"),
            Finding::new(Code::UnknownProperty, "zones[0].seats[", "cut off"),
            known,
        ];
        locate(&plan, &mut findings);
        let seats: Vec<&[u32]> = findings.iter().map(|finding| finding.seats.as_slice()).collect();
        assert_eq!(seats, [&[17][..], &[17], &[], &[], &[], &[3]]);
    }
}
