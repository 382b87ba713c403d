//! A place for what only a browser has, in a page that the server builds as well.
//!
//! A thread-local value of the reactive arena panics when another thread touches or drops it, and the
//! server moves pages between threads. So on the server there is no such value at all: it is made
//! when it is first set, which happens in effects and event handlers only.

use leptos::prelude::*;

/// An empty place, filled in the browser. Cheap to copy: all copies are the same place.
#[derive(Debug)]
pub struct BrowserOnly<T: 'static>(StoredValue<Option<StoredValue<T, LocalStorage>>>);

impl<T> Clone for BrowserOnly<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BrowserOnly<T> {}

impl<T: 'static> BrowserOnly<T> {
    /// An empty place, emptied again with the page.
    pub fn new() -> Self {
        let place = Self(StoredValue::new(None));
        on_cleanup(move || place.clear());
        place
    }

    /// Fills the place; what was in it is dropped.
    pub fn set(self, value: T) {
        self.clear();
        let value = StoredValue::new_local(value);
        if self.0.try_set_value(Some(value)).is_some() {
            // The page is gone already.
            value.dispose();
        }
    }

    /// Reads what is there; `None` on the server and after the page.
    pub fn with<U>(self, read: impl FnOnce(&T) -> U) -> Option<U> {
        self.0.try_get_value().flatten()?.try_with_value(read)
    }

    /// Empties the place; what was in it is dropped.
    pub fn clear(self) {
        if let Some(value) = self.0.try_update_value(Option::take).flatten() {
            value.dispose();
        }
    }
}

impl<T: 'static> Default for BrowserOnly<T> {
    fn default() -> Self {
        Self::new()
    }
}
