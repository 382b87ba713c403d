//! Whether the part of a page that started some work is still shown: background work asks after each
//! wait, and ends with its page.

use leptos::prelude::on_cleanup;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// True until the component that made it goes away.
#[derive(Clone, Debug)]
pub(crate) struct Alive(Arc<AtomicBool>);

impl Alive {
    /// Bound to the component that is being built.
    pub(crate) fn until_cleanup() -> Self {
        let flag = Arc::new(AtomicBool::new(true));
        let ended = Arc::clone(&flag);
        on_cleanup(move || ended.store(false, Ordering::Relaxed));
        Self(flag)
    }

    /// Whether the component is still there.
    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
