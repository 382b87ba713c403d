//! Drawings made to harm: to run, to fetch, to grow, to overflow, to lie.
#![cfg(feature = "import")]

use std::fmt::Write as _;

use domain::venue::finding::Code;
use domain::venue::plan::{MAX_SEATS, Plan};
use domain::venue::svg::{Outcome, read};
use domain::venue::{pretix, static_map};
use proptest::prelude::*;

const NAUGHTY: &str = include_str!("fixtures/blns.txt");
const SEAT: &str = r##"<circle id="c1" cx="20" cy="50" r="8" data-seat="1" data-row="A" data-section="S"/>"##;

fn drawn(body: &str) -> String {
    format!(r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300">{SEAT}{body}</svg>"##)
}

/// Reads in both modes; whatever is drawn must hold the rules of a plan.
fn survived(text: &str) -> Outcome {
    for tolerant in [true, false] {
        let outcome = read(text, Some("seat-{seat}-{row}"), tolerant);
        if let Some(draft) = outcome.draft {
            let plan = draft.finish();
            assert!(plan.is_ok() || outcome.findings.iter().any(|told| told.refuses), "{plan:?}");
        } else {
            assert!(outcome.findings.iter().any(|told| told.refuses), "nothing is drawn, and nothing said");
        }
    }
    read(text, None, false)
}

fn refused(text: &str, code: Code, line: Option<u32>) {
    says(&survived(text), code, line);
}

fn says(outcome: &Outcome, code: Code, line: Option<u32>) {
    let told = outcome.findings.iter().find(|told| told.code == code && told.refuses);
    let told = told.unwrap_or_else(|| panic!("{code}: {:#?}", outcome.findings.first()));
    assert_eq!(told.line, line, "{told:?}");
}

fn house(outcome: Outcome) -> Plan {
    let refusing: Vec<_> = outcome.findings.iter().filter(|told| told.refuses).collect();
    assert!(refusing.is_empty(), "{refusing:#?}");
    outcome.draft.expect("drawn").finish().expect("a plan")
}

#[test]
fn what_could_run_or_fetch_is_listed_and_left_behind() {
    let cases = [
        (r##"<script>steal()</script>"##, "script"),
        (r##"<g onload="steal()" ONCLICK="steal()"/>"##, "event handler"),
        (
            r##"<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="//evil"/></body></foreignObject>"##,
            "foreign",
        ),
        (r##"<image href="https://evil.example/x.png"/>"##, "picture"),
        (r##"<use href="https://evil.example/x.svg#steal"/>"##, "elsewhere"),
        (r##"<use href="data:image/svg+xml;base64,steal"/>"##, "elsewhere"),
        (r##"<a href="javascript:steal()"><rect width="9" height="9"/></a>"##, "elsewhere"),
        (r##"<rect width="9" height="9" fill="url(https://evil.example/steal)"/>"##, "url()"),
        (r##"<rect width="9" height="9" style="fill:red;background:URL( 'steal' )"/>"##, "url()"),
        (r##"<style>@import "https://evil.example/steal.css"; rect { fill: red }</style>"##, "style sheet"),
        (r##"<style>rect { background: url(//evil.example/steal) }</style>"##, "url()"),
        (r##"<rect width="9" height="9"><animate attributeName="href" to="steal"/></rect>"##, "animation"),
        (r##"<rect width="9" height="9" fill="red;}steal{" stroke="expression(steal)"/>"##, ""),
    ];
    for (body, what) in cases {
        let outcome = survived(&drawn(body));
        let told = outcome.findings.iter().filter(|told| told.code == Code::ActiveContent);
        assert!(
            what.is_empty() || told.clone().any(|told| told.message.contains(what) && told.line == Some(1)),
            "{body}: {:#?}",
            outcome.findings
        );
        let plan = house(outcome);
        assert_eq!(plan.seats.len(), 1, "{body}");
        let map = static_map::encode(&plan);
        let out = format!("{}{}", pretix::export(&plan), map.json);
        for bad in ["steal", "evil", "url", "script", "import"] {
            assert!(!out.to_lowercase().contains(bad), "{body}: {bad} came through");
        }
    }
    let many = survived(&drawn(&r##"<g onclick="x"/>"##.repeat(5_000)));
    assert_eq!(many.findings.len(), 1, "counted, not listed one by one");
    assert!(many.findings[0].message.starts_with("5000 ×"), "{:?}", many.findings[0]);
}

#[test]
fn document_types_and_entities_are_never_read() {
    let rest = drawn("");
    for doctype in [
        r##"<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>"##,
        r##"<!DOCTYPE svg SYSTEM "http://evil.example/x.dtd">"##,
        r##"<!DOCTYPE svg [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>"##,
        r##"<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x" [<!ENTITY a "b">]>"##,
        r##"<!DOCTYPE svg "##,
    ] {
        refused(&format!("<?xml version=\"1.0\"?>\n\n{doctype}\n{rest}"), Code::XmlDoctype, Some(3));
    }
    refused(&drawn("\n<text>&xxe;</text>"), Code::XmlDoctype, Some(2));
    let plain =
        "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\"\n \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">";
    let outcome = survived(&format!("\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{plain}\n{rest}"));
    assert_eq!(outcome.findings.len(), 1, "what old programs write is set aside: {:?}", outcome.findings);
    assert_eq!((outcome.findings[0].code, outcome.findings[0].line), (Code::ActiveContent, Some(2)));
    assert_eq!(house(outcome).seats.len(), 1);
}

#[test]
fn what_is_no_drawing_is_refused_with_its_line() {
    for (text, line) in [
        ("", 1),
        ("   \n\n", 1),
        ("not a drawing", 1),
        ("{\"name\": 1}", 1),
        ("<html><body/></html>", 1),
        ("<svg>\n<g>\n</svg>", 3),
        ("<svg>\n<circle r=4/></svg>", 2),
        ("<svg>\n\n<g a='1' a='2'/></svg>", 3),
        ("<svg>\n<g", 2),
        ("<svg>\n<text>\u{1}</text></svg>", 2),
        ("<svg>\n<x:circle/></svg>", 2),
        ("<svg/><svg/>", 1),
    ] {
        refused(text, Code::XmlSyntax, Some(line));
    }
    refused("<svg xmlns='http://www.w3.org/2000/svg'/>", Code::NoSeats, None);
    refused(&" ".repeat(pretix::MAX_FILE_BYTES + 1), Code::FileTooLarge, None);
}

#[test]
fn nesting_and_numbers_of_parts_are_bounded() {
    let deep = |count: usize| drawn(&format!("{}{}", "<g>".repeat(count), "</g>".repeat(count)));
    assert_eq!(house(survived(&deep(200))).seats.len(), 1);
    refused(&deep(100_000), Code::LimitExceeded, Some(1));
    refused(&drawn(&"<g>".repeat(300_000)), Code::LimitExceeded, Some(1));
    refused(&drawn(&"<g/>".repeat(1_100_000)), Code::LimitExceeded, Some(1));
    let mut attributes = String::from("<g");
    for index in 0..100_000 {
        let _ = write!(attributes, " a{index}=''");
    }
    refused(&drawn(&format!("\n{attributes}/>")), Code::LimitExceeded, Some(2));
    let mut spaces = String::new();
    for index in 0..1_000 {
        let _ = write!(spaces, "<g xmlns:a{index}='u{index}'>");
    }
    refused(&drawn(&format!("{spaces}{}", "</g>".repeat(1_000))), Code::LimitExceeded, Some(1));
    refused(&drawn(&format!("<text>{}</text>", "=".repeat(3_000_000))), Code::LimitExceeded, Some(1));
}

#[test]
fn references_that_multiply_or_turn_in_circles_come_to_an_end() {
    let mut laughs =
        String::from(r##"<defs><g id="l0"><circle r="4" data-seat="9" data-row="B" data-section="S"/></g>"##);
    for level in 1..10 {
        let inner = format!(r##"<use href="#l{}"/>"##, level - 1).repeat(10);
        let _ = write!(laughs, r##"<g id="l{level}">{inner}</g>"##);
    }
    says(&read(&drawn(&format!(r##"{laughs}</defs><use href="#l9"/>"##)), None, false), Code::LimitExceeded, None);

    let heavy = format!(
        r##"<defs><path id="p" d="{}"/></defs>{}"##,
        "M0 0 9 9".repeat(20_000),
        r##"<use href="#p"/>"##.repeat(5_000)
    );
    says(&read(&drawn(&heavy), None, false), Code::LimitExceeded, Some(1));

    let mut chain = String::from(r##"<g id="u0"/>"##);
    for level in 1..40 {
        let _ = write!(chain, r##"<g id="u{level}"><use href="#u{}"/></g>"##, level - 1);
    }
    refused(&drawn(&chain), Code::LimitExceeded, Some(1));

    for circle in [
        r##"<g id="a"><use href="#a"/></g>"##,
        r##"<use id="a" href="#a"/>"##,
        r##"<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>"##,
        r##"<use href="#gone"/>"##,
    ] {
        let outcome = survived(&drawn(circle));
        assert!(outcome.findings.iter().any(|told| told.code == Code::ReferenceBroken), "{circle}");
        assert_eq!(house(outcome).seats.len(), 1);
    }
}

#[test]
fn a_crowd_beyond_the_limit_is_refused_and_counted() {
    let mut crowd = String::new();
    for index in 0..200_000 {
        let _ = write!(
            crowd,
            "<circle cx='{}' cy='{}' r='4' data-seat='{index}' data-row='1' data-section='S'/>",
            index % 400 * 10,
            index / 400 * 10
        );
    }
    let outcome = read(&drawn(&crowd), None, false);
    let told = outcome.findings.iter().find(|told| told.code == Code::LimitExceeded).expect("told");
    assert!(told.refuses && told.message.contains("100001"), "{told:?}");
    assert_eq!(outcome.draft.expect("drawn").finish().expect("a plan").seats.len(), MAX_SEATS);
}

#[test]
fn odd_numbers_never_reach_the_plan() {
    for number in [
        "NaN",
        "inf",
        "-inf",
        "1e308",
        "-1e308",
        "1e999",
        "1e-999",
        "",
        "-",
        ".",
        "0x10",
        "1e",
        "9".repeat(5_000).as_str(),
        "१",
        "1 2 3",
    ] {
        for body in [
            format!("<rect data-seat='2' x='{number}' y='1' width='5' height='{number}'/>"),
            format!("<g transform='translate({number}) rotate({number} 1 1)'><circle r='3' data-seat='2'/></g>"),
            format!("<g transform='matrix({number} 0 0 {number} 0 0)'><circle r='3' data-seat='2'/></g>"),
            format!("<path data-seat='2' d='M0 0L{number} 1A{number} 2 0 1 1 3 {number}C{number} 1 1 1 1 1z'/>"),
            format!("<polygon data-seat='2' points='0 0 {number} 5 5 5'/>"),
            format!("<svg viewBox='0 0 {number} 5' width='{number}' height='4'><circle r='3' data-seat='2'/></svg>"),
            format!("<text x='{number}' font-size='{number}' data-seat='2'>2</text>"),
            format!("<rect data-area='2' data-capacity='{number}' width='{number}' height='9'/>"),
            format!(
                "<ellipse rx='{number}' ry='3' style='transform-origin:{number}px 3px;transform:scale({number})'/>"
            ),
            format!(
                "<g opacity='{number}' fill='rgb({number},0,0)' font-size='{number}'><rect width='5' height='5'/><text>x</text></g>"
            ),
        ] {
            survived(&drawn(&body));
            survived(&format!(
                "<svg viewBox='{number} {number} {number} {number}' width='{number}mm'>{SEAT}{body}</svg>"
            ));
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('\t', "&#9;")
}

#[test]
fn naughty_strings_are_labels_or_refusals_and_never_more() {
    let mut taken = 0;
    for line in NAUGHTY.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let text = escaped(line);
        for name in [
            "data-section",
            "data-row",
            "data-seat",
            "data-category",
            "data-id",
            "id",
            "data-type",
            "fill",
            "style",
            "transform",
            "class",
            "d",
            "data-area",
        ] {
            let own = if name == "data-seat" { "" } else { "data-seat='2'" };
            survived(&drawn(&format!(r##"<path {own} {name}="{text}" data-capacity="3"/>"##)));
        }
        let body = format!(
            r##"<g data-section="{text}" data-row="{text}" data-category="{text}"><circle cx="90" cy="90" r="5" id="{text}" data-seat="{text}"/></g><text x="5" y="5">{text}</text>"##
        );
        let outcome = survived(&drawn(&body));
        if outcome.findings.iter().all(|told| !told.refuses) {
            let plan = house(outcome);
            taken += 1;
            let labels = plan.seat_label(plan.seats.len() as u32 - 1).expect("numbered");
            assert!(!labels.seat.chars().any(char::is_control) && labels.seat == labels.seat.trim());
            let back = pretix::import(&pretix::export(&plan), pretix::Mode::Strict)
                .unwrap_or_else(|e| panic!("{line:?}: {e}"));
            assert_eq!(back.plan, plan, "{line:?}");
        }
    }
    assert!(taken > 450, "only {taken} were taken as labels");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_at_all_makes_it_panic(text in "\\PC{0,200}", body in "[<>/\"'=a-gsvxl&;# -]{0,200}") {
        survived(&text);
        survived(&drawn(&body));
        let by_any_pattern = read(&drawn(""), Some(&text), false);
        prop_assert!(by_any_pattern.draft.is_some());
    }

    #[test]
    fn no_path_or_transform_makes_it_panic(d in "[MmLlHhVvCcSsQqTtAaZz0-9 .,eE+-]{0,120}", transform in "(matrix|scale|rotate|skewX|translate)\\([0-9 .,eE-]{0,40}\\)") {
        survived(&drawn(&format!("<path d='{d}' transform='{transform}' data-seat='2'/><path d='{d}' transform='{transform}'/><path d='{d}' data-area='a' data-capacity='20'/>")));
    }
}
