//! Events, performances in the making, and prices.

mod prices;
mod prices_api;

pub use prices::PricesPage;

use super::frame::{Frame, Tab};
use leptos::prelude::*;

/// A page.
#[component]
pub fn EventsPage() -> impl IntoView {
    view! { <Frame tab=Tab::Events>{|| ()}</Frame> }
}

/// A page.
#[component]
pub fn EventPage() -> impl IntoView {
    view! { <Frame tab=Tab::Events>{|| ()}</Frame> }
}

/// A page.
#[component]
pub fn DraftPage() -> impl IntoView {
    view! { <Frame tab=Tab::Events>{|| ()}</Frame> }
}
