//! Orders, found and told in full.

use super::frame::{Frame, Tab};
use leptos::prelude::*;

/// A page.
#[component]
pub fn OrdersPage() -> impl IntoView {
    view! { <Frame tab=Tab::Orders>{|| ()}</Frame> }
}

/// A page.
#[component]
pub fn OrderPage() -> impl IntoView {
    view! { <Frame tab=Tab::Orders>{|| ()}</Frame> }
}
