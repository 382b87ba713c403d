//! The browser's entry: brings the page that the server rendered to life, and nothing else.

use app::App;
use wasm_bindgen::prelude::wasm_bindgen;

/// Called once by the script that the server puts into every page.
#[wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(App);
}
