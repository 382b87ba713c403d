//! What is written on the map: names of sections and rows, numbers of seats.

use super::{Painter, View, fill_share};
use crate::seatmap::chart::Chart;
use crate::seatmap::house::{House, Tally};
use crate::seatmap::stamps::Look;
use domain::SeatNo;
use domain::venue::{Point, Rect};
use web_sys::CanvasRenderingContext2d;

/// Radius on the screen from which the zone's letter stands below the number.
const LETTER_FROM_PX: f64 = 14.0;
/// Radius on the screen from which rows are named.
const ROW_NAMES_FROM_PX: f64 = 5.0;
/// Size of a section's name.
const NAME_PX: f64 = 13.0;
/// Size of the line below it.
const CAPTION_PX: f64 = 11.0;

/// What the words on sections tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Every section's name, and what is free in it.
    Counts,
    /// Every section's name.
    Names,
    /// Standing areas alone.
    Areas,
}

/// Free seats, first and last zone, and the colouring that a caption was written for.
type Written = (u32, Option<(usize, usize)>, u32);

/// The words of one section as last written, kept until what they say changes.
#[derive(Debug, Default)]
pub(super) struct Caption {
    written: Option<Written>,
    text: String,
    name_px: f64,
    caption_px: f64,
}

impl Painter {
    /// Measures the names of the sections.
    pub(super) fn measure(&mut self, chart: &Chart) {
        self.context.set_font(&format!("600 {NAME_PX}px {}", self.theme.font));
        self.captions = chart
            .blocks()
            .iter()
            .map(|block| Caption { name_px: text_px(&self.context, &block.name), ..Caption::default() })
            .collect();
    }

    /// The names of sections, from far with letter and free seats, where they fit; those of standing areas
    /// that are drawn as one from everywhere.
    pub(super) fn paint_captions(&mut self, house: &House, view: &View, told: Told) {
        self.transform(view.ratio, 0.0, Point::default());
        let context = &self.context;
        rimmed(context, &self.theme.ground);
        let (name_font, caption_font) =
            (format!("600 {NAME_PX}px {}", self.theme.font), format!("500 {CAPTION_PX}px {}", self.theme.font));
        let seen = view.camera.visible(view.viewport);
        let mut taken: Vec<Rect> = Vec::new();
        for (index, block) in house.chart().blocks().iter().enumerate() {
            let (Some(caption), Some(tally)) = (self.captions.get_mut(index), house.tallies().get(index)) else {
                break;
            };
            let as_one = view.areas_whole && house.chart().pit_of_block(index).is_some();
            if told == Told::Areas && !as_one {
                continue;
            }
            let counts = told == Told::Counts || as_one;
            let scale = view.camera.scale * block.fullness;
            let (wide, high) = (block.bounds.width() * scale, block.bounds.height() * scale);
            if !block.bounds.touches(seen) || wide < caption.name_px * 0.95 || high < NAME_PX * 0.8 {
                continue;
            }
            let at = view.camera.to_screen(block.anchor, view.viewport);
            let (half, rise) = (caption.name_px / 2.0, NAME_PX * 0.6);
            let place = Rect::new(at.x - half, at.y - rise, at.x + half, at.y + rise);
            // Floors that lie over one another in the plan: one name that can be read, the other from nearer.
            if taken.iter().any(|other| other.touches(place)) {
                continue;
            }
            taken.push(place);
            caption.renew(tally, house.chart(), context, &caption_font);
            let second = counts && high > NAME_PX + CAPTION_PX + 4.0 && wide > caption.caption_px;
            let shift = if second { CAPTION_PX * 0.62 } else { 0.0 };
            context.set_font(&name_font);
            if !counts {
                context.set_fill_style_str(&self.theme.label);
                written(context, &block.name, at.x, at.y);
                continue;
            }
            context.set_fill_style_str(self.theme.ink_on(tally.main_zone(), fill_share(tally, block.seats)));
            drop(context.fill_text(&block.name, at.x, at.y - shift));
            if second {
                context.set_font(&caption_font);
                drop(context.fill_text(&caption.text, at.x, at.y + CAPTION_PX * 0.75));
            }
        }
    }

    pub(super) fn paint_row_names(&self, chart: &Chart, view: &View) {
        let radius = chart.usual_radius() * view.camera.scale;
        if radius < ROW_NAMES_FROM_PX {
            return;
        }
        self.transform(view.ratio, 0.0, Point::default());
        let context = &self.context;
        rimmed(context, &self.theme.ground);
        context.set_fill_style_str(&self.theme.label);
        context.set_font(&format!("500 {}px {}", (radius * 1.1).round().clamp(8.0, 15.0), self.theme.font));
        let seen = view.camera.visible(view.viewport);
        for mark in chart.row_marks().iter().filter(|mark| seen.contains(mark.at)) {
            let at = view.camera.to_screen(mark.at, view.viewport);
            written(context, &mark.label, at.x, at.y);
        }
    }

    /// Numbers on ordinary free seats; with room, the zone's letter below.
    pub(super) fn paint_numbers(&self, house: &House, view: &View) {
        self.transform(view.ratio, 0.0, Point::default());
        let (context, chart) = (&self.context, house.chart());
        let radius = chart.usual_radius() * view.camera.scale;
        let letters = radius >= LETTER_FROM_PX;
        let lift = if letters { radius * 0.22 } else { 0.0 };
        context.set_text_align("center");
        context.set_text_baseline("middle");
        context.set_fill_style_str(&self.theme.zone_label);
        let each = |write: &mut dyn FnMut(SeatNo, Point)| {
            for seat in self.visible.iter().copied().map(SeatNo) {
                let numbered = house.looks().get(seat.0 as usize).copied().and_then(Look::numbered).is_some();
                if let (true, Some(place)) = (numbered, chart.place(seat)) {
                    write(seat, view.camera.to_screen(place, view.viewport));
                }
            }
        };
        context.set_font(&format!("600 {}px {}", (radius * if letters { 0.78 } else { 0.9 }).round(), self.theme.font));
        each(&mut |seat, at| {
            if let Some(label) = chart.label(seat) {
                // Only long labels are measured: that is what costs.
                drop(if label.seat.len() > 3 {
                    context.fill_text_with_max_width(label.seat, at.x, at.y - lift, radius * 1.7)
                } else {
                    context.fill_text(label.seat, at.x, at.y - lift)
                });
            }
        });
        if letters {
            context.set_font(&format!("600 {}px {}", (radius * 0.5).round(), self.theme.font));
            let mut letter = [0; 4];
            each(&mut |seat, at| {
                if let Some(zone) = chart.zone(seat) {
                    let letter = chart.letter(zone).encode_utf8(&mut letter);
                    drop(context.fill_text(letter, at.x, at.y + radius * 0.5));
                }
            });
        }
    }
}

impl Caption {
    /// Writes the second line anew when the free seats or their colours have changed.
    fn renew(&mut self, tally: &Tally, chart: &Chart, context: &CanvasRenderingContext2d, font: &str) {
        let ends = tally.ends();
        let written = Some((tally.free, ends, chart.colouring()));
        if self.written == written {
            return;
        }
        self.written = written;
        self.text = match ends {
            None => "0".to_owned(),
            Some((first, last)) if first == last => format!("{} · {}", chart.letter(first), tally.free),
            Some((first, last)) => format!("{}–{} · {}", chart.letter(first), chart.letter(last), tally.free),
        };
        context.set_font(font);
        self.caption_px = text_px(context, &self.text);
    }
}

/// Prepares for [`written`].
pub(super) fn rimmed(context: &CanvasRenderingContext2d, ground: &str) {
    context.set_text_align("center");
    context.set_text_baseline("middle");
    context.set_line_join("round");
    context.set_line_width(3.0);
    context.set_stroke_style_str(ground);
}

/// Text with a rim of the floor's colour, so that it is read over anything.
pub(super) fn written(context: &CanvasRenderingContext2d, text: &str, x: f64, y: f64) {
    drop(context.stroke_text(text, x, y));
    drop(context.fill_text(text, x, y));
}

pub(super) fn text_px(context: &CanvasRenderingContext2d, text: &str) -> f64 {
    context.measure_text(text).map_or(0.0, |metrics| metrics.width())
}
