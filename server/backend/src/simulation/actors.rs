//! The actors: each mirrors the order in which the real code calls the stores, and nothing else.

pub(crate) mod fan;
pub(crate) mod guardian;
pub(crate) mod house;
pub(crate) mod jobs;
pub(crate) mod late;
pub(crate) mod money;
pub(crate) mod reconciler;
pub(crate) mod writer;
