//! Price zones, prices and blocked seats of a performance.

use crate::features::organizer::frame::{Frame, Tab};
use leptos::prelude::*;

/// A page.
#[component]
pub fn PricesPage() -> impl IntoView {
    view! { <Frame tab=Tab::Events>{|| ()}</Frame> }
}
