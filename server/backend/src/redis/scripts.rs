//! The scripts, loaded from their files; each opens with its keys, arguments, result and reason.

use redis::Script;

macro_rules! over_performance {
    ($file:literal) => {
        Script::new(concat!(include_str!("lua/common.lua"), "\n", include_str!(concat!("lua/", $file, ".lua"))))
    };
}

macro_rules! over_queue {
    ($file:literal) => {
        Script::new(include_str!(concat!("lua/", $file, ".lua")))
    };
}

/// Every script of the program. The redis client sends a digest and loads the text again where the
/// server has lost it (restart, failover, `SCRIPT FLUSH`).
pub(crate) struct Scripts {
    pub(crate) allocate: Script,
    pub(crate) block: Script,
    pub(crate) confirm: Script,
    pub(crate) enter: Script,
    pub(crate) finish: Script,
    pub(crate) hold: Script,
    pub(crate) leave: Script,
    pub(crate) mend: Script,
    pub(crate) mend_count: Script,
    pub(crate) mend_hold: Script,
    pub(crate) pay: Script,
    pub(crate) peek: Script,
    pub(crate) release: Script,
    pub(crate) serve: Script,
    pub(crate) settings: Script,
    pub(crate) snapshot: Script,
    pub(crate) swap: Script,
    pub(crate) sweep: Script,
    pub(crate) unpay: Script,
    pub(crate) unsell: Script,
    pub(crate) written: Script,
    pub(crate) join: Script,
    pub(crate) lobby: Script,
    pub(crate) queue_init: Script,
    pub(crate) queue_settings: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            allocate: over_performance!("allocate"),
            block: over_performance!("block"),
            confirm: over_performance!("confirm"),
            enter: over_performance!("enter"),
            finish: over_performance!("finish"),
            hold: over_performance!("hold"),
            leave: over_performance!("leave"),
            mend: over_performance!("mend"),
            mend_count: over_performance!("mend_count"),
            mend_hold: over_performance!("mend_hold"),
            pay: over_performance!("pay"),
            peek: over_performance!("peek"),
            release: over_performance!("release"),
            serve: over_performance!("serve"),
            settings: over_performance!("settings"),
            snapshot: over_performance!("snapshot"),
            swap: over_performance!("swap"),
            sweep: over_performance!("sweep"),
            unpay: over_performance!("unpay"),
            unsell: over_performance!("unsell"),
            written: over_performance!("written"),
            join: over_queue!("join"),
            lobby: over_queue!("lobby"),
            queue_init: over_queue!("queue_init"),
            queue_settings: over_queue!("queue_settings"),
        }
    }
}
