//! Where one looks at a map from: plan units to screen pixels and back.
//!
//! Owns pan, zoom, limits and the choice how much to draw. It knows no browser: sizes and pointer
//! places come in as numbers, and a new camera comes out.

use super::geometry::{Point, Rect, Size};

/// The part of a zoomed-out map's width or height that always stays in sight.
const KEPT_IN_SIGHT: f64 = 0.25;
/// On-screen radius from which seats are drawn one by one, as dots; below, sections.
const DOTS_FROM_PX: f64 = 1.3;
/// On-screen radius from which seats show their state as a shape.
const SEATS_FROM_PX: f64 = 4.0;
/// On-screen radius from which a seat has room for its number.
const LABELS_FROM_PX: f64 = 9.0;

/// How much of a map is worth drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Sections as a whole.
    Sections,
    /// Seats as dots of colour.
    Dots,
    /// Seats with their state.
    Seats,
    /// Seats with state and number.
    Labels,
}

/// How much to draw when a seat of that radius is shown at that scale.
#[must_use]
pub fn detail(scale: f64, radius: f64) -> Detail {
    let on_screen = scale * radius;
    if on_screen >= LABELS_FROM_PX {
        Detail::Labels
    } else if on_screen >= SEATS_FROM_PX {
        Detail::Seats
    } else if on_screen >= DOTS_FROM_PX {
        Detail::Dots
    } else {
        Detail::Sections
    }
}

/// How far one may zoom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The least scale.
    pub min_scale: f64,
    /// The greatest scale.
    pub max_scale: f64,
}

impl Limits {
    /// From the whole map at half its fitting size to a seat of that radius 40 pixels wide.
    #[must_use]
    pub fn for_map(view_box: Rect, viewport: Size, seat_radius: f64) -> Self {
        let fit = Camera::fit(view_box, viewport, 0.0).scale;
        let closest = 20.0 / seat_radius.max(f64::MIN_POSITIVE);
        Self { min_scale: fit * 0.5, max_scale: closest.clamp(fit, f64::MAX) }
    }
}

/// A view: what is in the middle, and how large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// The plan's point in the middle of the screen.
    pub center: Point,
    /// Pixels for one plan unit.
    pub scale: f64,
}

impl Camera {
    /// The view that shows the whole box with `padding` pixels around it.
    #[must_use]
    pub fn fit(rect: Rect, viewport: Size, padding: f64) -> Self {
        let room = |side: f64| (side - 2.0 * padding).max(1.0);
        let across = room(viewport.width) / rect.width().max(f64::MIN_POSITIVE);
        let down = room(viewport.height) / rect.height().max(f64::MIN_POSITIVE);
        let scale = across.min(down);
        // A box without extent gives no scale; then one unit is one pixel.
        let scale = if scale.is_finite() && scale < 1e9 { scale } else { 1.0 };
        Self { center: rect.center(), scale }
    }

    /// Where a plan's point is on the screen, from its top left.
    #[must_use]
    pub fn to_screen(&self, point: Point, viewport: Size) -> Point {
        Point::new(
            (point.x - self.center.x) * self.scale + viewport.width / 2.0,
            (point.y - self.center.y) * self.scale + viewport.height / 2.0,
        )
    }

    /// Which plan's point is at that place of the screen.
    #[must_use]
    pub fn to_world(&self, screen: Point, viewport: Size) -> Point {
        Point::new(
            (screen.x - viewport.width / 2.0) / self.scale + self.center.x,
            (screen.y - viewport.height / 2.0) / self.scale + self.center.y,
        )
    }

    /// The part of the plan that is in sight.
    #[must_use]
    pub fn visible(&self, viewport: Size) -> Rect {
        let corner = Point::new(viewport.width, viewport.height);
        Rect { min: self.to_world(Point::default(), viewport), max: self.to_world(corner, viewport) }
    }

    /// The view after the content was dragged by that many pixels.
    #[must_use]
    pub fn panned(self, dx: f64, dy: f64) -> Self {
        let center = Point::new(self.center.x - dx / self.scale, self.center.y - dy / self.scale);
        Self { center, ..self }
    }

    /// The view `factor` times as large; what is at `screen` stays there.
    #[must_use]
    pub fn zoomed_about(self, screen: Point, factor: f64, viewport: Size, limits: Limits) -> Self {
        let wanted = self.scale * factor;
        if !(wanted.is_finite() && wanted > 0.0) {
            return self;
        }
        let scale = wanted.max(limits.min_scale).min(limits.max_scale);
        let fixed = self.to_world(screen, viewport);
        let center = Point::new(
            fixed.x - (screen.x - viewport.width / 2.0) / scale,
            fixed.y - (screen.y - viewport.height / 2.0) / scale,
        );
        Self { center, scale }
    }

    /// The nearest view within the limits from which some of the box is in sight.
    #[must_use]
    pub fn clamped(self, view_box: Rect, viewport: Size, limits: Limits) -> Self {
        let scale = self.scale.max(limits.min_scale).min(limits.max_scale);
        let axis = |center: f64, low: f64, high: f64, pixels: f64| {
            let half = pixels / scale / 2.0;
            let kept = ((high - low).min(2.0 * half) * KEPT_IN_SIGHT).max(0.0);
            center.max(low + kept - half).min(high - kept + half)
        };
        let center = Point::new(
            axis(self.center.x, view_box.min.x, view_box.max.x, viewport.width),
            axis(self.center.y, view_box.min.y, view_box.max.y, viewport.height),
        );
        Self { center, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEWPORT: Size = Size { width: 800.0, height: 600.0 };
    const BOX: Rect = Rect::new(-100.0, 50.0, 5_300.0, 4_450.0);

    fn near(a: Point, b: Point) -> bool {
        a.distance(b) < 1e-6
    }

    #[test]
    fn screen_and_plan_are_inverse() {
        let camera = Camera { center: Point::new(12.0, -7.0), scale: 0.37 };
        let point = Point::new(1234.5, 987.0);
        assert!(near(camera.to_world(camera.to_screen(point, VIEWPORT), VIEWPORT), point));
    }

    #[test]
    fn fit_shows_all_and_centres() {
        let camera = Camera::fit(BOX, VIEWPORT, 20.0);
        let seen = camera.visible(VIEWPORT);
        assert!(seen.contains(BOX.min) && seen.contains(BOX.max));
        let top_left = camera.to_screen(BOX.min, VIEWPORT);
        assert!(top_left.x >= 20.0 - 1e-6 && top_left.y >= 20.0 - 1e-6);
        assert!((top_left.x.min(top_left.y) - 20.0).abs() < 1e-6);
        assert!(Camera::fit(Rect::default(), VIEWPORT, 0.0).scale.is_finite());
    }

    #[test]
    fn zoom_keeps_the_point_under_the_finger() {
        let limits = Limits { min_scale: 0.01, max_scale: 10.0 };
        let camera = Camera::fit(BOX, VIEWPORT, 0.0);
        let finger = Point::new(650.0, 80.0);
        let before = camera.to_world(finger, VIEWPORT);
        for factor in [1.3, 0.2, 1e9, 1e-9] {
            let zoomed = camera.zoomed_about(finger, factor, VIEWPORT, limits);
            assert!(near(zoomed.to_world(finger, VIEWPORT), before));
            assert!(zoomed.scale >= limits.min_scale && zoomed.scale <= limits.max_scale);
        }
        assert_eq!(camera.zoomed_about(finger, f64::NAN, VIEWPORT, limits), camera);
    }

    #[test]
    fn the_map_can_not_be_lost() {
        let limits = Limits::for_map(BOX, VIEWPORT, 9.0);
        let camera = Camera::fit(BOX, VIEWPORT, 0.0);
        for (dx, dy) in [(1e7, 0.0), (-1e7, 1e7), (0.0, -1e7)] {
            for factor in [0.1, 1.0, 30.0] {
                let middle = Point::new(400.0, 300.0);
                let moved =
                    camera.zoomed_about(middle, factor, VIEWPORT, limits).panned(dx, dy).clamped(BOX, VIEWPORT, limits);
                assert!(moved.visible(VIEWPORT).touches(BOX));
                assert_eq!(moved, moved.clamped(BOX, VIEWPORT, limits));
            }
        }
    }

    #[test]
    fn detail_grows_with_the_scale() {
        let seen: Vec<Detail> = [0.1, 0.2, 0.5, 1.0].map(|scale| detail(scale, 9.0)).into();
        assert_eq!(seen, [Detail::Sections, Detail::Dots, Detail::Seats, Detail::Labels]);
    }
}
