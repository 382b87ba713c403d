//! What is marked above the seats: the viewer's own from far, rings about marked seats, focus, mouse,
//! fading changes, and the rectangle being drawn.

use super::words::text_px;
use super::{Painter, View};
use crate::seatmap::chart::Chart;
use crate::seatmap::house::House;
use crate::seatmap::{SeatMark, Tone};
use domain::SeatNo;
use domain::venue::camera::Detail;
use domain::venue::{Point, Rect};
use std::f64::consts::TAU;
use wasm_bindgen::JsValue;
use web_sys::Path2d;

/// From far, more single signs than this are noise: sections tell their number instead.
const SINGLE_MAX: usize = 200;
/// Size of a number in a badge.
const BADGE_PX: f64 = 11.0;
/// How far a badge of marks stands above a section's name.
const MARKS_RISE_PX: f64 = 20.0;
/// How far the badge of one's own seats stands below it.
const OWN_DROP_PX: f64 = 24.0;

/// What comes and goes above the seats.
#[derive(Clone, Debug, Default)]
pub struct Overlay {
    /// The seat of the keyboard.
    pub focus: Option<SeatNo>,
    /// The seat under the mouse.
    pub hover: Option<SeatNo>,
    /// Seats that just changed, with how far their ring has faded, from 0 to 1.
    pub pulses: Vec<(SeatNo, f64)>,
    /// The rectangle being drawn, in CSS pixels, and whether it takes away.
    pub band: Option<(Rect, bool)>,
}

impl Painter {
    fn circle(&self, at: Point, radius: f64) {
        self.context.begin_path();
        // Fails for a negative radius alone.
        drop(self.context.arc(at.x, at.y, radius, 0.0, TAU));
    }

    /// From far, one's own seats are pins of their true colour, never smaller than can be seen; many
    /// are counted by section.
    pub(super) fn paint_own(&self, house: &House, view: &View) {
        self.transform(view.ratio, 0.0, Point::default());
        let [red, green, blue] = self.theme.inks.mine;
        let ink = format!("rgb({red} {green} {blue})");
        let chart = house.chart();
        if house.own_count() > SINGLE_MAX {
            for (block, count) in chart.blocks().iter().zip(house.own_by_block()) {
                if *count > 0 {
                    let at = view.camera.to_screen(block.anchor, view.viewport);
                    self.badge(Point::new(at.x, at.y + OWN_DROP_PX), &ink, &format!("\u{2713} {count}"));
                }
            }
            return;
        }
        self.context.set_fill_style_str(&ink);
        self.context.set_stroke_style_str(&self.theme.ground);
        self.context.set_line_width(1.5);
        let single = house.own().filter(|seat| !(view.areas_whole && chart.in_whole_pit(*seat)));
        for place in single.filter_map(|seat| chart.place(seat)) {
            let at = view.camera.to_screen(place, view.viewport);
            self.circle(at, 4.0);
            self.context.fill();
            self.context.stroke();
        }
    }

    /// How many places are the viewer's in each standing area that is drawn as one.
    pub(super) fn paint_own_in_pits(&self, house: &House, view: &View) {
        if !view.areas_whole {
            return;
        }
        self.transform(view.ratio, 0.0, Point::default());
        let [red, green, blue] = self.theme.inks.mine;
        let ink = format!("rgb({red} {green} {blue})");
        let chart = house.chart();
        for pit in chart.pits().iter().filter(|pit| pit.whole) {
            let count = house.own_in(pit);
            if let (1.., Some(block)) = (count, chart.blocks().get(pit.block)) {
                let at = view.camera.to_screen(block.anchor, view.viewport);
                self.badge(Point::new(at.x, at.y + OWN_DROP_PX), &ink, &format!("\u{2713} {count}"));
            }
        }
    }

    /// A number on a rounded ground.
    fn badge(&self, at: Point, ink: &str, text: &str) {
        let context = &self.context;
        context.set_font(&format!("600 {BADGE_PX}px {}", self.theme.font));
        context.set_text_align("center");
        context.set_text_baseline("middle");
        let (half, rise) = (text_px(context, text) / 2.0 + 6.0, BADGE_PX * 0.8);
        context.begin_path();
        // Fails for a negative radius alone.
        drop(context.round_rect_with_f64(at.x - half, at.y - rise, half * 2.0, rise * 2.0, rise));
        context.set_fill_style_str(ink);
        context.fill();
        context.set_stroke_style_str(&self.theme.ground);
        context.set_line_width(1.5);
        context.stroke();
        context.set_fill_style_str(&self.theme.ground);
        drop(context.fill_text(text, at.x, at.y + 0.5));
    }

    fn tone_ink(&self, tone: Tone) -> &str {
        match tone {
            Tone::Bad => &self.theme.bad,
            Tone::Care => &self.theme.care,
            Tone::Note => &self.theme.focus,
        }
    }

    /// Marked seats: rings where seats are seen one by one; from far, signs of one size, or a badge
    /// with the number a section. Tones differ by shape as well.
    pub(super) fn paint_marks(&self, house: &House, view: &View, level: Detail) {
        if house.marks().is_empty() {
            return;
        }
        self.transform(view.ratio, 0.0, Point::default());
        let chart = house.chart();
        let seen = view.camera.visible(view.viewport);
        let far = level < Detail::Seats;
        if far && house.marks().len() > SINGLE_MAX {
            let marked = chart.blocks().iter().zip(house.mark_tallies()).filter(|(_, tally)| tally.count() > 0);
            for (block, tally) in marked.filter(|(block, _)| block.bounds.touches(seen)) {
                let at = view.camera.to_screen(block.anchor, view.viewport);
                let sign = if tally.tone() == Tone::Bad { "! " } else { "" };
                let text = format!("{sign}{}", tally.count());
                self.badge(Point::new(at.x, at.y - MARKS_RISE_PX), self.tone_ink(tally.tone()), &text);
            }
            return;
        }
        // Of an area that is drawn as one, no place is seen that a sign could stand at.
        let drawn = |mark: &&SeatMark| !(view.areas_whole && chart.in_whole_pit(mark.seat));
        for mark in house.marks().iter().filter(drawn) {
            let Some(place) = chart.place(mark.seat).filter(|place| seen.contains(*place)) else { continue };
            let at = view.camera.to_screen(place, view.viewport);
            if far {
                self.sign(at, mark.tone);
            } else {
                self.tone_ring(at, chart.radius(mark.seat) * view.camera.scale + 2.5, mark.tone);
            }
        }
        self.dashed(&[]);
    }

    /// A square for what is wrong, a triangle for what needs care, a disc for anything else.
    fn sign(&self, at: Point, tone: Tone) {
        let context = &self.context;
        context.begin_path();
        match tone {
            Tone::Bad => context.rect(at.x - 4.5, at.y - 4.5, 9.0, 9.0),
            Tone::Care => {
                context.move_to(at.x, at.y - 6.0);
                context.line_to(at.x + 5.5, at.y + 4.0);
                context.line_to(at.x - 5.5, at.y + 4.0);
                context.close_path();
            }
            Tone::Note => drop(context.arc(at.x, at.y, 4.5, 0.0, TAU)),
        }
        context.set_fill_style_str(self.tone_ink(tone));
        context.fill();
        context.set_stroke_style_str(&self.theme.ground);
        context.set_line_width(1.5);
        context.stroke();
    }

    /// Closed for what is wrong, dashed for what needs care, thin for anything else.
    fn tone_ring(&self, at: Point, radius: f64, tone: Tone) {
        let (width, dash): (f64, &[f64]) = match tone {
            Tone::Bad => (3.0, &[]),
            Tone::Care => (2.5, &[5.0, 3.0]),
            Tone::Note => (1.75, &[]),
        };
        self.dashed(dash);
        self.context.set_line_width(width);
        self.context.set_stroke_style_str(self.tone_ink(tone));
        self.circle(at, radius.max(4.5));
        self.context.stroke();
    }

    fn dashed(&self, dash: &[f64]) {
        let lengths: js_sys::Array = dash.iter().copied().map(JsValue::from_f64).collect();
        // Fails for negative lengths alone.
        drop(self.context.set_line_dash(&lengths));
    }

    /// What comes and goes: fading changes, mouse, focus, the rectangle.
    pub(super) fn paint_overlay(&self, chart: &Chart, view: &View, overlay: &Overlay) {
        self.transform(view.ratio, 0.0, Point::default());
        let context = &self.context;
        let ring = |seat: SeatNo, grow_px: f64| {
            let drawn = !(view.areas_whole && chart.in_whole_pit(seat));
            let place = chart.place(seat).filter(|_| drawn)?;
            let radius = (chart.radius(seat) * view.camera.scale).max(2.0) + grow_px;
            self.circle(view.camera.to_screen(place, view.viewport), radius);
            Some(())
        };
        context.set_stroke_style_str(&self.theme.label);
        context.set_line_width(1.5);
        for (seat, faded) in &overlay.pulses {
            if ring(*seat, 1.0 + faded * 7.0).is_some() {
                context.set_global_alpha(1.0 - faded);
                context.stroke();
            }
        }
        context.set_global_alpha(1.0);
        if overlay.hover.and_then(|seat| ring(seat, 2.0)).is_some() {
            context.stroke();
        }
        if let Some(path) = overlay.focus.and_then(|seat| self.pit_path(chart, view, seat)) {
            self.plan_transform(view);
            for (ink, width_px) in [(&self.theme.ground, 6.0), (&self.theme.focus, 3.0)] {
                context.set_stroke_style_str(ink);
                context.set_line_width(width_px / view.camera.scale);
                context.stroke_with_path(path);
            }
            self.transform(view.ratio, 0.0, Point::default());
        } else if overlay.focus.and_then(|seat| ring(seat, 3.5)).is_some() {
            for (ink, width_px) in [(&self.theme.ground, 6.0), (&self.theme.focus, 3.0)] {
                context.set_stroke_style_str(ink);
                context.set_line_width(width_px);
                context.stroke();
            }
        }
        if let Some((band, removes)) = overlay.band {
            self.paint_band(band, removes);
        }
    }

    /// The outline of the standing area around a place, where it is drawn as one.
    fn pit_path(&self, chart: &Chart, view: &View, seat: SeatNo) -> Option<&Path2d> {
        let drawn = view.areas_whole && chart.in_whole_pit(seat);
        drawn.then(|| self.blocks.get(chart.block_of(seat))).flatten()
    }

    /// The rectangle: filled while it selects, dashed while it takes away.
    fn paint_band(&self, band: Rect, removes: bool) {
        let [red, green, blue] = self.theme.inks.mine;
        let ink = format!("rgb({red} {green} {blue})");
        let context = &self.context;
        context.set_stroke_style_str(&ink);
        context.set_line_width(1.5);
        if removes {
            self.dashed(&[6.0, 4.0]);
        } else {
            context.set_fill_style_str(&ink);
            context.set_global_alpha(0.14);
            context.fill_rect(band.min.x, band.min.y, band.width(), band.height());
            context.set_global_alpha(1.0);
        }
        context.stroke_rect(band.min.x, band.min.y, band.width(), band.height());
        self.dashed(&[]);
    }
}
