//! What an import has to say, with a stable code and the exact path.
//!
//! Owns the table that decides, per mode, what refuses a file and what is only told.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::pretix::{MAX_FINDINGS, Mode};

/// The kind of a finding; its text form is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The text is no JSON; the path gives line and column.
    JsonSyntax,
    /// More bytes than an import takes.
    FileTooLarge,
    /// More seats, rows, sections, … than a plan may hold.
    LimitExceeded,
    /// A text longer than a label may be.
    TextTooLong,
    /// The same key twice in one object: which one is meant?
    RepeatedKey,
    /// A value of another JSON type than the schema says.
    WrongType,
    /// A number where the schema wants a string.
    NumberAsText,
    /// A `null` where the schema has none.
    NullValue,
    /// A property that the schema does not know.
    UnknownProperty,
    /// A property that nothing can stand in for.
    MissingProperty,
    /// A missing property that a default stood in for.
    DefaultUsed,
    /// A number that is out of range.
    NumberOutOfRange,
    /// A size that is not a whole number.
    SizeNotInteger,
    /// A size that is zero or negative.
    SizeNotPositive,
    /// A radius that is zero or negative.
    RadiusNotPositive,
    /// A value outside the list of allowed ones.
    UnknownValue,
    /// A start direction that has no meaning here.
    StartDirectionUnknown,
    /// A shape without the object of its name.
    ShapeObjectMissing,
    /// An object of another shape than the one named.
    ShapeObjectUnused,
    /// An area without anything to draw.
    AreaWithoutShape,
    /// A seat without a guid.
    GuidEmpty,
    /// A guid that the schema's pattern refuses.
    GuidMalformed,
    /// A guid that several seats share.
    GuidRepeated,
    /// A UUID that several objects share.
    UuidRepeated,
    /// A seat of a category that the file does not declare.
    CategoryUndeclared,
    /// Two categories of one name.
    CategoryRepeated,
    /// A category without a seat.
    CategoryUnused,
    /// Two seats drawn over each other.
    SeatsOverlap,
    /// A seat outside the sheet.
    SeatOutsideSize,
    /// The search for overlaps was given up.
    OverlapCheckIncomplete,
    /// A file of a kind that can't be read.
    FormatUnknown,
    /// A choice that was made about the file can't be followed.
    OptionUnusable,
    /// Bytes that are no text in the encoding.
    EncodingBroken,
    /// The encoding was told from the frequency of letters.
    EncodingGuessed,
    /// A quoted cell without its end.
    QuoteUnclosed,
    /// Text between the end of a quoted cell and the next separator.
    QuoteMisplaced,
    /// A file without a single place.
    NothingThere,
    /// A column that nothing can stand in for.
    ColumnMissing,
    /// Two columns of one meaning.
    ColumnRepeated,
    /// A column that plans have no use for.
    ColumnSetAside,
    /// A line with fewer cells than the header.
    CellsMissing,
    /// A line with more cells than the header.
    CellsExtra,
    /// A character that steers a device or turns the direction of writing.
    ControlCharacter,
    /// Line breaks in a label, which became spaces.
    TextCleaned,
    /// A cell that is not the number that it should be.
    NumberMalformed,
    /// Two places of one section, row and number.
    SeatRepeated,
    /// Two places of one section, row and number, that their ids tell apart.
    LabelRepeated,
    /// Some lines have coordinates, others have none.
    CoordinatesPartial,
    /// Several seats for one pair of coordinates.
    RangeAtOnePlace,
    /// A capacity where a seat is told, or the other way round.
    CapacityMisplaced,
    /// Different prices in one category, which became several categories.
    PriceMixed,
    /// A price without a currency.
    PriceSetAside,
    /// Places without coordinates, which were laid out by section.
    LayoutGenerated,
    /// Something that an exchange format has no place for.
    NotCarried,
    /// The text is no XML, or no drawing.
    XmlSyntax,
    /// A document type with declarations of its own, or entities: never read.
    XmlDoctype,
    /// Nothing in the drawing says that it is a seat.
    NoSeats,
    /// A pattern of ids that can't be read.
    PatternInvalid,
    /// A shape or transform that gives no place to a seat.
    GeometryInvalid,
    /// A part of the background that can't be drawn.
    GeometryLeftOut,
    /// A seat that the drawing hides.
    SeatHidden,
    /// A seat inside another one.
    SeatNested,
    /// A seat marked as blocked, which only a performance can do.
    SeatBlocked,
    /// Several seats of one section, row and number.
    PlaceRepeated,
    /// Scripts, references to elsewhere and the like: never taken over.
    ActiveContent,
    /// A reference inside the drawing that leads nowhere or in a circle.
    ReferenceBroken,
    /// Ids that the given pattern does not match.
    IdUnmatched,
}

impl Code {
    /// The stable text form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonSyntax => "json-syntax",
            Self::FileTooLarge => "file-too-large",
            Self::LimitExceeded => "limit-exceeded",
            Self::TextTooLong => "text-too-long",
            Self::RepeatedKey => "repeated-key",
            Self::WrongType => "wrong-type",
            Self::NumberAsText => "number-as-text",
            Self::NullValue => "null-value",
            Self::UnknownProperty => "unknown-property",
            Self::MissingProperty => "missing-property",
            Self::DefaultUsed => "default-used",
            Self::NumberOutOfRange => "number-out-of-range",
            Self::SizeNotInteger => "size-not-integer",
            Self::SizeNotPositive => "size-not-positive",
            Self::RadiusNotPositive => "radius-not-positive",
            Self::UnknownValue => "unknown-value",
            Self::StartDirectionUnknown => "start-direction-unknown",
            Self::ShapeObjectMissing => "shape-object-missing",
            Self::ShapeObjectUnused => "shape-object-unused",
            Self::AreaWithoutShape => "area-without-shape",
            Self::GuidEmpty => "guid-empty",
            Self::GuidMalformed => "guid-malformed",
            Self::GuidRepeated => "guid-repeated",
            Self::UuidRepeated => "uuid-repeated",
            Self::CategoryUndeclared => "category-undeclared",
            Self::CategoryRepeated => "category-repeated",
            Self::CategoryUnused => "category-unused",
            Self::SeatsOverlap => "seats-overlap",
            Self::SeatOutsideSize => "seat-outside-size",
            Self::OverlapCheckIncomplete => "overlap-check-incomplete",
            Self::FormatUnknown => "format-unknown",
            Self::OptionUnusable => "option-unusable",
            Self::EncodingBroken => "encoding-broken",
            Self::EncodingGuessed => "encoding-guessed",
            Self::QuoteUnclosed => "quote-unclosed",
            Self::QuoteMisplaced => "quote-misplaced",
            Self::NothingThere => "nothing-there",
            Self::ColumnMissing => "column-missing",
            Self::ColumnRepeated => "column-repeated",
            Self::ColumnSetAside => "column-set-aside",
            Self::CellsMissing => "cells-missing",
            Self::CellsExtra => "cells-extra",
            Self::ControlCharacter => "control-character",
            Self::TextCleaned => "text-cleaned",
            Self::NumberMalformed => "number-malformed",
            Self::SeatRepeated => "seat-repeated",
            Self::LabelRepeated => "label-repeated",
            Self::CoordinatesPartial => "coordinates-partial",
            Self::RangeAtOnePlace => "range-at-one-place",
            Self::CapacityMisplaced => "capacity-misplaced",
            Self::PriceMixed => "price-mixed",
            Self::PriceSetAside => "price-set-aside",
            Self::LayoutGenerated => "layout-generated",
            Self::NotCarried => "not-carried",
            Self::XmlSyntax => "xml-syntax",
            Self::XmlDoctype => "xml-doctype",
            Self::NoSeats => "no-seats",
            Self::PatternInvalid => "pattern-invalid",
            Self::GeometryInvalid => "geometry-invalid",
            Self::GeometryLeftOut => "geometry-left-out",
            Self::SeatHidden => "seat-hidden",
            Self::SeatNested => "seat-nested",
            Self::SeatBlocked => "seat-blocked",
            Self::PlaceRepeated => "place-repeated",
            Self::ActiveContent => "active-content",
            Self::ReferenceBroken => "reference-broken",
            Self::IdUnmatched => "id-unmatched",
        }
    }

    /// Whether the file is refused for it.
    #[must_use]
    pub const fn refuses(self, mode: Mode) -> bool {
        match self {
            // Taking these would mean to guess or to lose something.
            Self::JsonSyntax
            | Self::FileTooLarge
            | Self::LimitExceeded
            | Self::TextTooLong
            | Self::RepeatedKey
            | Self::WrongType
            | Self::MissingProperty
            | Self::NumberOutOfRange
            | Self::FormatUnknown
            | Self::OptionUnusable
            | Self::EncodingBroken
            | Self::QuoteUnclosed
            | Self::QuoteMisplaced
            | Self::NothingThere
            | Self::ColumnMissing
            | Self::ColumnRepeated
            | Self::CellsExtra
            | Self::NumberMalformed
            | Self::SeatRepeated
            | Self::CoordinatesPartial
            | Self::RangeAtOnePlace
            | Self::CapacityMisplaced
            | Self::XmlSyntax
            | Self::XmlDoctype
            | Self::NoSeats
            | Self::PatternInvalid
            | Self::GeometryInvalid => true,
            // The schema, or uniqueness: repaired where that is allowed.
            Self::NumberAsText
            | Self::NullValue
            | Self::UnknownProperty
            | Self::SizeNotInteger
            | Self::UnknownValue
            | Self::ShapeObjectMissing
            | Self::GuidEmpty
            | Self::GuidMalformed
            | Self::GuidRepeated
            | Self::CategoryUndeclared
            | Self::CategoryRepeated
            | Self::CellsMissing
            | Self::ControlCharacter
            | Self::SeatHidden
            | Self::SeatNested
            | Self::PlaceRepeated => matches!(mode, Mode::Strict),
            // The schema allows these.
            Self::DefaultUsed
            | Self::SizeNotPositive
            | Self::RadiusNotPositive
            | Self::StartDirectionUnknown
            | Self::ShapeObjectUnused
            | Self::AreaWithoutShape
            | Self::UuidRepeated
            | Self::CategoryUnused
            | Self::SeatsOverlap
            | Self::SeatOutsideSize
            | Self::OverlapCheckIncomplete
            | Self::EncodingGuessed
            | Self::ColumnSetAside
            | Self::TextCleaned
            | Self::LabelRepeated
            | Self::PriceMixed
            | Self::PriceSetAside
            | Self::LayoutGenerated
            | Self::NotCarried
            | Self::GeometryLeftOut
            | Self::SeatBlocked
            | Self::ActiveContent
            | Self::ReferenceBroken
            | Self::IdUnmatched => false,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that an import has to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Where, such as `zones[0].rows[3].seats[7].seat_guid`; empty for the whole file.
    pub path: String,
    /// The line of the file, from 1, where the format has lines that people know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What kind.
    pub code: Code,
    /// The particulars, in words.
    pub message: String,
    /// The seats concerned, by number in the plan that is drawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<u32>,
}

impl Finding {
    /// A finding at a path, without a line and without seats.
    #[must_use]
    pub fn new(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, code, message: message.into(), seats: Vec::new() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "plan" } else { &self.path };
        match self.line {
            Some(line) => write!(f, "line {line}, {place}: {} [{}]", self.message, self.code),
            None => write!(f, "{place}: {} [{}]", self.message, self.code),
        }
    }
}

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ImportErrors {
    /// All that refuses it.
    pub errors: Vec<Finding>,
    /// What would only have been told.
    pub warnings: Vec<Finding>,
    /// Errors beyond [`MAX_FINDINGS`].
    pub errors_left_out: usize,
    /// Warnings beyond it.
    pub warnings_left_out: usize,
}

impl fmt::Display for ImportErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.errors.len() + self.errors_left_out;
        write!(f, "the plan was refused: {count} problem{}", if count == 1 { "" } else { "s" })?;
        for error in &self.errors {
            write!(f, "\n{error}")?;
        }
        if self.errors_left_out > 0 {
            write!(f, "\nand {} more", self.errors_left_out)?;
        }
        Ok(())
    }
}

/// Findings while they gather.
pub(in crate::venue) struct Findings {
    mode: Mode,
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
    errors_left_out: usize,
    warnings_left_out: usize,
}

impl Findings {
    pub(in crate::venue) fn new(mode: Mode) -> Self {
        Self { mode, errors: Vec::new(), warnings: Vec::new(), errors_left_out: 0, warnings_left_out: 0 }
    }

    pub(in crate::venue) fn add(&mut self, code: Code, path: String, message: String) {
        self.tell(Finding::new(code, path, message));
    }

    pub(in crate::venue) fn tell(&mut self, finding: Finding) {
        let (list, left_out) = if finding.code.refuses(self.mode) {
            (&mut self.errors, &mut self.errors_left_out)
        } else {
            (&mut self.warnings, &mut self.warnings_left_out)
        };
        if list.len() < MAX_FINDINGS {
            list.push(finding);
        } else {
            *left_out += 1;
        }
    }

    pub(in crate::venue) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    pub(in crate::venue) fn into_errors(self) -> ImportErrors {
        ImportErrors {
            errors: self.errors,
            warnings: self.warnings,
            errors_left_out: self.errors_left_out,
            warnings_left_out: self.warnings_left_out,
        }
    }

    pub(in crate::venue) fn into_warnings(self) -> (Vec<Finding>, usize) {
        (self.warnings, self.warnings_left_out)
    }
}
