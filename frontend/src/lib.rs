//! The browser's entries: each brings the page that the server rendered to life, and does nothing else.
//!
//! The program is built twice from this crate: with the whole interface, and with the few pages that a
//! crowd asks for at the same moment. What an entry doesn't mount is left out by the linker.

use wasm_bindgen::prelude::wasm_bindgen;

/// Called once by the script that the server puts into every page.
#[cfg(not(feature = "door"))]
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(app::App);
}

/// Called once by the script that the server puts into the pages of the door.
#[cfg(feature = "door")]
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(app::DoorApp);
}
