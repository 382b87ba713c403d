//! The published map: what a browser needs to draw a plan and name its seats, as two static files.
//!
//! Owns the two formats. `bin` holds what there is one of for each seat, in columns, so that it is small and
//! needs no parsing; `json` holds the rest. Both depend on the plan alone, so that their digest can
//! be their name. Identities (guids) and what is sold are not in them.
//!
//! `bin`, little-endian: a header of 64 bytes (`SAMP`, version `u16`, 2 zero bytes, counts of
//! seats, rows, row runs and radius runs as `u32`, origin x, origin y and units per step as `f64`,
//! 16 zero bytes); the columns x and y (`u16` steps, each the difference to the seat before,
//! wrapping), category (`u8`) and flags (`u8`); the runs of row (`u32` row, `u32` count) and of
//! radius (`f32` radius, `u32` count). Differences and runs compress several times better than places.

mod decode;
mod encode;
mod format;
mod outline;
mod zones;

pub use decode::{DecodeError, MapData, SeatInfo, decode};
pub use encode::encode;
pub use format::{Flags, MapArea, MapCategory, MapRow, MapSection, MapShape, MapText, SeatLabels};
pub use zones::{ZoneColor, with_zones};

/// The version of both files that this code writes and reads.
pub const VERSION: u16 = 1;

/// The two files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticMap {
    /// The columns.
    pub bin: Vec<u8>,
    /// Names, sections, rows, areas.
    pub json: String,
}
