//! The simulation of inventory and orders: a small model of both stores, actors that mirror the order in which
//! the real code calls them, and faults between any two steps. Each run follows from one number.
//!
//! `model` says what each script and statement must do; `against` compares it with the real stores, so that
//! it can't drift from them. `world` runs the actors and brings the misfortunes, `checks` and `beliefs` say
//! what must hold.
//!
//! `STARARENA_SEED=123` replays one run and tells its last steps, so many as `STARARENA_STEPS` says;
//! `STARARENA_SEEDS=1000` runs so many from `STARARENA_SEED_START` (0 where it is not set) on.

mod actors;
mod against;
mod beliefs;
mod checks;
mod model;
mod provider;
mod random;
mod sale;
mod tests;
mod world;

use actors::{fan, guardian, house, jobs, reconciler, writer};
use model::Wrong;
use random::Random;
use std::cell::RefCell;
use std::rc::Rc;
use world::{Actor, Faults, Shared, Task, World};

/// How long fans come in, in ms of the world.
const OPEN_MS: i64 = 12_000;
/// How long everything may take to come to its end after the last fault.
const END_MS: i64 = 60_000;

/// A run that went wrong.
#[derive(Debug)]
struct Failure {
    seed: u64,
    why: String,
    steps: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        writeln!(f, "seed {} (replay it with STARARENA_SEED={}): {}", self.seed, self.seed, self.why)
    }
}

/// What may go wrong in the run of a seed: in one of eight nothing, in the others some or all of it.
fn faults_of(seed: u64) -> Faults {
    let mut random = Random::new(seed ^ 0xFA17);
    if random.one_in(8) {
        return Faults::default();
    }
    Faults {
        network: random.one_in(2),
        crashes: random.one_in(2),
        loss: random.one_in(2),
        outages: random.one_in(3),
        clock: random.one_in(3),
    }
}

fn tasks(faults: Faults) -> Vec<Task> {
    let mut tasks = Vec::new();
    for number in 0..=sale::ACCOUNTS {
        // The last account comes with two browsers.
        let account = sale::account(number.min(sale::ACCOUNTS - 1));
        tasks.push(Task::new(format!("fan {number}"), move |me| fan::fan(me, account)));
    }
    macro_rules! actor {
        ($($name:literal $run:path),+ $(,)?) => { $(tasks.push(Task::new($name.to_owned(), $run));)+ };
    }
    actor!(
        "writer a" writer::writer, "writer b" writer::writer,
        "guardian a" guardian::guardian, "guardian b" guardian::guardian,
        "sweeper" jobs::sweeper, "confirmer" jobs::confirmer, "releaser" jobs::releaser, "returner" jobs::returner,
        "overdue" jobs::overdue, "taker back" jobs::taker_back, "query" jobs::query, "issuer" jobs::issuer, "refunder" jobs::refunder,
        "provider" jobs::provider, "reconciler" reconciler::reconciler, "house" house::house,
    );
    if faults.crashes {
        actor!("vandal" house::vandal);
    }
    tasks
}

/// Runs one seed to its end.
fn run(seed: u64, faults: Faults, wrong: Option<Wrong>, told: bool) -> Result<u64, Failure> {
    let world: Shared = Rc::new(RefCell::new(World::new(seed, faults, wrong, sale::rows())));
    if told {
        world.borrow_mut().trace = Some(std::collections::VecDeque::new());
    }
    let outcome = play(&world, faults);
    let mut world = world.borrow_mut();
    let steps = world.trace.take().unwrap_or_default().into();
    outcome.map(|()| world.step).map_err(|why| Failure { seed, why, steps })
}

fn play(world: &Shared, faults: Faults) -> Result<(), String> {
    let mut tasks = tasks(faults);
    while world.borrow().now < OPEN_MS {
        one_step(world, &mut tasks)?;
    }
    {
        let mut world = world.borrow_mut();
        world.closing = true;
        world.faults = Faults::default();
    }
    loop {
        one_step(world, &mut tasks)?;
        let world = world.borrow();
        let unfinished = checks::unfinished(&world);
        match unfinished {
            None => break,
            Some(why) if world.now > OPEN_MS + END_MS => return Err(format!("it never ends: {why}")),
            Some(_) => {}
        }
    }
    if !faults.any() && world.borrow().stores.repairs > 0 {
        return Err("the reconciler found something to put right, and nothing had gone wrong".to_owned());
    }
    settle_differences(world, &mut tasks)?;
    checks::in_the_end(&world.borrow().stores).map_or(Ok(()), Err)
}

/// Where something had gone wrong, the reconciler may have work left: two whole runs of it, one after the other and
/// with nothing under way, find all of it.
fn settle_differences(world: &Shared, tasks: &mut Vec<Task>) -> Result<(), String> {
    let done = Rc::new(std::cell::Cell::new(0));
    let count = Rc::clone(&done);
    tasks.push(Task::new("last look".to_owned(), move |me: Actor| {
        let count = Rc::clone(&count);
        async move {
            loop {
                me.idle(10, 50).await;
                // While something is under way, what is put right early may be wrong a moment later.
                let quiet = || checks::unfinished(&me.world.borrow()).is_none();
                let whole = quiet() && reconciler::run(&me).await.is_ok() && quiet();
                count.set(if whole { count.get() + 1 } else { 0 });
            }
        }
    }));
    let from = world.borrow().now;
    while done.get() < 2 {
        one_step(world, tasks)?;
        if world.borrow().now > from + END_MS {
            return Err("the reconciler never ends".to_owned());
        }
    }
    Ok(())
}

fn one_step(world: &Shared, tasks: &mut Vec<Task>) -> Result<(), String> {
    if !world::step(world, tasks) {
        return Err("nobody is left".to_owned());
    }
    let mut world = world.borrow_mut();
    if world.was_touched() {
        return checks::after_step(&world).map_or(Ok(()), Err);
    }
    Ok(())
}
