//! Reading one property: presence, type, range.
//!
//! Owns what every object of the format has in common; knows no object in particular.

use super::super::Mode;
use super::super::node::{At, Node};
use super::Walk;
use crate::venue::finding::Code;
use crate::venue::geometry::Point;
use crate::venue::plan::{Kept, MAX_COORDINATE, MAX_TEXT_BYTES, stepped};

/// The properties of an object.
#[derive(Clone, Copy)]
pub(super) struct Fields<'n>(&'n [(String, Node)]);

impl<'n> Fields<'n> {
    fn find(self, key: &str) -> Option<&'n Node> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    pub(super) fn has(self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Present and not `null`.
    pub(super) fn has_value(self, key: &str) -> bool {
        self.find(key).is_some_and(|node| *node != Node::Null)
    }
}

impl Walk<'_> {
    pub(super) fn add(&mut self, code: Code, at: &At<'_>, message: String) {
        self.findings.add(code, at.to_string(), message);
    }

    pub(super) fn keep(&mut self, at: &At<'_>, node: &Node) {
        self.kept.push(Kept { path: at.to_string(), json: node.to_json() });
    }

    fn wrong_type(&mut self, at: &At<'_>, wanted: &str, node: &Node) {
        self.add(Code::WrongType, at, format!("{wanted} is wanted, this is {}", node.kind()));
    }

    /// A required property is missing that tolerance has a default for.
    pub(super) fn defaulted(&mut self, key: &'static str, at: &At<'_>, default: &str) {
        let at = at.key(key);
        match self.mode {
            Mode::Strict => {
                self.add(Code::MissingProperty, &at, "this property is required".into());
            }
            Mode::Tolerant => {
                self.add(Code::DefaultUsed, &at, format!("missing; {default} is used"));
            }
        }
    }

    /// The object's properties; foreign and repeated ones are told.
    pub(super) fn object<'n>(&mut self, node: &'n Node, at: &At<'_>, known: &[&str]) -> Option<Fields<'n>> {
        let Node::Object(entries) = node else {
            self.wrong_type(at, "an object", node);
            return None;
        };
        // A known property is met at most once, so the search back is short unless all are foreign.
        let mut seen: std::collections::HashSet<&str> = std::collections::HashSet::new();
        for (key, value) in entries {
            let at = at.key(key);
            if !seen.insert(key) {
                self.add(Code::RepeatedKey, &at, "this property stands here twice".into());
            } else if !known.contains(&key.as_str()) {
                self.add(Code::UnknownProperty, &at, "the format has no such property".into());
                if self.mode == Mode::Tolerant {
                    self.keep(&at, value);
                }
            }
        }
        Some(Fields(entries))
    }

    /// A property whose `null` the schema does not know: told, then as if absent.
    pub(super) fn get<'n>(&mut self, fields: Fields<'n>, key: &'static str, at: &At<'_>) -> Option<&'n Node> {
        let node = fields.find(key)?;
        if *node == Node::Null {
            self.add(Code::NullValue, &at.key(key), "null stands for no value here".into());
            return None;
        }
        Some(node)
    }

    fn as_text(&mut self, node: &Node, at: &At<'_>) -> Option<String> {
        let text = match node {
            Node::Text(text) => text.clone(),
            Node::Number(value) => {
                self.add(Code::NumberAsText, at, format!("the number {value} stands for a string"));
                value.to_string()
            }
            _ => {
                self.wrong_type(at, "a string", node);
                return None;
            }
        };
        if text.len() > MAX_TEXT_BYTES {
            self.add(Code::TextTooLong, at, format!("{} bytes, the limit is {MAX_TEXT_BYTES}", text.len()));
            return None;
        }
        Some(text)
    }

    /// A string; its absence is for the caller to judge.
    pub(super) fn text(&mut self, fields: Fields<'_>, key: &'static str, at: &At<'_>) -> Option<String> {
        let node = self.get(fields, key, at)?;
        self.as_text(node, &at.key(key))
    }

    /// A required string with a default; `None` only when it could not be read.
    pub(super) fn text_or(
        &mut self,
        fields: Fields<'_>,
        key: &'static str,
        at: &At<'_>,
        default: impl FnOnce() -> String,
    ) -> Option<String> {
        match self.get(fields, key, at) {
            Some(node) => self.as_text(node, &at.key(key)),
            None => {
                let default = default();
                self.defaulted(key, at, &format!("{default:?}"));
                Some(default)
            }
        }
    }

    /// A string that may be absent.
    pub(super) fn optional_text(&mut self, fields: Fields<'_>, key: &'static str, at: &At<'_>) -> Option<String> {
        self.text(fields, key, at)
    }

    /// A string that may be absent or `null`.
    pub(super) fn nullable_text(&mut self, fields: Fields<'_>, key: &'static str, at: &At<'_>) -> Option<String> {
        if fields.has_value(key) { self.text(fields, key, at) } else { None }
    }

    /// A number within the range of a coordinate, that may be absent.
    pub(super) fn number(&mut self, fields: Fields<'_>, key: &'static str, at: &At<'_>) -> Option<f64> {
        let node = self.get(fields, key, at)?;
        let at = at.key(key);
        let Node::Number(value) = node else {
            self.wrong_type(&at, "a number", node);
            return None;
        };
        // A number that no float can hold counts as out of range.
        let value = value.as_f64().unwrap_or(f64::INFINITY);
        if !value.is_finite() || value.abs() > MAX_COORDINATE {
            self.add(Code::NumberOutOfRange, &at, format!("{value} is beyond {MAX_COORDINATE}"));
            return None;
        }
        Some(stepped(value))
    }

    /// A required number without a default.
    pub(super) fn required_number(&mut self, fields: Fields<'_>, key: &'static str, at: &At<'_>) -> Option<f64> {
        if !fields.has_value(key) {
            self.add(Code::MissingProperty, &at.key(key), "this number is required".into());
            return None;
        }
        self.number(fields, key, at)
    }

    /// A required position.
    pub(super) fn point(&mut self, fields: Fields<'_>, key: &'static str, at: &At<'_>) -> Option<Point> {
        if !fields.has_value(key) {
            self.add(Code::MissingProperty, &at.key(key), "this position is required".into());
            return None;
        }
        self.optional_point(fields, key, at)
    }

    /// A position that may be absent.
    pub(super) fn optional_point(&mut self, fields: Fields<'_>, key: &'static str, at: &At<'_>) -> Option<Point> {
        let node = self.get(fields, key, at)?;
        self.as_point(node, &at.key(key))
    }

    pub(super) fn as_point(&mut self, node: &Node, at: &At<'_>) -> Option<Point> {
        let fields = self.object(node, at, &["x", "y"])?;
        let x = self.required_number(fields, "x", at);
        let y = self.required_number(fields, "y", at);
        Some(Point::new(x?, y?))
    }

    /// A list that may be absent.
    pub(super) fn optional_list<'n>(
        &mut self,
        fields: Fields<'n>,
        key: &'static str,
        at: &At<'_>,
    ) -> Option<&'n [Node]> {
        match self.get(fields, key, at)? {
            Node::List(items) => Some(items),
            node => {
                self.wrong_type(&at.key(key), "an array", node);
                None
            }
        }
    }

    /// A required list without a default.
    pub(super) fn list<'n>(&mut self, fields: Fields<'n>, key: &'static str, at: &At<'_>) -> Option<&'n [Node]> {
        if !fields.has_value(key) {
            self.add(Code::MissingProperty, &at.key(key), "this list is required".into());
            return None;
        }
        self.optional_list(fields, key, at)
    }

    /// A required list that tolerance takes as empty when it is missing.
    pub(super) fn list_or_empty<'n>(
        &mut self,
        fields: Fields<'n>,
        key: &'static str,
        at: &At<'_>,
    ) -> Option<&'n [Node]> {
        if !fields.has_value(key) {
            self.defaulted(key, at, "an empty list");
            return None;
        }
        self.optional_list(fields, key, at)
    }
}
