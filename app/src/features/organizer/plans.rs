//! Venue plans: upload, check, accept, export.

use super::frame::{Frame, Tab};
use leptos::prelude::*;

/// A page.
#[component]
pub fn PlansPage() -> impl IntoView {
    view! { <Frame tab=Tab::Plans>{|| ()}</Frame> }
}

/// A page.
#[component]
pub fn PlanPage() -> impl IntoView {
    view! { <Frame tab=Tab::Plans>{|| ()}</Frame> }
}

/// A page.
#[component]
pub fn ImportPage() -> impl IntoView {
    view! { <Frame tab=Tab::Plans>{|| ()}</Frame> }
}
