//! The venue: plans of seats, their exchange formats, the published map and the geometry to draw it.
//!
//! Owns the layout of a house (what exists and where), reading and writing it, and everything a
//! client needs to show and hit-test it. It does not own what may be sold: prices, availability
//! and holds belong to a performance, which refers to seats by their dense number alone.
//!
//! **Invariant: everything here is a function of values.** No file, clock, random number or
//! browser object is touched, so the same code runs in the server, in the browser and in tests.

pub mod adjacency;
pub mod alone;
pub mod best;
pub mod camera;
#[cfg(feature = "import")]
pub mod csv;
pub mod finding;
pub mod generate;
pub mod geometry;
mod guid;
pub mod import;
pub mod plan;
pub mod pretix;
pub mod spatial;
pub mod static_map;
#[cfg(feature = "import")]
pub mod svg;

pub use geometry::{Point, Rect, Size};
pub use plan::{Plan, SeatLabel};

use std::fmt::Write as _;

/// Tells a plan in a few lines; the first is exactly `<n> seats, <n> rows, <n> sections`.
#[must_use]
pub fn summary(plan: &Plan) -> String {
    let mut counts = vec![0_usize; plan.categories.len()];
    let mut special = [0_usize; 4];
    for seat in &plan.seats {
        if let Some(count) = counts.get_mut(usize::from(seat.category)) {
            *count += 1;
        }
        match seat.kind {
            plan::Kind::Seat => {}
            plan::Kind::Wheelchair => special[0] += 1,
            plan::Kind::Companion => special[1] += 1,
            plan::Kind::Standing => special[3] += 1,
        }
        special[2] += usize::from(seat.restricted_view);
    }
    let mut text = format!("{} seats, {} rows, {} sections\n", plan.seats.len(), plan.rows.len(), plan.sections.len());
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{} categories, {} areas, {} x {} units",
        plan.categories.len(),
        plan.areas.len(),
        plan.size.width,
        plan.size.height
    );
    let _ = writeln!(
        text,
        "{} wheelchair places, {} companion seats, {} with restricted view",
        special[0], special[1], special[2]
    );
    if special[3] > 0 {
        let _ = writeln!(text, "{} standing places", special[3]);
    }
    for (category, count) in plan.categories.iter().zip(counts) {
        let _ = writeln!(text, "category {}: {count} seats", category.name);
    }
    text
}
