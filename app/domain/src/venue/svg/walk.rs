//! The way through the drawing: what each element is, where it stands and what it inherits.
//!
//! Owns nesting, references and their bounds. The way is a list of open elements, not a recursion,
//! and what references draw is counted, elements and bytes, so that references which multiply
//! come to an end.

use std::collections::HashMap;

use kurbo::{Affine, Rect};
use roxmltree::{Node, NodeId};

use super::backdrop::{Backdrop, rings};
use super::paint::{Look, Sheet};
use super::pattern::Pattern;
use super::shape::{self, Figure};
use super::state::{Data, State, entered, viewport};
use super::survey::{Survey, segment, svg_name};
use super::tell::{Lines, Place, Tells};
use super::words;
use crate::venue::finding::Code;
use crate::venue::plan::MAX_SEATS;

/// References within references.
const MAX_REFERENCES: usize = 16;
/// Elements that references draw: a hundred thousand chairs of five parts each.
const MAX_REFERENCED: usize = 500_000;
/// Bytes of the elements that references draw: as many chairs of some hundred bytes.
const MAX_REFERENCED_BYTES: usize = 32 * 1_024 * 1_024;
/// Standing areas: a plan's areas are for the background too.
pub(super) const MAX_STANDING: usize = 5_000;
/// Bytes of a path that is told; what is nested deeper loses its begin.
const MAX_PATH_BYTES: usize = 400;
/// Ids that a guess at a pattern looks at.
const MAX_GUESSED: usize = 5_000;
/// The place that a drawing without a size takes, as in browsers.
const DEFAULT_VIEWPORT: (f64, f64) = (300.0, 150.0);

/// A seat or a standing area as it was found.
pub(super) struct Found<'a> {
    /// The seat's number, or the area's name.
    pub(super) label: &'a str,
    pub(super) data: Data<'a>,
    pub(super) data_id: Option<&'a str>,
    /// The element's id, unless a reference may draw it several times.
    pub(super) id: Option<&'a str>,
    pub(super) bounds: Option<Rect>,
    pub(super) fill: Option<String>,
    pub(super) path: String,
    pub(super) line: u32,
    /// Of a standing area alone: how many it takes, and its outline.
    pub(super) area: Option<Area<'a>>,
}

/// What a standing area has beyond a seat.
pub(super) struct Area<'a> {
    pub(super) capacity: &'a str,
    pub(super) rings: Vec<Vec<kurbo::Point>>,
    pub(super) stroke: Option<String>,
}

impl Found<'_> {
    pub(super) fn place(&self) -> Place {
        Place::Element(self.path.clone(), self.line)
    }

    fn grow(&mut self, bounds: Rect) {
        self.bounds = Some(self.bounds.map_or(bounds, |known| known.union(bounds)));
    }
}

/// All that was found.
#[derive(Default)]
pub(super) struct Drawing<'a> {
    pub(super) places: Vec<Found<'a>>,
    /// Seats and standing areas beyond their limits.
    pub(super) places_left_out: usize,
    areas: usize,
    /// What the drawing calls itself.
    pub(super) title: &'a str,
    pub(super) backdrop: Backdrop,
    /// The sheet in the coordinates of the drawing.
    pub(super) sheet: Option<Rect>,
    /// Ids of what is no seat.
    pub(super) unmarked: Vec<&'a str>,
    /// Whether an element was meant as a seat, but is none.
    pub(super) meant: bool,
}

impl Drawing<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty() && !self.meant
    }
}

/// An element whose children are being visited.
struct Frame<'a, 'i> {
    id: NodeId,
    next: Option<Node<'a, 'i>>,
    /// Of a reference: the one child that it draws, in a place of that size.
    target: Option<(Option<f64>, Option<f64>)>,
    state: State<'a>,
    path: String,
    counts: HashMap<&'i str, usize>,
}

/// The kinds of elements that are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Group,
    Viewport,
    Reference,
    Shape,
    Text,
}

/// The way through one drawing.
pub(super) struct Walk<'w, 'a, 'i> {
    survey: &'w Survey<'a, 'i>,
    sheet: &'a Sheet<'a>,
    pattern: Option<&'w Pattern>,
    lines: &'w Lines<'w>,
    tells: &'w mut Tells,
    frames: Vec<Frame<'a, 'i>>,
    drawing: Drawing<'a>,
    referenced: usize,
    referenced_bytes: usize,
}

impl<'w, 'a, 'i> Walk<'w, 'a, 'i> {
    pub(super) fn new(
        survey: &'w Survey<'a, 'i>,
        sheet: &'a Sheet<'a>,
        pattern: Option<&'w Pattern>,
        lines: &'w Lines<'w>,
        tells: &'w mut Tells,
    ) -> Self {
        let drawing = Drawing::default();
        Self { survey, sheet, pattern, lines, tells, frames: Vec::new(), drawing, referenced: 0, referenced_bytes: 0 }
    }

    pub(super) fn run(mut self, root: Node<'a, 'i>) -> Drawing<'a> {
        let title = root.children().find(|child| svg_name(*child) == Some("title"));
        self.drawing.title = title.and_then(|title| title.text()).unwrap_or_default();
        let (affine, viewport) = self.open_sheet(root);
        let state = State { affine, look: Look::START, data: Data::default(), viewport, place: None, references: 0 };
        let declared = self.sheet.declared(root, "svg");
        let here = || Place::Element("svg".to_owned(), self.lines.at(root.range().start));
        let state = entered(root, "svg", declared, state, |message| {
            self.tells.add(Code::GeometryInvalid, here(), message, Vec::new());
        });
        self.open(root, state, None, "svg".to_owned());
        while let Some(frame) = self.frames.last_mut() {
            let Some(node) = frame.next else {
                self.frames.pop();
                continue;
            };
            frame.next = if frame.target.is_some() { None } else { node.next_sibling_element() };
            if !self.afford(node) {
                break;
            }
            self.visit(node);
        }
        self.drawing
    }

    /// The sheet, its transform into the drawing's coordinates, and the size that percentages are of.
    fn open_sheet(&mut self, root: Node<'a, 'i>) -> (Affine, (f64, f64)) {
        let here = |lines: &Lines<'_>| Place::Element("svg".to_owned(), lines.at(root.range().start));
        let mut read = |name: &str| match shape::length(root, name, 0.0) {
            Ok(value) => value.filter(|value| *value > 0.0),
            Err(message) => {
                self.tells.add(Code::GeometryLeftOut, here(self.lines), message, Vec::new());
                None
            }
        };
        let size = read("width").zip(read("height"));
        let view = shape::view_box(root).unwrap_or_else(|message| {
            self.tells.add(Code::GeometryLeftOut, here(self.lines), message, Vec::new());
            None
        });
        let Some(view) = view else {
            self.drawing.sheet = size.map(|size| Rect::from_origin_size((0.0, 0.0), size));
            return (Affine::IDENTITY, size.unwrap_or(DEFAULT_VIEWPORT));
        };
        // Only the proportions matter: a plan has units of its own.
        let stretched = root.attribute("preserveAspectRatio").is_some_and(|text| text.trim() == "none");
        let affine = match size.filter(|_| stretched) {
            Some((width, height)) => {
                let across = width / view.width();
                Affine::scale_non_uniform(1.0, height / view.height() / across)
            }
            None => Affine::IDENTITY,
        };
        self.drawing.sheet = Some(affine.transform_rect_bbox(view)).filter(|sheet| shape::fits(*sheet));
        (affine, (view.width(), view.height()))
    }

    fn open(&mut self, node: Node<'a, 'i>, state: State<'a>, next: Option<Node<'a, 'i>>, path: String) {
        let target = next.map(|_| {
            let size = |name| shape::length(node, name, 0.0).ok().flatten();
            (size("width"), size("height"))
        });
        let next = next.or_else(|| node.first_element_child());
        let path = if path.len() > MAX_PATH_BYTES {
            let from = path.ceil_char_boundary(path.len() - MAX_PATH_BYTES / 2);
            format!("…{}", &path[from..])
        } else {
            path
        };
        self.frames.push(Frame { id: node.id(), next, target, state, path, counts: HashMap::new() });
    }

    /// Counts what references draw; false, and told, when it is one too many. The file's own elements
    /// were counted when it was parsed.
    fn afford(&mut self, node: Node<'a, 'i>) -> bool {
        if self.frames.last().is_none_or(|frame| frame.state.references == 0) {
            return true;
        }
        let range = node.range();
        // The children of a text are read with it, those of anything else for themselves.
        let end = node.first_child().filter(|_| svg_name(node) != Some("text")).map(|child| child.range().start);
        self.referenced += 1;
        self.referenced_bytes += end.unwrap_or(range.end).saturating_sub(range.start);
        if self.referenced <= MAX_REFERENCED && self.referenced_bytes <= MAX_REFERENCED_BYTES {
            return true;
        }
        let message = format!("references draw more than {MAX_REFERENCED} elements or {MAX_REFERENCED_BYTES} bytes");
        self.tells.add(Code::LimitExceeded, Place::Line(self.lines.at(range.start)), message, Vec::new());
        false
    }

    fn visit(&mut self, node: Node<'a, 'i>) {
        let Some(name) = svg_name(node) else { return };
        let Some(frame) = self.frames.last_mut() else { return };
        let nth = frame.counts.entry(name).or_insert(0);
        *nth += 1;
        let class = match name {
            "g" | "a" | "switch" => Class::Group,
            "svg" => Class::Viewport,
            "symbol" if frame.target.is_some() => Class::Viewport,
            "use" => Class::Reference,
            "text" => Class::Text,
            _ if shape::is_shape(name) => Class::Shape,
            _ => return,
        };
        let path = format!("{}/{}", frame.path, segment(name, Some(*nth), node.attribute("id")));
        let (parent, target) = (frame.state, frame.target);
        let line = self.lines;
        let here = || Place::Element(path.clone(), line.at(node.range().start));
        let declared = self.sheet.declared(node, name);
        let mut state = entered(node, name, declared, parent, |message| {
            self.tells.add(Code::GeometryInvalid, here(), message, Vec::new());
        });
        if !self.mark(node, class, &mut state, &path) {
            return;
        }
        match class {
            Class::Group => self.open(node, state, None, path),
            Class::Viewport => match viewport(node, name, state, target) {
                Ok(state) => self.open(node, state, None, path),
                Err(message) => self.tells.add(Code::GeometryInvalid, here(), message, Vec::new()),
            },
            Class::Reference => self.follow(node, state, path),
            Class::Shape => match shape::figure(node, name, state.viewport) {
                Ok(figure) => self.shape(&figure, state, &here),
                Err(message) => self.no_figure(state, message, &here),
            },
            Class::Text => {
                let (lines, cut) = words::lines(node, state.look, state.affine);
                if cut && state.place.is_none() {
                    self.tells.count(Code::GeometryLeftOut, "text too long for a plan: cut", "", here);
                }
                for words in lines {
                    match state.place.and_then(|place| self.drawing.places.get_mut(place)) {
                        // Words on a seat only help where there is nothing else to see of it.
                        Some(place) if place.bounds.is_none() => place.grow(words.bounds),
                        Some(_) => {}
                        None if state.look.shown() => self.drawing.backdrop.words(words, state.look),
                        None => {}
                    }
                }
            }
        }
    }

    /// Sees whether a seat or a standing area begins here. False when the element is not to be
    /// drawn at all.
    fn mark(&mut self, node: Node<'a, 'i>, class: Class, state: &mut State<'a>, path: &str) -> bool {
        let id = node.attribute("id").filter(|id| !id.is_empty());
        let named = self.pattern.and_then(|pattern| pattern.read(id?));
        let area = node.attribute("data-area").or_else(|| node.attribute("data-capacity").map(|_| ""));
        let (label, area) = match (node.attribute("data-seat"), &named, area) {
            (Some(seat), _, _) => (seat, None),
            (None, Some(named), _) => (named.seat, None),
            (None, None, Some(area)) => {
                let capacity = node.attribute("data-capacity").unwrap_or_default();
                (area, Some(Area { capacity, rings: Vec::new(), stroke: state.look.stroke() }))
            }
            (None, None, None) => {
                self.unmarked(id, class, state, path, node);
                return true;
            }
        };
        if let Some(named) = named {
            state.data.row = named.row.filter(|row| !row.is_empty()).or(state.data.row);
            state.data.section = named.section.filter(|section| !section.is_empty()).or(state.data.section);
        }
        self.drawing.meant = true;
        let here = || Place::Element(path.to_owned(), self.lines.at(node.range().start));
        if let Some(outer) = state.place.and_then(|place| self.drawing.places.get(place)) {
            let message = format!("{label:?} lies inside {}, and is a part of it", outer.path);
            self.tells.add(Code::SeatNested, here(), message, Vec::new());
            return true;
        }
        if !state.look.shown() {
            self.tells.add(Code::SeatHidden, here(), format!("{label:?} is hidden; it does not count"), Vec::new());
            return false;
        }
        if self.drawing.places.len() >= MAX_SEATS || area.is_some() && self.drawing.areas >= MAX_STANDING {
            self.drawing.places_left_out += 1;
            return false;
        }
        self.drawing.areas += usize::from(area.is_some());
        state.place = Some(self.drawing.places.len());
        self.drawing.places.push(Found {
            label,
            data: state.data,
            data_id: node.attribute("data-id").filter(|id| !id.is_empty()),
            id: id.filter(|_| state.references == 0),
            bounds: None,
            fill: state.look.chosen_fill(),
            path: path.to_owned(),
            line: self.lines.at(node.range().start),
            area,
        });
        true
    }

    fn unmarked(&mut self, id: Option<&'a str>, class: Class, state: &State<'a>, path: &str, node: Node<'a, 'i>) {
        let Some(id) = id.filter(|_| state.place.is_none() && state.look.shown()) else { return };
        if self.drawing.unmarked.len() < MAX_GUESSED {
            self.drawing.unmarked.push(id);
        }
        if self.pattern.is_some() && matches!(class, Class::Shape | Class::Reference) {
            let what = "id that the pattern does not match: background";
            let line = self.lines;
            self.tells
                .count(Code::IdUnmatched, what, id, || Place::Element(path.to_owned(), line.at(node.range().start)));
        }
    }

    /// Opens what a `<use>` draws.
    fn follow(&mut self, node: Node<'a, 'i>, mut state: State<'a>, path: String) {
        let here = || Place::Element(path.clone(), self.lines.at(node.range().start));
        let href = node.attributes().find(|attribute| attribute.name() == "href").map(|href| href.value().trim());
        // References to elsewhere were told by the survey.
        let Some(id) = href.and_then(|href| href.strip_prefix('#')) else { return };
        let Some(target) = self.survey.by_id(id) else {
            self.tells.count(Code::ReferenceBroken, "reference to an id that no element has", id, here);
            return;
        };
        if target == node || self.frames.iter().any(|frame| frame.id == target.id()) {
            self.tells.count(Code::ReferenceBroken, "reference in a circle", id, here);
            return;
        }
        if state.references >= MAX_REFERENCES {
            let message = format!("references are nested more than {MAX_REFERENCES} deep");
            self.tells.add(Code::LimitExceeded, here(), message, Vec::new());
            return;
        }
        state.references += 1;
        let (width, height) = state.viewport;
        let offset = |name, whole| shape::length(node, name, whole).map(|value| value.unwrap_or(0.0));
        match offset("x", width).and_then(|x| Ok((x, offset("y", height)?))) {
            Ok(offset) => {
                state.affine *= Affine::translate(offset);
                self.open(node, state, Some(target), path);
            }
            Err(message) => self.tells.add(Code::GeometryInvalid, here(), message, Vec::new()),
        }
    }

    fn shape(&mut self, figure: &Figure, state: State<'a>, here: &impl Fn() -> Place) {
        if figure.path.elements().is_empty() {
            return;
        }
        let Some(bounds) = figure.bounds(state.affine) else {
            self.no_figure(state, "the shape lies beyond all bounds".to_owned(), here);
            return;
        };
        let Some(place) = state.place.and_then(|place| self.drawing.places.get_mut(place)) else {
            if state.look.shown() {
                self.drawing.backdrop.shape(figure, state.affine, state.look, bounds);
            }
            return;
        };
        place.grow(bounds);
        if place.fill.is_none() && place.area.is_none() {
            place.fill = state.look.chosen_fill();
        }
        if let Some(area) = &mut place.area {
            let outline = rings(&(state.affine * &figure.path), bounds);
            area.rings.extend(outline.into_iter().map(|ring| ring.points));
        }
    }

    fn no_figure(&mut self, state: State<'a>, message: String, here: &impl Fn() -> Place) {
        if state.place.is_some() {
            self.tells.add(Code::GeometryInvalid, here(), message, Vec::new());
        } else {
            self.tells.count(Code::GeometryLeftOut, "shape that can't be drawn", &message, here);
        }
    }
}
