//! Venue files by page and by command: the real ones give what is known of them, hostile ones a right
//! result or a clear refusal, and no text that somebody types anywhere breaks a page.

use crate::arena::upload::{upload, uploaded};
use crate::arena::{Arena, Fan, ORGANIZATION, Reply, Setup, program, run_to_end};
use domain::Code;
use domain::account::Role;
use domain::organizer::plans::{ImportState, ImportView};
use domain::venue::{Plan, import};
use futures::StreamExt as _;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const NAUGHTY: &str = include_str!("../../../app/domain/tests/fixtures/blns.txt");
/// Requests under way at once.
const AT_ONCE: usize = 8;
/// Most memory that the server may ever have had after all hostile files.
const SERVER_KIB_MAX: u64 = 1_500_000;

/// A real file, the choices that it needs, and what it then gives.
struct Real {
    name: &'static str,
    /// For the page, then for the command.
    choices: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
    /// The first line of its summary.
    gives: &'static str,
    /// Whether it is refused without these choices, with so many errors.
    errors_before: Option<u32>,
}

const REAL: &[Real] = &[
    Real {
        name: "pretix-seatmap-canvas-stadium.json",
        choices: &[("choices[tolerant]", "true")],
        arguments: &["--tolerant"],
        gives: "738 seats, 90 rows, 2 sections",
        errors_before: Some(126),
    },
    Real {
        name: "ticketland-1115.csv",
        choices: &[],
        arguments: &[],
        gives: "1115 seats, 10 rows, 6 sections",
        errors_before: None,
    },
    Real {
        name: "ticketland-1115.utf8bom.csv",
        choices: &[],
        arguments: &[],
        gives: "1115 seats, 10 rows, 6 sections",
        errors_before: None,
    },
    Real {
        name: "ticketland-1115.cp1251-semicolon.csv",
        choices: &[],
        arguments: &[],
        gives: "1115 seats, 10 rows, 6 sections",
        errors_before: None,
    },
    Real {
        name: "metalist-kharkiv-39616.csv",
        choices: &[],
        arguments: &[],
        gives: "39616 seats, 1453 rows, 58 sections",
        errors_before: None,
    },
    Real {
        name: "svg-tessitura-amazing-venue.svg",
        choices: &[("choices[id_pattern]", "seat-{seat}-{row}-{section}")],
        arguments: &["--id-pattern", "seat-{seat}-{row}-{section}"],
        gives: "152 seats, 24 rows, 5 sections",
        errors_before: Some(1),
    },
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/domain/tests/fixtures").join(name)
}

async fn view(arena: &Arena, who: &Fan, id: &str) -> ImportView {
    arena.call(Some(who), "organizer-import", &[("id", id), ("filter", "all"), ("page", "1")]).await.ok()
}

/// Accepts a file that has no errors; all that is to be confirmed is.
async fn accepted(arena: &Arena, who: &Fan, id: &str, venue: &str) -> String {
    let version = view(arena, who, id).await.version.to_string();
    let form = [
        ("id", id),
        ("version", version.as_str()),
        ("venue", venue),
        ("city", "Київ"),
        ("time_zone", "Europe/Kyiv"),
        ("confirmed", "true"),
    ];
    arena.call(Some(who), "organizer-import-accept", &form).await.ok()
}

/// What an export carries, read again.
async fn exported(arena: &Arena, who: &Fan, plan: &str, extension: &str) -> (Vec<u8>, Plan) {
    let reply = arena.open(Some(who), &format!("/api/organizer-plan-export/{plan}.{extension}")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let bytes = reply.body.into_bytes();
    let report = import::read(&bytes, &format!("again.{extension}"), &import::Options::default());
    assert!(report.accepted(), "{extension}: {:?}", report.errors.first());
    (bytes, report.plan.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_real_file_gives_by_page_and_by_command_what_is_known_of_it() {
    let arena = Arena::web(Setup::default()).await;
    let operator = arena.member(Role::Operator).await;
    for real in REAL {
        let path = fixture(real.name);
        let content = std::fs::read(&path).unwrap();
        let id = uploaded(&arena, &operator, real.name, &content).await;
        let first = view(&arena, &operator, &id).await;
        assert_eq!((first.error_count > 0).then_some(first.error_count), real.errors_before, "{}", real.name);
        if !real.choices.is_empty() {
            let version = first.version.to_string();
            let mut form = vec![("id", id.as_str()), ("version", version.as_str())];
            form.extend_from_slice(real.choices);
            let () = arena.call(Some(&operator), "organizer-import-recheck", &form).await.ok();
        }
        let checked = view(&arena, &operator, &id).await;
        assert_eq!(checked.error_count, 0, "{}", real.name);
        let outline = checked.outline.unwrap();
        let counts = &outline.counts;
        let told = format!("{} seats, {} rows, {} sections", counts.seats, counts.rows, counts.sections);
        assert_eq!(told, real.gives, "{}", real.name);
        assert!(checked.map_digest.is_some(), "{} is drawn", real.name);
        by_command(&arena, real, &path).await;
        round_trip(&arena, &operator, &id, real).await;
    }
    arena.finish().await;
}

async fn by_command(arena: &Arena, real: &Real, path: &Path) {
    let check = async |arguments: &[&str]| {
        let mut command = program(arena.settings());
        command.args(["venue", "check"]).arg(path).args(arguments);
        run_to_end(command).await
    };
    let (code, out, err) = check(real.arguments).await;
    assert_eq!((code, out.lines().next()), (Some(0), Some(real.gives)), "{}: {out}{err}", real.name);
    if let Some(errors) = real.errors_before {
        let (code, out, _) = check(&[]).await;
        assert_eq!(code, Some(1));
        assert_eq!(out.lines().filter(|line| line.starts_with("error: ")).count(), errors as usize, "{}", real.name);
    }
    let mut command = program(arena.settings());
    command.args(["venue", "import"]).arg(path).args(real.arguments);
    command.args([
        "--venue",
        real.name,
        "--city",
        "Kyiv",
        "--time-zone",
        "Europe/Kyiv",
        "--organization",
        ORGANIZATION,
    ]);
    let (code, out, err) = run_to_end(command).await;
    assert_eq!(code, Some(0), "{}: {err}", real.name);
    assert!(out.starts_with(&format!("stored {} seats", real.gives.split(' ').next().unwrap())), "{out}");
}

/// Out and in again, and out: nothing that the format carries is lost.
async fn round_trip(arena: &Arena, who: &Fan, id: &str, real: &Real) {
    let plan = accepted(arena, who, id, real.name).await;
    for extension in ["json", "csv"] {
        let (bytes, first) = exported(arena, who, &plan, extension).await;
        let again = uploaded(arena, who, &format!("again.{extension}"), &bytes).await;
        let seen = view(arena, who, &again).await;
        assert_eq!(seen.state, ImportState::Ready, "{} as {extension}: {:?}", real.name, seen.findings.first());
        let plan = accepted(arena, who, &again, &format!("{} as {extension}", real.name)).await;
        let (_, second) = exported(arena, who, &plan, extension).await;
        assert_eq!(first.seats, second.seats, "{} as {extension}", real.name);
        assert_eq!((first.sections, first.rows, first.areas), (second.sections, second.rows, second.areas));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_files_end_in_a_right_result_or_a_clear_refusal() {
    let mut arena = Arena::web(Setup::default()).await;
    let operator = arena.member(Role::Operator).await;
    let svg =
        |body: &str| format!("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 99 99'>{body}</svg>").into_bytes();
    let seat = "<circle cx='9' cy='9' r='4' data-seat='1' data-row='A' data-section='S'/>";
    let mut million = String::from("section,row,seat\n");
    for line in 0..1_000_000 {
        let _ = writeln!(million, "A,{},{}", line / 100, line % 100);
    }
    let laughs = format!(
        "<!DOCTYPE svg [<!ENTITY a \"{}\">]><svg xmlns='http://www.w3.org/2000/svg'>{}</svg>",
        "&b;".repeat(10),
        "&a;".repeat(10)
    );
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("script.svg", svg(&format!("<script>alert(1)</script>{seat}"))),
        ("handler.svg", svg(&format!("<g onload='alert(1)'>{seat}</g>"))),
        ("external.svg", svg(&format!("<image href='https://evil.example/x.png'/><use href='https://evil.example/x#y'/>{seat}"))),
        ("entity.svg", b"<!DOCTYPE svg [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><svg xmlns='http://www.w3.org/2000/svg'><text>&x;</text></svg>".to_vec()),
        ("laughs.svg", laughs.into_bytes()),
        ("deep.svg", svg(&"<g>".repeat(50_000))),
        ("label.svg", svg("<circle r='4' data-seat='&lt;script&gt;alert(1)&lt;/script&gt;' data-row='&quot;onload=' data-section='x'/>")),
        ("formula.csv", b"section,row,seat,id\n=cmd|' /C calc'!A0,+1,@x,-2+3\n".to_vec()),
        ("million.csv", million.into_bytes()),
        ("range.csv", b"section,row,seat\nA,1,1-999999999\n".to_vec()),
        ("capacity.csv", b"section,type,capacity\nFloor,standing,999999999\n".to_vec()),
        ("broken.csv", b"section,row,seat\n\xff\xfe\xfd,\x80\x81,1\n\"never closed".to_vec()),
        ("nul.csv", b"section,row,seat\nA\0B,1,1\n".to_vec()),
        ("half.csv", b"\xff\xfes\0e\0c\0".to_vec()),
        ("zip.csv", b"PK\x03\x04whatever".to_vec()),
        ("spaces.json", vec![b' '; 60 * 1024 * 1024]),
        ("brackets.json", vec![b'['; 4 * 1024 * 1024]),
    ];
    for (name, content) in files {
        let reply = upload(&arena, Some(&operator), name, &content).await;
        assert_eq!(reply.status, 200, "{name}: {}", reply.body);
        let id = serde_json::from_str::<serde_json::Value>(&reply.body).unwrap()["id"].as_str().unwrap().to_owned();
        let seen = view(&arena, &operator, &id).await;
        assert!(seen.error_count > 0 || seen.outline.is_some(), "{name}: neither drawn nor refused");
        let page = arena.open(Some(&operator), &format!("/organizer/imports/{id}")).await;
        assert_eq!(page.status, 200, "{name}");
        assert!(!page.body.contains("<script>alert") && !page.body.contains("root:x:0"), "{name}");
        if let Some(digest) = seen.map_digest {
            let map = arena.open(None, &format!("/maps/{digest}.json")).await;
            for word in ["evil.example", "onload", "<script>alert"] {
                assert!(name == "label.svg" || !map.body.contains(word), "{name} publishes {word}");
            }
            assert_eq!(map.header("content-type"), "application/json");
        }
    }
    let peak = arena.server().peak_kib();
    assert!(peak < SERVER_KIB_MAX, "the server once had {peak} KiB");
    arena.finish().await;
}

/// Endpoint and the form with the text in one of its fields.
type Typed<'a> = (&'static str, Vec<(&'static str, String)>);

/// Every field of organizers that takes text, with that text in it.
fn fields<'a>(text: &str, event: &str, draft: &str, import: &str) -> Vec<Typed<'a>> {
    let owned = |pairs: &[(&'static str, &str)]| pairs.iter().map(|(n, v)| (*n, (*v).to_owned())).collect::<Vec<_>>();
    let event_with = |field: &'static str| {
        let mut form = owned(&[("fields[title]", "T"), ("fields[artist]", "A"), ("fields[description]", "D")]);
        form.push(("id", event.to_owned()));
        form.retain(|(name, _)| *name != field);
        form.push((field, text.to_owned()));
        form
    };
    let draft_with = |field: &'static str| {
        let mut form = owned(&[
            ("id", draft),
            ("version", "999"),
            ("form[plan]", ""),
            ("form[starts]", ""),
            ("form[opens]", ""),
            ("form[closes]", ""),
            ("form[seat_limit]", "4"),
            ("form[hold_ttl_min]", "2"),
            ("form[shoppers_max]", "9"),
            ("form[release_per_min]", "9"),
            ("form[currency]", "EUR"),
        ]);
        form.retain(|(name, _)| *name != field);
        form.push((field, text.to_owned()));
        form
    };
    let mut all: Vec<Typed<'_>> = Vec::new();
    for field in ["fields[title]", "fields[artist]", "fields[description]", "fields[slug]"] {
        all.push(("organizer-event-save", event_with(field)));
    }
    for field in ["form[plan]", "form[starts]", "form[opens]", "form[closes]", "form[currency]", "form[seat_limit]"] {
        all.push(("organizer-draft-save", draft_with(field)));
    }
    for field in ["venue", "city", "time_zone"] {
        let mut form =
            owned(&[("id", import), ("version", "999"), ("venue", "V"), ("city", "C"), ("time_zone", "Europe/Berlin")]);
        form.retain(|(name, _)| *name != field);
        form.push((field, text.to_owned()));
        all.push(("organizer-import-accept", form));
    }
    for field in ["choices[format]", "choices[encoding]", "choices[separator]", "choices[id_pattern]"] {
        let mut form = owned(&[("id", import), ("version", "999")]);
        form.push((field, text.to_owned()));
        all.push(("organizer-import-recheck", form));
    }
    for field in ["form[typed]", "form[picked]", "form[reason]", "form[name]", "form[price]", "form[zone]"] {
        let mut form = owned(&[("id", draft), ("version", "1"), ("form[step]", "block")]);
        form.push((field, text.to_owned()));
        all.push(("organizer-seats-change", form));
    }
    let mut rename = owned(&[("id", draft), ("version", "1"), ("zone", "0")]);
    rename.push(("name", text.to_owned()));
    all.push(("organizer-zone-rename", rename));
    let mut price = owned(&[("id", draft), ("version", "1")]);
    price.push(("prices[0]", text.to_owned()));
    all.push(("organizer-prices-set", price));
    all.push(("organizer-orders", vec![("text", text.to_owned())]));
    all.push(("organizer-audit", vec![("action", text.to_owned()), ("subject", text.to_owned())]));
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_text_in_any_field_breaks_a_page() {
    let arena = Arena::web(Setup::default()).await;
    let owner = arena.member(Role::Owner).await;
    let form = [("fields[title]", "T"), ("fields[artist]", "A"), ("fields[description]", "D")];
    let event: String = arena.call(Some(&owner), "organizer-event-save", &form).await.ok();
    let draft: String = arena.call(Some(&owner), "organizer-draft-new", &[("event", &event)]).await.ok();
    let import = uploaded(&arena, &owner, "a.csv", b"section,row,seat\nA,1,1\n").await;
    let texts: Vec<&str> = NAUGHTY.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(texts.len() > 400);
    let calls = texts.iter().flat_map(|text| fields(text, &event, &draft, &import));
    let replies: Vec<(&str, Reply)> = futures::stream::iter(calls)
        .map(async |(endpoint, form)| {
            let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
            (endpoint, arena.call(Some(&owner), endpoint, &form).await)
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    for (endpoint, reply) in &replies {
        assert!(reply.status < 500, "{endpoint}: {} {}", reply.status, reply.body);
        assert!(reply.status == 200 || !reply.refusal().message.is_empty());
    }
    // What was taken is shown as text. Each of these was a title for a moment.
    for text in texts.iter().filter(|text| text.contains('<')).take(40) {
        let form =
            [("id", event.as_str()), ("fields[title]", text), ("fields[artist]", text), ("fields[description]", text)];
        let reply = arena.call(Some(&owner), "organizer-event-save", &form).await;
        if reply.status != 200 {
            assert_eq!(reply.code(), Code::InvalidInput);
            continue;
        }
        let page = arena.open(Some(&owner), &format!("/organizer/events/{event}")).await;
        assert_eq!(page.status, 200);
        if let Some(at) = page.body.find(text.trim()) {
            let before: String = page.body[..at].chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().collect();
            panic!("{text} is in the page as it was typed, after {before}");
        }
    }
    let names = texts.iter().map(async |text| {
        let name: String = text.chars().filter(|c| !matches!(c, '"' | '\r' | '\n')).collect();
        upload(&arena, Some(&owner), &name, b"section,row,seat\nA,1,1\n").await
    });
    for reply in futures::stream::iter(names).buffer_unordered(2).collect::<Vec<_>>().await {
        assert!(reply.status < 500, "{} {}", reply.status, reply.body);
    }
    arena.finish().await;
}
