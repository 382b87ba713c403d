//! The pretix format: a real file, the schema itself, and files made to break the reader.

use std::collections::HashSet;

use domain::venue::plan::{Draft, DraftRow, DraftSeat, DraftSection, Kind, Plan};
use domain::venue::pretix::{Code, Finding, ImportErrors, Mode, export, import, losses};
use domain::venue::{Point, generate, summary};
use proptest::prelude::*;
use serde_json::{Value, json};

const STADIUM: &str = include_str!("fixtures/pretix-seatmap-canvas-stadium.json");
const SCHEMA: &str = include_str!("fixtures/pretix-seating-plan.schema.json");

fn small() -> Value {
    json!({
        "name": "Small hall",
        "categories": [{"name": "A", "color": "#f00"}, {"name": "B"}],
        "size": {"width": 400, "height": 300},
        "zones": [{
            "name": "Stalls", "zone_id": "st", "uuid": "u-zone", "position": {"x": 10, "y": 20},
            "rows": [
                {"row_number": "10", "seats": [seat("s-10-1", "1", 0), seat("s-10-2", "2", 30)],
                 "position": {"x": 1.5, "y": 60}, "row_number_position": "both",
                 "row_label": "Row %s", "seat_label": "Seat %s", "uuid": "u-row"},
                {"row_number": "9", "seats": [seat("s-9-3", "3", 90), seat("s-9-4", "4", 120)]},
                {"row_number": "9", "seats": [seat("s-9-2", "2", 30), seat("s-9-1", "1", 0)]}
            ],
            "areas": [
                {"shape": "rectangle", "rectangle": {"width": 200, "height": 40},
                 "position": {"x": 50, "y": -20}, "rotation": 5, "color": "#222",
                 "text": {"text": "Stage", "position": {"x": 100, "y": 20}, "color": "#fff"}},
                {"shape": "polygon", "polygon": {"points": [{"x": 0, "y": 0}, {"x": 9, "y": 0}, {"x": 0, "y": 9}]}},
                {"shape": "ellipse", "ellipse": {"radius": {"x": 3, "y": 4}}, "position": {"x": 5, "y": 5}},
                {"shape": "circle", "circle": {"radius": 3}, "border_color": "red"},
                {"shape": "text", "text": {"text": "Bar", "position": {"x": 0, "y": 0}, "size": 9}}
            ]
        }]
    })
}

fn seat(guid: &str, number: &str, x: i32) -> Value {
    json!({"seat_guid": guid, "seat_number": number, "position": {"x": x, "y": 0}, "category": "A",
           "start_direction": ">", "radius": 8.5, "uuid": format!("u-{guid}")})
}

fn codes(findings: &[Finding], code: Code) -> Vec<&str> {
    findings.iter().filter(|f| f.code == code).map(|f| f.path.as_str()).collect()
}

fn refused(plan: &Value, mode: Mode) -> ImportErrors {
    import(&plan.to_string(), mode).expect_err("the file must be refused")
}

fn read(text: &str, mode: Mode) -> Plan {
    import(text, mode).unwrap_or_else(|errors| panic!("{errors}")).plan
}

#[test]
fn the_stadium_is_refused_strictly_with_every_repeated_guid() {
    let errors = import(STADIUM, Mode::Strict).expect_err("guids repeat");
    assert_eq!(errors.errors.len(), 126);
    assert_eq!(codes(&errors.errors, Code::GuidRepeated).len(), 126);
    assert!(errors.errors.iter().any(|error| error.message.starts_with("8 seats share")));
    assert!(errors.errors.iter().all(|error| error.path.ends_with(".seat_guid")));
}

#[test]
fn the_stadium_is_read_tolerantly_and_every_repair_is_told() {
    let imported = import(STADIUM, Mode::Tolerant).expect("repairable");
    let plan = &imported.plan;
    assert!(summary(plan).starts_with("738 seats, 90 rows, 2 sections\n"));
    assert_eq!((plan.categories.len(), plan.areas.len()), (5, 1));
    assert_eq!(codes(&imported.warnings, Code::GuidRepeated).len(), 126);
    assert_eq!(codes(&imported.warnings, Code::CategoryUnused), ["categories[2]"]);
    let guids: HashSet<&str> = plan.seats.iter().map(|seat| seat.guid.as_str()).collect();
    assert_eq!(guids.len(), 738);
    // 318 guids as written, the other 420 seats told apart.
    assert_eq!(guids.iter().filter(|guid| guid.contains('~')).count(), 738 - 318);
    assert_eq!(imported, import(STADIUM, Mode::Tolerant).expect("again"), "the repair is stable");
}

#[test]
fn the_stadium_survives_export() {
    let plan = read(STADIUM, Mode::Tolerant);
    let text = export(&plan);
    assert_valid_by_schema(&text);
    assert_eq!(read(&text, Mode::Strict), plan);
    assert!(losses(&plan).is_empty());
}

#[test]
fn a_generated_arena_survives_export() {
    let plan = generate::arena(6_500, "Arena");
    let text = export(&plan);
    assert_valid_by_schema(&text);
    let back = import(&text, Mode::Strict).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(back.plan, plan);
    assert!(back.warnings.is_empty(), "{:?}", back.warnings.first());
    assert!(losses(&plan).is_empty());
}

#[test]
fn everything_the_format_has_survives_export() {
    let plan = read(&small().to_string(), Mode::Strict);
    let text = export(&plan);
    assert_valid_by_schema(&text);
    assert_eq!(read(&text, Mode::Strict), plan);
    assert_eq!(plan.areas.len(), 5);
    assert_eq!(plan.areas[0].position, Point::new(60.0, 0.0));
    assert_eq!(plan.areas[0].text.as_ref().expect("words").position, Point::new(160.0, 20.0));
}

#[test]
fn seats_are_numbered_by_row_number_then_seat_number() {
    let plan = read(&small().to_string(), Mode::Strict);
    let order: Vec<&str> = plan.seats.iter().map(|seat| seat.guid.as_str()).collect();
    assert_eq!(order, ["s-9-1", "s-9-2", "s-9-3", "s-9-4", "s-10-1", "s-10-2"]);
    let last = plan.seat(5).expect("six seats");
    assert_eq!((last.x, last.y), (10.0 + 1.5 + 30.0, 20.0 + 60.0));
    // Row objects stay apart, in order of sitting, though they share a label.
    assert_eq!(plan.seats_by_row(), [vec![4, 5], vec![2, 3], vec![1, 0]]);
    assert_eq!(plan.path_of(&plan.seats[0]), "zones[0].rows[2].seats[1]");
    let label = plan.seat_label(0).expect("there");
    assert_eq!((label.section, label.row, label.seat), ("Stalls", "9", "1"));
}

#[test]
fn all_problems_are_told_at_once_with_their_paths() {
    let mut plan = small();
    plan["vendor"] = json!(1);
    plan["size"]["depth"] = json!(3);
    plan["zones"][0]["rows"][1]["seats"][1]["color"] = json!("red");
    plan["zones"][0]["rows"][1]["seats"][0]["category"] = json!("Z");
    plan["zones"][0]["rows"][2]["seats"][0]["position"]["z"] = json!(0);
    plan["zones"][0]["rows"][2]["seats"][1]["seat_guid"] = json!("");
    plan["zones"][0]["areas"][1]["shape"] = json!("circle");
    plan["zones"][0]["areas"][2]["shape"] = json!("star");
    let errors = refused(&plan, Mode::Strict).errors;
    let at = |code| codes(&errors, code);
    assert_eq!(
        at(Code::UnknownProperty),
        ["vendor", "size.depth", "zones[0].rows[1].seats[1].color", "zones[0].rows[2].seats[0].position.z"]
    );
    assert_eq!(at(Code::CategoryUndeclared), ["zones[0].rows[1].seats[0].category"]);
    assert_eq!(at(Code::GuidEmpty), ["zones[0].rows[2].seats[1].seat_guid"]);
    assert_eq!(at(Code::ShapeObjectMissing), ["zones[0].areas[1].circle"]);
    assert_eq!(at(Code::UnknownValue), ["zones[0].areas[2].shape"]);
    assert_eq!(errors.len(), 8);
}

#[test]
fn tolerance_sets_aside_repairs_and_lists() {
    let mut plan = small();
    plan["vendor"] = json!({"id": 12_345_678_901_234_567_u64});
    plan["zones"][0]["rows"][1]["seats"][0]["category"] = json!("Z");
    plan["zones"][0]["rows"][1]["seats"][0]["seat_number"] = json!(3);
    plan["zones"][0]["rows"][2]["seats"][0]["position"]["x"] = json!(-600);
    plan["zones"][0]["rows"][2]["seats"][1]["seat_guid"] = json!(" ");
    plan["zones"][0]["rows"][0]["seats"][1]["position"]["x"] = json!(2);
    plan["zones"][0]["rows"][0]["seats"][1]["seat_guid"] = json!("s-10-1");
    plan["size"] = json!(null);
    let imported = import(&plan.to_string(), Mode::Tolerant).unwrap_or_else(|e| panic!("{e}"));
    let at = |code| codes(&imported.warnings, code);
    assert_eq!(at(Code::UnknownProperty), ["vendor"]);
    assert_eq!(imported.plan.kept[0].json, r#"{"id":12345678901234567}"#);
    assert_eq!(at(Code::NumberAsText), ["zones[0].rows[1].seats[0].seat_number"]);
    assert_eq!(at(Code::SeatOutsideSize), ["zones[0].rows[2].seats[0].position"]);
    assert_eq!(at(Code::SeatsOverlap), ["zones[0].rows[0].seats[1].position"]);
    assert_eq!(at(Code::DefaultUsed), ["size"]);
    let guids: Vec<&str> = imported.plan.seats.iter().map(|seat| seat.guid.as_str()).collect();
    assert!(guids.contains(&"seat/Stalls/9/1") && guids.contains(&"s-10-1~2"), "{guids:?}");
    assert_eq!(imported.plan.categories[2].name, "Z");
    assert!(imported.plan.view_box.min.x < -590.0);
    assert_eq!(imported.plan.seats.len(), 6, "no seat is dropped");
    assert_valid_by_schema(&export(&imported.plan));
    assert_eq!(losses(&imported.plan).len(), 1);
}

#[test]
fn a_suffix_that_is_taken_is_counted_past() {
    let mut plan = small();
    for (row, seat, guid) in [(0, 0, "twin"), (0, 1, "twin~2"), (1, 0, "twin"), (1, 1, "twin")] {
        plan["zones"][0]["rows"][row]["seats"][seat]["seat_guid"] = json!(guid);
    }
    let plan = read(&plan.to_string(), Mode::Tolerant);
    let mut guids: Vec<&str> = plan.seats.iter().map(|seat| seat.guid.as_str()).collect();
    guids.sort_unstable();
    assert_eq!(guids, ["s-9-1", "s-9-2", "twin", "twin~2", "twin~3", "twin~4"]);
}

#[test]
fn older_files_are_read_with_defaults() {
    let old = json!({
        "name": "Old", "categories": [{"name": "A"}],
        "zones": [{"position": {"x": 0, "y": 0}, "rows": [{"row_number": "1", "seats": [
            {"seat_guid": "1-1", "seat_number": "1", "position": {"x": 20, "y": 30}, "category": "A"}
        ]}], "areas": [{"polygon": {"points": []}}, {}]}]
    });
    let imported = import(&old.to_string(), Mode::Tolerant).unwrap_or_else(|e| panic!("{e}"));
    let plan = &imported.plan;
    assert_eq!((plan.size.width, plan.size.height), (30.0, 40.0));
    assert_eq!(plan.seats[0].radius, 10.0);
    assert_eq!(plan.sections[0].name, "Section 1");
    assert_eq!(plan.areas.len(), 1);
    assert_eq!(codes(&imported.warnings, Code::AreaWithoutShape), ["zones[0].areas[1].shape"]);
    assert_eq!(plan.kept.len(), 1, "the empty area is set aside");
    assert_eq!(codes(&refused(&old, Mode::Strict).errors, Code::MissingProperty), ["size"]);
}

#[test]
fn a_key_that_stands_twice_is_refused_in_both_modes() {
    let text = small().to_string().replacen("\"row_number\":\"9\"", "\"seats\":[],\"row_number\":\"9\"", 1);
    for mode in [Mode::Strict, Mode::Tolerant] {
        let errors = import(&text, mode).expect_err("seats stand twice");
        assert_eq!(codes(&errors.errors, Code::RepeatedKey), ["zones[0].rows[1].seats"]);
    }
}

#[test]
fn broken_json_gives_line_and_column() {
    let errors = import("{\n  \"name\": \"x\",\n  oops\n}", Mode::Tolerant).expect_err("no JSON");
    assert_eq!(errors.errors[0].code, Code::JsonSyntax);
    assert_eq!(errors.errors[0].path, "line 3 column 3");
    let deep = "[".repeat(100_000);
    assert_eq!(import(&deep, Mode::Strict).expect_err("deep").errors[0].code, Code::JsonSyntax);
    let with_mark = format!("\u{feff}{}", small());
    assert!(import(&with_mark, Mode::Strict).is_ok());
}

#[test]
fn numbers_beyond_reason_are_refused() {
    for (number, code) in [
        ("1e308", Code::NumberOutOfRange),
        ("-1000001", Code::NumberOutOfRange),
        ("1e999", Code::JsonSyntax),
        ("NaN", Code::JsonSyntax),
        ("\"1\"", Code::WrongType),
    ] {
        let text = small().to_string().replacen("{\"x\":1.5", &format!("{{\"x\":{number}"), 1);
        for mode in [Mode::Strict, Mode::Tolerant] {
            let errors = import(&text, mode).expect_err(number);
            assert_eq!(errors.errors[0].code, code, "{number}");
        }
    }
}

#[test]
fn limits_are_told_once() {
    let row: Vec<Value> = (0..100_001)
        .map(|n| {
            json!({"seat_guid": format!("s{n}"), "seat_number": "1",
                        "position": {"x": 0, "y": 0}, "category": "A"})
        })
        .collect();
    let mut plan = small();
    plan["zones"][0]["rows"] = json!([{"row_number": "1", "seats": row}, {"row_number": "2", "seats": row}]);
    let errors = refused(&plan, Mode::Tolerant).errors;
    assert_eq!(codes(&errors, Code::LimitExceeded).len(), 2);
    let mut plan = small();
    plan["zones"][0]["name"] = json!("x".repeat(1_025));
    assert_eq!(codes(&refused(&plan, Mode::Tolerant).errors, Code::TextTooLong), ["zones[0].name"]);
}

#[test]
fn a_hundred_thousand_seats_on_one_point_are_read_in_bounded_time() {
    let row: Vec<Value> = (0..100_000)
        .map(|n| {
            json!({"seat_guid": format!("seat{n}"), "seat_number": n.to_string(),
                        "position": {"x": (n % 7) * 3, "y": 0}, "category": "A", "radius": 1})
        })
        .collect();
    let mut plan = small();
    plan["zones"][0]["rows"] = json!([{"row_number": "1", "seats": row}]);
    plan["zones"][0]["rows"][0]["seats"][5]["radius"] = json!(900_000);
    let imported = import(&plan.to_string(), Mode::Strict).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(imported.plan.seats.len(), 100_000);
    assert!(codes(&imported.warnings, Code::SeatsOverlap).len() > 90_000);
}

#[test]
fn kinds_of_places_travel_in_the_words_of_their_row() {
    let place = |guid: &str, kind| DraftSeat {
        guid: guid.to_owned(),
        label: "1".to_owned(),
        position: Point::default(),
        radius: 10.0,
        category: 0,
        kind,
        restricted_view: false,
        start_direction: None,
        uuid: None,
    };
    let draft = Draft {
        categories: vec![domain::venue::plan::Category { name: "A".to_owned(), color: None }],
        sections: vec![DraftSection {
            name: "S".to_owned(),
            rows: vec![
                DraftRow {
                    seat_label: Some("Wheelchair place %s".to_owned()),
                    seats: vec![place("w1", Kind::Wheelchair)],
                    ..DraftRow::default()
                },
                DraftRow { seats: vec![place("c1", Kind::Companion), place("s1", Kind::Seat)], ..DraftRow::default() },
                DraftRow { seats: vec![place("p1", Kind::Standing)], ..DraftRow::default() },
            ],
            ..DraftSection::default()
        }],
        ..Draft::default()
    };
    let plan = draft.finish().expect("within limits");
    let lost = losses(&plan);
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].path, "zones[0].rows[1].seats[0]");
    let back = read(&export(&plan), Mode::Strict);
    let kind = |guid: &str| back.seats.iter().find(|seat| seat.guid == guid).expect("exported").kind;
    assert_eq!((kind("w1"), kind("p1")), (Kind::Wheelchair, Kind::Standing));
}

/// A value put where another was.
fn junk() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["", " ", "s-9-1", "A", "text", "circle", "<", "start", "1"]).prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[], {}, null])),
        Just(json!({"x": 1, "y": -2})),
        Just(seat("s-9-1", "x", 5)),
    ]
}

/// Changes the `target`-th value in depth-first order: replaced, removed or doubled.
fn mutate(node: &mut Value, target: &mut usize, junk: &Value, how: u8) {
    if *target == 0 {
        *node = junk.clone();
    }
    *target = target.wrapping_sub(1);
    match node {
        Value::Array(items) => {
            if how == 1 && *target < items.len() {
                items.remove(*target);
                return;
            }
            if how == 2 && *target < items.len() {
                items.push(items[*target].clone());
                return;
            }
            items.iter_mut().for_each(|item| mutate(item, target, junk, how));
        }
        Value::Object(entries) => {
            if how == 1 && *target < entries.len() {
                let key = entries.keys().nth(*target).cloned().unwrap_or_default();
                entries.remove(&key);
                return;
            }
            entries.values_mut().for_each(|value| mutate(value, target, junk, how));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn no_mutation_panics_and_what_is_read_survives_export(
        changes in prop::collection::vec((0_usize..140, junk(), 0_u8..3), 1..5),
    ) {
        let mut plan = small();
        for (target, junk, how) in changes {
            mutate(&mut plan, &mut { target }, &junk, how);
        }
        let text = plan.to_string();
        if let Ok(strict) = import(&text, Mode::Strict) {
            let tolerant = import(&text, Mode::Tolerant).expect("tolerance takes what strictness takes");
            prop_assert_eq!(&strict.plan, &tolerant.plan);
        }
        if let Ok(imported) = import(&text, Mode::Tolerant) {
            let mut plan = imported.plan;
            let written = export(&plan);
            assert_valid_by_schema(&written);
            plan.kept.clear();
            prop_assert_eq!(read(&written, Mode::Strict), plan);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC*", cut in 0_usize..2_000, at in 0_usize..2_000) {
        let _ = import(&text, Mode::Tolerant);
        let mut bytes = small().to_string().into_bytes();
        bytes.truncate(cut);
        let _ = import(&String::from_utf8_lossy(&bytes), Mode::Tolerant);
        let mut whole = small().to_string();
        if whole.is_char_boundary(at) {
            whole.insert_str(at.min(whole.len()), &text);
        }
        let _ = import(&whole, Mode::Strict);
    }
}

/// Enough of JSON Schema draft-07 for the schema in the fixture, independent of the reader.
fn assert_valid_by_schema(text: &str) {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the fixture is JSON");
    let plan: Value = serde_json::from_str(text).expect("the export is JSON");
    validate(&schema, &schema, &plan, "");
}

fn validate(root: &Value, schema: &Value, value: &Value, path: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        return validate(root, root.pointer(pointer).expect("a known definition"), value, path);
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let fits = |name: &&str| match *name {
        "string" => value.is_string(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema has the type {other}"),
    };
    assert!(types.iter().any(fits), "{path}: {value} is none of {types:?}");
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{path}: {value} is none of {allowed:?}");
    }
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str()) {
        assert_eq!(pattern, "^[^ ].*[^ ]$");
        let ends = !text.starts_with(' ') && !text.ends_with(' ');
        assert!(ends && text.chars().count() >= 2, "{path}: {text:?} breaks the pattern");
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        validate(root, &schema["items"], item, &format!("{path}[{index}]"));
    }
    if let Some(object) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert!(object.contains_key(key), "{path}.{key} is missing");
        }
        for (key, value) in object {
            let property = &schema["properties"][key];
            assert!(property.is_object(), "{path}.{key} is unknown");
            validate(root, property, value, &format!("{path}.{key}"));
        }
    }
}
