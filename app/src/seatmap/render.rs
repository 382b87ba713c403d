//! Draws the house on the canvas.
//!
//! Owns what is drawn and in which order: what lies below the seats, the seats themselves, words, and
//! what is marked above them. Seats are stamped into a layer of pixels, everything else
//! is vector paths made once for each chart. A frame allocates nothing per seat.

mod above;
mod ground;
mod words;

pub use above::Overlay;

use self::words::{Caption, Told};
use super::chart::Chart;
use super::house::{House, Tally};
use super::paths::{area_path, is_stage, rings_path};
use super::stamps::{Layer, Look, Sheet};
use super::theme::Theme;
use domain::SeatNo;
use domain::venue::camera::{Camera, Detail, detail};
use domain::venue::{Point, Size};
use wasm_bindgen::{Clamped, JsCast as _, JsValue};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData, Path2d};

/// More numbers than this at once are noise, and text is what costs most.
const NUMBERS_MAX: usize = 900;
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
    /// Whether a standing area is drawn as one, without its places.
    pub areas_whole: bool,
}

impl View {
    fn device(&self, point: Point) -> Point {
        let at = self.camera.to_screen(point, self.viewport);
        Point::new(at.x * self.ratio, at.y * self.ratio)
    }
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
        self.measure(chart);
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
    pub fn paint(&mut self, house: &House, view: &View, overlay: &Overlay) {
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
            self.paint_captions(house, view, Told::Counts);
            self.paint_own(house, view);
        } else {
            chart.seats_in(view.camera.visible(view.viewport), &mut self.visible);
            if view.areas_whole {
                self.visible.retain(|seat| !chart.in_whole_pit(SeatNo(*seat)));
            }
            self.paint_seats(house, view, width, height);
            let told = if level == Detail::Dots { Told::Names } else { Told::Areas };
            self.paint_captions(house, view, told);
            self.paint_row_names(chart, view);
            if level == Detail::Labels && self.visible.len() <= NUMBERS_MAX {
                self.paint_numbers(house, view);
            }
        }
        self.paint_own_in_pits(house, view);
        self.paint_marks(house, view, level);
        self.paint_overlay(chart, view, overlay);
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
        let mine = |seat: &&u32| looks.get(**seat as usize).is_some_and(|look| Look::is_mine(*look));
        self.visible.iter().filter(mine).for_each(|seat| stamp(*seat as usize));
        if let Ok(image) = ImageData::new_with_u8_clamped_array_and_sh(Clamped(self.layer.rgba()), width, height) {
            drop(self.seats_context.put_image_data(&image, 0.0, 0.0));
            self.identity();
            self.context.set_image_smoothing_enabled(false);
            drop(self.context.draw_image_with_html_canvas_element(&self.seats_canvas, 0.0, 0.0));
        }
    }
}

/// How strongly a section is filled: by the share of its seats that is free, none at all when none is.
fn fill_share(tally: &Tally, seats: u32) -> f64 {
    if tally.free == 0 { 0.0 } else { 0.6f64.mul_add(f64::from(tally.free) / f64::from(seats.max(1)), 0.3) }
}

fn whole_px(value: f64) -> u32 {
    // The cast of a float saturates, and a canvas is smaller than that anyway.
    #[expect(clippy::cast_sign_loss, reason = "rounded and cut at 0")]
    let whole = value.round().clamp(0.0, 16_384.0) as u32;
    whole
}
