//! The camera's journeys: gliding, zooming, fitting, and going to a seat.

use super::{Board, NEAR_PX};
use crate::browser;
use crate::seatmap::chart::Direction;
use crate::seatmap::house::House;
use crate::seatmap::render::level;
use crate::seatmap::scene::Meant;
use domain::SeatNo;
use domain::venue::camera::{Camera, Detail, Limits};
use domain::venue::{Point, Size};
use leptos::prelude::*;

/// How long the view takes to glide to where a tap or a button sends it.
const GLIDE_MS: f64 = 220.0;
/// The scale of one press of a zoom button or key.
const ZOOM_STEP: f64 = 1.6;
/// How far one press of an arrow key moves the map.
const PAN_STEP_PX: f64 = 90.0;
/// Room kept free around the whole house.
const FIT_PADDING_PX: f64 = 14.0;

/// A journey of the camera.
pub(super) struct Glide {
    from: Camera,
    pub(super) to: Camera,
    start_ms: f64,
}

impl Board {
    pub(super) fn camera_and_size(&self) -> Option<(Camera, Size)> {
        let state = self.state.borrow();
        let view = state.view?;
        // Steps add up from where the view is going, not from where it passes by.
        Some((state.glide.as_ref().map_or(view.camera, |glide| glide.to), view.viewport))
    }

    /// The tip belongs to a place on the screen: it goes when the map moves.
    pub(super) fn hide_tip(&self) {
        if self.tip.with_untracked(Option::is_some) {
            self.tip.set(None);
        }
    }

    /// Looks from there at once.
    pub(super) fn look(&self, camera: Camera) {
        self.hide_tip();
        self.host.scene.with_house(|house| {
            let mut state = self.state.borrow_mut();
            state.glide = None;
            state.hover = None;
            if let Some(view) = &mut state.view {
                view.camera = clamped(house, camera, view.viewport);
            }
        });
        self.redraw();
    }

    /// Glides there; at once under reduced motion.
    pub(super) fn glide(&self, camera: Camera) {
        if moves_calmly() {
            self.look(camera);
            return;
        }
        self.hide_tip();
        self.host.scene.with_house(|house| {
            let mut state = self.state.borrow_mut();
            state.hover = None;
            if let Some(view) = state.view {
                let to = clamped(house, camera, view.viewport);
                state.glide = Some(Glide { from: view.camera, to, start_ms: browser::monotonic_ms() });
            }
        });
        self.redraw();
    }

    /// Shows the whole house.
    pub fn fit(&self) {
        let Some((_, size)) = self.camera_and_size() else { return };
        if let Some(camera) = self.host.scene.with_house(|house| whole_house(house, size)) {
            self.glide(camera);
        }
    }

    /// Zooms about the focused seat, else about the middle.
    pub fn zoom(&self, closer: bool) {
        let Some((camera, size)) = self.camera_and_size() else { return };
        let factor = if closer { ZOOM_STEP } else { 1.0 / ZOOM_STEP };
        let focus = self.host.scene.focus.get_untracked();
        let zoomed = self.host.scene.with_house(|house| {
            let place = focus.and_then(|seat| house.chart().place(seat)).map(|place| camera.to_screen(place, size));
            let inside = place.filter(|at| at.x >= 0.0 && at.y >= 0.0 && at.x <= size.width && at.y <= size.height);
            let about = inside.unwrap_or(Point::new(size.width / 2.0, size.height / 2.0));
            camera.zoomed_about(about, factor, size, limits(house, size))
        });
        if let Some(camera) = zoomed {
            self.glide(camera);
        }
    }

    pub(super) fn zoom_at(&self, at: Point, factor: f64, dx: f64, dy: f64) {
        let Some(view) = self.state.borrow().view else { return };
        let zoomed = self.host.scene.with_house(|house| {
            view.camera.panned(dx, dy).zoomed_about(at, factor, view.viewport, limits(house, view.viewport))
        });
        if let Some(camera) = zoomed {
            self.look(camera);
        }
    }

    /// The wheel turned by so many pixels.
    pub fn wheel(&self, at: Point, delta_px: f64, pinching: bool) {
        // A pinch on a touchpad comes as a wheel with small steps.
        let speed = if pinching { 0.01 } else { 0.0018 };
        self.zoom_at(at, (-delta_px.clamp(-300.0, 300.0) * speed).exp(), 0.0, 0.0);
    }

    /// An arrow key: to the next seat, or, without a seat in focus, over the map.
    pub fn arrow(&self, direction: Direction, pan: bool) {
        let focus = self.host.scene.focus.get_untracked();
        if let (Some(seat), false) = (focus, pan) {
            let any_seat = self.host.any_seat;
            let next = self.host.scene.with_house(|house| {
                let chart = house.chart();
                if any_seat { chart.beside(seat, direction) } else { chart.beyond(seat, direction) }
            });
            if let Some(next) = next.flatten() {
                self.focus(next);
            }
            return;
        }
        let Some((camera, _)) = self.camera_and_size() else { return };
        let (dx, dy) = match direction {
            Direction::Left => (PAN_STEP_PX, 0.0),
            Direction::Right => (-PAN_STEP_PX, 0.0),
            Direction::Up => (0.0, PAN_STEP_PX),
            Direction::Down => (0.0, -PAN_STEP_PX),
        };
        self.look(camera.panned(dx, dy));
    }

    /// Enter or Space: chooses the focused seat, or goes to the seat nearest to the middle.
    pub fn press(&self) {
        if let Some(seat) = self.host.scene.focus.get_untracked() {
            self.host.meant.run(Meant::Pressed(seat));
            return;
        }
        let Some((camera, _)) = self.camera_and_size() else { return };
        if let Some(seat) = self.host.scene.with_house(|house| house.entry(camera.center)).flatten() {
            self.focus(seat);
        }
    }

    /// A key that means more than this board knows.
    pub fn ask(&self, meant: Meant) {
        self.host.meant.run(meant);
    }

    /// Escape: leaves the focused seat.
    pub fn leave(&self) {
        self.set_focus(None);
        self.hide_tip();
        self.redraw();
    }

    /// Puts the focus on a seat and brings it into sight, close enough to be read.
    pub fn focus(&self, seat: SeatNo) {
        let Some((camera, size)) = self.camera_and_size() else { return };
        let wanted = self.host.scene.with_house(|house| {
            let (chart, place) = (house.chart(), house.chart().place(seat)?);
            let near = level(&camera, chart) >= Detail::Seats;
            let at = camera.to_screen(place, size);
            let margin = (size.width.min(size.height) * 0.15).min(80.0);
            let inside = at.x > margin && at.y > margin && at.x < size.width - margin && at.y < size.height - margin;
            let scale = if near { camera.scale } else { NEAR_PX / chart.usual_radius() };
            Some((!near || !inside).then_some(Camera { center: place, scale }))
        });
        let Some(Some(camera)) = wanted else { return };
        self.set_focus(Some(seat));
        match camera {
            Some(camera) => self.glide(camera),
            None => self.redraw(),
        }
    }

    /// The focus was set from outside: goes there.
    pub fn follow(&self, seat: Option<SeatNo>) {
        // What the board set itself is where it should be.
        if self.own_focus.take() == Some(seat) {
            return;
        }
        match seat {
            Some(seat) => self.focus(seat),
            None => self.redraw(),
        }
    }

    pub(super) fn set_focus(&self, seat: Option<SeatNo>) {
        self.own_focus.set(Some(seat));
        self.host.scene.focus.set(seat);
    }
}

impl Glide {
    /// The view at a moment, and whether it has arrived.
    pub(super) fn at(&self, now_ms: f64) -> (Camera, bool) {
        let time = ((now_ms - self.start_ms) / GLIDE_MS).clamp(0.0, 1.0);
        if time >= 1.0 {
            return (self.to, true);
        }
        let eased = 1.0 - (1.0 - time).powi(3);
        let scale = self.from.scale * (self.to.scale / self.from.scale).powf(eased);
        // The centre keeps pace with the scale, so that the goal does not swing past.
        let span = self.to.scale - self.from.scale;
        let share = if span.abs() < 1e-9 { eased } else { self.to.scale * (scale - self.from.scale) / (scale * span) };
        let mix = |a: f64, b: f64| (b - a).mul_add(share, a);
        let center = Point::new(mix(self.from.center.x, self.to.center.x), mix(self.from.center.y, self.to.center.y));
        (Camera { center, scale }, false)
    }
}

pub(super) fn whole_house(house: &House, size: Size) -> Camera {
    Camera::fit(house.chart().view_box(), size, FIT_PADDING_PX)
}

pub(super) fn limits(house: &House, size: Size) -> Limits {
    Limits::for_map(house.chart().view_box(), size, house.chart().usual_radius())
}

pub(super) fn clamped(house: &House, camera: Camera, size: Size) -> Camera {
    camera.clamped(house.chart().view_box(), size, limits(house, size))
}

/// Whether the fan asked for less motion.
pub(super) fn moves_calmly() -> bool {
    window().match_media("(prefers-reduced-motion: reduce)").ok().flatten().is_some_and(|query| query.matches())
}
