//! How things look: colours, visibility, size and place of text, from attributes and styles.
//!
//! Owns the few properties that are taken over. Colours are parsed and written anew, so that nothing
//! but a colour can come out; everything else of a style is ignored.

use std::collections::HashMap;
use std::str::FromStr;

use roxmltree::Node;
use svgtypes::{Color, Length, Paint};

use super::shape::{ROOT_FONT_SIZE, pixels};

/// Selectors of a drawing's style sheets that are looked at.
const MAX_SELECTORS: usize = 10_000;
/// What stands in for gradients and patterns.
const PLAIN: [u8; 4] = [0xcc, 0xcc, 0xcc, 0xff];
const BLACK: [u8; 4] = [0, 0, 0, 0xff];
/// Less of a colour than this is not seen.
const LEAST_OPACITY: f64 = 0.02;

/// Where a text stands about its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// What one element says itself.
#[derive(Clone, Copy, Default)]
pub(super) struct Declared<'a> {
    fill: Option<Option<[u8; 4]>>,
    stroke: Option<Option<[u8; 4]>>,
    fill_opacity: Option<f64>,
    stroke_opacity: Option<f64>,
    opacity: Option<f64>,
    font_size: Option<f64>,
    anchor: Option<Anchor>,
    displayed: Option<bool>,
    visible: Option<bool>,
    /// The property, which wins over the attribute.
    pub(super) transform: Option<&'a str>,
    pub(super) origin: Option<&'a str>,
    pub(super) fill_box: bool,
}

impl<'a> Declared<'a> {
    fn take(&mut self, name: &str, value: &'a str) {
        let value = value.trim().trim_end_matches("!important").trim_end();
        match name {
            "fill" => self.fill = paint(value).or(self.fill),
            "stroke" => self.stroke = paint(value).or(self.stroke),
            "fill-opacity" => self.fill_opacity = share(value).or(self.fill_opacity),
            "stroke-opacity" => self.stroke_opacity = share(value).or(self.stroke_opacity),
            "opacity" => self.opacity = share(value).or(self.opacity),
            "font-size" => {
                let size = Length::from_str(value).ok().and_then(|size| pixels(size, ROOT_FONT_SIZE));
                self.font_size = size.filter(|size| *size > 0.0).or(self.font_size);
            }
            "text-anchor" => match value {
                "start" => self.anchor = Some(Anchor::Start),
                "middle" => self.anchor = Some(Anchor::Middle),
                "end" => self.anchor = Some(Anchor::End),
                _ => {}
            },
            "display" => self.displayed = Some(value != "none"),
            "visibility" if value != "inherit" => self.visible = Some(value == "visible"),
            "transform" => self.transform = Some(value),
            "transform-origin" => self.origin = Some(value),
            "transform-box" => self.fill_box = value == "fill-box",
            _ => {}
        }
    }

    fn take_list(&mut self, declarations: &'a str) {
        for declaration in declarations.split(';') {
            if let Some((name, value)) = declaration.split_once(':') {
                self.take(&name.trim().to_ascii_lowercase(), value);
            }
        }
    }

    /// These, where `over` says nothing.
    fn under(self, over: Self) -> Self {
        Self {
            fill: over.fill.or(self.fill),
            stroke: over.stroke.or(self.stroke),
            fill_opacity: over.fill_opacity.or(self.fill_opacity),
            stroke_opacity: over.stroke_opacity.or(self.stroke_opacity),
            opacity: over.opacity.or(self.opacity),
            font_size: over.font_size.or(self.font_size),
            anchor: over.anchor.or(self.anchor),
            displayed: over.displayed.or(self.displayed),
            visible: over.visible.or(self.visible),
            transform: over.transform.or(self.transform),
            origin: over.origin.or(self.origin),
            fill_box: over.fill_box || self.fill_box,
        }
    }
}

/// None where the value says nothing that is understood; none inside where it is no colour at all.
fn paint(value: &str) -> Option<Option<[u8; 4]>> {
    let plain = |color: Color| Some([color.red, color.green, color.blue, color.alpha]);
    if value.eq_ignore_ascii_case("transparent") {
        return Some(None);
    }
    match Paint::from_str(value).ok()? {
        Paint::None => Some(None),
        Paint::Color(color) => Some(plain(color)),
        Paint::FuncIRI(..) => Some(Some(PLAIN)),
        Paint::Inherit | Paint::CurrentColor | Paint::ContextFill | Paint::ContextStroke => None,
    }
}

fn share(value: &str) -> Option<f64> {
    let (number, scale) = value.strip_suffix('%').map_or((value, 1.0), |number| (number, 0.01));
    number.trim().parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| (value * scale).clamp(0.0, 1.0))
}

/// The style sheets of a drawing: rules for one name, class or id alone.
pub(super) struct Sheet<'c>(HashMap<&'c str, Declared<'c>>);

impl<'c> Sheet<'c> {
    pub(super) fn parse(css: &'c str) -> Self {
        let mut rules: HashMap<&'c str, Declared<'c>> = HashMap::new();
        let mut rest = css;
        while let Some((head, tail)) = rest.split_once('{') {
            // What stands before a semicolon is a rule without a block, such as `@charset`.
            let selectors = head.rsplit_once(';').map_or(head, |(_, selectors)| selectors);
            if selectors.trim_start().starts_with('@') {
                rest = after_block(tail);
                continue;
            }
            let (body, after) = tail.split_once('}').unwrap_or((tail, ""));
            let mut declared = Declared::default();
            declared.take_list(body);
            for selector in selectors.split(',').map(|selector| without_comment(selector).trim()) {
                if plain_selector(selector) && (rules.len() < MAX_SELECTORS || rules.contains_key(selector)) {
                    let rule = rules.entry(selector).or_default();
                    *rule = rule.under(declared);
                }
            }
            rest = after;
        }
        Self(rules)
    }

    /// What the element says: by attribute, then by rules, then by its own style.
    pub(super) fn declared<'a>(&self, node: Node<'a, '_>, name: &str) -> Declared<'a>
    where
        'c: 'a,
    {
        let mut declared = Declared::default();
        for attribute in node.attributes().filter(|attribute| attribute.namespace().is_none()) {
            if !matches!(attribute.name(), "transform" | "style") {
                declared.take(attribute.name(), attribute.value());
            }
        }
        if !self.0.is_empty() {
            let mut rule = |selector: &str| {
                if let Some(rule) = self.0.get(selector) {
                    declared = declared.under(*rule);
                }
            };
            rule(name);
            for class in node.attribute("class").unwrap_or_default().split_ascii_whitespace() {
                rule(&format!(".{class}"));
            }
            if let Some(id) = node.attribute("id") {
                rule(&format!("#{id}"));
            }
        }
        let mut own = Declared::default();
        own.take_list(node.attribute("style").unwrap_or_default());
        declared.under(own)
    }
}

fn plain_selector(selector: &str) -> bool {
    let name = selector.strip_prefix(['.', '#']).unwrap_or(selector);
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

fn without_comment(selector: &str) -> &str {
    selector.rsplit_once("*/").map_or(selector, |(_, selector)| selector)
}

/// What follows the block whose begin was just read.
fn after_block(text: &str) -> &str {
    let mut depth = 1_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

/// How an element looks, with what it inherits.
#[derive(Clone, Copy)]
pub(super) struct Look {
    fill: Option<[u8; 4]>,
    stroke: Option<[u8; 4]>,
    fill_opacity: f64,
    stroke_opacity: f64,
    opacity: f64,
    /// Height of text in user units.
    pub(super) font_size: f64,
    pub(super) anchor: Anchor,
    displayed: bool,
    visible: bool,
    /// Whether anything said a fill: the black that is the rule is no choice.
    fill_said: bool,
}

impl Look {
    pub(super) const START: Self = Self {
        fill: Some(BLACK),
        stroke: None,
        fill_opacity: 1.0,
        stroke_opacity: 1.0,
        opacity: 1.0,
        font_size: ROOT_FONT_SIZE,
        anchor: Anchor::Start,
        displayed: true,
        visible: true,
        fill_said: false,
    };

    pub(super) fn with(self, declared: Declared<'_>) -> Self {
        Self {
            fill: declared.fill.unwrap_or(self.fill),
            stroke: declared.stroke.unwrap_or(self.stroke),
            fill_opacity: declared.fill_opacity.unwrap_or(self.fill_opacity),
            stroke_opacity: declared.stroke_opacity.unwrap_or(self.stroke_opacity),
            opacity: self.opacity * declared.opacity.unwrap_or(1.0),
            font_size: declared.font_size.unwrap_or(self.font_size),
            anchor: declared.anchor.unwrap_or(self.anchor),
            displayed: self.displayed && declared.displayed.unwrap_or(true),
            visible: declared.visible.unwrap_or(self.visible),
            fill_said: self.fill_said || declared.fill.is_some(),
        }
    }

    /// Whether `display` and `visibility` let it be seen.
    pub(super) fn shown(self) -> bool {
        self.displayed && self.visible
    }

    /// The fill as `#rrggbb` or `#rrggbbaa`.
    pub(super) fn fill(self) -> Option<String> {
        hex(self.fill?, self.fill_opacity * self.opacity)
    }

    /// The fill that somebody chose.
    pub(super) fn chosen_fill(self) -> Option<String> {
        self.fill().filter(|_| self.fill_said)
    }

    /// The border as `#rrggbb` or `#rrggbbaa`.
    pub(super) fn stroke(self) -> Option<String> {
        hex(self.stroke?, self.stroke_opacity * self.opacity)
    }
}

fn hex([red, green, blue, alpha]: [u8; 4], opacity: f64) -> Option<String> {
    let share = f64::from(alpha) / 255.0 * opacity;
    if share < LEAST_OPACITY {
        return None;
    }
    let alpha = crate::venue::geometry::index_clamped((share * 255.0).round(), 255);
    let tail = if alpha == 255 { String::new() } else { format!("{alpha:02x}") };
    Some(format!("#{red:02x}{green:02x}{blue:02x}{tail}"))
}
