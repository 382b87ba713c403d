//! The canvas that shows a house: what the buyers' map, the plan preview, the price editor and the
//! on-sale desk have in common.
//!
//! Owns drawing, hit testing, gestures, loading the published map and following the live one, and
//! [`PlanCanvas`], the organizers' map. What a tapped seat means is the page's ([`scene::Host`]).

pub mod board;
pub mod browser_only;
pub mod canvas;
pub mod chart;
pub mod gesture;
pub mod house;
pub mod legend;
pub mod paths;
pub mod picking;
mod plan;
pub mod reconnect;
pub mod render;
pub mod scene;
pub mod socket;
pub mod stamps;
pub mod theme;
pub mod words;
pub mod zones;

pub use plan::PlanCanvas;

use domain::SeatNo;

/// How a mark on the drawing is meant, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
