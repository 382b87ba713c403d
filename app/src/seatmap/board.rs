//! The canvas at work: camera, gestures and frames of one mounted map.
//!
//! Turns gestures and keys into a new view or a word to its page, and asks for a frame whenever
//! something to be seen has changed; an idle map draws nothing. Owns the camera; knows no wording.

mod travel;

use self::travel::{Glide, clamped, limits, moves_calmly, whole_house};
use super::chart::Chart;
use super::gesture::{At, Gesture, Gestures};
use super::picking::Mode;
use super::render::{Overlay, Painter, View, level};
use super::scene::{Host, Meant, Tip};
use crate::browser;
use domain::SeatNo;
use domain::venue::camera::{Camera, Detail};
use domain::venue::{Point, Rect, Size};
use leptos::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use web_sys::HtmlCanvasElement;

/// How long a changed seat's ring takes to fade.
const PULSE_MS: f64 = 250.0;
/// More rings than this at once tell nothing.
const PULSES_MAX: usize = 150;
/// Taps are ignored for so long after the map moved by itself.
const DEAF_MS: f64 = 380.0;
/// On-screen radius of a seat that one is brought to.
const NEAR_PX: f64 = 12.0;
/// How far from a seat's centre a fingertip still means it.
const TOUCH_REACH_PX: f64 = 15.0;
/// How far from a section's seats the mouse still means it.
const BLOCK_REACH_PX: f64 = 30.0;
/// Finer canvases cost more than can be seen.
const RATIO_MAX: f64 = 2.0;

struct State {
    painter: Painter,
    gestures: Gestures,
    view: Option<View>,
    glide: Option<Glide>,
    pulses: Vec<(SeatNo, f64)>,
    hover: Option<SeatNo>,
    /// The rectangle being drawn, and whether it takes away.
    band: Option<(Rect, bool)>,
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
    /// The focus that the board has just set itself.
    own_focus: Rc<Cell<Option<Option<SeatNo>>>>,
}

/// A pointer's event: which, where, and how.
#[derive(Clone, Copy, Debug)]
pub struct Press {
    /// The pointer.
    pub id: i32,
    /// Where, in CSS pixels.
    pub at: Point,
    /// Anything but a mouse.
    pub touch: bool,
    /// Whether a key says that a rectangle takes away.
    pub removes: bool,
    /// When.
    pub now_ms: f64,
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
            band: None,
            prepared: false,
        };
        Some(Self {
            canvas,
            host,
            tip,
            state: Rc::new(RefCell::new(state)),
            frame_asked: Rc::default(),
            own_focus: Rc::default(),
        })
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
        let overlay = Overlay {
            focus: self.host.scene.focus.try_get_untracked().flatten(),
            hover: state.hover,
            pulses: state
                .pulses
                .iter()
                .map(|(seat, start_ms)| (*seat, (now_ms - start_ms).max(0.0) / PULSE_MS))
                .collect(),
            band: state.band,
        };
        let (painter, view) = (&mut state.painter, *view);
        self.host.scene.with_house(|house| painter.paint(house, &view, &overlay));
        if state.glide.is_some() || !state.pulses.is_empty() {
            self.redraw();
        }
    }

    /// Another chart has come: it is seen whole at first.
    pub fn renew(&self) {
        let mut state = self.state.borrow_mut();
        (state.view, state.glide, state.hover, state.band, state.prepared) = (None, None, None, None, false);
        state.pulses.clear();
        drop(state);
        self.hide_tip();
        self.resize();
    }

    /// A newer chart of the same house has come: who looks closely stays where they are, and the keyboard on
    /// its seat, unless that is gone.
    pub fn exchange(&self) {
        let near = self.state.borrow().view.is_some_and(|view| {
            self.host.scene.with_house(|house| level(&view.camera, house.chart()) > Detail::Sections) == Some(true)
        });
        let focus = self.host.scene.focus.get_untracked();
        if focus.is_some_and(|seat| self.host.scene.with_house(|house| house.chart().is_gone(seat)) == Some(true)) {
            self.leave();
        }
        if !near {
            return self.renew();
        }
        let mut state = self.state.borrow_mut();
        (state.glide, state.hover, state.band, state.prepared) = (None, None, None, false);
        drop(state);
        self.hide_tip();
        self.resize();
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
            let areas_whole = !self.host.any_seat;
            state.view = Some(View { camera: clamped(house, camera, size), viewport: size, ratio, areas_whole });
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

    /// A pointer went down.
    pub fn pointer_down(&self, press: Press) {
        let mut state = self.state.borrow_mut();
        state.band = None;
        state.gestures.down(press.id, (press.at.x, press.at.y), press.touch, press.now_ms);
        if self.host.mode.get_untracked().draws() {
            state.gestures.draw();
        }
    }

    /// A pointer moved.
    pub fn pointer_move(&self, press: Press) {
        let gesture = self.state.borrow_mut().gestures.moved(press.id, (press.at.x, press.at.y));
        if let Some(gesture) = gesture {
            self.act(gesture, press);
        }
    }

    /// A pointer went up.
    pub fn pointer_up(&self, press: Press) {
        let gesture = self.state.borrow_mut().gestures.up(press.id, (press.at.x, press.at.y), press.now_ms);
        if let Some(gesture) = gesture {
            self.act(gesture, press);
        }
    }

    /// A pointer was taken away, or left.
    pub fn pointer_gone(&self, id: i32) {
        let mut state = self.state.borrow_mut();
        state.gestures.cancel(id);
        let hovered = state.hover.take().is_some() | state.band.take().is_some();
        drop(state);
        self.hide_tip();
        if hovered {
            self.redraw();
        }
    }

    fn act(&self, gesture: Gesture, press: Press) {
        match gesture {
            Gesture::Pan { dx, dy } => self.zoom_at(Point::default(), 1.0, dx, dy),
            Gesture::Pinch { at, factor, dx, dy } => self.zoom_at(Point::new(at.0, at.1), factor, dx, dy),
            Gesture::Tap(at) => self.tap(Point::new(at.0, at.1), press.touch, press.now_ms),
            Gesture::DoubleTap(at) => {
                let Some((camera, size)) = self.camera_and_size() else { return };
                let at = Point::new(at.0, at.1);
                let zoomed =
                    self.host.scene.with_house(|house| camera.zoomed_about(at, 2.0, size, limits(house, size)));
                if let Some(camera) = zoomed {
                    self.glide(camera);
                }
            }
            Gesture::Hover(at) if !press.touch => self.hover(Point::new(at.0, at.1)),
            Gesture::Hover(_) => {}
            Gesture::Band(from, to) => {
                self.hide_tip();
                self.state.borrow_mut().band = Some((between(from, to), self.removes(press)));
                self.redraw();
            }
            Gesture::Banded(from, to) => self.banded(between(from, to), self.removes(press)),
        }
    }

    fn removes(&self, press: Press) -> bool {
        press.removes || self.host.mode.get_untracked() == Mode::Remove
    }

    /// The rectangle is drawn: all seats in it are meant.
    fn banded(&self, band: Rect, removes: bool) {
        let view = {
            let mut state = self.state.borrow_mut();
            state.band = None;
            state.view
        };
        let seats = view.and_then(|view| {
            let corner = |at| view.camera.to_world(at, view.viewport);
            let area = Rect { min: corner(band.min), max: corner(band.max) };
            self.host.scene.with_house(|house| house.chart().centres_in(area))
        });
        if let Some(seats) = seats.filter(|seats| !seats.is_empty()) {
            self.host.meant.run(Meant::Seats { seats, removes });
        }
        self.redraw();
    }

    /// A place of the standing area under a finger or the mouse, where places aren't meant one by one.
    fn whole_pit(&self, chart: &Chart, place: Point, camera: &Camera) -> Option<SeatNo> {
        if self.host.any_seat {
            return None;
        }
        let reach_px = match level(camera, chart) {
            Detail::Sections => BLOCK_REACH_PX,
            // Its places may be far apart on the screen, and aren't drawn.
            _ => TOUCH_REACH_PX.max(chart.usual_radius() * camera.scale * 2.0),
        };
        chart.nearest(place, reach_px / camera.scale).filter(|seat| chart.in_whole_pit(*seat))
    }

    /// Near, a tap means the seat under it; from far, it comes closer and chooses nothing, unless
    /// selecting is on: then it means the section. A standing area is meant from everywhere.
    fn tap(&self, at: Point, touch: bool, now_ms: f64) {
        enum Meaning {
            Closer(Camera),
            Seat(SeatNo),
            Block(usize),
            Nothing,
        }
        let selects = self.host.mode.get_untracked().draws();
        let Some((camera, size)) = self.camera_and_size() else { return };
        let meaning = self.host.scene.with_house(|house| {
            let (chart, place) = (house.chart(), camera.to_world(at, size));
            let near_scale = NEAR_PX / chart.usual_radius();
            if let Some(seat) = self.whole_pit(chart, place, &camera) {
                return Meaning::Seat(seat);
            }
            match level(&camera, chart) {
                Detail::Sections if selects => chart
                    .nearest(place, BLOCK_REACH_PX / camera.scale)
                    .map_or(Meaning::Nothing, |seat| Meaning::Block(chart.block_of(seat))),
                // A fingertip covers several dots: it comes closer first.
                Detail::Dots if selects && !touch => {
                    chart.nearest(place, 5.0 / camera.scale).map_or(Meaning::Nothing, Meaning::Seat)
                }
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
                    self.set_focus(Some(seat));
                }
                self.host.meant.run(Meant::Seat(seat));
            }
            Some(Meaning::Block(block)) => {
                self.state.borrow_mut().gestures.tap_was_used();
                self.host.meant.run(Meant::Block(block));
            }
            Some(Meaning::Nothing) | None => {}
        }
    }

    fn hover(&self, at: Point) {
        let Some((camera, size)) = self.camera_and_size() else { return };
        let tip = self.host.scene.with_house(|house| {
            let (chart, place) = (house.chart(), camera.to_world(at, size));
            let radius = chart.usual_radius();
            if let Some(seat) = self.whole_pit(chart, place, &camera) {
                return Some(Tip::Block(chart.block_of(seat), at));
            }
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
}

/// The upright box between two corners.
fn between(from: At, to: At) -> Rect {
    Rect::new(from.0.min(to.0), from.1.min(to.1), from.0.max(to.0), from.1.max(to.1))
}
