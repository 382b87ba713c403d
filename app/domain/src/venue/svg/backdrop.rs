//! What is drawn and not sold, as areas of a plan.
//!
//! Owns how much of it is kept: a background must let people know the house again, and is loaded by
//! every buyer. The greatest parts stay; what is left out is counted.

use kurbo::{Affine, BezPath, PathEl, Point, Rect};

use super::fit::{Fit, round, rounded};
use super::label;
use super::paint::Look;
use super::shape::{Figure, Simple};
use super::tell::{Place, Tells};
use super::words::Words;
use crate::venue::finding::Code;
use crate::venue::geometry::Size;
use crate::venue::plan::{DraftArea, MAX_COORDINATE, Shape};

/// Areas of a background.
const MAX_PIECES: usize = 4_000;
/// Corner points of a background together, and of one area: half of what a plan may hold, the rest
/// is for outlines of standing areas.
const MAX_POINTS: usize = 50_000;
pub(super) const MAX_RING_POINTS: usize = 2_000;
/// How exactly curves become lines, as a part of the figure's size.
const FLAT_SHARE: f64 = 1.0 / 400.0;
/// Transforms that bend circles less than this leave them circles.
const SQUARE_SHARE: f64 = 1e-6;

/// A line of corner points.
pub(super) struct Ring {
    pub(super) points: Vec<Point>,
    pub(super) closed: bool,
}

enum Outline {
    Polygon(Vec<Point>),
    Rect(Rect),
    /// Centre, radii, degrees clockwise.
    Ellipse(Point, (f64, f64), f64),
    Words(Box<Words>),
}

struct Piece {
    order: usize,
    reach: f64,
    outline: Outline,
    fill: Option<String>,
    stroke: Option<String>,
}

impl Piece {
    fn points(&self) -> usize {
        match &self.outline {
            Outline::Polygon(points) => points.len(),
            _ => 1,
        }
    }
}

/// The background while it gathers.
#[derive(Default)]
pub(super) struct Backdrop {
    pieces: Vec<Piece>,
    points: usize,
    order: usize,
    left_out: usize,
    /// The box of all that stayed.
    pub(super) bounds: Option<Rect>,
}

impl Backdrop {
    pub(super) fn shape(&mut self, figure: &Figure, affine: Affine, look: Look, bounds: Rect) {
        let (fill, stroke) = (look.fill(), look.stroke());
        if fill.is_none() && stroke.is_none() {
            return;
        }
        let [a, b, c, d, ..] = affine.as_coeffs();
        let size = a.hypot(b).max(c.hypot(d));
        let square = (a * c + b * d).abs() <= SQUARE_SHARE * size * size
            && (a.hypot(b) - c.hypot(d)).abs() <= SQUARE_SHARE * size;
        let upright = b.abs().max(c.abs()) <= SQUARE_SHARE * size || a.abs().max(d.abs()) <= SQUARE_SHARE * size;
        match figure.simple {
            Simple::Rect if upright => self.push(Outline::Rect(bounds), bounds, fill, stroke),
            Simple::Ellipse(ellipse) if square => {
                let (radii, scale) = (ellipse.radii(), a.hypot(b));
                let outline = Outline::Ellipse(
                    affine * ellipse.center(),
                    (radii.x * scale, radii.y * scale),
                    b.atan2(a).to_degrees(),
                );
                self.push(outline, bounds, fill, stroke);
            }
            _ => self.rings(rings(&(affine * &figure.path), bounds), bounds, &fill, &stroke),
        }
    }

    fn rings(&mut self, mut rings: Vec<Ring>, bounds: Rect, fill: &Option<String>, stroke: &Option<String>) {
        let one = rings.len() == 1;
        if let (Some(fill), false) = (fill, one) {
            // Several outlines are one fill, with holes; thin bridges join them.
            let mut joined: Vec<Point> = Vec::new();
            for ring in &rings {
                let Some(first) = ring.points.first() else { continue };
                joined.extend(&ring.points);
                joined.push(*first);
            }
            let back: Vec<Point> = rings.iter().rev().skip(1).filter_map(|ring| ring.points.first().copied()).collect();
            joined.extend(back);
            if joined.len() <= 2 * MAX_RING_POINTS {
                self.push(Outline::Polygon(joined), bounds, Some(fill.clone()), None);
            } else {
                self.left_out += 1;
            }
        }
        let fill = fill.as_ref().filter(|_| one);
        if fill.is_none() && stroke.is_none() {
            return;
        }
        for Ring { points, closed } in &mut rings {
            if !*closed && fill.is_none() {
                // There and back again, so that an open line stays open.
                let back: Vec<Point> = points.iter().rev().skip(1).copied().collect();
                points.extend(back);
            }
            if points.len() >= 2 {
                self.push(Outline::Polygon(std::mem::take(points)), bounds, fill.cloned(), stroke.clone());
            }
        }
    }

    pub(super) fn words(&mut self, words: Words, look: Look) {
        let (bounds, fill) = (words.bounds, look.fill());
        if fill.is_some() {
            self.push(Outline::Words(Box::new(words)), bounds, fill, None);
        }
    }

    fn push(&mut self, outline: Outline, bounds: Rect, fill: Option<String>, stroke: Option<String>) {
        let piece = Piece { order: self.order, reach: bounds.width().max(bounds.height()), outline, fill, stroke };
        self.order += 1;
        self.points += piece.points();
        self.bounds = Some(self.bounds.map_or(bounds, |known| known.union(bounds)));
        self.pieces.push(piece);
        // Now and then, so that the memory stays bounded and the sorting rare.
        if self.pieces.len() > 4 * MAX_PIECES || self.points > 4 * MAX_POINTS {
            self.prune();
        }
    }

    /// Keeps the greatest pieces, in the order of the file.
    fn prune(&mut self) {
        let before = self.pieces.len();
        self.pieces.sort_by(|one, other| other.reach.total_cmp(&one.reach).then(one.order.cmp(&other.order)));
        let mut room = MAX_POINTS;
        let fitting = self.pieces.iter().take_while(|piece| match room.checked_sub(piece.points()) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        });
        let keep = fitting.take(MAX_PIECES).count();
        self.pieces.truncate(keep);
        self.pieces.sort_by_key(|piece| piece.order);
        self.points = MAX_POINTS - room;
        self.left_out += before - keep;
    }

    /// The areas, placed on the plan.
    pub(super) fn areas(&mut self, fit: &Fit, tells: &mut Tells) -> Vec<DraftArea> {
        if self.pieces.len() > MAX_PIECES || self.points > MAX_POINTS {
            self.prune();
        }
        let before = self.pieces.len();
        let areas: Vec<DraftArea> =
            std::mem::take(&mut self.pieces).into_iter().filter_map(|piece| area(piece, fit)).collect();
        self.left_out += before - areas.len();
        if self.left_out > 0 {
            let message = format!("{} parts of the background are left out: the smallest ones", self.left_out);
            tells.add(Code::GeometryLeftOut, Place::File, message, Vec::new());
        }
        areas
    }
}

fn area(piece: Piece, fit: &Fit) -> Option<DraftArea> {
    let Piece { outline, fill, stroke, .. } = piece;
    let plain = |position, shape, rotation| DraftArea {
        position,
        rotation,
        shape,
        color: fill.clone(),
        border_color: stroke.clone(),
        text: None,
        uuid: None,
    };
    let area = match outline {
        Outline::Polygon(points) => {
            let position = fit.point(*points.first()?);
            let points = points.into_iter().map(|point| fit.point(point).minus(position)).map(rounded);
            plain(position, Shape::Polygon(points.collect()), 0.0)
        }
        Outline::Rect(rect) => {
            let (min, max) = (fit.point(rect.origin()), fit.point(Point::new(rect.x1, rect.y1)));
            let size = rounded(max.minus(min));
            plain(min, Shape::Rectangle(Size { width: size.x, height: size.y }), 0.0)
        }
        Outline::Ellipse(center, radii, rotation) => {
            let radii = crate::venue::Point::new(fit.length(radii.0), fit.length(radii.1));
            if radii.x <= 0.0 || radii.y <= 0.0 {
                return None;
            }
            let shape = if radii.x == radii.y { Shape::Circle(radii.x) } else { Shape::Ellipse(radii) };
            let turned = if radii.x == radii.y { 0.0 } else { round(rotation) };
            plain(fit.point(center), shape, turned)
        }
        Outline::Words(words) => {
            let size = fit.length(words.size);
            let text = (label::clean(&words.text), crate::venue::Point::default(), fill.clone(), size);
            let area = plain(fit.point(words.center), Shape::Text, round(words.rotation));
            DraftArea { color: None, text: (size > 0.0).then_some(text), ..area }
        }
    };
    let reach = match &area.shape {
        Shape::Polygon(points) => {
            points.iter().fold(0.0, |reach: f64, point| reach.max(point.x.abs()).max(point.y.abs()))
        }
        Shape::Rectangle(size) => size.width.max(size.height),
        Shape::Ellipse(radii) => radii.x.max(radii.y),
        Shape::Circle(radius) => *radius,
        Shape::Text => 0.0,
    };
    let fits = |value: f64| value.is_finite() && value.abs() <= MAX_COORDINATE;
    let drawn = !matches!(area.shape, Shape::Text) || area.text.is_some();
    (drawn && fits(area.position.x) && fits(area.position.y) && fits(reach)).then_some(area)
}

/// The outlines of a path, curves flattened, each with a bounded number of points.
pub(super) fn rings(path: &BezPath, bounds: Rect) -> Vec<Ring> {
    let tolerance = (bounds.width().max(bounds.height()) * FLAT_SHARE).max(1e-9);
    let mut rings: Vec<Ring> = Vec::new();
    kurbo::flatten(path, tolerance, |element| match element {
        PathEl::MoveTo(point) => rings.push(Ring { points: vec![point], closed: false }),
        PathEl::LineTo(point) => {
            if let Some(ring) = rings.last_mut() {
                ring.points.push(point);
            }
        }
        PathEl::ClosePath => {
            if let Some(ring) = rings.last_mut() {
                ring.closed = true;
            }
        }
        // Flattening gives lines only.
        PathEl::QuadTo(..) | PathEl::CurveTo(..) => {}
    });
    rings.retain(|ring| ring.points.len() >= 2);
    for ring in &mut rings {
        if ring.points.len() > 2 && ring.points.first() == ring.points.last() {
            ring.points.pop();
            ring.closed = true;
        }
        let step = ring.points.len().div_ceil(MAX_RING_POINTS);
        if step > 1 {
            ring.points = ring.points.iter().step_by(step).copied().collect();
        }
    }
    rings
}
