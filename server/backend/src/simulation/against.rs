//! The model against the real stores: the same random steps on both, and after each step both states are read
//! in full and compared.
//!
//! Redis's own clock decides in its scripts, so it is read before and after each step: some instant between the
//! two must explain the answer and the whole state. The log's positions are taken from the log.
//!
//! A disagreement is a fault of one of the two: of the script, or of what the model says that it must do.

mod plays;
mod read;
mod setup;
mod steps;

use super::model::redis::{At, Entry, Hot};
use super::random::Random;
use domain::live::LogPosition;
use setup::Real;
use std::collections::BTreeSet;
use steps::{Both, Step};

/// Sales that are played through.
const SEQUENCES: u64 = 100;
/// Steps in each.
const STEPS: u64 = 45;

/// The scripts that the model knows, and those that it leaves out, with the reason. A new file of a script is
/// named here, or this test fails; one that is said to be modelled must be run by the steps.
const MODELLED: [&str; 23] = [
    "allocate",
    "block",
    "confirm",
    "enter",
    "finish",
    "hold",
    "leave",
    "mend",
    "mend_count",
    "mend_hold",
    "pay",
    "peek",
    "reclaim",
    "release",
    "return_seats",
    "serve",
    "settings",
    "snapshot",
    "swap",
    "sweep",
    "unpay",
    "unsell",
    "written",
];
const LEFT_OUT: [(&str, &str); 8] = [
    ("common", "the shared head of the scripts over a performance"),
    ("common_queue", "the shared head of the scripts over a queue"),
    ("door", "reads counters for the controller: no seat depends on them"),
    ("join", "numbers of the queue: no seat depends on them"),
    ("lobby", "numbers of the queue"),
    ("queue_init", "numbers of the queue"),
    ("queue_restore", "numbers of the queue"),
    ("queue_settings", "numbers of the queue"),
];

#[test]
fn every_script_is_modelled_or_left_out_for_a_reason() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/redis/lua");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let known: BTreeSet<String> =
        MODELLED.into_iter().chain(LEFT_OUT.map(|(name, _)| name)).map(str::to_owned).collect();
    assert_eq!(
        files, known,
        "a script is new or gone: model it (simulation/model), drive it (simulation/against/steps.rs)"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_model_and_the_real_stores_do_the_same() {
    let real = Real::start().await;
    let mut run: BTreeSet<&'static str> = BTreeSet::new();
    let start = std::env::var("STARARENA_SEED").ok().and_then(|text| text.parse().ok());
    let seeds = start.map_or(0..SEQUENCES, |seed| seed..seed + 1);
    for seed in seeds {
        sequence(&real, seed, &mut run).await;
    }
    if start.is_none() {
        let idle: Vec<&str> = MODELLED.into_iter().filter(|name| !run.contains(name)).collect();
        assert!(idle.is_empty(), "no step ran {idle:?}");
    }
    real.stop().await;
}

async fn sequence(real: &Real, seed: u64, run: &mut BTreeSet<&'static str>) {
    let mut random = Random::new(seed);
    let mut both = Both::begin(real).await;
    let mut told: Vec<String> = Vec::new();
    for number in 0..STEPS {
        let step = both.next_step(&mut random, number);
        told.push(format!("{number}: {step:?}"));
        run.extend(step.scripts());
        if let Err(why) = compared(&mut both, &step).await {
            panic!("seed {seed} (replay it with STARARENA_SEED={seed}), after\n  {}\n{why}", told.join("\n  "));
        }
    }
    let rows = read::rows(&both.backend.pg, both.sale.id(), &both.rows).await;
    assert_eq!(rows, both.rows, "seed {seed}: rows at the end");
}

/// Does a step on both sides, and finds the instant that explains what came of it. What both answered.
async fn compared(both: &mut Both, step: &Step) -> Result<String, String> {
    let keys = both.sale.keys.clone();
    let before = both.backend.seats.time(&keys).await.unwrap().0;
    let answer = both.really(step).await;
    let after = both.backend.seats.time(&keys).await.unwrap().0;
    let mut hot = read::hot(&both.backend, &both.sale.keys).await;
    hot.server = both.hot.server;
    let rows = match step.touches_rows() {
        true => read::rows(&both.backend.pg, both.sale.id(), &both.rows).await,
        false => both.rows.clone(),
    };
    let written = |entry: Option<&(LogPosition, Entry)>| entry.map(|(at, _)| i64::try_from(at.ms).unwrap_or(0));
    let log = written(hot.log.last()).unwrap_or(before);
    both.later = both.later_of(step, &hot, log);
    // Of a step that asks several scripts the first entry is that of the first.
    let first = written(hot.log.get(both.hot.log.len())).filter(|_| both.later.is_some());
    let mut why = String::new();
    for now in before..=after {
        let (mut model, mut model_rows) = (both.hot.clone(), both.rows.clone());
        let at = At { now, log: first.unwrap_or(log.max(now)) };
        let expected = both.by_the_model(step, at, &mut model, &mut model_rows);
        plain(&mut hot);
        plain(&mut model);
        if expected == answer && model == hot && model_rows == rows {
            (both.hot, both.rows) = (model, model_rows);
            return Ok(answer);
        }
        if why.is_empty() {
            why = format!("at {now} (until {after})\nreally  {answer}\nmodel   {expected}\n");
            why += &differences(&model, &hot);
            if model_rows != rows {
                why += &format!("rows\nreally {rows:#?}\nmodel {model_rows:#?}");
            }
        }
    }
    Err(why)
}

/// Without what only the simulation knows.
fn plain(hot: &mut Hot) {
    hot.staging = None;
    hot.tainted = (false, false);
}

fn differences(model: &Hot, real: &Hot) -> String {
    let mut text = String::new();
    let mut pair = |name: &str, real: String, model: String| {
        if real != model {
            text += &format!("{name}\nreally {real}\nmodel  {model}\n");
        }
    };
    let (m, r) = (&model.state, &real.state);
    pair("epoch", format!("{:?}", real.epoch), format!("{:?}", model.epoch));
    pair("meta", format!("{:?}", r.meta), format!("{:?}", m.meta));
    pair("seats", format!("{:?}", r.seats), format!("{:?}", m.seats));
    pair("owner", format!("{:?}", r.owner), format!("{:?}", m.owner));
    pair("holds", format!("{:#?}", r.holds), format!("{:#?}", m.holds));
    pair("expiry", format!("{:?}", r.expiry), format!("{:?}", m.expiry));
    pair("held_by", format!("{:?}", r.held_by), format!("{:?}", m.held_by));
    pair("shoppers", format!("{:?}", r.shoppers), format!("{:?}", m.shoppers));
    pair("entered", format!("{:?}", r.entered), format!("{:?}", m.entered));
    pair("tombs", format!("{:?}", r.tombs), format!("{:?}", m.tombs));
    pair("log", format!("{:#?}", real.log), format!("{:#?}", model.log));
    text
}
