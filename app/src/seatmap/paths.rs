//! Outlines of the published map as paths that a canvas fills: made once for each chart.

use domain::venue::static_map::{MapArea, MapShape};
use domain::venue::{Point, Rect};
use std::f64::consts::TAU;
use web_sys::Path2d;

fn ring_into(path: &Path2d, ring: &[f64]) {
    let mut corners = ring.chunks_exact(2);
    if let Some(first) = corners.next() {
        path.move_to(first[0], first[1]);
        corners.for_each(|corner| path.line_to(corner[0], corner[1]));
        path.close_path();
    }
}

/// Closed rings `[x, y, x, y, …]` as one path; `None` where the browser gives no path.
pub fn rings_path(rings: &[Vec<f64>]) -> Option<Path2d> {
    let path = Path2d::new().ok()?;
    rings.iter().for_each(|ring| ring_into(&path, ring));
    Some(path)
}

/// The outline of an area; empty for words alone.
pub fn area_path(area: &MapArea) -> Option<Path2d> {
    let path = Path2d::new().ok()?;
    match &area.shape {
        MapShape::Polygon { points } => ring_into(&path, points),
        MapShape::Ellipse { center, radii, rotation } => {
            path.ellipse(center[0], center[1], radii[0].abs(), radii[1].abs(), rotation.to_radians(), 0.0, TAU).ok()?;
        }
        MapShape::Text => {}
    }
    Some(path)
}

/// Whether this is the area in whose middle everyone looks.
pub fn is_stage(area: &MapArea, focal: Point) -> bool {
    let middle = match &area.shape {
        MapShape::Polygon { points } => {
            let corners = points.chunks_exact(2).map(|corner| Point::new(corner[0], corner[1]));
            Rect::bounding(corners).map(Rect::center)
        }
        MapShape::Ellipse { center, .. } => Some(Point::new(center[0], center[1])),
        MapShape::Text => None,
    };
    middle.is_some_and(|middle| middle.distance(focal) < 1.0)
}
