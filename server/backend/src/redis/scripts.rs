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
    pub(crate) block: Script,
    pub(crate) confirm: Script,
    pub(crate) enter: Script,
    pub(crate) finish: Script,
    pub(crate) hold: Script,
    pub(crate) leave: Script,
    pub(crate) pay: Script,
    pub(crate) release: Script,
    pub(crate) serve: Script,
    pub(crate) settings: Script,
    pub(crate) snapshot: Script,
    pub(crate) swap: Script,
    pub(crate) sweep: Script,
    pub(crate) unpay: Script,
    pub(crate) unsell: Script,
    pub(crate) join: Script,
    pub(crate) lobby: Script,
    pub(crate) queue_init: Script,
    pub(crate) queue_settings: Script,
}

impl Scripts {
    pub(crate) fn new() -> Self {
        Self {
            block: over_performance!("block"),
            confirm: over_performance!("confirm"),
            enter: over_performance!("enter"),
            finish: over_performance!("finish"),
            hold: over_performance!("hold"),
            leave: over_performance!("leave"),
            pay: over_performance!("pay"),
            release: over_performance!("release"),
            serve: over_performance!("serve"),
            settings: over_performance!("settings"),
            snapshot: over_performance!("snapshot"),
            swap: over_performance!("swap"),
            sweep: over_performance!("sweep"),
            unpay: over_performance!("unpay"),
            unsell: over_performance!("unsell"),
            join: over_queue!("join"),
            lobby: over_queue!("lobby"),
            queue_init: over_queue!("queue_init"),
            queue_settings: over_queue!("queue_settings"),
        }
    }
}
