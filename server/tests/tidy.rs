//! The map of the project, enforced: who may know whom, where SQL and keys live, and how files look.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longest file, in lines: a view is split before it scrolls.
const LINES_MAX: usize = 500;
/// Where Rust sources are.
const RUST: [&str; 4] = ["app", "frontend", "server", "docs"];
/// Folders of results and of other people's code.
const SKIPPED: [&str; 6] = ["target", "node_modules", ".git", "data", "test-results", "playwright-report"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// All files below a folder of the project, by path from its root.
fn files(folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() {
                if !SKIPPED.iter().any(|skipped| name == *skipped) {
                    walk(&path, found);
                }
            } else if let Ok(content) = fs::read(&path) {
                // A file that went away while we looked is no finding.
                found.insert(path.strip_prefix(root()).unwrap().to_owned(), content);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&root().join(folder), &mut found);
    found
}

fn texts(folder: &str, extension: &str) -> BTreeMap<PathBuf, String> {
    let wanted = |path: &Path| path.extension().is_some_and(|found| found == extension);
    let text = |(path, content)| (path, String::from_utf8(content).expect("sources are UTF-8"));
    files(folder).into_iter().filter(|(path, _)| wanted(path)).map(text).collect()
}

fn rust() -> BTreeMap<PathBuf, String> {
    RUST.iter().flat_map(|folder| texts(folder, "rs")).collect()
}

#[track_caller]
fn nothing(rule: &str, findings: Vec<String>) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}

/// Lines that contain one of the words, as `path:line word`.
fn lines_with(sources: &BTreeMap<PathBuf, String>, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources {
        for (number, line) in text.lines().enumerate() {
            for word in words.iter().filter(|word| line.contains(**word)) {
                found.push(format!("{}:{} {word}", path.display(), number + 1));
            }
        }
    }
    found
}

struct Package {
    /// Names of the packages that the program itself needs; those of its tests are not among them.
    needs: BTreeSet<String>,
    optional: BTreeSet<String>,
    features_of: BTreeMap<String, Vec<String>>,
}

fn packages() -> BTreeMap<String, Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let strings = |value: &serde_json::Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let read = |package: &serde_json::Value| {
        let mut read = Package { needs: BTreeSet::new(), optional: BTreeSet::new(), features_of: BTreeMap::new() };
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap().to_owned();
            if dependency["kind"].as_str() == Some("dev") {
                continue;
            }
            if dependency["optional"] == true {
                read.optional.insert(name.clone());
            }
            read.features_of.insert(name.clone(), strings(&dependency["features"]));
            read.needs.insert(name);
        }
        (package["name"].as_str().unwrap().to_owned(), read)
    };
    metadata["packages"].as_array().unwrap().iter().map(read).collect()
}

#[test]
fn there_are_five_crates_and_their_edges_are_those_of_the_design() {
    let packages = packages();
    let ours: BTreeSet<String> = packages.keys().cloned().collect();
    let edges = |name: &str| packages[name].needs.intersection(&ours).cloned().collect::<Vec<_>>();
    assert_eq!(ours.iter().map(String::as_str).collect::<Vec<_>>(), ["app", "backend", "domain", "frontend", "server"]);
    assert_eq!(edges("domain"), [""; 0]);
    assert_eq!(edges("backend"), ["domain"]);
    assert_eq!(edges("app"), ["backend", "domain"]);
    assert_eq!(edges("frontend"), ["app"]);
    assert_eq!(edges("server"), ["app", "backend", "domain"]);
    // The browser's half of `app` knows no backend, and each end asks for its own half.
    assert!(packages["app"].optional.contains("backend"));
    assert_eq!(packages["frontend"].features_of["app"], ["hydrate"]);
    assert_eq!(packages["server"].features_of["app"], ["ssr"]);
}

#[test]
fn no_crate_needs_what_belongs_to_another() {
    let stores = ["sqlx", "redis"];
    let web = ["leptos", "leptos_axum", "leptos_meta", "leptos_router", "axum", "hyper", "tower-http"];
    let io = ["tokio", "reqwest", "getrandom", "rand", "jiff"];
    let mut findings = Vec::new();
    for (name, forbidden) in [
        ("domain", [&stores[..], &web, &io].concat()),
        ("app", [&stores[..], &["axum"], &io].concat()),
        ("backend", web.to_vec()),
        ("frontend", [&stores[..], &["axum", "tokio", "backend"]].concat()),
        ("server", stores.to_vec()),
    ] {
        let package = &packages()[name];
        findings.extend(
            forbidden.iter().filter(|word| package.needs.contains(**word)).map(|word| format!("{name} needs {word}")),
        );
    }
    nothing("dependencies", findings);
}

#[test]
fn sql_and_redis_keys_are_written_in_backend_alone() {
    let product: BTreeMap<PathBuf, String> = rust()
        .into_iter()
        .filter(|(path, _)| !path.starts_with("server/backend") && !path.starts_with("server/tests"))
        .collect();
    nothing("only `backend` speaks to the stores", lines_with(&product, &["sqlx::", "redis::", "sa:1:"]));
    let backend = texts("server/backend/src", "rs");
    nothing("`backend` names no web framework", lines_with(&backend, &["leptos", "axum::"]));
    let keys: BTreeMap<PathBuf, String> = backend
        .into_iter()
        .filter(|(path, _)| !path.ends_with("redis/keys.rs") && !path.ends_with("redis.rs"))
        .collect();
    nothing("keys are built in one module", lines_with(&keys, &["sa:1:"]));
    let psp: BTreeMap<PathBuf, String> =
        texts("server/src", "rs").into_iter().filter(|(path, _)| path.starts_with("server/src/psp")).collect();
    nothing("the provider is an outside system", lines_with(&psp, &["backend::", "domain::", "app::", "crate::http"]));
}

#[test]
fn features_of_the_interface_do_not_import_each_other() {
    let base = Path::new("app/src/features");
    let sources = texts("app/src/features", "rs");
    let feature = |path: &Path| {
        let first = path.strip_prefix(base).unwrap().components().next().unwrap();
        Path::new(first.as_os_str()).with_extension("").to_str().unwrap().to_owned()
    };
    let all: BTreeSet<String> = sources.keys().map(|path| feature(path)).collect();
    assert!(all.len() >= 5, "{all:?}");
    let mut findings = Vec::new();
    for (path, text) in &sources {
        let own = feature(path);
        // `super` is the list of features in a feature's own file alone.
        let top = path.parent() == Some(base);
        for (number, line) in text.lines().enumerate() {
            for other in all.iter().filter(|other| **other != own) {
                if line.contains(&format!("features::{other}")) || (top && line.contains(&format!("super::{other}"))) {
                    findings.push(format!("{}:{} {other}", path.display(), number + 1));
                }
            }
        }
    }
    nothing("features stand by themselves", findings);
}

#[test]
fn every_rust_file_says_what_it_owns_and_fits_its_bounds() {
    let mut findings = Vec::new();
    for (path, text) in rust() {
        let shown = path.display();
        if !text.starts_with("//! ") {
            findings.push(format!("{shown} does not begin with what it owns (`//! `)"));
        }
        if path.file_name().is_some_and(|name| name == "mod.rs") {
            findings.push(format!("{shown}: `foo.rs` beside `foo/`, never `mod.rs`"));
        }
        let lines = text.lines().count();
        if lines > LINES_MAX {
            findings.push(format!("{shown} has {lines} lines, {LINES_MAX} are the most"));
        }
    }
    nothing("files", findings);
}

#[test]
fn nothing_is_left_undone_switched_off_or_allowed_in_silence() {
    let sources: BTreeMap<PathBuf, String> =
        rust().into_iter().filter(|(path, _)| !path.ends_with("tests/tidy.rs")).collect();
    let words = ["#[ignore", "todo!(", "unimplemented!(", "dbg!(", "#[allow(", "#![allow(", "FIXME", "TODO"];
    nothing("left undone", lines_with(&sources, &words));
}

#[test]
fn every_script_over_redis_says_its_arguments_its_result_and_why_it_is_one_step() {
    let scripts = texts("server/backend/src/redis/lua", "lua");
    assert!(scripts.len() >= 15, "{:?}", scripts.keys());
    let mut findings = Vec::new();
    for (path, text) in scripts {
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with("--")).collect();
        let says = |word: &str| head.iter().any(|line| line.contains(word));
        let shared = path.ends_with("common.lua") || path.ends_with("common_queue.lua");
        let words: &[&str] = if shared { &["KEYS ", "ARGV "] } else { &["Result ", "Atomic, because "] };
        findings.extend(
            words.iter().filter(|word| !says(word)).map(|word| format!("{} does not say `{word}`", path.display())),
        );
        // The epoch is the first argument of every script, and the shared head says so.
        if !shared && text.contains("ARGV[") && !says("ARGV ") {
            findings.push(format!("{} does not say its arguments", path.display()));
        }
        if text.contains("KEYS[") && !shared && !says("KEYS ") {
            findings.push(format!("{} does not say its keys", path.display()));
        }
        if text.contains("os.time") || text.contains("math.random") {
            findings.push(format!("{}: time comes from TIME, chance from nowhere", path.display()));
        }
    }
    nothing("scripts", findings);
}

#[test]
fn pages_carry_no_style_of_their_own() {
    let views = texts("app/src", "rs");
    // `style:name=` is the browser's own doing, which the policy allows; a server writes attributes.
    nothing("styles belong into style/, the policy forbids them in pages", lines_with(&views, &["style=", "<style"]));
}

#[test]
fn raw_text_is_escaped() {
    let mut views = texts("app/src", "rs");
    views.remove(Path::new("app/src/components/raw_text.rs"));
    let titles = lines_with(&views, &["leptos_meta::Title", "leptos_meta::{Title"]);
    nothing("the library's title is not escaped, ours is", titles);
    let raw =
        |line: &str| line.contains("</textarea>") && !line.contains("></textarea>") && !line.contains("{in_area(");
    let areas = views.iter().filter(|(_, text)| text.lines().any(raw)).map(|(path, _)| path.display().to_string());
    nothing("text areas are not escaped by the library: use `in_area`", areas.collect());
}

#[test]
fn no_file_speaks_of_the_machine_that_it_was_written_on() {
    // In halves, so that this file does not find itself.
    let words = [["/ro", "ot/"], ["/wo", "rk/"], ["/home/", "user"], ["inde", "x.crates.io-"], ["/.py", "env"]]
        .map(|halves| halves.concat());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut sources = BTreeMap::new();
    for extension in ["rs", "toml", "md", "sh", "mjs", "ts", "json", "css", "sql", "lua", "yaml", "yml", "conf", "lock"]
    {
        sources.extend(texts(".", extension));
    }
    for name in ["Makefile", ".ci/run", "deploy/container/Containerfile"] {
        sources.insert(PathBuf::from(name), fs::read_to_string(root().join(name)).unwrap_or_default());
    }
    // Data that others made is as they made it.
    sources.retain(|path, _| !path.starts_with("app/domain/tests/fixtures"));
    assert!(sources.len() > 200, "{}", sources.len());
    nothing("paths of one machine", lines_with(&sources, &words));
}
