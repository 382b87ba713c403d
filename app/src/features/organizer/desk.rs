//! The on-sale desk.

use super::frame::{Frame, Tab};
use leptos::prelude::*;

/// A page.
#[component]
pub fn DeskPage() -> impl IntoView {
    view! { <Frame tab=Tab::Events>{|| ()}</Frame> }
}
