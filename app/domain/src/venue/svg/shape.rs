//! Shapes, lengths, transforms and view boxes as numbers.
//!
//! Owns the geometry of SVG. Every number is checked where it is read: beyond [`MAX_NUMBER`], or not
//! finite, it is an error of its element.

use std::str::FromStr;

use kurbo::{Affine, BezPath, Ellipse, PathEl, Point, Rect, RoundedRect, Shape as _};
use roxmltree::Node;
use svgtypes::{
    Align, AspectRatio, Length, LengthUnit, PointsParser, SimplePathSegment, SimplifyingPathParser, Transform,
    TransformOrigin, ViewBox,
};

/// The greatest absolute number: a thousand times what a plan may hold, for origins far away.
pub(super) const MAX_NUMBER: f64 = 1e9;
/// Steps of one path.
const MAX_SEGMENTS: usize = 200_000;
/// Height of text that nothing else is said for.
pub(super) const ROOT_FONT_SIZE: f64 = 16.0;
/// How exactly circles are turned into curves, as a part of their size.
const CURVE_SHARE: f64 = 1e-4;

/// What a figure is, before its transform.
#[derive(Clone, Copy, Debug)]
pub(super) enum Simple {
    Rect,
    Ellipse(Ellipse),
    Path,
}

/// A shape in its own coordinates.
pub(super) struct Figure {
    pub(super) path: BezPath,
    pub(super) simple: Simple,
}

impl Figure {
    /// The box of the transformed figure; `None` when it is empty or leaves all bounds.
    pub(super) fn bounds(&self, affine: Affine) -> Option<Rect> {
        let bounds = match self.simple {
            Simple::Ellipse(ellipse) => {
                let [a, b, c, d, ..] = affine.as_coeffs();
                let radii = ellipse.radii();
                let reach = kurbo::Vec2::new((a * radii.x).hypot(c * radii.y), (b * radii.x).hypot(d * radii.y));
                let center = affine * ellipse.center();
                Rect::from_points(center - reach, center + reach)
            }
            _ if self.path.elements().is_empty() => return None,
            _ => (affine * &self.path).bounding_box(),
        };
        fits(bounds).then_some(bounds)
    }
}

/// Whether the box can be worked with.
pub(super) fn fits(bounds: Rect) -> bool {
    [bounds.x0, bounds.y0, bounds.x1, bounds.y1].iter().all(|value| value.is_finite() && value.abs() <= MAX_NUMBER)
}

/// Whether the element is a shape.
pub(super) fn is_shape(name: &str) -> bool {
    matches!(name, "rect" | "circle" | "ellipse" | "line" | "polyline" | "polygon" | "path")
}

/// The figure of a shape; an error in words.
pub(super) fn figure(node: Node<'_, '_>, name: &str, viewport: (f64, f64)) -> Result<Figure, String> {
    let (width, height) = viewport;
    let diagonal = width.hypot(height) / std::f64::consts::SQRT_2;
    let x = |name: &str| length(node, name, width).map(|value| value.unwrap_or(0.0));
    let y = |name: &str| length(node, name, height).map(|value| value.unwrap_or(0.0));
    match name {
        "rect" => {
            let rect = Rect::from_origin_size((x("x")?, y("y")?), (x("width")?.max(0.0), y("height")?.max(0.0)));
            let radii = (length(node, "rx", width)?, length(node, "ry", height)?);
            let radius = radii.0.or(radii.1).unwrap_or(0.0).clamp(0.0, rect.width().min(rect.height()) / 2.0);
            if radius > 0.0 {
                let round = RoundedRect::from_rect(rect, radius);
                return Ok(Figure { path: round.to_path(tolerance(rect)), simple: Simple::Path });
            }
            Ok(Figure { path: rect.to_path(0.1), simple: Simple::Rect })
        }
        "circle" | "ellipse" => {
            let (rx, ry) = if name == "circle" {
                let radius = length(node, "r", diagonal)?.unwrap_or(0.0);
                (radius, radius)
            } else {
                let (rx, ry) = (length(node, "rx", width)?, length(node, "ry", height)?);
                (rx.or(ry).unwrap_or(0.0), ry.or(rx).unwrap_or(0.0))
            };
            let ellipse = Ellipse::new((x("cx")?, y("cy")?), (rx.max(0.0), ry.max(0.0)), 0.0);
            let around = Rect::from_center_size(ellipse.center(), (2.0 * rx.max(0.0), 2.0 * ry.max(0.0)));
            Ok(Figure { path: ellipse.to_path(tolerance(around)), simple: Simple::Ellipse(ellipse) })
        }
        "line" => {
            let mut path = BezPath::new();
            path.move_to((x("x1")?, y("y1")?));
            path.line_to((x("x2")?, y("y2")?));
            Ok(Figure { path, simple: Simple::Path })
        }
        "path" => path(node.attribute("d").unwrap_or_default()),
        _ => points(node.attribute("points").unwrap_or_default(), name == "polygon"),
    }
}

fn tolerance(rect: Rect) -> f64 {
    (rect.width().max(rect.height()) * CURVE_SHARE).max(1e-6)
}

fn points(text: &str, closed: bool) -> Result<Figure, String> {
    let mut path = BezPath::new();
    for (x, y) in PointsParser::from(text) {
        let point = checked_point(x, y)?;
        if path.elements().len() >= MAX_SEGMENTS {
            return Err(format!("more than {MAX_SEGMENTS} points"));
        }
        if path.elements().is_empty() { path.move_to(point) } else { path.line_to(point) }
    }
    // The parser stops at the first letter without a word.
    if text.chars().any(|c| !(c.is_ascii_digit() || c.is_whitespace() || "+-.,eE".contains(c))) {
        return Err("points holds something else than numbers".to_owned());
    }
    if closed && !path.elements().is_empty() {
        path.close_path();
    }
    Ok(Figure { path, simple: Simple::Path })
}

fn path(text: &str) -> Result<Figure, String> {
    // Arcs are cut by their size: numbers are checked before that.
    let radii = svgtypes::PathParser::from(text).filter_map(Result::ok).any(|segment| match segment {
        svgtypes::PathSegment::EllipticalArc { rx, ry, x, y, .. } => {
            [rx, ry, x, y].iter().any(|value| checked(*value).is_err())
        }
        _ => false,
    });
    if radii {
        return Err("d holds a number out of range".to_owned());
    }
    let mut path = BezPath::new();
    for segment in SimplifyingPathParser::from(text) {
        let segment = segment.map_err(|error| format!("d is no path: {error}"))?;
        if path.elements().len() >= MAX_SEGMENTS {
            return Err(format!("a path of more than {MAX_SEGMENTS} steps"));
        }
        path.push(match segment {
            SimplePathSegment::MoveTo { x, y } => PathEl::MoveTo(checked_point(x, y)?),
            SimplePathSegment::LineTo { x, y } => PathEl::LineTo(checked_point(x, y)?),
            SimplePathSegment::CurveTo { x1, y1, x2, y2, x, y } => {
                PathEl::CurveTo(checked_point(x1, y1)?, checked_point(x2, y2)?, checked_point(x, y)?)
            }
            SimplePathSegment::Quadratic { x1, y1, x, y } => {
                PathEl::QuadTo(checked_point(x1, y1)?, checked_point(x, y)?)
            }
            SimplePathSegment::ClosePath => PathEl::ClosePath,
        });
    }
    Ok(Figure { path, simple: Simple::Path })
}

fn checked(value: f64) -> Result<f64, String> {
    if value.is_finite() && value.abs() <= MAX_NUMBER { Ok(value) } else { Err(format!("{value} is out of range")) }
}

fn checked_point(x: f64, y: f64) -> Result<Point, String> {
    Ok(Point::new(checked(x)?, checked(y)?))
}

/// A length attribute in user units; `whole` is what 100 % is.
pub(super) fn length(node: Node<'_, '_>, name: &str, whole: f64) -> Result<Option<f64>, String> {
    let Some(text) = node.attribute(name).map(str::trim).filter(|text| !text.is_empty() && *text != "auto") else {
        return Ok(None);
    };
    let length = Length::from_str(text).map_err(|_| format!("{name} is no length"))?;
    match pixels(length, whole) {
        Some(value) => Ok(Some(value)),
        None => Err(format!("{name} is out of range")),
    }
}

/// The length in CSS pixels: 96 to the inch.
pub(super) fn pixels(length: Length, whole: f64) -> Option<f64> {
    let unit = match length.unit {
        LengthUnit::None | LengthUnit::Px => 1.0,
        LengthUnit::Em => ROOT_FONT_SIZE,
        LengthUnit::Ex => ROOT_FONT_SIZE / 2.0,
        LengthUnit::In => 96.0,
        LengthUnit::Cm => 96.0 / 2.54,
        LengthUnit::Mm => 96.0 / 25.4,
        LengthUnit::Pt => 96.0 / 72.0,
        LengthUnit::Pc => 16.0,
        LengthUnit::Percent => whole / 100.0,
    };
    checked(length.number * unit).ok()
}

/// The transform of a list such as `translate(1 2) rotate(3)`. Units of CSS are taken where they
/// are those of the attribute.
pub(super) fn transform(text: &str) -> Result<Affine, String> {
    let bare = text.replace("px", "").replace("deg", "");
    let read = if bare.trim() == "none" { Ok(Transform::default()) } else { Transform::from_str(&bare) };
    let Transform { a, b, c, d, e, f } = read.map_err(|error| format!("transform can't be read: {error}"))?;
    let coefficients = [a, b, c, d, e, f];
    if coefficients.iter().any(|value| checked(*value).is_err()) {
        return Err("transform holds a number out of range".to_owned());
    }
    Ok(Affine::new(coefficients))
}

/// The point that a transform is about. `bounds` is the box that percentages are of.
pub(super) fn origin(text: &str, bounds: Rect) -> Result<Point, String> {
    let wrong = || "transform-origin can't be read".to_owned();
    let origin = TransformOrigin::from_str(text.trim()).map_err(|_| wrong())?;
    let x = pixels(origin.x_offset, bounds.width()).ok_or_else(wrong)?;
    let y = pixels(origin.y_offset, bounds.height()).ok_or_else(wrong)?;
    Ok(Point::new(bounds.x0 + x, bounds.y0 + y))
}

/// The view box of an element, if it has a proper one.
pub(super) fn view_box(node: Node<'_, '_>) -> Result<Option<Rect>, String> {
    let Some(text) = node.attribute("viewBox") else { return Ok(None) };
    let ViewBox { x, y, w, h } = ViewBox::from_str(text).map_err(|error| error.to_string())?;
    let rect = Rect::from_origin_size((x, y), (w, h));
    if fits(rect) { Ok(Some(rect)) } else { Err("viewBox is out of range".to_owned()) }
}

/// What maps a view box to a place of that size, by `preserveAspectRatio`.
pub(super) fn into_viewport(node: Node<'_, '_>, view: Rect, (width, height): (f64, f64)) -> Affine {
    let ratio = node.attribute("preserveAspectRatio").and_then(|text| AspectRatio::from_str(text).ok());
    let AspectRatio { align, slice, .. } = ratio.unwrap_or_default();
    let (mut sx, mut sy) = (width / view.width(), height / view.height());
    let (x, y) = match align {
        Align::None => (0.0, 0.0),
        Align::XMinYMin => (0.0, 0.0),
        Align::XMidYMin => (0.5, 0.0),
        Align::XMaxYMin => (1.0, 0.0),
        Align::XMinYMid => (0.0, 0.5),
        Align::XMidYMid => (0.5, 0.5),
        Align::XMaxYMid => (1.0, 0.5),
        Align::XMinYMax => (0.0, 1.0),
        Align::XMidYMax => (0.5, 1.0),
        Align::XMaxYMax => (1.0, 1.0),
    };
    if align != Align::None {
        let scale = if slice { sx.max(sy) } else { sx.min(sy) };
        (sx, sy) = (scale, scale);
    }
    let spare = (x * (width - view.width() * sx), y * (height - view.height() * sy));
    Affine::translate(spare) * Affine::scale_non_uniform(sx, sy) * Affine::translate((-view.x0, -view.y0))
}
