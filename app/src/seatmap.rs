//! The canvas that shows a house: what the buyers' map, the plan preview, the price editor and the
//! on-sale desk have in common.

pub mod board;
pub mod browser_only;
pub mod canvas;
pub mod chart;
pub mod gesture;
pub mod house;
pub mod legend;
pub mod paths;
pub mod render;
pub mod scene;
pub mod socket;
pub mod stamps;
pub mod theme;
pub mod words;
pub mod zones;

use domain::catalog::PriceZone;
use domain::{PerformanceId, SeatNo};
use leptos::prelude::*;
use std::collections::BTreeSet;

/// How a mark on the drawing is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// An error.
    Bad,
    /// A warning or a repair.
    Care,
    /// Something to point at.
    Note,
}

/// A ring about a seat, seen at every distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatMark {
    /// The seat.
    pub seat: SeatNo,
    /// What it means.
    pub tone: Tone,
}

/// How seats are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// As buyers see them: by price, dearest first; grey without a price.
    #[default]
    ByPrice,
    /// Each zone in a colour of its own, priced or not.
    ByZone,
}

/// A house on the buyers' canvas, for organizers.
#[component]
pub fn PlanCanvas(
    /// Name of the published map: `/maps/<digest>.bin` and `.json`.
    #[prop(into)]
    digest: Signal<String>,
    /// The price zones by index.
    #[prop(into)]
    zones: Signal<Vec<PriceZone>>,
    /// How seats are coloured.
    #[prop(optional)]
    paint: Paint,
    /// Seats whose zone is another than in the map, with that zone.
    #[prop(optional, into)]
    moved: Signal<Vec<(SeatNo, u8)>>,
    /// Seats drawn as off sale.
    #[prop(optional, into)]
    blocked: Signal<Vec<SeatNo>>,
    /// Rings about seats.
    #[prop(optional, into)]
    marks: Signal<Vec<SeatMark>>,
    /// The live states of this performance; every seat is shown as free otherwise.
    #[prop(optional)]
    live: Option<PerformanceId>,
    /// Turns selecting on: seats by tap or key, rectangles by drag, rows and sections.
    #[prop(optional)]
    selection: Option<RwSignal<BTreeSet<SeatNo>>>,
    /// Set it, and the map goes there.
    #[prop(optional)]
    focus: Option<RwSignal<Option<SeatNo>>>,
) -> impl IntoView {
    let _ = (digest, zones, paint, moved, blocked, marks, live, selection, focus);
    view! { <div class="plan-canvas"></div> }
}
