//! Areas: stage, bars, decoration.
//!
//! Owns the five shapes and their text. An area is never sold, so one that shows nothing may be set
//! aside; it is listed all the same.

use super::super::node::{At, Node};
use super::Walk;
use super::fields::Fields;
use crate::venue::finding::Code;
use crate::venue::geometry::{Point, Size};
use crate::venue::plan::{DEFAULT_TEXT_SIZE, DraftArea, Shape};

const SHAPES: [&str; 5] = ["polygon", "rectangle", "ellipse", "circle", "text"];

impl Walk<'_> {
    /// `None` when the area can't be read or has nothing to show; both are told.
    pub(super) fn area(&mut self, node: &Node, at: &At<'_>) -> Option<DraftArea> {
        let known = [
            "color",
            "border_color",
            "rotation",
            "position",
            "uuid",
            "shape",
            "polygon",
            "rectangle",
            "ellipse",
            "circle",
            "text",
        ];
        let fields = self.object(node, at, &known)?;
        let color = self.optional_text(fields, "color", at);
        let border_color = self.optional_text(fields, "border_color", at);
        let rotation = self.number(fields, "rotation", at).unwrap_or_default();
        let uuid = self.optional_text(fields, "uuid", at);
        let position = self.optional_point(fields, "position", at).unwrap_or_default();
        let text = self.area_text(fields, at);
        let Some(name) = self.shape_name(fields, at) else {
            self.keep(at, node);
            return None;
        };
        let shape = self.shape(fields, name, at);
        for other in SHAPES.iter().filter(|other| !matches!(**other, "text") && **other != name) {
            self.unused_shape(fields, other, at);
        }
        Some(DraftArea { position, rotation, shape: shape?, color, border_color, text, uuid })
    }

    /// Which shape is meant, if its object is there. Older files name none: then the only object
    /// that is present tells.
    fn shape_name(&mut self, area: Fields<'_>, at: &At<'_>) -> Option<&'static str> {
        let named = self.text(area, "shape", at);
        let Some(named) = named else {
            if area.has_value("shape") {
                return None;
            }
            let present = SHAPES.into_iter().find(|shape| area.has_value(shape));
            let message = match present {
                Some(shape) => format!("no shape is named; its {shape} is used"),
                None => "the area has nothing to draw; it is set aside".into(),
            };
            let code = if present.is_some() { Code::DefaultUsed } else { Code::AreaWithoutShape };
            self.add(code, &at.key("shape"), message);
            return present;
        };
        let Some(shape) = SHAPES.into_iter().find(|shape| *shape == named) else {
            let at = at.key("shape");
            self.add(Code::UnknownValue, &at, format!("{named:?} is no shape; it is set aside"));
            return None;
        };
        if !area.has_value(shape) {
            self.add(
                Code::ShapeObjectMissing,
                &at.key(shape),
                format!("the shape {shape} needs an object of that name; the area is set aside"),
            );
            return None;
        }
        Some(shape)
    }

    fn unused_shape(&mut self, area: Fields<'_>, shape: &'static str, at: &At<'_>) {
        if let Some(node) = self.get(area, shape, at) {
            let at = at.key(shape);
            self.add(Code::ShapeObjectUnused, &at, "another shape is named; this object is set aside".into());
            self.keep(&at, node);
        }
    }

    fn shape(&mut self, area: Fields<'_>, name: &'static str, at: &At<'_>) -> Option<Shape> {
        let node = self.get(area, name, at)?;
        let at = at.key(name);
        match name {
            "polygon" => {
                let fields = self.object(node, &at, &["points"])?;
                let items = self.list(fields, "points", &at)?;
                let at = at.key("points");
                let items = self.bounded(items, self.left.points, "points from here on", &at);
                self.left.points -= items.len();
                let mut points: Vec<Point> = Vec::with_capacity(items.len());
                for (index, node) in items.iter().enumerate() {
                    points.extend(self.as_point(node, &at.index(index)));
                }
                Some(Shape::Polygon(points))
            }
            "rectangle" => {
                let fields = self.object(node, &at, &["width", "height"])?;
                let width = self.required_number(fields, "width", &at);
                let height = self.required_number(fields, "height", &at);
                Some(Shape::Rectangle(Size { width: width?, height: height? }))
            }
            "ellipse" => {
                let fields = self.object(node, &at, &["radius"])?;
                self.point(fields, "radius", &at).map(Shape::Ellipse)
            }
            "circle" => {
                let fields = self.object(node, &at, &["radius"])?;
                self.required_number(fields, "radius", &at).map(Shape::Circle)
            }
            _ => Some(Shape::Text),
        }
    }

    fn area_text(&mut self, area: Fields<'_>, at: &At<'_>) -> Option<(String, Point, Option<String>, f64)> {
        let node = self.get(area, "text", at)?;
        let at = at.key("text");
        let fields = self.object(node, &at, &["text", "position", "color", "size"])?;
        let text = self.text_or(fields, "text", &at, String::new);
        let position = if fields.has_value("position") {
            self.point(fields, "position", &at).unwrap_or_default()
        } else {
            self.defaulted("position", &at, "0,0");
            Point::default()
        };
        let color = self.optional_text(fields, "color", &at);
        let size = self.number(fields, "size", &at).unwrap_or(DEFAULT_TEXT_SIZE);
        Some((text?, position, color, size))
    }
}
