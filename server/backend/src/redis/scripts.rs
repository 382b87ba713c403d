//! The scripts: from their files to the texts that one run of a server is given.
//!
//! The text of a script begins with the run of the server for which it was made
//! (`local RUN = '…'`), and the script compares it with the run that built the state. A server
//! forgets its scripts when it ends, and a replica that is promoted never had them: the first call
//! after either meets `NOSCRIPT`, the texts are made anew for the run that answers now, and state that
//! another run left behind is refused from then on. No call asks for the run before that, so the fence
//! costs nothing while nothing happens (docs/adr/0019-redis-cluster-and-runs.md).

use redis::Script as Hashed;

/// What every script over a performance begins with.
const COMMON: &str = include_str!("lua/common.lua");
/// What every script over the numbering of a queue begins with.
const COMMON_QUEUE: &str = include_str!("lua/common_queue.lua");

/// One of the scripts: a name for its text on whichever server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script {
    number: usize,
}

/// One file.
struct Source {
    body: &'static str,
    common: &'static str,
}

macro_rules! scripts {
    (over a performance: $($sale:ident),* ; over a queue: $($queue:ident),* $(;)?) => {
        /// Every script of the program; each file opens with its keys, arguments, result and reason.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Scripts {
            $(pub(crate) $sale: Script,)*
            $(pub(crate) $queue: Script,)*
        }

        const SOURCES: &[Source] = &[
            $(Source { body: include_str!(concat!("lua/", stringify!($sale), ".lua")), common: COMMON },)*
            $(Source { body: include_str!(concat!("lua/", stringify!($queue), ".lua")), common: COMMON_QUEUE },)*
        ];

        impl Scripts {
            pub(crate) fn new() -> Self {
                let mut numbers = 0..SOURCES.len();
                let mut next = || Script { number: numbers.next().unwrap_or(usize::MAX) };
                Self { $($sale: next(),)* $($queue: next(),)* }
            }
        }
    };
}

scripts! {
    over a performance:
        allocate, block, confirm, door, enter, finish, hold, leave, mend, mend_count, mend_hold, pay, peek, reclaim,
        release, return_seats, serve, settings, snapshot, swap, sweep, unpay, unsell, written;
    over a queue:
        join, lobby, queue_init, queue_restore, queue_settings;
}

/// All scripts as one run of a server is given them.
#[derive(Debug)]
pub(super) struct Texts {
    run: String,
    all: Vec<Text>,
}

/// One script's text with its digest.
#[derive(Debug)]
pub(super) struct Text {
    /// The text.
    pub(super) code: String,
    /// Its digest, by which it is called.
    pub(super) digest: String,
}

impl Texts {
    /// The texts for a run.
    pub(super) fn of(run: &str) -> Self {
        let all = SOURCES.iter().map(|source| Text::of(source, run)).collect();
        Self { run: run.to_owned(), all }
    }

    /// The run that they are for.
    pub(super) fn run(&self) -> &str {
        &self.run
    }

    /// One script's text.
    pub(super) fn text(&self, script: Script) -> &Text {
        &self.all[script.number]
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Text] {
        &self.all
    }
}

impl Text {
    fn of(source: &Source, run: &str) -> Self {
        let code = format!("local RUN = '{run}'\n{}\n{}", source.common, source.body);
        let digest = Hashed::new(&code).get_hash().to_owned();
        Self { code, digest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_differ_by_run() {
        let (one, other) = (Texts::of("aa"), Texts::of("bb"));
        let scripts = Scripts::new();
        assert_ne!(one.text(scripts.hold).digest, other.text(scripts.hold).digest);
        assert!(one.text(scripts.hold).code.starts_with("local RUN = 'aa'\n"));
        assert_ne!(one.text(scripts.join).digest, other.text(scripts.join).digest);
        assert_eq!(one.all().len(), SOURCES.len());
    }

    #[test]
    fn every_script_compares_the_run() {
        for source in SOURCES {
            let compares = ["complete()", "ready()", "RUN"].iter().any(|word| source.body.contains(word));
            assert!(compares, "{}", source.body);
        }
        assert!(COMMON.contains("RUN") && COMMON_QUEUE.contains("RUN"));
    }
}
