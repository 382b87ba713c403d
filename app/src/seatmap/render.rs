//! Draws the house on the canvas.
//!
//! Owns what is drawn and in which order. Seats are stamped into a layer of pixels, everything else
//! is vector paths made once for each chart. A frame allocates nothing per seat.

use super::chart::Chart;
use super::house::{House, Tally};
use super::paths::{area_path, is_stage, rings_path};
use super::stamps::{Layer, Look, Sheet};
use super::theme::Theme;
use super::zones::PALETTE;
use domain::SeatNo;
use domain::venue::camera::{Camera, Detail, detail};
use domain::venue::{Point, Rect, Size};
use std::f64::consts::TAU;
use wasm_bindgen::{Clamped, JsCast as _, JsValue};
use web_sys::{CanvasRenderingContext2d, CanvasWindingRule, HtmlCanvasElement, ImageData, Path2d};

/// More numbers than this at once are noise, and text is what costs most.
const NUMBERS_MAX: usize = 900;
/// Radius on the screen from which the zone's letter stands below the number.
const LETTER_FROM_PX: f64 = 14.0;
/// Radius on the screen from which rows are named.
const ROW_NAMES_FROM_PX: f64 = 5.0;
/// Size of a section's name.
const NAME_PX: f64 = 13.0;
/// Size of the line below it.
const CAPTION_PX: f64 = 11.0;

/// Radius on the screen from which single seats are drawn at all: below it, tens of thousands of specks
/// would tell less than their sections do, and cost more than a frame has.
const DOTS_FROM_PX: f64 = 1.8;

/// How much of the house is drawn from there.
pub fn level(camera: &Camera, chart: &Chart) -> Detail {
    let radius = chart.usual_radius();
    match detail(camera.scale, radius) {
        Detail::Dots if camera.scale * radius < DOTS_FROM_PX => Detail::Sections,
        level => level,
    }
}

/// Where the canvas looks, and how fine its pixels are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The part of the plan.
    pub camera: Camera,
    /// Size in CSS pixels.
    pub viewport: Size,
    /// Device pixels for one CSS pixel.
    pub ratio: f64,
}

impl View {
    fn device(&self, point: Point) -> Point {
        let at = self.camera.to_screen(point, self.viewport);
        Point::new(at.x * self.ratio, at.y * self.ratio)
    }
}

/// What is marked on top of the seats.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// The seat of the keyboard.
    pub focus: Option<SeatNo>,
    /// The seat under the mouse.
    pub hover: Option<SeatNo>,
    /// Seats that just changed, with how far their ring has faded, from 0 to 1.
    pub pulses: Vec<(SeatNo, f64)>,
}

/// The words of one section as last written, kept until its number of free seats changes.
#[derive(Debug, Default)]
struct Caption {
    free: Option<u32>,
    text: String,
    name_px: f64,
    caption_px: f64,
}

/// Everything that drawing needs from one frame to the next.
#[derive(Debug)]
pub struct Painter {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    seats_canvas: HtmlCanvasElement,
    seats_context: CanvasRenderingContext2d,
    layer: Layer,
    sheets: Vec<Sheet>,
    theme: Theme,
    blocks: Vec<Path2d>,
    areas: Vec<(Path2d, bool)>,
    captions: Vec<Caption>,
    letters: [String; PALETTE],
    visible: Vec<u32>,
}

fn context_of(canvas: &HtmlCanvasElement, option: &str, value: bool) -> Option<CanvasRenderingContext2d> {
    let options = js_sys::Object::new();
    js_sys::Reflect::set(&options, &option.into(), &JsValue::from_bool(value)).ok()?;
    canvas.get_context_with_context_options("2d", &options).ok()??.dyn_into().ok()
}

impl Painter {
    /// Prepares to draw on a canvas; `None` where the browser gives no drawing context.
    pub fn new(canvas: HtmlCanvasElement) -> Option<Self> {
        // Opaque: the page behind needs no blending.
        let context = context_of(&canvas, "alpha", false)?;
        let seats_canvas: HtmlCanvasElement =
            canvas.owner_document()?.create_element("canvas").ok()?.dyn_into().ok()?;
        // Its pixels come from memory each frame: keep them there.
        let seats_context = context_of(&seats_canvas, "willReadFrequently", true)?;
        let theme = Theme::read(&canvas, &context);
        Some(Self {
            canvas,
            context,
            seats_canvas,
            seats_context,
            layer: Layer::default(),
            sheets: Vec::new(),
            theme,
            blocks: Vec::new(),
            areas: Vec::new(),
            captions: Vec::new(),
            letters: Default::default(),
            visible: Vec::new(),
        })
    }

    /// Reads the colours again: the theme has changed.
    pub fn read_theme(&mut self) {
        self.theme = Theme::read(&self.canvas, &self.context);
        self.sheets.clear();
    }

    /// Makes the paths of a chart.
    pub fn prepare(&mut self, chart: &Chart) {
        self.blocks = chart.blocks().iter().filter_map(|block| rings_path(&block.rings)).collect();
        let focal = chart.focal_point();
        self.areas = chart.areas().iter().filter_map(|area| Some((area_path(area)?, is_stage(area, focal)))).collect();
        self.letters = std::array::from_fn(|colour| chart.letter(colour).to_string());
        self.context.set_font(&format!("600 {NAME_PX}px {}", self.theme.font));
        self.captions = chart
            .blocks()
            .iter()
            .map(|block| Caption { name_px: text_px(&self.context, &block.name), ..Caption::default() })
            .collect();
    }

    /// Gives both canvases the size of the view. Setting a size empties a canvas, so only on change.
    fn fit(&self, width: u32, height: u32) {
        for canvas in [&self.canvas, &self.seats_canvas] {
            if (canvas.width(), canvas.height()) != (width, height) {
                canvas.set_width(width);
                canvas.set_height(height);
            }
        }
    }

    /// Draws one frame.
    pub fn paint(&mut self, house: &House, view: &View, marks: &Marks) {
        let (width, height) = (whole_px(view.viewport.width * view.ratio), whole_px(view.viewport.height * view.ratio));
        if width == 0 || height == 0 {
            return;
        }
        self.fit(width, height);
        if !self.theme.is_styled() {
            self.read_theme();
        }
        let chart = house.chart();
        let level = level(&view.camera, chart);
        self.identity();
        self.context.set_global_alpha(1.0);
        self.context.set_fill_style_str(&self.theme.ground);
        self.context.fill_rect(0.0, 0.0, width.into(), height.into());
        self.paint_areas(chart, view);
        self.paint_blocks(house, view, level);
        if level == Detail::Sections {
            self.paint_captions(house, view, true);
            self.paint_own(house, view);
        } else {
            chart.seats_in(view.camera.visible(view.viewport), &mut self.visible);
            self.paint_seats(house, view, width, height);
            if level == Detail::Dots {
                self.paint_captions(house, view, false);
            }
            self.paint_row_names(chart, view);
            if level == Detail::Labels && self.visible.len() <= NUMBERS_MAX {
                self.paint_numbers(house, view);
            }
        }
        self.paint_marks(chart, view, marks);
    }

    fn identity(&self) {
        self.transform(1.0, 0.0, Point::default());
    }

    /// Scale, turn in radians, origin in device pixels.
    fn transform(&self, scale: f64, turn: f64, origin: Point) {
        let (sin, cos) = turn.sin_cos();
        // Fails for numbers that aren't finite; a camera's are.
        drop(self.context.set_transform(scale * cos, scale * sin, -scale * sin, scale * cos, origin.x, origin.y));
    }

    fn plan_transform(&self, view: &View) {
        self.transform(view.camera.scale * view.ratio, 0.0, view.device(Point::default()));
    }

    fn paint_areas(&self, chart: &Chart, view: &View) {
        self.plan_transform(view);
        let context = &self.context;
        context.set_line_width(1.0 / view.camera.scale);
        context.set_stroke_style_str(&self.theme.line);
        for (path, stage) in &self.areas {
            if *stage {
                context.set_fill_style_str(&self.theme.stage);
                context.fill_with_path_2d(path);
            } else {
                context.set_global_alpha(0.22);
                context.set_fill_style_str(&self.theme.line);
                context.fill_with_path_2d(path);
                context.set_global_alpha(1.0);
                context.stroke_with_path(path);
            }
        }
        context.set_text_align("center");
        context.set_text_baseline("middle");
        let focal = chart.focal_point();
        for area in chart.areas() {
            let Some(text) = &area.text else { continue };
            let size = text.size * view.camera.scale * view.ratio;
            if size < 7.0 * view.ratio {
                continue;
            }
            let ink = if is_stage(area, focal) { &self.theme.stage_label } else { &self.theme.label };
            context.set_fill_style_str(ink);
            // In steps: every new size makes the browser raster its letters anew.
            let size = if size > 24.0 { (size / 4.0).round() * 4.0 } else { size.round() };
            context.set_font(&format!("600 {size}px {}", self.theme.font));
            self.transform(1.0, text.rotation.to_radians(), view.device(Point::new(text.center[0], text.center[1])));
            drop(context.fill_text(&text.text, 0.0, 0.0));
        }
    }

    /// Sections: filled by price and availability from far, a hairline when their seats are seen.
    fn paint_blocks(&self, house: &House, view: &View, level: Detail) {
        self.plan_transform(view);
        let context = &self.context;
        context.set_line_width(1.0 / view.camera.scale);
        context.set_stroke_style_str(&self.theme.line);
        let seen = view.camera.visible(view.viewport);
        let blocks = house.chart().blocks().iter().zip(house.tallies()).zip(&self.blocks);
        for ((block, tally), path) in blocks.filter(|((block, _), _)| block.bounds.touches(seen)) {
            if level == Detail::Sections && tally.free > 0 {
                context.set_global_alpha(fill_share(tally, block.seats));
                context.set_fill_style_str(&self.theme.zones[tally.main_colour()]);
                context.fill_with_path_2d_and_winding(path, CanvasWindingRule::Evenodd);
                context.set_global_alpha(1.0);
            }
            context.stroke_with_path(path);
        }
    }

    /// The names of sections, from far with letter and free seats, where they fit.
    fn paint_captions(&mut self, house: &House, view: &View, counts: bool) {
        self.transform(view.ratio, 0.0, Point::default());
        let context = &self.context;
        rimmed(context, &self.theme.ground);
        context.set_fill_style_str(&self.theme.label);
        let (name_font, caption_font) =
            (format!("600 {NAME_PX}px {}", self.theme.font), format!("500 {CAPTION_PX}px {}", self.theme.font));
        let seen = view.camera.visible(view.viewport);
        let mut taken: Vec<Rect> = Vec::new();
        for (index, block) in house.chart().blocks().iter().enumerate() {
            let (Some(caption), Some(tally)) = (self.captions.get_mut(index), house.tallies().get(index)) else {
                break;
            };
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
            caption.renew(tally, &self.letters, context, &caption_font);
            let second = counts && high > NAME_PX + CAPTION_PX + 4.0 && wide > caption.caption_px;
            let shift = if second { CAPTION_PX * 0.62 } else { 0.0 };
            context.set_font(&name_font);
            if !counts {
                written(context, &block.name, at.x, at.y);
                continue;
            }
            context.set_fill_style_str(self.theme.ink_on(tally.main_colour(), fill_share(tally, block.seats)));
            drop(context.fill_text(&block.name, at.x, at.y - shift));
            if second {
                context.set_font(&caption_font);
                drop(context.fill_text(&caption.text, at.x, at.y + CAPTION_PX * 0.75));
            }
        }
    }

    /// From far, one's own seats are pins of their true colour, never smaller than can be seen.
    fn paint_own(&self, house: &House, view: &View) {
        self.transform(view.ratio, 0.0, Point::default());
        let [red, green, blue] = self.theme.inks.mine;
        self.context.set_fill_style_str(&format!("rgb({red} {green} {blue})"));
        self.context.set_stroke_style_str(&self.theme.ground);
        self.context.set_line_width(1.5);
        for place in house.own().filter_map(|seat| house.chart().place(seat)) {
            let at = view.camera.to_screen(place, view.viewport);
            self.circle(at, 4.0);
            self.context.fill();
            self.context.stroke();
        }
    }

    fn circle(&self, at: Point, radius: f64) {
        self.context.begin_path();
        // Fails for a negative radius alone.
        drop(self.context.arc(at.x, at.y, radius, 0.0, TAU));
    }

    fn paint_seats(&mut self, house: &House, view: &View, width: u32, height: u32) {
        let chart = house.chart();
        let scale = view.camera.scale * view.ratio;
        let inks = self.theme.inks;
        for (index, radius) in chart.sizes().iter().enumerate() {
            // A hair smaller than the plan says, so that seats that touch stay apart.
            let radius = (radius * scale * 0.94) as f32;
            match self.sheets.get_mut(index) {
                Some(sheet) if sheet.fits(radius, &inks) => {}
                Some(sheet) => *sheet = Sheet::new(radius, inks),
                None => self.sheets.push(Sheet::new(radius, inks)),
            }
        }
        self.layer.clear(width as usize, height as usize);
        let origin = view.device(Point::default());
        let (places, looks, sizes) = (chart.places(), house.looks(), chart.sizes_of());
        let (layer, sheets) = (&mut self.layer, &mut self.sheets);
        let mut stamp = |seat: usize| {
            let (Some(place), Some(look), Some(size)) = (places.get(seat), looks.get(seat), sizes.get(seat)) else {
                return;
            };
            if let Some(sheet) = sheets.get_mut(usize::from(*size)) {
                let (x, y) = (place.x.mul_add(scale, origin.x), place.y.mul_add(scale, origin.y));
                layer.stamp(sheet, *look, x as f32, y as f32);
            }
        };
        self.visible.iter().for_each(|seat| stamp(*seat as usize));
        // Larger than their neighbours, so they come last.
        house.own().for_each(|seat| stamp(seat.0 as usize));
        if let Ok(image) = ImageData::new_with_u8_clamped_array_and_sh(Clamped(self.layer.rgba()), width, height) {
            drop(self.seats_context.put_image_data(&image, 0.0, 0.0));
            self.identity();
            self.context.set_image_smoothing_enabled(false);
            drop(self.context.draw_image_with_html_canvas_element(&self.seats_canvas, 0.0, 0.0));
        }
    }

    fn paint_row_names(&self, chart: &Chart, view: &View) {
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
    fn paint_numbers(&self, house: &House, view: &View) {
        self.transform(view.ratio, 0.0, Point::default());
        let (context, chart) = (&self.context, house.chart());
        let radius = chart.usual_radius() * view.camera.scale;
        let letters = radius >= LETTER_FROM_PX;
        let lift = if letters { radius * 0.22 } else { 0.0 };
        context.set_text_align("center");
        context.set_text_baseline("middle");
        context.set_fill_style_str(&self.theme.zone_label);
        let each = |write: &dyn Fn(SeatNo, Point, usize)| {
            for seat in self.visible.iter().copied().map(SeatNo) {
                let colour = house.looks().get(seat.0 as usize).copied().and_then(Look::numbered);
                if let (Some(colour), Some(place)) = (colour, chart.place(seat)) {
                    write(seat, view.camera.to_screen(place, view.viewport), colour);
                }
            }
        };
        context.set_font(&format!("600 {}px {}", (radius * if letters { 0.78 } else { 0.9 }).round(), self.theme.font));
        each(&|seat, at, _| {
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
            each(&|_, at, colour| drop(context.fill_text(&self.letters[colour], at.x, at.y + radius * 0.5)));
        }
    }

    fn paint_marks(&self, chart: &Chart, view: &View, marks: &Marks) {
        self.transform(view.ratio, 0.0, Point::default());
        let context = &self.context;
        let ring = |seat: SeatNo, grow_px: f64| {
            let place = chart.place(seat)?;
            let radius = (chart.radius(seat) * view.camera.scale).max(2.0) + grow_px;
            self.circle(view.camera.to_screen(place, view.viewport), radius);
            Some(())
        };
        context.set_stroke_style_str(&self.theme.label);
        context.set_line_width(1.5);
        for (seat, faded) in &marks.pulses {
            if ring(*seat, 1.0 + faded * 7.0).is_some() {
                context.set_global_alpha(1.0 - faded);
                context.stroke();
            }
        }
        context.set_global_alpha(1.0);
        if marks.hover.and_then(|seat| ring(seat, 2.0)).is_some() {
            context.stroke();
        }
        if marks.focus.and_then(|seat| ring(seat, 3.5)).is_some() {
            context.set_stroke_style_str(&self.theme.ground);
            context.set_line_width(6.0);
            context.stroke();
            context.set_stroke_style_str(&self.theme.focus);
            context.set_line_width(3.0);
            context.stroke();
        }
    }
}

impl Caption {
    /// Writes the second line anew when the number of free seats has changed.
    fn renew(&mut self, tally: &Tally, letters: &[String; PALETTE], context: &CanvasRenderingContext2d, font: &str) {
        if self.free == Some(tally.free) {
            return;
        }
        self.free = Some(tally.free);
        let mut colours = (0..PALETTE).filter(|colour| tally.by_colour[*colour] > 0);
        let ends = colours.next().map(|first| (first, colours.next_back()));
        self.text = match ends {
            None => "0".to_owned(),
            Some((only, None)) => format!("{} · {}", letters[only], tally.free),
            Some((first, Some(last))) => format!("{}–{} · {}", letters[first], letters[last], tally.free),
        };
        context.set_font(font);
        self.caption_px = text_px(context, &self.text);
    }
}

/// How strongly a section is filled: by the share of its seats that is free, none at all when none is.
fn fill_share(tally: &Tally, seats: u32) -> f64 {
    if tally.free == 0 { 0.0 } else { 0.6f64.mul_add(f64::from(tally.free) / f64::from(seats.max(1)), 0.3) }
}

/// Prepares for [`written`].
fn rimmed(context: &CanvasRenderingContext2d, ground: &str) {
    context.set_text_align("center");
    context.set_text_baseline("middle");
    context.set_line_join("round");
    context.set_line_width(3.0);
    context.set_stroke_style_str(ground);
}

/// Text with a rim of the floor's colour, so that it is read over anything.
fn written(context: &CanvasRenderingContext2d, text: &str, x: f64, y: f64) {
    drop(context.stroke_text(text, x, y));
    drop(context.fill_text(text, x, y));
}

fn text_px(context: &CanvasRenderingContext2d, text: &str) -> f64 {
    context.measure_text(text).map_or(0.0, |metrics| metrics.width())
}

fn whole_px(value: f64) -> u32 {
    // The cast of a float saturates, and a canvas is smaller than that anyway.
    #[expect(clippy::cast_sign_loss, reason = "rounded and cut at 0")]
    let whole = value.round().clamp(0.0, 16_384.0) as u32;
    whole
}
