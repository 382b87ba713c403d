//! The benchmarks say what they measured, in a form that others can read; how fast the program is on a
//! machine of tests is nobody's business.

use crate::arena::program;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Five groups with small bounds: each starts stores, and three a server, on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

#[tokio::test]
async fn a_report_has_every_field_and_its_last_line_counts_the_budgets() {
    let folder = std::env::temp_dir().join(format!("sa-it-bench-{}", uuid::Uuid::new_v4().simple()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("report.json");
    let mut command = program(&HashMap::from([("LEPTOS_OUTPUT_NAME".to_owned(), "stararena".to_owned())]));
    command
        .args(["bench", "--quick", "--only", "snapshot,hello,join,page,cancel", "--commit", "abc1234", "--report"])
        .arg(&path);
    let output = tokio::time::timeout(LIMIT, command.output()).await.expect("the run is bounded").unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");

    let list: Vec<serde_json::Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let (machine, figures) = list.split_first().unwrap();
    assert_eq!((&machine["name"], &machine["facts"]["commit"]), (&"machine".into(), &"abc1234".into()));
    for fact in ["cores", "kernel", "postgres", "redis", "date", "build"] {
        assert!(!machine["facts"][fact].is_null(), "{fact}: {machine}");
    }
    let mut names = HashSet::new();
    for figure in &list {
        let fields: HashSet<&str> = figure.as_object().unwrap().keys().map(String::as_str).collect();
        let missing: Vec<_> = ["name", "value", "unit", "baseline", "ratio", "budget", "holds"]
            .iter()
            .filter(|f| !fields.contains(**f))
            .collect();
        assert!(missing.is_empty(), "{missing:?} in {figure}");
        assert!(figure["value"].as_f64().is_some_and(f64::is_finite), "{figure}");
        assert_eq!(figure["baseline"].is_null(), figure["ratio"].is_null(), "{figure}");
        assert_eq!(figure["budget"].is_null(), figure["holds"].is_null(), "{figure}");
        assert!(names.insert(figure["name"].as_str().unwrap()), "twice: {figure}");
    }
    for name in [
        "hello.rate",
        "status.rate",
        "snapshot.20000.wire",
        "snapshot.20000.script_and_encoding",
        "join.rate",
        "join.half_rate.p99",
        "join.memory_a_fan.redis",
        "join.memory_a_fan.server",
        "page.event.rate",
        "page.event.half_rate.p99",
        "cancel.reserved",
        "cancel.1000.until_reserved",
    ] {
        assert!(names.contains(name), "{name} in {names:?}");
    }

    let judged: Vec<bool> = figures.iter().filter_map(|figure| figure["holds"].as_bool()).collect();
    let held = judged.iter().filter(|holds| **holds).count();
    let last = format!("{held} of {} budgets hold", judged.len());
    assert_eq!(out.lines().last(), Some(last.as_str()));
}

#[tokio::test]
async fn a_group_that_is_not_there_is_refused_with_those_that_are() {
    let mut command = program(&HashMap::new());
    command.args(["bench", "--only", "everything"]);
    let output = tokio::time::timeout(LIMIT, command.output()).await.expect("it ends at once").unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("`everything`") && err.contains("holds") && err.contains("fanout"), "{err}");
}
