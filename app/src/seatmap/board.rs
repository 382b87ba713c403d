//! The canvas at work: camera, gestures and frames of one mounted map.
//!
//! Turns gestures and keys into a new view or a word to its page, and asks for a frame whenever
//! something to be seen has changed; an idle map draws nothing. Owns the camera; knows no wording.

use super::chart::Direction;
use super::gesture::{Gesture, Gestures};
use super::house::House;
use super::render::{Marks, Painter, View, level};
use super::scene::{Host, Meant, Tip};
use crate::browser;
use domain::SeatNo;
use domain::venue::camera::{Camera, Detail, Limits};
use domain::venue::{Point, Size};
use leptos::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use web_sys::HtmlCanvasElement;

/// How long the view takes to glide to where a tap or a button sends it.
const GLIDE_MS: f64 = 220.0;
/// How long a changed seat's ring takes to fade.
const PULSE_MS: f64 = 250.0;
/// More rings than this at once tell nothing.
const PULSES_MAX: usize = 150;
/// Taps are ignored for so long after the map moved by itself.
const DEAF_MS: f64 = 380.0;
/// The scale of one press of a zoom button or key.
const ZOOM_STEP: f64 = 1.6;
/// How far one press of an arrow key moves the map.
const PAN_STEP_PX: f64 = 90.0;
/// On-screen radius of a seat that one is brought to.
const NEAR_PX: f64 = 12.0;
/// How far from a seat's centre a fingertip still means it.
const TOUCH_REACH_PX: f64 = 15.0;
/// How far from a section's seats the mouse still means it.
const BLOCK_REACH_PX: f64 = 30.0;
/// Room kept free around the whole house.
const FIT_PADDING_PX: f64 = 14.0;
/// Finer canvases cost more than can be seen.
const RATIO_MAX: f64 = 2.0;

struct Glide {
    from: Camera,
    to: Camera,
    start_ms: f64,
}

struct State {
    painter: Painter,
    gestures: Gestures,
    view: Option<View>,
    glide: Option<Glide>,
    pulses: Vec<(SeatNo, f64)>,
    hover: Option<SeatNo>,
    prepared: bool,
}

/// One mounted map. Cheap to clone: all clones are the same board.
#[derive(Clone)]
pub struct Board {
    canvas: HtmlCanvasElement,
    host: Host,
    tip: RwSignal<Option<Tip>>,
    state: Rc<RefCell<State>>,
    frame_asked: Rc<Cell<bool>>,
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").field("tip", &self.tip).finish_non_exhaustive()
    }
}

impl Board {
    /// A board for a canvas; `None` where the browser gives no drawing context.
    pub fn new(canvas: HtmlCanvasElement, host: Host, tip: RwSignal<Option<Tip>>) -> Option<Self> {
        let state = State {
            painter: Painter::new(canvas.clone())?,
            gestures: Gestures::default(),
            view: None,
            glide: None,
            pulses: Vec::new(),
            hover: None,
            prepared: false,
        };
        Some(Self { canvas, host, tip, state: Rc::new(RefCell::new(state)), frame_asked: Rc::default() })
    }

    /// Asks for a frame, once until it is drawn.
    pub fn redraw(&self) {
        if !self.frame_asked.replace(true) {
            let board = self.clone();
            request_animation_frame(move || board.frame());
        }
    }

    fn frame(&self) {
        self.frame_asked.set(false);
        let now_ms = browser::monotonic_ms();
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let Some(view) = &mut state.view else { return };
        if let Some(glide) = &state.glide {
            let (camera, ended) = glide.at(now_ms);
            view.camera = camera;
            if ended {
                state.glide = None;
            }
        }
        state.pulses.retain(|(_, start_ms)| now_ms - start_ms < PULSE_MS);
        let marks = Marks {
            focus: self.host.scene.focus.try_get_untracked().flatten(),
            hover: state.hover,
            pulses: state
                .pulses
                .iter()
                .map(|(seat, start_ms)| (*seat, (now_ms - start_ms).max(0.0) / PULSE_MS))
                .collect(),
        };
        let (painter, view) = (&mut state.painter, *view);
        self.host.scene.with_house(|house| painter.paint(house, &view, &marks));
        if state.glide.is_some() || !state.pulses.is_empty() {
            self.redraw();
        }
    }

    /// The canvas has another size, the screen another density, or the chart has come.
    pub fn resize(&self) {
        let size = Size { width: self.canvas.client_width().into(), height: self.canvas.client_height().into() };
        if size.width < 1.0 || size.height < 1.0 {
            return;
        }
        let ratio = window().device_pixel_ratio().clamp(1.0, RATIO_MAX);
        self.host.scene.with_house(|house| {
            let mut state = self.state.borrow_mut();
            if !state.prepared {
                state.painter.prepare(house.chart());
                state.prepared = true;
            }
            // What was seen whole stays seen whole; what was looked at closely stays in the middle.
            let camera = match state.view {
                Some(view) if view.camera != whole_house(house, view.viewport) => view.camera,
                _ => whole_house(house, size),
            };
            state.view = Some(View { camera: clamped(house, camera, size), viewport: size, ratio });
        });
        self.redraw();
    }

    /// Reads the theme again.
    pub fn retheme(&self) {
        self.state.borrow_mut().painter.read_theme();
        self.redraw();
    }

    /// Shows rings about seats that just changed, where single seats are seen and motion is wanted.
    pub fn pulse(&self, seats: &[u32]) {
        if moves_calmly() {
            return;
        }
        let now_ms = browser::monotonic_ms();
        let mut state = self.state.borrow_mut();
        let near = state.view.is_some_and(|view| {
            self.host.scene.with_house(|house| level(&view.camera, house.chart()) >= Detail::Seats) == Some(true)
        });
        if near {
            let room = PULSES_MAX.saturating_sub(state.pulses.len());
            state.pulses.extend(seats.iter().take(room).map(|seat| (SeatNo(*seat), now_ms)));
        }
    }

    fn camera_and_size(&self) -> Option<(Camera, Size)> {
        let state = self.state.borrow();
        let view = state.view?;
        // Steps add up from where the view is going, not from where it passes by.
        Some((state.glide.as_ref().map_or(view.camera, |glide| glide.to), view.viewport))
    }

    /// The tip belongs to a place on the screen: it goes when the map moves.
    fn hide_tip(&self) {
        if self.tip.with_untracked(Option::is_some) {
            self.tip.set(None);
        }
    }

    /// Looks from there at once.
    fn look(&self, camera: Camera) {
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
    fn glide(&self, camera: Camera) {
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

    fn zoom_at(&self, at: Point, factor: f64, dx: f64, dy: f64) {
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

    /// A pointer went down.
    pub fn pointer_down(&self, id: i32, at: Point, touch: bool, now_ms: f64) {
        self.state.borrow_mut().gestures.down(id, (at.x, at.y), touch, now_ms);
    }

    /// A pointer moved.
    pub fn pointer_move(&self, id: i32, at: Point, touch: bool) {
        let gesture = self.state.borrow_mut().gestures.moved(id, (at.x, at.y));
        if let Some(gesture) = gesture {
            self.act(gesture, touch, 0.0);
        }
    }

    /// A pointer went up.
    pub fn pointer_up(&self, id: i32, at: Point, touch: bool, now_ms: f64) {
        let gesture = self.state.borrow_mut().gestures.up(id, (at.x, at.y), now_ms);
        if let Some(gesture) = gesture {
            self.act(gesture, touch, now_ms);
        }
    }

    /// A pointer was taken away, or left.
    pub fn pointer_gone(&self, id: i32) {
        let mut state = self.state.borrow_mut();
        state.gestures.cancel(id);
        let hovered = state.hover.take().is_some();
        drop(state);
        self.hide_tip();
        if hovered {
            self.redraw();
        }
    }

    fn act(&self, gesture: Gesture, touch: bool, now_ms: f64) {
        match gesture {
            Gesture::Pan { dx, dy } => self.zoom_at(Point::default(), 1.0, dx, dy),
            Gesture::Pinch { at, factor, dx, dy } => self.zoom_at(Point::new(at.0, at.1), factor, dx, dy),
            Gesture::Tap(at) => self.tap(Point::new(at.0, at.1), touch, now_ms),
            Gesture::DoubleTap(at) => {
                let Some((camera, size)) = self.camera_and_size() else { return };
                let at = Point::new(at.0, at.1);
                let zoomed =
                    self.host.scene.with_house(|house| camera.zoomed_about(at, 2.0, size, limits(house, size)));
                if let Some(camera) = zoomed {
                    self.glide(camera);
                }
            }
            Gesture::Hover(at) if !touch => self.hover(Point::new(at.0, at.1)),
            Gesture::Hover(_) => {}
        }
    }

    /// Near, a tap means the seat under it; from far, it comes closer and chooses nothing.
    fn tap(&self, at: Point, touch: bool, now_ms: f64) {
        enum Meaning {
            Closer(Camera),
            Seat(SeatNo),
            Nothing,
        }
        let Some((camera, size)) = self.camera_and_size() else { return };
        let meaning = self.host.scene.with_house(|house| {
            let (chart, place) = (house.chart(), camera.to_world(at, size));
            let near_scale = NEAR_PX / chart.usual_radius();
            match level(&camera, chart) {
                Detail::Sections => chart
                    .nearest(place, BLOCK_REACH_PX / camera.scale)
                    .and_then(|seat| chart.blocks().get(chart.block_of(seat)))
                    .map_or(Meaning::Nothing, |block| {
                        let whole = Camera::fit(block.bounds, size, 28.0);
                        // A section too large for the screen is entered where it was touched.
                        let still_far = level(&whole, chart) == Detail::Sections;
                        Meaning::Closer(if still_far { Camera { center: place, scale: near_scale } } else { whole })
                    }),
                Detail::Dots => {
                    Meaning::Closer(camera.zoomed_about(at, near_scale / camera.scale, size, limits(house, size)))
                }
                Detail::Seats | Detail::Labels => {
                    let reach_px =
                        (chart.usual_radius() * camera.scale * 1.25).max(if touch { TOUCH_REACH_PX } else { 5.0 });
                    chart.nearest(place, reach_px / camera.scale).map_or(Meaning::Nothing, Meaning::Seat)
                }
            }
        });
        match meaning {
            Some(Meaning::Closer(camera)) => {
                self.state.borrow_mut().gestures.deafen(now_ms + DEAF_MS);
                self.glide(camera);
            }
            Some(Meaning::Seat(seat)) => {
                self.state.borrow_mut().gestures.tap_was_used();
                // The keyboard goes on from here, where it is in use.
                if self.host.scene.focus.get_untracked().is_some() {
                    self.host.scene.focus.set(Some(seat));
                }
                self.host.meant.run(Meant::Seat(seat));
            }
            Some(Meaning::Nothing) | None => {}
        }
    }

    fn hover(&self, at: Point) {
        let Some((camera, size)) = self.camera_and_size() else { return };
        let tip = self.host.scene.with_house(|house| {
            let (chart, place) = (house.chart(), camera.to_world(at, size));
            let radius = chart.usual_radius();
            if level(&camera, chart) == Detail::Sections {
                let seat = chart.nearest(place, BLOCK_REACH_PX / camera.scale)?;
                return Some(Tip::Block(chart.block_of(seat), at));
            }
            let reach = (radius * 1.25).max(3.0 / camera.scale);
            let seat = chart.nearest(place, reach)?;
            let top = Point::new(0.0, chart.radius(seat));
            Some(Tip::Seat(seat, camera.to_screen(chart.place(seat)?.minus(top), size)))
        });
        let tip = tip.flatten();
        let seat = match tip {
            Some(Tip::Seat(seat, _)) => Some(seat),
            _ => None,
        };
        if std::mem::replace(&mut self.state.borrow_mut().hover, seat) != seat {
            self.redraw();
        }
        if self.tip.get_untracked() != tip {
            self.tip.set(tip);
        }
    }

    /// An arrow key: to the next seat, or, without a seat in focus, over the map.
    pub fn arrow(&self, direction: Direction, pan: bool) {
        let focus = self.host.scene.focus.get_untracked();
        if let (Some(seat), false) = (focus, pan) {
            if let Some(next) = self.host.scene.with_house(|house| house.chart().beside(seat, direction)).flatten() {
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
            self.host.meant.run(Meant::Seat(seat));
            return;
        }
        let Some((camera, _)) = self.camera_and_size() else { return };
        if let Some(seat) = self.host.scene.with_house(|house| house.entry(camera.center)).flatten() {
            self.focus(seat);
        }
    }

    /// Escape: leaves the focused seat.
    pub fn leave(&self) {
        self.host.scene.focus.set(None);
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
        self.host.scene.focus.set(Some(seat));
        match camera {
            Some(camera) => self.glide(camera),
            None => self.redraw(),
        }
    }
}

impl Glide {
    /// The view at a moment, and whether it has arrived.
    fn at(&self, now_ms: f64) -> (Camera, bool) {
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

fn whole_house(house: &House, size: Size) -> Camera {
    Camera::fit(house.chart().view_box(), size, FIT_PADDING_PX)
}

fn limits(house: &House, size: Size) -> Limits {
    Limits::for_map(house.chart().view_box(), size, house.chart().usual_radius())
}

fn clamped(house: &House, camera: Camera, size: Size) -> Camera {
    camera.clamped(house.chart().view_box(), size, limits(house, size))
}

/// Whether the fan asked for less motion.
fn moves_calmly() -> bool {
    window().match_media("(prefers-reduced-motion: reduce)").ok().flatten().is_some_and(|query| query.matches())
}
