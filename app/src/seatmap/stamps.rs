//! The seats' pictures, drawn by ourselves into a layer of pixels.
//!
//! A canvas path with thousands of circles costs more than a frame has. Each look of a seat is
//! therefore rastered once for the current size (a stamp), and a frame copies rows of stamps into
//! one layer that goes to the canvas in a single call. Owns shapes and pixels; colours come in as
//! values, and nothing here knows the browser.
//!
//! **Invariant: two looks differ by their shape**, so that the map reads without its colours.

use super::zones::PALETTE;
use domain::venue::plan::Kind;

/// What a seat is to the fan, besides its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Can be chosen; the colour of its price zone.
    Available(u8),
    /// In somebody else's hold: a hollow ring.
    Held,
    /// Sold: a small faint cross.
    Sold,
    /// Not for sale: a faint speck.
    Blocked,
    /// Chosen or held by this fan: accent with a check mark.
    Mine,
}

/// Looks of one kind: one a palette colour, and the four others.
const LOOKS: usize = PALETTE + 4;
/// Looks of all kinds.
const SHEET: usize = LOOKS * 4;
/// A standing place is a smaller dot than a seat.
const STANDING_SHARE: f32 = 0.6;
/// Largest number of sub-pixel positions along one axis.
const PHASES_MAX: usize = 3;

/// The palette colour of a zone, by its index.
pub fn colour_of(zone: usize) -> u8 {
    u8::try_from(zone % PALETTE).expect("PALETTE is below 256")
}

impl Look {
    /// The index of this look of that kind, one byte a seat in the precomputed column.
    pub fn index(self, kind: Kind) -> u8 {
        let look = match self {
            Self::Available(colour) => usize::from(colour) % PALETTE,
            Self::Held => PALETTE,
            Self::Sold => PALETTE + 1,
            Self::Blocked => PALETTE + 2,
            Self::Mine => PALETTE + 3,
        };
        u8::try_from(kind_index(kind) * LOOKS + look).expect("SHEET is below 256")
    }

    /// The colour of an index that stands for an ordinary free seat, which has room for a number.
    pub fn numbered(index: u8) -> Option<usize> {
        let index = usize::from(index);
        (index < PALETTE).then_some(index)
    }

    /// Whether an index stands for a seat of the viewer.
    pub fn is_mine(index: u8) -> bool {
        usize::from(index) % LOOKS == PALETTE + 3
    }

    fn of(index: usize) -> (Self, Kind) {
        let look = match index % LOOKS {
            colour if colour < PALETTE => Self::Available(u8::try_from(colour).expect("PALETTE is below 256")),
            colour if colour == PALETTE => Self::Held,
            colour if colour == PALETTE + 1 => Self::Sold,
            colour if colour == PALETTE + 2 => Self::Blocked,
            _ => Self::Mine,
        };
        (look, [Kind::Seat, Kind::Wheelchair, Kind::Companion, Kind::Standing][index / LOOKS % 4])
    }
}

/// The order of the kinds in the sheet; ordinary seats come first.
fn kind_index(kind: Kind) -> usize {
    match kind {
        Kind::Seat => 0,
        Kind::Wheelchair => 1,
        Kind::Companion => 2,
        Kind::Standing => 3,
    }
}

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// The colours of one theme, as bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inks {
    /// One a price zone, in order.
    pub zones: [Rgb; PALETTE],
    /// Held by others.
    pub held: Rgb,
    /// Sold.
    pub sold: Rgb,
    /// Not for sale.
    pub blocked: Rgb,
    /// Chosen or mine.
    pub mine: Rgb,
    /// The mark inside a filled shape: check mark, wheelchair.
    pub mark: Rgb,
}

/// One rastered look: rows of RGBA with the span of each that is not empty.
#[derive(Clone, Debug)]
struct Stamp {
    side: usize,
    spans: Vec<(usize, usize)>,
    rgba: Vec<u8>,
}

/// All looks at one size, rastered when first needed.
#[derive(Debug)]
pub struct Sheet {
    radius: f32,
    inks: Inks,
    phases: usize,
    stamps: Vec<Option<Stamp>>,
}

impl Sheet {
    /// A sheet for seats of that radius in device pixels.
    pub fn new(radius: f32, inks: Inks) -> Self {
        // Small dots shimmer when each snaps to whole pixels; large ones don't show half a pixel.
        // Each step of a zoom rasters the looks in sight anew, once for each position.
        let phases = if radius < 3.0 {
            PHASES_MAX
        } else if radius < 8.0 {
            2
        } else {
            1
        };
        Self { radius, inks, phases, stamps: vec![None; SHEET * phases * phases] }
    }

    /// Whether the sheet serves this size and theme.
    pub fn fits(&self, radius: f32, inks: &Inks) -> bool {
        (self.radius - radius).abs() < 0.01 && self.inks == *inks
    }

    fn stamp(&mut self, look: u8, phase: (usize, usize)) -> &Stamp {
        let slot = (usize::from(look) % SHEET * self.phases + phase.1) * self.phases + phase.0;
        let shift = |phase: usize| phase as f32 / self.phases as f32;
        let (radius, inks, at) = (self.radius, self.inks, (shift(phase.0), shift(phase.1)));
        self.stamps[slot].get_or_insert_with(|| Stamp::raster(usize::from(look) % SHEET, radius, &inks, at))
    }
}

impl Stamp {
    fn raster(index: usize, radius: f32, inks: &Inks, shift: (f32, f32)) -> Self {
        let (look, kind) = Look::of(index);
        // One's own keeps its size, so that its mark can be seen.
        let small = kind == Kind::Standing && look != Look::Mine;
        let radius = if small { (radius * STANDING_SHARE).max(0.7) } else { radius };
        let half = (radius * 1.2).ceil() + 1.0;
        let side = pixels(half) * 2 + 1;
        let mut rgba = vec![0; side * side * 4];
        let mut spans = Vec::with_capacity(side);
        for y in 0..side {
            let (mut first, mut last) = (side, 0);
            for x in 0..side {
                let at = (x as f32 - half - shift.0, y as f32 - half - shift.1);
                let (ink, cover) = shade(look, kind, radius, inks, at);
                let alpha = byte(cover * 255.0);
                if alpha > 0 {
                    first = first.min(x);
                    last = x + 1;
                    rgba[(y * side + x) * 4..][..4].copy_from_slice(&[ink[0], ink[1], ink[2], alpha]);
                }
            }
            spans.push((first.min(last), last));
        }
        Self { side, spans, rgba }
    }
}

/// The nearest byte.
#[expect(clippy::cast_sign_loss, reason = "cut to 0–255 first")]
fn byte(value: f32) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

/// A number of pixels that is whole already.
#[expect(clippy::cast_sign_loss, reason = "cut at 0 first")]
fn pixels(value: f32) -> usize {
    value.max(0.0) as usize
}

/// How much of a pixel lies inside, from the signed distance to the edge.
fn cover(distance: f32) -> f32 {
    (0.5 - distance).clamp(0.0, 1.0)
}

fn length(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

/// Signed distance to a square with round corners.
fn square(at: (f32, f32), half: f32) -> f32 {
    let corner = half * 0.35;
    let (x, y) = (at.0.abs() - half + corner, at.1.abs() - half + corner);
    length(x.max(0.0), y.max(0.0)) + x.max(y).min(0.0) - corner
}

/// Distance to a stroke from `a` to `b`, of that half width.
fn stroke(at: (f32, f32), a: (f32, f32), b: (f32, f32), width: f32) -> f32 {
    let (px, py, dx, dy) = (at.0 - a.0, at.1 - a.1, b.0 - a.0, b.1 - a.1);
    let along = ((px * dx + py * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0);
    length(px - dx * along, py - dy * along) - width
}

/// Colour and coverage of one pixel of a look.
fn shade(look: Look, kind: Kind, radius: f32, inks: &Inks, at: (f32, f32)) -> (Rgb, f32) {
    let body = |reach: f32| match kind {
        Kind::Seat | Kind::Standing => length(at.0, at.1) - reach,
        Kind::Wheelchair | Kind::Companion => square(at, reach * 0.95),
    };
    match look {
        Look::Available(colour) => {
            let ink = inks.zones[usize::from(colour) % PALETTE];
            marked(ink, inks.mark, cover(body(radius)), sign(kind, radius, at))
        }
        Look::Held => {
            let width = (radius * 0.26).max(0.7);
            (inks.held, cover((body(radius * 0.86) + width * 0.5).abs() - width * 0.5))
        }
        Look::Sold => {
            let reach = radius * 0.3;
            let width = (radius * 0.09).max(0.45);
            let falling = stroke(at, (-reach, -reach), (reach, reach), width);
            let rising = stroke(at, (-reach, reach), (reach, -reach), width);
            (inks.sold, cover(falling.min(rising)))
        }
        Look::Blocked => (inks.blocked, cover(length(at.0, at.1) - (radius * 0.2).max(0.5))),
        Look::Mine => {
            // Larger than its neighbours, so that it also stands out where no check mark fits.
            let check = {
                let at = (at.0 / radius, at.1 / radius);
                let short = stroke(at, (-0.45, 0.02), (-0.12, 0.38), 0.12);
                let long = stroke(at, (-0.12, 0.38), (0.48, -0.34), 0.12);
                cover(short.min(long) * radius)
            };
            marked(inks.mine, inks.mark, cover(body(radius * 1.15)), if radius < 3.0 { 0.0 } else { check })
        }
    }
}

/// A filled shape with a mark in it.
fn marked(ink: Rgb, mark: Rgb, fill: f32, mark_cover: f32) -> (Rgb, f32) {
    let mix = |a: u8, b: u8| byte(f32::from(a) + (f32::from(b) - f32::from(a)) * mark_cover);
    ([mix(ink[0], mark[0]), mix(ink[1], mark[1]), mix(ink[2], mark[2])], fill)
}

/// The sign of a kind inside its shape: a wheelchair, a plus for who comes along.
fn sign(kind: Kind, radius: f32, at: (f32, f32)) -> f32 {
    // Below this the sign is a smudge; the square alone tells the kind.
    if radius < 4.0 {
        return 0.0;
    }
    let at = (at.0 / radius, at.1 / radius);
    let distance = match kind {
        Kind::Seat | Kind::Standing => return 0.0,
        Kind::Companion => stroke(at, (-0.4, 0.0), (0.4, 0.0), 0.1).min(stroke(at, (0.0, -0.4), (0.0, 0.4), 0.1)),
        Kind::Wheelchair => {
            let head = length(at.0 + 0.12, at.1 + 0.56) - 0.14;
            let back = stroke(at, (-0.12, -0.36), (-0.08, 0.08), 0.09);
            let seat = stroke(at, (-0.08, 0.08), (0.28, 0.08), 0.09);
            let leg = stroke(at, (0.28, 0.08), (0.44, 0.5), 0.09);
            // The wheel is open where the leg leaves it.
            let wheel = if at.0 > 0.14 && at.1 < 0.3 {
                f32::MAX
            } else {
                (length(at.0 + 0.08, at.1 - 0.28) - 0.38).abs() - 0.08
            };
            head.min(back).min(seat).min(leg).min(wheel)
        }
    };
    cover(distance * radius)
}

/// The pixels of one frame: width × height, RGBA, not premultiplied.
#[derive(Debug, Default)]
pub struct Layer {
    width: usize,
    height: usize,
    rgba: Vec<u8>,
}

impl Layer {
    /// Empties the layer, and gives it that size.
    pub fn clear(&mut self, width: usize, height: usize) {
        if (self.width, self.height) == (width, height) {
            self.rgba.fill(0);
        } else {
            (self.width, self.height) = (width, height);
            self.rgba.clear();
            self.rgba.resize(width * height * 4, 0);
        }
    }

    /// The pixels, row after row.
    pub fn rgba(&self) -> &[u8] {
        &self.rgba
    }

    /// Copies a look to that centre; what lies outside is cut off.
    #[expect(
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        reason = "sides and clipped offsets are small and not negative"
    )]
    pub fn stamp(&mut self, sheet: &mut Sheet, look: u8, x: f32, y: f32) {
        let phases = sheet.phases as f32;
        // To the nearest sub-pixel position; the floor keeps the phase from 0 up.
        let snap = |value: f32| {
            let steps = (value * phases).round();
            let whole = (steps / phases).floor();
            (whole as i32, (steps - whole * phases) as usize)
        };
        let ((column, phase_x), (line, phase_y)) = (snap(x), snap(y));
        let stamp = sheet.stamp(look, (phase_x, phase_y));
        let half = (stamp.side / 2) as i32;
        let (left, top) = (column - half, line - half);
        for (row, &(first, last)) in stamp.spans.iter().enumerate() {
            let y = top + row as i32;
            if y < 0 || y >= self.height as i32 {
                continue;
            }
            let from = (left + first as i32).max(0);
            let to = (left + last as i32).min(self.width as i32);
            if from >= to {
                continue;
            }
            let source = (row * stamp.side + (from - left) as usize) * 4;
            let target = (y as usize * self.width + from as usize) * 4;
            let bytes = (to - from) as usize * 4;
            self.rgba[target..target + bytes].copy_from_slice(&stamp.rgba[source..source + bytes]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One colour for everything: what is left to tell looks apart is their shape.
    const GREY: Inks = Inks {
        zones: [[128; 3]; PALETTE],
        held: [128; 3],
        sold: [128; 3],
        blocked: [128; 3],
        mine: [128; 3],
        mark: [0; 3],
    };

    fn picture(look: Look, kind: Kind, radius: f32) -> Vec<u8> {
        let mut layer = Layer::default();
        layer.clear(40, 40);
        layer.stamp(&mut Sheet::new(radius, GREY), look.index(kind), 20.0, 20.0);
        layer.rgba().to_vec()
    }

    #[test]
    fn states_and_kinds_differ_by_shape_alone() {
        let looks = [Look::Available(0), Look::Held, Look::Sold, Look::Blocked, Look::Mine];
        for radius in [2.5, 6.0, 14.0] {
            for (i, a) in looks.iter().enumerate() {
                for b in &looks[i + 1..] {
                    let (one, other) = (picture(*a, Kind::Seat, radius), picture(*b, Kind::Seat, radius));
                    let different = one.iter().zip(&other).filter(|(a, b)| a.abs_diff(**b) > 60).count();
                    assert!(different >= 4, "{a:?} and {b:?} look alike at radius {radius}");
                }
            }
            assert_ne!(
                picture(Look::Available(0), Kind::Seat, radius),
                picture(Look::Available(0), Kind::Wheelchair, radius)
            );
        }
        assert_ne!(
            picture(Look::Available(0), Kind::Companion, 8.0),
            picture(Look::Available(0), Kind::Wheelchair, 8.0)
        );
    }

    #[test]
    fn a_standing_place_is_a_smaller_dot_without_a_number() {
        let ink = |kind| picture(Look::Available(0), kind, 6.0).iter().map(|byte| u32::from(*byte)).sum::<u32>();
        assert!(ink(Kind::Standing) * 2 < ink(Kind::Seat));
        assert_eq!(Look::numbered(Look::Available(2).index(Kind::Standing)), None);
        assert_eq!(Look::numbered(Look::Available(2).index(Kind::Seat)), Some(2));
        assert_eq!(picture(Look::Mine, Kind::Standing, 6.0), picture(Look::Mine, Kind::Seat, 6.0));
    }

    #[test]
    fn every_look_has_its_own_index() {
        for index in 0..SHEET {
            let (look, kind) = Look::of(index);
            assert_eq!(usize::from(look.index(kind)), index);
        }
    }

    #[test]
    fn stamps_over_the_edge_are_cut_off() {
        let mut layer = Layer::default();
        let mut sheet = Sheet::new(5.0, GREY);
        layer.clear(16, 12);
        for x in -20..40 {
            for y in -20..40 {
                layer.stamp(&mut sheet, 0, x as f32 + 0.3, y as f32 + 0.7);
            }
        }
        assert!(layer.rgba().chunks(4).all(|pixel| pixel[3] > 0), "the whole layer was covered");
        layer.clear(16, 12);
        assert!(layer.rgba().iter().all(|byte| *byte == 0));
    }
}
