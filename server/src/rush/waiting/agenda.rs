//! What is to be done when: the earliest first, also what was put off.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

/// How soon a line that has nothing to do looks again: what others put off may come back to it.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Items with their moments, for many lines.
pub(super) struct Agenda<T> {
    items: Mutex<BTreeMap<(Instant, u64), T>>,
    /// Tells items of one moment apart.
    next: AtomicU64,
    /// Items that are not done.
    open: AtomicU64,
    closed: AtomicBool,
}

impl<T> Agenda<T> {
    /// An empty agenda, to which items come until it is closed.
    pub(super) fn new() -> Self {
        Self {
            items: Mutex::new(BTreeMap::new()),
            next: AtomicU64::new(0),
            open: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Adds an item.
    pub(super) fn add(&self, due: Instant, item: T) {
        self.open.fetch_add(1, Ordering::AcqRel);
        self.put_off(due, item);
    }

    /// Brings an item back that is not done.
    pub(super) fn put_off(&self, due: Instant, item: T) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.items.lock().unwrap_or_else(PoisonError::into_inner).insert((due, number), item);
    }

    /// Notes that an item is done.
    pub(super) fn done(&self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
    }

    /// Items that are not done.
    pub(super) fn open(&self) -> u64 {
        self.open.load(Ordering::Acquire)
    }

    /// Says that nothing comes any more but what the items bring themselves.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// The next item, at its moment; `None` when all are done.
    pub(super) async fn next(&self) -> Option<(Instant, T)> {
        loop {
            let first = self.items.lock().unwrap_or_else(PoisonError::into_inner).pop_first();
            match first {
                Some(((due, _), item)) => {
                    sleep_until(due).await;
                    return Some((due, item));
                }
                None if self.closed.load(Ordering::Acquire) && self.open() == 0 => return None,
                None => sleep(LOOK_AGAIN).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_earliest_comes_first_and_what_is_put_off_comes_again() {
        let (agenda, start) = (Agenda::new(), Instant::now());
        agenda.add(start + Duration::from_millis(20), "second");
        agenda.add(start, "first");
        agenda.close();
        assert_eq!(agenda.next().await, Some((start, "first")));
        agenda.put_off(start + Duration::from_millis(30), "first");
        assert_eq!(agenda.next().await.map(|(_, item)| item), Some("second"));
        agenda.done();
        assert_eq!(agenda.next().await.map(|(_, item)| item), Some("first"));
        assert!(start.elapsed() >= Duration::from_millis(30), "nothing comes before its moment");
        agenda.done();
        assert_eq!(agenda.next().await, None);
    }
}
