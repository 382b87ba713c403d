//! Seating plans drawn as SVG: a real one, all that SVG allows, and drawings made to harm.
#![cfg(feature = "import")]

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use domain::venue::finding::Code;
use domain::venue::plan::{Kind, Plan, Shape};
use domain::venue::pretix;
use domain::venue::svg::{Outcome, Told, read};

const THEATRE: &str = include_str!("fixtures/svg-tessitura-amazing-venue.svg");
const THEATRE_IDS: &str = "seat-{seat}-{row}-{section}";

fn drawn(body: &str) -> String {
    format!(r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300">{body}</svg>"##)
}

fn seat(number: &str, x: f64) -> String {
    format!(r##"<circle cx="{x}" cy="50" r="8" data-seat="{number}" data-row="A" data-section="S"/>"##)
}

fn strict(text: &str) -> Outcome {
    read(text, None, false)
}

fn told(outcome: &Outcome, code: Code) -> Vec<&Told> {
    outcome.findings.iter().filter(|told| told.code == code).collect()
}

fn plan(outcome: Outcome) -> Plan {
    let refusing: Vec<&Told> = outcome.findings.iter().filter(|told| told.refuses).collect();
    assert!(refusing.is_empty(), "{refusing:#?}");
    outcome.draft.expect("drawn").finish().expect("a draft without findings is a plan")
}

fn refused(text: &str, code: Code) -> Outcome {
    let outcome = strict(text);
    assert!(told(&outcome, code).iter().any(|told| told.refuses), "{code}: {:#?}", outcome.findings);
    if let Some(draft) = &outcome.draft {
        draft.clone().finish().expect("what is drawn can be drawn");
    }
    outcome
}

/// Section, row, number, place, rounded to a thousandth.
fn places(plan: &Plan) -> Vec<(String, i64, i64)> {
    let thousandth = |value: f64| (value * 1_000.0).round() as i64;
    (0..)
        .zip(&plan.seats)
        .map(|(seat_no, seat)| {
            let label = plan.seat_label(seat_no).expect("numbered");
            (format!("{}/{}/{}", label.section, label.row, label.seat), thousandth(seat.x), thousandth(seat.y))
        })
        .collect()
}

fn placed(body: &str) -> Vec<(String, i64, i64)> {
    places(&plan(strict(&drawn(body))))
}

#[test]
fn the_theatre_in_the_round_is_read_by_its_ids() {
    let outcome = read(THEATRE, Some(THEATRE_IDS), false);
    assert!(outcome.findings.is_empty(), "{:#?}", outcome.findings);
    let plan = plan(outcome);
    assert_eq!(plan.seats.len(), 152);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seat in &plan.seats {
        *counts.entry(&plan.sections[usize::from(seat.section)].name).or_default() += 1;
    }
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("1", 40), ("2", 32), ("3", 40), ("4", 20), ("5", 20)]);
    // The view box begins at -13.32, 52.094; each of these has another mirroring matrix.
    let at = |guid: &str| {
        let seat = plan.seats.iter().find(|seat| seat.guid == guid).expect(guid);
        ((seat.x * 1_000.0).round() / 1_000.0, (seat.y * 1_000.0).round() / 1_000.0)
    };
    assert_eq!(at("seat-1-A-1"), (131.444, 154.116));
    assert_eq!(at("seat-8-D-1"), (57.715, 234.076));
    assert_eq!(at("seat-2-B-3"), (431.08, 155.111));
    assert_eq!(at("seat-12-E-3"), (503.31, 297.036));
    assert!(plan.seats.iter().all(|seat| (seat.radius - 6.21).abs() < 1e-6));
    // The walls between the blocks are turned by transform-origin: all lie on the sheet.
    assert_eq!(plan.areas.len(), 7);
    for area in &plan.areas {
        let center = area.bounds().expect("drawn").center();
        assert!(plan.view_box.contains(center) && center.x > 0.0 && center.y > 0.0, "{area:?}");
    }
    let focal = plan.focal_point();
    assert!((focal.x - 270.0).abs() < 20.0 && (focal.y - 185.0).abs() < 20.0, "the stage is in the middle: {focal:?}");
}

#[test]
fn rows_of_the_theatre_sit_side_by_side() {
    let plan = plan(read(THEATRE, Some(THEATRE_IDS), false));
    for (row, seats) in plan.rows.iter().zip(plan.seats_by_row()) {
        let labels: Vec<i32> = seats.iter().map(|no| plan.seats[*no as usize].label.parse().expect("number")).collect();
        assert!(
            labels.is_sorted(),
            "row {} of {}: {labels:?}",
            row.label,
            plan.sections[usize::from(row.section)].name
        );
    }
}

#[test]
fn what_an_svg_gives_comes_back_from_the_exchange_format() {
    let body = format!(
        r##"<title>Halle &amp; Hof</title>{}<g transform="rotate(7.3 11 13) scale(1.37)"><g data-section="Balkon" data-row="9A">
        <path data-seat="12 bis" data-type="wheelchair" data-category="B" fill="#0a0" d="M100 100c3 1 9 7 9 9a4 4 0 1 1-9 0z"/>
        <rect data-seat="13" data-type="wheelchair" data-category="B" x="120" y="100" width="10" height="10"/></g></g>
        <rect data-area="Arena" data-capacity="40" x="200" y="200" width="100" height="60" fill="#eee"/>
        <polygon points="0,0 30,0 30,20" fill="red"/><text x="50" y="20">Bühne</text>"##,
        seat("1", 20.0)
    );
    for plan in [plan(strict(&drawn(&body))), plan(read(THEATRE, Some(THEATRE_IDS), false))] {
        assert!(pretix::losses(&plan).is_empty());
        let json = pretix::export(&plan);
        let back = pretix::import(&json, pretix::Mode::Strict).unwrap_or_else(|errors| panic!("{errors}")).plan;
        assert_eq!(back, plan);
    }
}

#[test]
fn every_shape_can_be_a_seat_and_stands_where_its_box_has_its_middle() {
    let shapes = [
        (r##"<circle cx="50" cy="60" r="5" DATA/>"##, (50, 60)),
        (r##"<ellipse cx="50" cy="60" rx="5" ry="7" DATA/>"##, (50, 60)),
        (r##"<rect x="45" y="55" width="10" height="10" rx="2" DATA/>"##, (50, 60)),
        (r##"<line x1="45" y1="60" x2="55" y2="60" DATA/>"##, (50, 60)),
        (r##"<polygon points="40,50 60,50 60,70" DATA/>"##, (50, 60)),
        (r##"<polyline points="40 50 60 50 60 70" DATA/>"##, (50, 60)),
        (r##"<path d="m40 50 h20 v20 h-20z" DATA/>"##, (50, 60)),
        // The curve's controls lie outside of its box.
        (r##"<path d="M40 60 Q50 40 60 60" DATA/>"##, (50, 55)),
        (
            r##"<g DATA><circle cx="45" cy="60" r="5"/><circle cx="55" cy="60" r="5"/><text x="1" y="1">7</text></g>"##,
            (50, 60),
        ),
        (r##"<text x="50" y="60" text-anchor="middle" font-size="10" DATA>7</text>"##, (50, 57)),
        (r##"<rect x="1cm" y="10mm" width="0.1in" height="7.2pt" DATA/>"##, (43, 43)),
        (r##"<g transform="translate(10 20) scale(2)"><circle cx="20" cy="20" r="2" DATA/></g>"##, (50, 60)),
        (r##"<g transform="rotate(90)"><g transform="matrix(1 0 0 1 60 -50)"><circle r="2" DATA/></g></g>"##, (50, 60)),
        (
            r##"<circle cx="50" cy="60" r="2" style="transform-origin: 50px 60px; transform: rotate(30deg)" DATA/>"##,
            (50, 60),
        ),
        (r##"<circle cx="40" cy="60" r="2" transform="skewX(0) translate(10)" DATA/>"##, (50, 60)),
        (r##"<defs><g id="chair"><circle r="4"/></g></defs><use href="#chair" x="50" y="60" DATA/>"##, (50, 60)),
        (
            r##"<symbol id="s" viewBox="0 0 10 10"><circle cx="5" cy="5" r="4"/></symbol><use xmlns:l="http://www.w3.org/1999/xlink" l:href="#s" x="40" y="50" width="20" height="20" DATA/>"##,
            (50, 60),
        ),
        (
            r##"<svg x="40" y="50" width="20" height="40" viewBox="0 0 10 10"><circle cx="5" cy="0" r="1" DATA/></svg>"##,
            (50, 60),
        ),
    ];
    for (shape, (x, y)) in shapes {
        let data = r##"data-seat="7" data-row="B" data-section="S" data-category="C""##;
        let found = placed(&shape.replace("DATA", data));
        let [(label, left, top)] = found.as_slice() else { panic!("{shape}: {found:?}") };
        assert_eq!(label, "S/B/7", "{shape}");
        assert!((left - x * 1_000).abs() <= 500 && (top - y * 1_000).abs() <= 500, "{shape}: {left} {top}");
    }
}

#[test]
fn what_is_said_around_a_seat_counts_for_it() {
    let body = r##"<g data-section="Parkett" data-category="A" data-restricted-view="true"><g data-row="3">
        <circle cx="10" cy="10" r="4" data-seat="1" data-id="mine" id="not-this"/>
        <circle cx="30" cy="10" r="4" data-seat="2" data-row="4" id="seat-2" data-restricted-view="no" data-type="Companion"/>
        </g><circle cx="50" cy="10" r="4" data-seat="3"/></g>"##;
    let outcome = strict(&drawn(body));
    assert_eq!(told(&outcome, Code::DefaultUsed).len(), 1, "one seat has no row");
    assert_eq!(told(&outcome, Code::DefaultUsed)[0].guids, ["seat/Parkett/1/3"]);
    assert_eq!(told(&outcome, Code::DefaultUsed)[0].line, Some(4));
    let plan = plan(outcome);
    let seats: Vec<_> = plan.seats.iter().map(|seat| (seat.guid.as_str(), seat.kind, seat.restricted_view)).collect();
    assert!(seats.contains(&("mine", Kind::Seat, true)) && seats.contains(&("seat-2", Kind::Companion, false)));
    assert_eq!(plan.categories.len(), 1);
}

#[test]
fn a_block_that_is_used_twice_has_its_own_seats_each_time() {
    let body = r##"<defs><g id="block"><circle id="a" cx="10" cy="10" r="4" data-seat="1"/><circle cx="30" cy="10" r="4" data-seat="2"/></g></defs>
        <use href="#block" data-section="L" data-row="1"/><use href="#block" data-section="R" data-row="1" x="100"/>"##;
    let labels: Vec<(String, i64, i64)> = placed(body);
    let expected = [("L/1/1", 10), ("L/1/2", 30), ("R/1/1", 110), ("R/1/2", 130)];
    assert_eq!(labels, expected.map(|(label, x)| (label.to_owned(), x * 1_000, 10_000)));
}

#[test]
fn far_origins_and_foreign_units_fit_the_plan() {
    for (head, seat, x) in [
        (r##"viewBox="-5000000 7000000 400 300""##, r##"cx="-4999950" cy="7000060" r="5""##, 50.0),
        (r##"viewBox="0 0 4 3""##, r##"cx="0.5" cy="0.6" r="0.05""##, 125.0),
        (r##"viewBox="0 0 4000000 3000000""##, r##"cx="500000" cy="600000" r="50000""##, 12_500.0),
        (r##"width="105.833mm" height="3in""##, r##"cx="50" cy="60" r="5""##, 50.0),
        (r##"width="100%" viewBox="0 0 NaN inf""##, r##"cx="1e5" cy="60" r="500""##, 550.0),
    ] {
        let text = format!(r##"<svg {head}><circle {seat} data-seat="1" data-row="A" data-section="S"/></svg>"##);
        let plan = plan(strict(&text));
        assert!((plan.seats[0].x - x).abs() < 1.0, "{head}: {}", plan.seats[0].x);
        assert!(plan.view_box.contains(plan.seats[0].center()) && plan.seats[0].radius > 1.0, "{head}");
    }
}

#[test]
fn a_standing_area_gets_its_places_inside_its_outline() {
    let body = r##"<path data-area="Arena" data-capacity="500" data-section="Innenraum" d="M100 100 L300 100 L200 280 Z" fill="#ddd" id="pit"/>"##;
    let plan = plan(strict(&drawn(body)));
    assert_eq!(plan.seats.len(), 500);
    for (number, seat) in (1..).zip(&plan.seats) {
        assert_eq!((seat.label.as_str(), seat.kind), (number.to_string().as_str(), Kind::Standing));
        assert_eq!(seat.guid, format!("pit/{number}"));
        let half = (280.0 - seat.y) / 180.0 * 100.0;
        assert!(seat.y > 100.0 && (seat.x - 200.0).abs() < half, "outside: {} {}", seat.x, seat.y);
    }
    assert!(matches!(&plan.areas[0].shape, Shape::Polygon(points) if points.len() == 3));
    assert_eq!(plan.areas[0].text.as_ref().map(|text| text.text.as_str()), Some("Arena"));
    for capacity in ["999999999", "0", "-1", "many", "99999999999999999999999", ""] {
        let text = drawn(&format!(r##"<rect data-area="A" data-capacity="{capacity}" width="50" height="50"/>"##));
        let outcome = strict(&text);
        assert!(outcome.findings.iter().any(|told| told.refuses), "{capacity}");
        assert!(outcome.draft.is_some_and(|draft| draft.sections.iter().all(|section| section.rows.is_empty())));
    }
}

#[test]
fn the_background_is_recognisable_and_bounded() {
    let body = format!(
        r##"<style>.wall {{ fill: #123456 }} .none {{ display: none }}</style>{}<rect class="wall" width="30" height="10"/>
        <circle cx="9" cy="9" r="3" fill="none" stroke="rgb(1, 2, 3)"/><g opacity="0.5"><path d="M0 0C9 9 0 9 9 0Z" fill="url(#g)"/></g>
        <rect class="none" width="5" height="5"/><text x="9" y="9" fill="red">Stage<tspan x="9" dy="20">left</tspan></text>"##,
        seat("1", 20.0)
    );
    let house = plan(strict(&drawn(&body)));
    let colors: Vec<_> = house.areas.iter().map(|a| (a.color.as_deref(), a.border_color.as_deref())).collect();
    let expected =
        [(Some("#123456"), None), (None, Some("#010203")), (Some("#cccccc80"), None), (None, None), (None, None)];
    assert_eq!(colors, expected);
    let words: Vec<_> = house.areas.iter().filter_map(|area| area.text.as_ref()).map(|text| &text.text).collect();
    assert_eq!(words, ["Stage", "left"]);

    let mut many = seat("1", 20.0);
    for index in 0..60_000 {
        let _ = write!(many, r##"<path d="M{index} 0 q 1 2 3 4 t 5 6 a 7 8 9 0 1 2 3"/>"##);
    }
    let outcome = strict(&drawn(&many));
    assert_eq!(told(&outcome, Code::GeometryLeftOut).len(), 1);
    assert!(plan(outcome).areas.len() <= 10_000);
}

#[test]
fn what_stands_twice_is_refused_with_the_list_and_repaired_when_asked() {
    let twice = |id: &str| {
        format!(r##"<circle id="{id}" cx="10" cy="10" r="4" data-row="A" data-section="S" data-seat="#"/>"##)
    };
    let body = format!(
        "{}\n{}\n{}",
        twice("x1").replace('#', "1"),
        twice("x1").replace('#', "2"),
        twice("x3").replace('#', "2")
    );
    let outcome = refused(&drawn(&body), Code::GuidRepeated);
    let ids = told(&outcome, Code::GuidRepeated);
    assert_eq!(
        (ids.len(), ids[0].line, ids[0].guids.as_slice()),
        (1, Some(2), ["x1".to_owned(), "x1~2".to_owned()].as_slice())
    );
    assert_eq!(ids[0].path, "svg/circle[2]#x1");
    assert!(ids[0].message.contains("svg/circle[1]#x1 (line 1)"), "{}", ids[0].message);
    let places = told(&outcome, Code::PlaceRepeated);
    assert_eq!((places.len(), places[0].guids.len(), places[0].refuses), (1, 2, true));
    let plan = plan(read(&drawn(&body), None, true));
    let seats: HashSet<_> = plan.seats.iter().map(|seat| (seat.guid.as_str(), seat.label.as_str())).collect();
    assert_eq!(seats, HashSet::from([("x1", "1"), ("x1~2", "2"), ("x3", "2 (2)")]));
}

#[test]
fn nothing_that_was_meant_as_a_seat_gets_lost_unsaid() {
    let cases = [
        (r##"<g style="display:none"><circle r="4" data-seat="9"/></g>"##, Code::SeatHidden, true),
        (r##"<circle r="4" visibility="hidden" data-seat="9"/>"##, Code::SeatHidden, true),
        (r##"<g data-seat="8"><circle r="4" data-seat="9"/></g>"##, Code::SeatNested, true),
        (r##"<g data-seat="9"/>"##, Code::GeometryInvalid, false),
        (r##"<circle r="4" data-seat=" "/>"##, Code::MissingProperty, false),
        (r##"<rect width="4" height="4" data-area="A"/>"##, Code::MissingProperty, false),
        (r##"<circle r="4" data-seat="9" data-type="sofa"/>"##, Code::UnknownValue, true),
        (r##"<circle r="4" data-seat="9" transform="turn(3)"/>"##, Code::GeometryInvalid, false),
        (r##"<circle cx="1e999" r="4" data-seat="9"/>"##, Code::GeometryInvalid, false),
        (r##"<circle cx="NaN" r="4" data-seat="9"/>"##, Code::GeometryInvalid, false),
        (r##"<g transform="scale(1e8)"><circle cx="1e8" r="4" data-seat="9"/></g>"##, Code::GeometryInvalid, false),
        (r##"<path d="M0 0 what" data-seat="9"/>"##, Code::GeometryInvalid, false),
        (r##"<path d="M0 0 A1e300 1e300 0 1 1 1e300 5" data-seat="9"/>"##, Code::GeometryInvalid, false),
        (r##"<use href="#nowhere" data-seat="9"/>"##, Code::GeometryInvalid, false),
        (r##"<circle r="4" data-seat="9" data-id="x"/>"##, Code::GuidMalformed, true),
    ];
    for (body, code, repairable) in cases {
        let text = drawn(&format!("{}\n{body}", seat("1", 20.0)));
        let outcome = refused(&text, code);
        assert_eq!(told(&outcome, code)[0].line, Some(2), "{body}");
        assert!(outcome.draft.is_some(), "{body}: the rest can be drawn");
        let tolerant = read(&text, None, true);
        assert_eq!(tolerant.findings.iter().all(|told| !told.refuses), repairable, "{body}: {:#?}", tolerant.findings);
    }
    let outcome = strict(&drawn(&format!(r##"<defs><circle r="4" data-seat="9"/></defs>{}"##, seat("1", 20.0))));
    assert!(told(&outcome, Code::DefaultUsed)[0].message.contains("not drawn"), "{:#?}", outcome.findings);
}

#[test]
fn without_marks_a_pattern_is_asked_for_and_suggested() {
    let outcome = refused(THEATRE, Code::NoSeats);
    assert!(told(&outcome, Code::NoSeats)[0].message.contains(THEATRE_IDS), "{:#?}", outcome.findings);
    assert!(outcome.draft.is_some(), "the background can be drawn");
    let by_regex = read(THEATRE, Some(r"seat-(?P<seat>\d+)-(?<row>[A-Z])-(?P<section>\d)"), false);
    assert_eq!(places(&plan(by_regex)), places(&plan(read(THEATRE, Some(THEATRE_IDS), false))));
    let some = read(THEATRE, Some("seat-{seat}-{row}-1"), false);
    assert_eq!(told(&some, Code::IdUnmatched).len(), 1);
    assert!(told(&some, Code::IdUnmatched)[0].message.starts_with("112 ×"));
    for (pattern, code) in [("(", Code::PatternInvalid), ("x", Code::PatternInvalid), ("chair-{seat}", Code::NoSeats)] {
        let outcome = read(THEATRE, Some(pattern), false);
        assert!(told(&outcome, code).iter().any(|told| told.refuses), "{pattern}");
    }
}
