//! One way in for every format of venue file: what was read, what is wrong, what can be drawn.
//!
//! Owns the choice of the format and the report; each format owns its own reading. The types are there
//! for pages as well; reading itself is the server's, behind the feature `import`.

#[cfg(feature = "import")]
mod reading;

#[cfg(feature = "import")]
pub use reading::{detect, read};

use super::finding::Finding;
use super::plan::Plan;
use super::pretix;
use crate::money::Money;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Our columns of a table, in the order in which they are written, as `docs/venues.md` explains them.
pub const COLUMNS: [&str; 13] = [
    "section",
    "row",
    "seat",
    "x",
    "y",
    "category",
    "price",
    "currency",
    "type",
    "capacity",
    "restricted_view",
    "note",
    "id",
];

/// Bytes of one file.
pub const MAX_FILE_BYTES: usize = pretix::MAX_FILE_BYTES;
/// Findings of one report that are told one by one, errors and warnings each: more than anybody reads,
/// and few enough to store and to send.
pub const MAX_FINDINGS: usize = 10_000;

/// A format of venue files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The seating plan of pretix, in JSON.
    Pretix,
    /// A table, a line for each seat, range of seats or standing area.
    Csv,
    /// A drawing with `data-seat` and the like, or with telling ids.
    Svg,
}

/// What people chose about a file; everything that is not chosen is detected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The format; by name and content otherwise.
    pub format: Option<Format>,
    /// Repair what can be repaired without loss, and list it.
    pub tolerant: bool,
    /// Encoding of a table, by its WHATWG label.
    pub encoding: Option<String>,
    /// Separator of a table.
    pub separator: Option<char>,
    /// Columns of a table: our name of the column to its header in the file.
    pub columns: BTreeMap<String, String>,
    /// Pattern of ids of a drawing, with groups named `seat`, `row`, `section`.
    pub id_pattern: Option<String>,
}

/// How a table was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The encoding, by its WHATWG label.
    pub encoding: String,
    /// The separator.
    pub separator: char,
    /// The headers, as in the file.
    pub headers: Vec<String>,
    /// Our name of the column for each header; none for a column that is set aside.
    pub columns: Vec<Option<String>>,
    /// The first lines after the header.
    pub sample: Vec<Vec<String>>,
}

/// What became of a file.
#[derive(Clone, Debug)]
pub struct Report {
    /// The format that was read.
    pub format: Format,
    /// What can be drawn, also when there are errors; none when nothing could be made out.
    pub plan: Option<Plan>,
    /// All that refuses the file, in the order of the file.
    pub errors: Vec<Finding>,
    /// Repairs, defaults and oddities.
    pub warnings: Vec<Finding>,
    /// Errors beyond the number that is told one by one.
    pub errors_left_out: usize,
    /// Warnings beyond it.
    pub warnings_left_out: usize,
    /// How a table was understood.
    pub table: Option<Table>,
    /// Seats that the file says are never sold; the plan has them as seats.
    pub house_blocks: Vec<HouseBlock>,
    /// What the file says that categories cost.
    pub price_hints: Vec<PriceHint>,
}

/// Seats that are never sold, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HouseBlock {
    /// Their numbers in the plan.
    pub seats: Vec<u32>,
    /// What the file says about them; may be empty.
    pub reason: String,
}

/// What a category costs, by the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceHint {
    /// Index into the plan's categories.
    pub category: usize,
    /// The price of one place.
    pub price: Money,
}

/// What a file says about selling its seats: where drafts over its plan begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct House {
    /// Seats that are never sold.
    pub blocks: Vec<HouseBlock>,
    /// What categories cost.
    pub prices: Vec<PriceHint>,
}

impl Report {
    /// What the file says about selling.
    #[must_use]
    pub fn house(&self) -> House {
        House { blocks: self.house_blocks.clone(), prices: self.price_hints.clone() }
    }

    /// A report without anything in it.
    #[must_use]
    pub fn empty(format: Format) -> Self {
        Self {
            format,
            plan: None,
            errors: Vec::new(),
            warnings: Vec::new(),
            errors_left_out: 0,
            warnings_left_out: 0,
            table: None,
            house_blocks: Vec::new(),
            price_hints: Vec::new(),
        }
    }

    #[cfg(feature = "import")]
    fn refusal(format: Format, finding: Finding) -> Self {
        Self { errors: vec![finding], ..Self::empty(format) }
    }

    /// Whether the plan may be stored.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.errors.is_empty() && self.errors_left_out == 0 && self.plan.is_some()
    }
}
