//! Tables of any content: what was read is written and read again, and nothing ends without a report.

#![cfg(feature = "import")]

use domain::venue::csv::export;
use domain::venue::import::{Options, Report, read};
use domain::venue::plan::Plan;
use proptest::prelude::*;

fn check(bytes: &[u8]) -> Report {
    read(bytes, "hall.csv", &Options::default())
}

/// A plan without what is only to look at, which tables don't carry.
fn bare(mut plan: Plan) -> Plan {
    plan.areas.clear();
    plan.size = domain::venue::Size::default();
    plan.view_box = domain::venue::Rect::default();
    plan
}

prop_compose! {
    fn a_line()(
        section in "[A-Cé=' ,\"]{1,3}", row in "[0-9=+@'-]{0,3}", seat in "[0-9'a=,-]{1,5}",
        kind in 0..5_usize, view in any::<bool>(), category in "[XY'=]{0,2}", note in "[a'=,\"\n ]{0,4}",
        price in prop::option::of(0..500_u32)
    ) -> [String; 8] {
        let kind = ["seat", "wheelchair", "companion", "blocked", "standing"][kind];
        let (price, currency) = price.map_or_else(Default::default, |price| (format!("{}.{:02}", price / 100, price % 100), "EUR".to_owned()));
        [section, row, seat, kind.to_owned(), if view { "yes".into() } else { String::new() }, category, note, price + "|" + &currency]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_was_read_is_written_and_read_again(lines in prop::collection::vec(a_line(), 1..40), placed in any::<bool>()) {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = String::from("section,row,seat,type,restricted_view,category,note,price,currency,x,y,id\n");
        for (index, line) in lines.iter().enumerate() {
            let (price, currency) = line[7].split_once('|').unwrap();
            let cells: Vec<String> = line[..7].iter().map(|cell| quoted(cell)).collect();
            let place = if placed { format!("{},{}", (index * 37) % 200, index * 11) } else { ",".into() };
            text += &format!("{},{price},{currency},{place},id-{index}\n", cells.join(","));
        }
        let report = check(text.as_bytes());
        prop_assume!(report.accepted());
        let first = report.plan.unwrap();
        let written = export(&first);
        let again = check(written.as_bytes());
        prop_assert!(again.accepted(), "{:?}\n{}\n{}", again.errors, text, written);
        prop_assert_eq!(&again.house_blocks, &report.house_blocks);
        prop_assert_eq!(&again.price_hints, &report.price_hints);
        let second = again.plan.unwrap();
        prop_assert_eq!(export(&second), written);
        prop_assert_eq!(bare(second), bare(first));
    }

    #[test]
    fn any_bytes_end_in_a_report(bytes in prop::collection::vec(any::<u8>(), 0..400), tolerant in any::<bool>()) {
        for head in [&b""[..], b"seat,row,section\n", b"type;capacity;x;y\nstanding;"] {
            let report = read(&[head, &bytes].concat(), "a.csv", &Options { tolerant, ..Options::default() });
            prop_assert!(report.accepted() || !report.errors.is_empty());
        }
    }
}
