//! The map's colours, read once a theme from the tokens of the style sheet.

use super::stamps::{Inks, Rgb};
use super::zones::PALETTE;
use leptos::prelude::window;
use wasm_bindgen::JsValue;
use web_sys::{CanvasRenderingContext2d, CssStyleDeclaration, HtmlCanvasElement};

/// The tokens of the palette, in order.
const ZONE_TOKENS: [&str; PALETTE] = ["--zone-a", "--zone-b", "--zone-c", "--zone-d", "--zone-e", "--zone-f"];

/// Colours as the canvas takes them.
#[derive(Clone, Debug, Default)]
pub struct Theme {
    /// As bytes, for the stamps.
    pub inks: Inks,
    /// As CSS, for the outlines of sections.
    pub zones: [String; PALETTE],
    /// The floor.
    pub ground: String,
    /// The floor as bytes.
    pub ground_rgb: Rgb,
    /// Words on the floor as bytes.
    pub label_rgb: Rgb,
    /// Hairlines.
    pub line: String,
    /// Words on the floor.
    pub label: String,
    /// The stage, the one light.
    pub stage: String,
    /// Words on the stage.
    pub stage_label: String,
    /// Numbers on free seats.
    pub zone_label: String,
    /// The ring of the keyboard's focus.
    pub focus: String,
    /// What is wrong.
    pub bad: String,
    /// What needs care.
    pub care: String,
    /// The font of the page.
    pub font: String,
}

impl Theme {
    /// Whether the style sheet was there when the tokens were read.
    pub fn is_styled(&self) -> bool {
        !self.ground.is_empty()
    }

    /// The ink that reads best on a zone's colour laid thinly over the floor: the floor's own, or that
    /// of words on it.
    pub fn ink_on(&self, zone: usize, share: f64) -> &str {
        let mix = |over: u8, under: u8| (f64::from(over) - f64::from(under)).mul_add(share, f64::from(under));
        let [over, under] = [self.inks.zones[zone % PALETTE], self.ground_rgb];
        let fill = brightness(std::array::from_fn(|i| mix(over[i], under[i])));
        let of = |rgb: Rgb| brightness(rgb.map(f64::from));
        let (ground, label) = (of(self.ground_rgb), of(self.label_rgb));
        if contrast(fill, ground) > contrast(fill, label) { &self.ground } else { &self.label }
    }

    /// Reads the tokens as they apply to the canvas.
    pub fn read(canvas: &HtmlCanvasElement, context: &CanvasRenderingContext2d) -> Self {
        let Ok(Some(style)) = window().get_computed_style(canvas) else {
            return Self::default();
        };
        let css = |token: &str| property(&style, token);
        let zones = ZONE_TOKENS.map(css);
        let rgb = |css: &str| as_rgb(context, css);
        let inks = Inks {
            zones: zones.each_ref().map(|css| rgb(css)),
            held: rgb(&css("--seat-held")),
            sold: rgb(&css("--seat-sold")),
            blocked: rgb(&css("--map-line")),
            mine: rgb(&css("--seat-mine")),
            mark: rgb(&css("--seat-mine-mark")),
        };
        Self {
            inks,
            zones,
            ground_rgb: rgb(&css("--map-ground")),
            label_rgb: rgb(&css("--map-label")),
            ground: css("--map-ground"),
            line: css("--map-line"),
            label: css("--map-label"),
            stage: css("--map-stage"),
            stage_label: css("--map-stage-label"),
            zone_label: css("--zone-label"),
            focus: css("--focus"),
            bad: css("--bad"),
            care: css("--care"),
            font: css("font-family"),
        }
    }
}

/// Relative luminance as WCAG 2 defines it, of channels from 0 to 255.
fn brightness(channels: [f64; 3]) -> f64 {
    let [red, green, blue] = channels.map(|channel| {
        let share = channel / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    0.2126f64.mul_add(red, 0.7152f64.mul_add(green, 0.0722 * blue))
}

/// The contrast of two luminances, from 1 to 21.
fn contrast(a: f64, b: f64) -> f64 {
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn property(style: &CssStyleDeclaration, name: &str) -> String {
    style.get_property_value(name).unwrap_or_default().trim().to_owned()
}

/// The bytes of a CSS colour. The canvas itself reads it: what a style sheet's minifier made of the
/// token doesn't matter.
fn as_rgb(context: &CanvasRenderingContext2d, css: &str) -> Rgb {
    context.set_fill_style_str("#808080");
    context.set_fill_style_str(css);
    parse_hex(&JsValue::as_string(&context.fill_style()).unwrap_or_default()).unwrap_or([128; 3])
}

/// Reads `#rrggbb`, the form in which a canvas gives back an opaque colour.
fn parse_hex(hex: &str) -> Option<Rgb> {
    let value = u32::from_str_radix(hex.strip_prefix('#').filter(|digits| digits.len() == 6)?, 16).ok()?;
    let [_, red, green, blue] = value.to_be_bytes();
    Some([red, green, blue])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: &str = include_str!("../../../style/tokens.css");

    fn token(theme: &str, name: &str) -> Rgb {
        let start = theme.find(&format!("{name}:")).unwrap() + name.len() + 1;
        parse_hex(theme[start..].split(';').next().unwrap().trim()).unwrap()
    }

    fn luminance(rgb: Rgb) -> f64 {
        brightness(rgb.map(f64::from))
    }

    fn between(a: Rgb, b: Rgb) -> f64 {
        contrast(luminance(a), luminance(b))
    }

    #[test]
    fn map_states_and_zones_stand_out_in_both_themes() {
        let (light, dark) = TOKENS.split_once("prefers-color-scheme: dark").unwrap();
        for theme in [light, dark] {
            let ground = token(theme, "--map-ground");
            for name in ZONE_TOKENS.into_iter().chain(["--seat-held", "--seat-mine", "--seat-sold", "--map-stage"]) {
                assert!(between(token(theme, name), ground) >= 3.0, "{name} is lost on the floor");
            }
            assert!(between(token(theme, "--map-label"), ground) >= 4.5);
            for name in ["--bad", "--care", "--focus", "--seat-mine"] {
                assert!(between(token(theme, name), ground) >= 4.5, "a number in a badge of {name} can't be read");
            }
            for name in ZONE_TOKENS {
                assert!(
                    between(token(theme, name), token(theme, "--zone-label")) >= 4.5,
                    "a number on {name} can't be read"
                );
            }
        }
    }

    #[test]
    fn zones_keep_their_order_in_greyscale() {
        let (light, dark) = TOKENS.split_once("prefers-color-scheme: dark").unwrap();
        // From dear to cheap: darker to lighter by day, lighter to darker at night.
        let of = |theme: &str| ZONE_TOKENS.map(|name| luminance(token(theme, name)));
        assert!(of(light).windows(2).all(|pair| pair[1] > pair[0] * 1.1));
        assert!(of(dark).windows(2).all(|pair| pair[1] < pair[0] * 0.9));
    }
}
