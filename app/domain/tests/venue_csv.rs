//! Tables: real files, every shape of them, and files made to break the reader.

#![cfg(feature = "import")]

use std::collections::{BTreeMap, BTreeSet, HashSet};

use domain::venue::csv::{export, losses};
use domain::venue::finding::{Code, Finding};
use domain::venue::import::{Format, MAX_FILE_BYTES, MAX_FINDINGS, Options, Report, read};
use domain::venue::plan::{Kind, Plan, Shape};
use domain::venue::{generate, pretix, summary};

const PLAIN: &[u8] = include_bytes!("fixtures/ticketland-1115.csv");
const MARKED: &[u8] = include_bytes!("fixtures/ticketland-1115.utf8bom.csv");
const CYRILLIC: &[u8] = include_bytes!("fixtures/ticketland-1115.cp1251-semicolon.csv");
const METALIST: &[u8] = include_bytes!("fixtures/metalist-kharkiv-39616.csv");
const STADIUM: &str = include_str!("fixtures/pretix-seatmap-canvas-stadium.json");
const NAUGHTY: &str = include_str!("fixtures/blns.txt");

fn check(bytes: &[u8]) -> Report {
    read(bytes, "hall.csv", &Options::default())
}

fn tolerantly(text: &str) -> Report {
    read(text.as_bytes(), "hall.csv", &Options { tolerant: true, ..Options::default() })
}

fn accepted(bytes: &[u8]) -> Report {
    let report = check(bytes);
    assert!(report.accepted(), "{:?}", report.errors.iter().take(5).map(ToString::to_string).collect::<Vec<_>>());
    report
}

fn plan(bytes: &[u8]) -> Plan {
    accepted(bytes).plan.expect("an accepted file has a plan")
}

fn told(findings: &[Finding]) -> Vec<(Option<u32>, Code)> {
    findings.iter().map(|finding| (finding.line, finding.code)).collect()
}

fn has(findings: &[Finding], code: Code) -> bool {
    findings.iter().any(|finding| finding.code == code)
}

/// All that a table carries of a seat, by its id.
fn carried(plan: &Plan) -> BTreeMap<String, String> {
    plan.seats
        .iter()
        .zip(0..)
        .map(|(seat, seat_no)| {
            let label = plan.seat_label(seat_no).expect("a seat of the plan");
            let category = &plan.categories[usize::from(seat.category)].name;
            let place = (pretix_step(seat.x), pretix_step(seat.y));
            (seat.guid.clone(), format!("{label:?} {place:?} {category:?} {:?} {}", seat.kind, seat.restricted_view))
        })
        .collect()
}

fn pretix_step(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A plan without what is only to look at, which tables don't carry.
fn bare(mut plan: Plan) -> Plan {
    plan.areas.clear();
    plan.size = domain::venue::Size::default();
    plan.view_box = domain::venue::Rect::default();
    plan
}

fn overlaps(plan: &Plan) -> usize {
    let mut cells: BTreeMap<(i64, i64), Vec<usize>> = BTreeMap::new();
    let mut count = 0;
    for (index, seat) in plan.seats.iter().enumerate() {
        let key = ((seat.x / 24.0).floor() as i64, (seat.y / 24.0).floor() as i64);
        for dx in -1..=1 {
            for dy in -1..=1 {
                for other in cells.get(&(key.0 + dx, key.1 + dy)).into_iter().flatten() {
                    let other: &domain::venue::plan::Seat = &plan.seats[*other];
                    count += usize::from(seat.center().distance(other.center()) < (seat.radius + other.radius) * 0.999);
                }
            }
        }
        cells.entry(key).or_default().push(index);
    }
    count
}

#[test]
fn three_tables_of_one_hall_give_the_same_seats() {
    let plans = [PLAIN, MARKED, CYRILLIC].map(plan);
    assert!(summary(&plans[0]).starts_with("1115 seats, "), "{}", summary(&plans[0]));
    assert_eq!(plans[0].sections.len(), 6);
    assert_eq!(plans[0].sections[0].name, "Танцевальный партер");
    assert_eq!(plans[0], plans[1]);
    assert_eq!(plans[0], plans[2]);
    let dancing = plans[0].seats.iter().filter(|seat| seat.section == 0).count();
    assert_eq!(dancing, 900);
    let table = check(CYRILLIC).table.expect("a table");
    assert_eq!((table.encoding.as_str(), table.separator), ("windows-1251", ';'));
    assert_eq!(table.headers, ["Сектор", "Ряд", "Место", "X", "Y", "ID"]);
    assert_eq!(table.sample[0][2], "730");
}

#[test]
fn a_stadium_without_coordinates_is_laid_out_without_overlaps() {
    let report = accepted(METALIST);
    assert!(has(&report.warnings, Code::LayoutGenerated));
    let plan = report.plan.expect("accepted");
    assert!(summary(&plan).starts_with("39616 seats, 1453 rows, 58 sections\n"), "{}", summary(&plan));
    assert!(!has(&report.warnings, Code::SeatsOverlap));
    assert_eq!(overlaps(&plan), 0);
    let middle = plan.focal_point();
    // The west is on the left, the north at the top, and so on.
    let mean = |section: &str| {
        let at = plan.sections.iter().position(|s| s.name == section).expect("a sector");
        let seats: Vec<_> = plan.seats.iter().filter(|seat| usize::from(seat.section) == at).collect();
        let sum = seats.iter().fold((0.0, 0.0), |sum, seat| (sum.0 + seat.x, sum.1 + seat.y));
        (sum.0 / seats.len() as f64 - middle.x, sum.1 / seats.len() as f64 - middle.y)
    };
    assert!(mean("5").0 < 0.0, "{:?}", mean("5"));
    assert!(mean("25").0 > 0.0, "{:?}", mean("25"));
    assert!(mean("12").1 < 0.0, "{:?}", mean("12"));
    assert!(mean("37").1 > 0.0, "{:?}", mean("37"));
    assert_eq!(plan, self::plan(METALIST), "the layout is stable");
}

#[test]
fn real_plans_survive_as_tables() {
    for source in [PLAIN, METALIST] {
        let first = plan(source);
        let text = export(&first);
        let second = plan(text.as_bytes());
        assert_eq!(bare(second.clone()), Plan { name: second.name.clone(), ..bare(first) });
        assert_eq!(export(&second), text);
    }
    let stadium = pretix::import(STADIUM, pretix::Mode::Tolerant).expect("repairable").plan;
    let report = accepted(export(&stadium).as_bytes());
    assert_eq!(carried(&report.plan.expect("accepted")), carried(&stadium));
    assert!(losses(&stadium).iter().any(|loss| loss.path == "areas"));
    let arena = generate::arena(3_000, "Arena");
    assert_eq!(carried(&plan(export(&arena).as_bytes())), carried(&arena));
}

#[test]
fn errors_stand_at_the_files_own_lines_all_at_once() {
    let text = "\u{feff}section,row,seat,x,y\r\n\
                \"Parkett,\r\nlinks\",1,1,0,0\r\n\
                \r\n\
                座席,い,1,oops,0\r\n\
                座席,い,2,30,0\r\n\
                座席,い,2,60,0\r\n\
                Rang,,,90,0\r\n\
                Rang,1,1,120\r\n";
    let report = check(text.as_bytes());
    assert!(!report.accepted());
    assert_eq!(
        told(&report.errors),
        [
            (Some(5), Code::NumberMalformed),
            (Some(7), Code::SeatRepeated),
            (Some(8), Code::MissingProperty),
            (Some(9), Code::CellsMissing),
            (Some(9), Code::CoordinatesPartial),
        ]
    );
    assert!(report.errors[1].message.contains("line 6"), "{}", report.errors[1]);
    assert_eq!(report.errors[0].path, "column \"x\"");
    assert_eq!(told(&report.warnings), [(None, Code::DefaultUsed), (Some(2), Code::TextCleaned)]);
    let drawn = report.plan.expect("what is right can be drawn");
    assert_eq!(drawn.sections[0].name, "Parkett, links");
    assert_eq!(report.errors[1].seats.len(), 1, "the seat that is repeated");
}

#[test]
fn headers_are_matched_by_name_and_by_choice() {
    let report = accepted("Platz;REIHE;Bereich;Farbe\n1;A;Parkett;rot\n".as_bytes());
    assert!(told(&report.warnings).contains(&(Some(1), Code::ColumnSetAside)));
    assert_eq!(plan("座位\t排\t区域\n1\t2\t三\n".as_bytes()).sections[0].name, "三");
    let options = |columns: &[(&str, &str)]| Options {
        columns: columns.iter().map(|(ours, theirs)| ((*ours).to_owned(), (*theirs).to_owned())).collect(),
        ..Options::default()
    };
    let text = "Wo,Welcher\nloge,7\n";
    assert_eq!(told(&check(text.as_bytes()).errors), [(Some(1), Code::ColumnMissing)]);
    let mapped = read(text.as_bytes(), "x.csv", &options(&[("section", "wo"), ("seat", "Welcher")]));
    assert!(mapped.accepted(), "{:?}", mapped.errors);
    assert_eq!(mapped.plan.expect("accepted").seats[0].label, "7");
    let wrong = read(text.as_bytes(), "x.csv", &options(&[("seat", "Wer"), ("sseat", "Wo")]));
    assert_eq!(wrong.errors.iter().filter(|error| error.code == Code::OptionUnusable).count(), 2);
    let twice = check(b"seat,platz,place\n1,2,3\n");
    assert!(twice.accepted(), "our own name comes first");
    assert!(has(&check(b"place,platz\n1,2\n").errors, Code::ColumnRepeated));
}

#[test]
fn labels_stay_text_and_ranges_are_written_out() {
    let text = "section,row,seat\nA, ,01\nA,,1\nA,,9A\nA,,18 bis\nB,1,\"1-3,12-10\"\nB,2,1-9/4\nB,3,08-10\nB,4,'1-3\n";
    let plan = plan(text.as_bytes());
    let labels: BTreeSet<(String, String)> = (0..)
        .map_while(|seat_no| plan.seat_label(seat_no))
        .map(|label| (label.row.to_owned(), label.seat.to_owned()))
        .collect();
    let wanted = [
        ("", "01"),
        ("", "1"),
        ("", "9A"),
        ("", "18 bis"),
        ("1", "1"),
        ("1", "2"),
        ("1", "3"),
        ("1", "12"),
        ("1", "11"),
        ("1", "10"),
        ("2", "1"),
        ("2", "5"),
        ("2", "9"),
        ("3", "08"),
        ("3", "09"),
        ("3", "10"),
        ("4", "1-3"),
    ];
    assert_eq!(labels, wanted.map(|(row, seat)| (row.to_owned(), seat.to_owned())).into());
    // One name in two forms of Unicode is one name.
    let report = check("section,seat\nCafe\u{301},1\nCafé,1\n".as_bytes());
    assert_eq!(told(&report.errors), [(Some(3), Code::SeatRepeated)]);
}

#[test]
fn a_range_never_grows_beyond_a_plan() {
    for seat in ["1-999999999", "1-9999999999999999", "\"1-60000,1-60000\"", "5-999999999/0", "1-100001"] {
        let report = check(format!("seat\n{seat}\n").as_bytes());
        let label = seat.ends_with("/0");
        assert_eq!(report.accepted(), label, "{seat}");
        assert!(label || told(&report.errors)[0] == (Some(2), Code::LimitExceeded), "{:?}", report.errors);
    }
    let standing = check(b"type,capacity\nstanding,4000000000\n");
    assert_eq!(told(&standing.errors)[0], (Some(2), Code::LimitExceeded));
    assert!(accepted(b"row,seat\n1,1-50000\n2,1-50000\n").plan.expect("full").seats.len() == 100_000);
}

#[test]
fn standing_areas_are_places_in_an_outline() {
    let text = "section,row,seat,type,capacity,category,id\nPit,,,standing,250,Floor,pit\nStalls,1,1-20,,,Seats,\n";
    let report = accepted(text.as_bytes());
    let plan = report.plan.expect("accepted");
    let standing: Vec<_> = plan.seats.iter().filter(|seat| seat.kind == Kind::Standing).collect();
    assert_eq!(standing.len(), 250);
    assert!(standing.iter().all(|seat| plan.categories[usize::from(seat.category)].name == "Floor"));
    assert_eq!(standing[9].guid, "pit/10");
    let area = plan.areas.iter().find(|area| area.text.as_ref().is_some_and(|text| text.text == "Pit")).expect("drawn");
    assert!(matches!(area.shape, Shape::Rectangle(_)));
    let bounds = area.bounds().expect("an outline");
    assert!(standing.iter().all(|seat| bounds.contains(seat.center())));
    assert_eq!(overlaps(&plan), 0);
    // They come back from both written forms.
    assert_eq!(carried(&self::plan(export(&plan).as_bytes())), carried(&plan));
    let exchanged = pretix::import(&pretix::export(&plan), pretix::Mode::Strict).expect("valid").plan;
    assert_eq!(carried(&exchanged), carried(&plan));
    for wrong in ["type,capacity,seat\nseat,10,\n", "type,capacity,seat\nstanding,,\n", "type,capacity\nstanding,-4\n"]
    {
        assert!(!check(wrong.as_bytes()).accepted(), "{wrong}");
    }
    let placed = self::plan(b"section,seat,x,y,type,capacity\nPit,,500,500,standing,40\n");
    assert!(placed.seats.iter().all(|seat| seat.center().distance(domain::venue::Point::new(500.0, 500.0)) < 120.0));
}

#[test]
fn kinds_notes_blocks_and_prices_are_kept() {
    let text = "row;seat;type;restricted_view;note;category;price;currency\n\
                1;1;Rollstuhl;nein;;A;12,50;EUR\n\
                1;2;companion;;;A;12,5;EUR\n\
                1;3;;ja;behind a pillar;A;12,50;EUR\n\
                1;4;gesperrt;;house;B;7;EUR\n\
                1;5;blocked;;house;B;7,00;eur\n";
    let report = accepted(text.as_bytes());
    let plan = report.plan.clone().expect("accepted");
    let kinds: Vec<Kind> = plan.seats.iter().map(|seat| seat.kind).collect();
    assert_eq!(kinds, [Kind::Wheelchair, Kind::Companion, Kind::Seat, Kind::Seat, Kind::Seat]);
    assert!(plan.seats[2].restricted_view);
    assert_eq!(report.house_blocks.len(), 1);
    assert_eq!(
        (report.house_blocks[0].seats.as_slice(), report.house_blocks[0].reason.as_str()),
        (&[3, 4][..], "house")
    );
    let prices: Vec<String> = report.price_hints.iter().map(|hint| hint.price.to_string()).collect();
    assert_eq!(prices, ["EUR 12.50", "EUR 7.00"]);
    let again = accepted(export(&plan).as_bytes());
    assert_eq!(bare(again.plan.expect("accepted")), bare(plan));
    assert_eq!((again.house_blocks, again.price_hints), (report.house_blocks, report.price_hints));
}

#[test]
fn a_category_has_one_price() {
    let report = accepted(b"row,seat,category,price,currency\n1,1,A,10,EUR\n1,2,A,8,EUR\n1,3,B,5,JPY\n");
    assert!(has(&report.warnings, Code::PriceMixed));
    let names: Vec<String> = report.plan.expect("accepted").categories.iter().map(|c| c.name.clone()).collect();
    assert_eq!(names, ["A EUR 10.00", "A EUR 8.00", "B"]);
    let report = accepted(b"seat,price,currency\n1,10,KWD\n2,9.125,KWD\n");
    assert_eq!(report.price_hints[1].price.minor, 9_125);
    let report = accepted(b"seat,price\n1,10\n2,8\n");
    assert!(has(&report.warnings, Code::PriceSetAside) && report.price_hints.is_empty());
    for (price, currency) in [("10.5", "JPY"), ("-1", "EUR"), ("12.345", "EUR"), ("1e9", "EUR"), ("10", "Euro")] {
        let report = check(format!("seat,price,currency\n1,{price},{currency}\n").as_bytes());
        assert_eq!(told(&report.errors), [(Some(2), Code::NumberMalformed)], "{price} {currency}");
    }
    // A comma separates cells here, so it is no decimal point.
    assert!(!check(b"seat,x,y\n1,\"1,5\",2\n").accepted());
    assert_eq!(plan(b"seat;x;y\n1;1,5;-2\n").seats[0].x, 1.5);
}

#[test]
fn repeated_ids_are_refused_or_told_apart() {
    let text = "section,row,seat,id\nA,1,1,s1\nA,1,2,s1\nA,1,3,s1~2\nB,1,1,s1\n";
    let report = check(text.as_bytes());
    assert_eq!(told(&report.errors), [(Some(3), Code::GuidRepeated)]);
    assert!(report.errors[0].message.contains("lines 2, 3, 5"), "{}", report.errors[0]);
    assert_eq!(report.errors[0].seats.len(), 3);
    let tolerant = tolerantly(text);
    assert!(tolerant.accepted());
    let guids: Vec<String> = tolerant.plan.expect("repaired").seats.iter().map(|seat| seat.guid.clone()).collect();
    assert_eq!(guids, ["s1", "s1~3", "s1~2", "s1~4"]);
    // Ids that differ tell two places of one label apart, as an aisle does.
    let report = accepted(b"row,seat,id\n1,1,left\n1,1,right\n");
    assert!(has(&report.warnings, Code::LabelRepeated));
}

#[test]
fn coordinates_are_for_all_lines_or_for_none() {
    let report = check(b"seat,x,y\n1,0,0\n2,,\n3,50,0\n");
    assert_eq!(told(&report.errors), [(Some(3), Code::CoordinatesPartial)]);
    assert!(has(&check(b"seat,x,y\n1-4,0,0\n").errors, Code::RangeAtOnePlace));
}

#[test]
fn neighbours_are_physical_also_where_a_table_is_sorted_as_text() {
    let seats = ["1", "10", "11", "12", "2", "3", "4", "5", "6", "7", "8", "9"];
    let lines: String =
        seats.iter().map(|seat| format!("1,{seat},{}0,0\n", seat.parse::<u32>().unwrap() * 2)).collect();
    let plan = plan(format!("row,seat,x,y\n{lines}").as_bytes());
    let order: Vec<&str> =
        plan.seats_by_row()[0].iter().map(|seat_no| plan.seats[*seat_no as usize].label.as_str()).collect();
    assert_eq!(order, (1..=12).map(|seat| seat.to_string()).collect::<Vec<_>>());
}

#[test]
fn quotes_are_taken_at_their_word() {
    let plan = plan(b"section;row;seat\n\"a \"\"b\"\";c\";\"x\";5\"\n");
    assert_eq!((plan.sections[0].name.as_str(), plan.seats[0].label.as_str()), ("a \"b\";c", "5\""));
    let report = check(b"section,seat\nA,1\n\"B,2\nC,3\n");
    assert_eq!(told(&report.errors), [(Some(3), Code::QuoteUnclosed)]);
    let report = check(b"section,seat\n\"A\"x,1\nB,2,3\n");
    assert_eq!(told(&report.errors), [(Some(2), Code::QuoteMisplaced), (Some(3), Code::CellsExtra)]);
}

#[test]
fn encodings_are_told_or_chosen() {
    let table = "區,seat\n舞台左側的第一個座位區域,1\n";
    let wide: Vec<u8> = [0xFEFF].into_iter().chain(table.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_eq!(plan(&wide).sections[0].name, "舞台左側的第一個座位區域");
    let wide: Vec<u8> = [0xFEFF].into_iter().chain(table.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    assert_eq!(check(&wide).table.expect("read").encoding, "utf-16be");
    let western = b"Reihe;Platz;Bereich\n1;1;B\xfchne\n";
    assert_eq!(plan(western).sections[0].name, "Bühne");
    let chosen = |bytes: &[u8], encoding: &str| {
        read(bytes, "a.csv", &Options { encoding: Some(encoding.into()), ..Options::default() })
    };
    // 舞台 in each.
    assert_eq!(chosen(b"section,seat\n\xce\xe8\xcc\xa8,1\n", "gb18030").plan.expect("read").sections[0].name, "舞台");
    assert_eq!(chosen(b"section,seat\n\x95\x91\x91\xe4,1\n", "shift_jis").plan.expect("read").sections[0].name, "舞台");
    assert!(has(&chosen(b"seat\n1\n", "koi8-r").errors, Code::OptionUnusable));
    let broken = chosen(b"section,seat\r\nA,1\r\n\xff\xfeB,2\r\nC\xc3,3\r\n", "utf-8");
    assert_eq!(
        told(&broken.errors),
        [(Some(3), Code::EncodingBroken), (Some(3), Code::EncodingBroken), (Some(4), Code::EncodingBroken)]
    );
}

#[test]
fn invisible_characters_are_refused_or_taken_out() {
    for hostile in ["A\u{0}B", "\u{202e}A", "A\u{2066}", "A\u{7}"] {
        let text = format!("section,seat\n{hostile},1\n");
        assert_eq!(told(&check(text.as_bytes()).errors), [(Some(2), Code::ControlCharacter)], "{hostile:?}");
        let name = tolerantly(&text).plan.expect("cleaned").sections[0].name.clone();
        assert!(name.chars().all(char::is_alphabetic), "{name:?}");
    }
    let long = format!("section,seat\n{},1\n", "x".repeat(1_025));
    assert_eq!(told(&check(long.as_bytes()).errors), [(Some(2), Code::TextTooLong)]);
}

#[test]
fn formulas_are_text_and_are_written_so_that_no_spreadsheet_runs_them() {
    let text = "section,row,seat,note\n=1+1,@x,+5,-2\n\"=HYPERLINK(\"\"x\"\")\",'=y,-7,''z\n";
    let first = plan(text.as_bytes());
    assert_eq!(first.sections[0].name, "=1+1");
    assert_eq!(first.rows[1].label, "=y", "the apostrophe of our own export is undone");
    let written = export(&first);
    for record in written.lines().skip(1) {
        assert!(record.starts_with("'=") || record.starts_with("\"'="), "{record}");
    }
    assert_eq!(carried(&plan(written.as_bytes())), carried(&first));
}

#[test]
fn a_million_lines_end_soon_with_a_refusal() {
    let mut text = String::from("section,row,seat\n");
    for line in 0..1_000_000 {
        text.push_str(&format!("A,{},{}\n", line / 100, line % 100));
    }
    let report = check(text.as_bytes());
    assert_eq!(told(&report.errors), [(Some(100_002), Code::LimitExceeded)]);
    let report = check("seat\n\n\"\n".repeat(200_000).as_bytes());
    assert!(!report.accepted());
    let report = check("seat\n,,\n".replace("\n,,", &"\n=\"".repeat(2)).as_bytes());
    assert!(report.errors.len() <= MAX_FINDINGS);
    let bad = format!("seat,x,y\n{}", "1,a,b\n".repeat(150_000));
    let report = check(bad.as_bytes());
    assert!(report.errors.len() == MAX_FINDINGS && report.errors_left_out > 0);
    let report = check(&vec![b'1'; MAX_FILE_BYTES + 1]);
    assert_eq!(told(&report.errors), [(None, Code::FileTooLarge)]);
}

#[test]
fn formats_are_told_by_content_then_by_name() {
    let format = |bytes: &[u8], name: &str| read(bytes, name, &Options::default()).format;
    assert_eq!(format(b"\xef\xbb\xbf  {\"name\": 1}", "plan.csv"), Format::Pretix);
    assert_eq!(format(b"<svg/>", "plan.txt"), Format::Svg);
    assert_eq!(format(b"seat\n1", "plan"), Format::Csv);
    assert_eq!(format(b"", "plan.json"), Format::Pretix);
    assert!(has(&check(b"PK\x03\x04rest").errors, Code::FormatUnknown));
    for empty in [&b""[..], b"\n\n", b"seat\n", b"\xef\xbb\xbf"] {
        assert!(has(&check(empty).errors, Code::NothingThere), "{empty:?}");
    }
}

#[test]
fn a_refused_pretix_plan_is_drawn_and_its_findings_name_seats() {
    let report = read(STADIUM.as_bytes(), "stadium.json", &Options::default());
    assert!(!report.accepted() && report.errors.len() == 126);
    let plan = report.plan.expect("the tolerant reading");
    for error in &report.errors {
        assert!(error.seats.len() > 1, "{error}");
        let base: HashSet<&str> =
            error.seats.iter().map(|seat| plan.seats[*seat as usize].guid.split('~').next().unwrap()).collect();
        assert_eq!(base.len(), 1, "{error}");
    }
    let tolerant = read(STADIUM.as_bytes(), "s.json", &Options { tolerant: true, ..Options::default() });
    assert!(tolerant.accepted());
}

#[test]
fn hostile_strings_are_kept_or_refused_in_every_column() {
    let cell = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    for (number, naughty) in NAUGHTY.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        for column in 0..5 {
            let mut cells = ["S", "R", "7", "C", "id-1"].map(str::to_owned);
            cells[column] = naughty.to_owned();
            let line: Vec<String> = cells.iter().map(|text| cell(text)).collect();
            let text = format!("section,row,seat,category,id\n{}\n", line.join(","));
            let report = check(text.as_bytes());
            if !report.accepted() {
                assert!(!report.errors.is_empty(), "line {}", number + 1);
                continue;
            }
            let plan = report.plan.expect("accepted");
            let again = check(export(&plan).as_bytes());
            assert!(again.accepted(), "line {}, column {column}: {:?}", number + 1, again.errors);
            assert_eq!(carried(&again.plan.expect("accepted")), carried(&plan), "line {}, column {column}", number + 1);
        }
    }
}

#[test]
fn a_plan_survives_its_document() {
    let stadium = pretix::import(STADIUM, pretix::Mode::Tolerant).expect("repairable").plan;
    for plan in [plan(PLAIN), plan(METALIST), generate::arena(2_000, "Arena"), stadium] {
        let document = plan.to_document();
        assert_eq!(Plan::from_document(&document).expect("our own"), plan);
        assert_eq!(Plan::from_document(&document).expect("our own").to_document(), document);
    }
    let document = generate::arena(300, "Arena").to_document();
    for (from, to) in [
        ("\"version\":1", "\"version\":3"),
        ("\"section\":0", "\"section\":9999"),
        ("\"category\":0", "\"category\":99"),
    ] {
        assert!(document.contains(from));
        assert!(Plan::from_document(&document.replace(from, to)).is_err(), "{from}");
    }
    assert!(Plan::from_document("{}").is_err() && Plan::from_document("").is_err());
}
