//! The benchmarks: what the program does, each figure beside a baseline that is measured in the same
//! run on the same machine, and whether the budgets hold.
//!
//! A benchmark is a `Group` in `GROUPS`: a name, and a function that measures and answers figures.
//! Each group opens stores and a server of its own, so that none leaves work behind for the next. It
//! owns the load and the reading of it; what is measured is the program as a process, spoken to over
//! HTTP and sockets like by anybody else (`backend::bench` gives what no use-case gives: shoppers who
//! didn't queue, the scripts alone). A figure that can't be measured, or an answer that is wrong, fails
//! the run; a budget that doesn't hold is a result.

mod best;
mod cancel;
mod fanout;
mod figure;
pub(crate) mod hello;
mod holds;
mod house;
mod join;
pub(crate) mod load;
mod machine;
pub(crate) mod memory;
mod orders;
mod page;
mod rebuild;
mod snapshot;
mod socket;

pub use figure::{Figure, Report};
pub use hello::serve as serve_hello;

use anyhow::ensure;
use backend::bench::Versions;
use futures::future::LocalBoxFuture;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Shortest and longest timed load, in seconds: the whole run stays within eight minutes.
const SECONDS: std::ops::RangeInclusive<f64> = 0.1..=20.0;

/// What to measure, and how long.
#[derive(Clone, Debug)]
pub struct BenchConfig {
    /// Names of groups; none means all.
    pub only: Vec<String>,
    /// Small houses, few connections: to see that everything works, not how fast it is.
    pub quick: bool,
    /// Length of one timed load, in seconds.
    pub seconds: f64,
    /// What was built, for the report.
    pub commit: Option<String>,
}

/// What every group is given.
struct Context {
    quick: bool,
    /// Length of one timed load.
    load: Duration,
    /// Filled by the first group that opens stores.
    versions: OnceLock<Versions>,
    tell: fn(&str),
}

impl Context {
    /// A size: the one of a real run, or the small one of a quick look.
    fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// What a group answers.
type Measured = LocalBoxFuture<'static, anyhow::Result<Vec<Figure>>>;

/// Some figures that belong together.
struct Group {
    name: &'static str,
    about: &'static str,
    measure: fn(Arc<Context>) -> Measured,
}

/// Every group, in the order in which they run.
const GROUPS: &[Group] = &[
    Group {
        name: "hello",
        about: "requests a second of a bare application, and of the queue's polled status",
        measure: |context| Box::pin(hello::measure(context)),
    },
    Group {
        name: "join",
        about: "places in a queue taken a second over HTTP, their latencies, and memory of a waiting fan",
        measure: |context| Box::pin(join::measure(context)),
    },
    Group {
        name: "page",
        about: "the page of an event, as a crowd without cookies is sent it",
        measure: |context| Box::pin(page::measure(context)),
    },
    Group {
        name: "holds",
        about: "holds a second by the script alone and over HTTP, and their latencies",
        measure: |context| Box::pin(holds::measure(context)),
    },
    Group {
        name: "snapshot",
        about: "size and time of the whole map",
        measure: |context| Box::pin(snapshot::measure(context)),
    },
    Group {
        name: "rebuild",
        about: "from an emptied Redis to the first accepted hold",
        measure: |context| Box::pin(rebuild::measure(context)),
    },
    Group {
        name: "orders",
        about: "orders that the order writer writes a second",
        measure: |context| Box::pin(orders::measure(context)),
    },
    Group {
        name: "cancel",
        about: "refunds reserved a second after a sold-out performance was cancelled",
        measure: |context| Box::pin(cancel::measure(context)),
    },
    Group {
        name: "fanout",
        about: "changes on their way to many sockets, and memory of a socket",
        measure: |context| Box::pin(fanout::measure(context)),
    },
    Group {
        name: "best",
        about: "best available seats of a half-sold house",
        measure: |context| Box::pin(best::measure(context)),
    },
    Group {
        name: "memory",
        about: "memory of server, worker and stores while nobody buys",
        measure: |context| Box::pin(memory::measure(context)),
    },
];

/// Names and meanings of all groups, for help and error texts.
pub fn groups() -> impl Iterator<Item = (&'static str, &'static str)> {
    GROUPS.iter().map(|group| (group.name, group.about))
}

/// Measures what was asked for, group after group; a group that fails doesn't keep the others from
/// running.
///
/// # Errors
/// For a group that doesn't exist, or a length out of bounds.
pub async fn run(config: &BenchConfig, tell: fn(&str)) -> anyhow::Result<Report> {
    ensure!(SECONDS.contains(&config.seconds), "seconds: from {} to {}", SECONDS.start(), SECONDS.end());
    for wanted in &config.only {
        let known: Vec<&str> = groups().map(|(name, _)| name).collect();
        ensure!(known.contains(&wanted.as_str()), "there is no group `{wanted}`; there are {}", known.join(", "));
    }
    let context = Arc::new(Context {
        quick: config.quick,
        load: Duration::from_secs_f64(config.seconds),
        versions: OnceLock::new(),
        tell,
    });
    let mut report = Report::default();
    for group in GROUPS.iter().filter(|group| config.only.is_empty() || config.only.iter().any(|o| o == group.name)) {
        tell(&format!("{}: {}", group.name, group.about));
        let started = Instant::now();
        match (group.measure)(Arc::clone(&context)).await.and_then(figure::checked) {
            Ok(figures) => report.figures.extend(figures),
            Err(error) => report.failures.push(format!("{}: {error:#}", group.name)),
        }
        tell(&format!("{}: {:.0} s", group.name, started.elapsed().as_secs_f64()));
    }
    report.machine = machine::facts(config, context.versions.get());
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_names_of_their_own_and_what_isnt_there_is_refused() {
        let names: std::collections::BTreeSet<&str> = groups().map(|(name, _)| name).collect();
        assert_eq!(names.len(), GROUPS.len());
        let wrong = BenchConfig { only: vec!["nothing".to_owned()], quick: true, seconds: 1.0, commit: None };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let error = runtime.block_on(run(&wrong, |_| {})).unwrap_err().to_string();
        assert!(error.contains("`nothing`") && error.contains("holds"), "{error}");
        let long = BenchConfig { only: Vec::new(), seconds: 1_000.0, ..wrong };
        assert!(runtime.block_on(run(&long, |_| {})).is_err());
    }
}
