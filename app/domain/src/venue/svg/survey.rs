//! One look over the whole document: ids, style sheets, and what is never taken over.
//!
//! Owns the list of what a drawing may hold beyond shapes. Each kind is counted and told once, where
//! it first stands; nothing of it goes any further.

use std::collections::HashMap;

use roxmltree::{Attribute, Document, Node};

use super::tell::{Lines, Place, Tells};
use crate::venue::finding::Code;

const SVG: &str = "http://www.w3.org/2000/svg";
/// Style sheets of a drawing together.
const MAX_CSS_BYTES: usize = 1024 * 1024;

/// The local name of an element of SVG. Files without any namespace are taken as if they had it.
pub(super) fn svg_name<'i>(node: Node<'_, 'i>) -> Option<&'i str> {
    let name = node.tag_name();
    (node.is_element() && name.namespace().is_none_or(|uri| uri == SVG)).then(|| name.name())
}

/// What is only drawn through a reference, or never.
fn undrawn(name: &str) -> bool {
    matches!(
        name,
        "defs"
            | "symbol"
            | "clipPath"
            | "mask"
            | "pattern"
            | "marker"
            | "linearGradient"
            | "radialGradient"
            | "filter"
            | "metadata"
            | "title"
            | "desc"
            | "style"
            | "script"
            | "foreignObject"
    )
}

/// What the document holds.
pub(super) struct Survey<'a, 'i> {
    /// The first element of each id.
    ids: HashMap<&'a str, Node<'a, 'i>>,
    /// All style sheets.
    pub(super) css: String,
}

impl<'a, 'i> Survey<'a, 'i> {
    pub(super) fn of(document: &'a Document<'i>, lines: &Lines<'_>, tells: &mut Tells) -> Self {
        let mut survey = Self { ids: HashMap::new(), css: String::new() };
        // By node, whether it or what holds it is not drawn; a parent always comes before its children.
        let mut hidden: Vec<bool> = Vec::new();
        for node in document.descendants() {
            let index = node.id().get_usize();
            let inherited = node.parent().is_some_and(|parent| hidden.get(parent.id().get_usize()) == Some(&true));
            let name = svg_name(node);
            let foreign = node.is_element() && name.is_none();
            hidden.resize(index + 1, false);
            hidden[index] = inherited || foreign || name.is_some_and(undrawn);
            let place = || Place::Element(path_of(node), lines.at(node.range().start));
            if node.pi().is_some_and(|pi| pi.target == "xml-stylesheet") {
                tells.count(Code::ActiveContent, "style sheet elsewhere: never fetched", "", place);
            }
            if node.is_element() {
                if hidden[index] && node.has_attribute("data-seat") {
                    let what = "seat in a part that is not drawn, such as <defs>: counted only where <use> draws it";
                    tells.count(Code::DefaultUsed, what, node.attribute("data-seat").unwrap_or_default(), place);
                }
                survey.element(node, name, tells, place);
            }
        }
        survey
    }

    fn element(&mut self, node: Node<'a, 'i>, name: Option<&str>, tells: &mut Tells, place: impl Fn() -> Place) {
        if let Some(id) = node.attribute("id") {
            self.ids.entry(id).or_insert(node);
        }
        let what = match name.unwrap_or_default() {
            "script" | "handler" => Some("script: never taken over"),
            "foreignObject" | "iframe" | "object" | "embed" | "audio" | "video" | "canvas" => {
                Some("foreign content: never taken over")
            }
            "image" | "feImage" => Some("picture: never taken over"),
            "animate" | "animateMotion" | "animateTransform" | "animateColor" | "set" | "discard" => {
                Some("animation: never taken over")
            }
            _ => None,
        };
        if let Some(what) = what {
            tells.count(Code::ActiveContent, what, "", &place);
        }
        if name == Some("style") {
            self.style(node, tells, &place);
        }
        for attribute in node.attributes() {
            attribute_told(&attribute, tells, &place);
        }
    }

    fn style(&mut self, node: Node<'a, 'i>, tells: &mut Tells, place: &impl Fn() -> Place) {
        for text in node.children().filter_map(|child| child.text().filter(|_| child.is_text())) {
            if text.to_ascii_lowercase().contains("@import") {
                tells.count(Code::ActiveContent, "style sheet elsewhere: never fetched", "", place);
            }
            if holds_outer_url(text) {
                tells.count(Code::ActiveContent, "url() in a style: never fetched", "", place);
            }
            if self.css.len() + text.len() > MAX_CSS_BYTES {
                tells.count(Code::GeometryLeftOut, "style sheet beyond a mebibyte: colours are lost", "", place);
                continue;
            }
            self.css.push_str(text);
            self.css.push('\n');
        }
    }

    /// The element of that id: the first, as in browsers.
    pub(super) fn by_id(&self, id: &str) -> Option<Node<'a, 'i>> {
        self.ids.get(id).copied()
    }
}

fn attribute_told(attribute: &Attribute<'_, '_>, tells: &mut Tells, place: &impl Fn() -> Place) {
    let (name, value) = (attribute.name(), attribute.value());
    if name.len() > 2 && name.is_char_boundary(2) && name[..2].eq_ignore_ascii_case("on") {
        tells.count(Code::ActiveContent, "event handler: never taken over", name, place);
    } else if matches!(name, "href" | "src") && !value.trim().starts_with('#') && !value.trim().is_empty() {
        tells.count(Code::ActiveContent, "reference to elsewhere: never followed", value, place);
    } else if holds_outer_url(value) {
        tells.count(Code::ActiveContent, "url() in a style: never fetched", value, place);
    }
}

/// Whether the text names something by `url(…)` that is not of this document. References inside it
/// (gradients, clip paths) are harmless.
fn holds_outer_url(text: &str) -> bool {
    const MARK: &[u8] = b"url(";
    text.as_bytes().windows(MARK.len()).enumerate().any(|(at, window)| {
        let target =
            || text[at + MARK.len()..].trim_start_matches(|c: char| c.is_whitespace() || c == '"' || c == '\'');
        window.eq_ignore_ascii_case(MARK) && !target().starts_with('#')
    })
}

/// The element as a path. Slow among many siblings: for what is told once.
fn path_of(node: Node<'_, '_>) -> String {
    let mut parts: Vec<String> = node
        .ancestors()
        .filter(Node::is_element)
        .map(|node| {
            let name = node.tag_name().name();
            let alike = |other: &Node<'_, '_>| other.is_element() && other.tag_name().name() == name;
            let nth = node.prev_siblings().filter(alike).count();
            let nth = if node.parent_element().is_some() { Some(nth) } else { None };
            segment(name, nth, node.attribute("id"))
        })
        .collect();
    parts.reverse();
    parts.join("/")
}

/// One part of a path: name, number among its like from 1, id.
pub(super) fn segment(name: &str, nth: Option<usize>, id: Option<&str>) -> String {
    let nth = nth.map_or_else(String::new, |nth| format!("[{nth}]"));
    let id = id.map_or_else(String::new, |id| format!("#{}", super::label::clean(super::label::short(id))));
    format!("{}{nth}{id}", super::label::short(name))
}
