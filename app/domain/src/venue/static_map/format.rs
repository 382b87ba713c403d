//! The structs of the JSON file, and the layout of the binary one.
//!
//! Owns names and types on the wire; what fits together is checked by the reader.

use serde::{Deserialize, Serialize};

pub(super) const MAGIC: [u8; 4] = *b"SAMP";
pub(super) const HEADER_BYTES: usize = 64;
/// x, y, category, flags.
pub(super) const SEAT_BYTES: usize = 2 + 2 + 1 + 1;
/// A value of 4 bytes and a count of 4 bytes.
pub(super) const RUN_BYTES: usize = 8;
/// Steps along the longer side of the view box.
pub(super) const STEPS: f64 = 65_535.0;

/// What is special about a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub(super) u8);

impl Flags {
    pub(super) const WHEELCHAIR: u8 = 1;
    pub(super) const COMPANION: u8 = 2;
    pub(super) const RESTRICTED_VIEW: u8 = 4;
    pub(super) const STANDING: u8 = 8;
    pub(super) const GONE: u8 = 16;
    pub(super) const KNOWN: u8 =
        Self::WHEELCHAIR | Self::COMPANION | Self::RESTRICTED_VIEW | Self::STANDING | Self::GONE;

    /// A place for a wheelchair.
    #[must_use]
    pub const fn wheelchair(self) -> bool {
        self.0 & Self::WHEELCHAIR != 0
    }

    /// A seat for who comes with a wheelchair.
    #[must_use]
    pub const fn companion(self) -> bool {
        self.0 & Self::COMPANION != 0
    }

    /// A place to stand in an area.
    #[must_use]
    pub const fn standing(self) -> bool {
        self.0 & Self::STANDING != 0
    }

    /// Taken away by a newer version of the plan: the number is kept, there is nothing to draw or to sell.
    #[must_use]
    pub const fn gone(self) -> bool {
        self.0 & Self::GONE != 0
    }

    /// Something stands between seat and stage.
    #[must_use]
    pub const fn restricted_view(self) -> bool {
        self.0 & Self::RESTRICTED_VIEW != 0
    }
}

/// The JSON file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Meta {
    pub(super) version: u16,
    pub(super) name: String,
    pub(super) seat_count: u32,
    /// Left, top, width, height.
    pub(super) view_box: [f64; 4],
    pub(super) focal: [f64; 2],
    pub(super) categories: Vec<MapCategory>,
    pub(super) sections: Vec<MapSection>,
    pub(super) rows: Vec<MapRow>,
    pub(super) areas: Vec<MapArea>,
}

/// A price level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapCategory {
    /// Its name.
    pub name: String,
    /// A CSS colour that is safe to use as one.
    pub color: String,
}

/// A section, to be drawn as a whole from far out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapSection {
    /// Its name.
    pub name: String,
    /// Number of seats.
    pub seats: u32,
    /// Where its name stands, `[x, y]`.
    pub anchor: [f64; 2],
    /// Closed rings `[x, y, x, y, …]`, filled by the even-odd rule: blocks and their holes.
    pub outline: Vec<Vec<f64>>,
}

/// A row object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapRow {
    /// Index of the section.
    pub section: u16,
    /// Its number or letter.
    pub label: String,
    /// The lowest `seat_no` in it; the others need not follow without a gap.
    pub first: u32,
    /// Number of seats.
    pub count: u32,
    /// Labels in the order of `seat_no`, those of places that are gone among them.
    pub seats: SeatLabels,
}

/// The labels of a row's seats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SeatLabels {
    /// Whole numbers at equal distance.
    Run {
        /// The first.
        start: i64,
        /// From each to the next.
        step: i64,
    },
    /// Anything else.
    List(Vec<String>),
}

/// The outline of an area, absolute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "lowercase")]
pub enum MapShape {
    /// A ring `[x, y, x, y, …]`, already turned.
    Polygon {
        /// The corners.
        points: Vec<f64>,
    },
    /// An ellipse or circle.
    Ellipse {
        /// The centre.
        center: [f64; 2],
        /// The radii before turning.
        radii: [f64; 2],
        /// Degrees clockwise about the centre.
        rotation: f64,
    },
    /// Words alone.
    Text,
}

/// Something to see that is not sold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapArea {
    /// The outline.
    #[serde(flatten)]
    pub shape: MapShape,
    /// Fill, a safe CSS colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Border, a safe CSS colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub border_color: Option<String>,
    /// Words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<MapText>,
}

/// Words in an area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapText {
    /// The words.
    pub text: String,
    /// Their centre, absolute.
    pub center: [f64; 2],
    /// Degrees clockwise about the centre.
    pub rotation: f64,
    /// Height in plan units.
    pub size: f64,
    /// A safe CSS colour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
}
