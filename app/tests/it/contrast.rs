//! The colours of `style/tokens.css` keep the contrast that the Web Content Accessibility Guidelines
//! ask for (2.2, level AA): 4.5:1 for text, 3:1 for controls and the states of the map.

use std::collections::HashMap;

const TOKENS: &str = include_str!("../../../style/tokens.css");
const TEXT: f64 = 4.5;
const CONTROL: f64 = 3.0;
const ZONES: [&str; 6] = ["zone-a", "zone-b", "zone-c", "zone-d", "zone-e", "zone-f"];

type Theme = HashMap<&'static str, f64>;

/// The relative luminance of each colour, by day and by night.
fn themes() -> [(&'static str, Theme); 2] {
    let (day, night) = TOKENS.split_once("@media (prefers-color-scheme: dark)").expect("the tokens have two themes");
    let light = colours(day);
    let mut dark = light.clone();
    dark.extend(colours(night));
    [("light", light), ("dark", dark)]
}

fn colours(css: &'static str) -> Theme {
    css.split("--")
        .skip(1)
        .filter_map(|part| {
            let (name, value) = part.split_once(": #")?;
            (!name.contains([' ', ';'])).then(|| (name, luminance(&value[..6])))
        })
        .collect()
}

fn luminance(hex: &str) -> f64 {
    let channel = |i: usize| {
        let value = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).expect("a colour has six digits")) / 255.0;
        if value <= 0.039_28 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
}

fn contrast(theme: &Theme, one: &str, other: &str) -> f64 {
    let of = |name: &str| *theme.get(name).unwrap_or_else(|| panic!("there is no colour --{name}"));
    let (low, high) = (of(one).min(of(other)), of(one).max(of(other)));
    (high + 0.05) / (low + 0.05)
}

fn check(least: f64, pairs: impl IntoIterator<Item = (&'static str, &'static str)> + Clone) {
    for (theme, colours) in themes() {
        for (front, ground) in pairs.clone() {
            let found = contrast(&colours, front, ground);
            assert!(found >= least, "{theme}: --{front} on --{ground} is {found:.2}:1, {least}:1 is needed");
        }
    }
}

#[test]
fn text_is_readable_on_every_surface() {
    let surfaces = ["ground", "raised", "sunken"];
    check(
        TEXT,
        ["ink", "ink-quiet", "good", "care", "bad"].into_iter().flat_map(|text| surfaces.map(|ground| (text, ground))),
    );
    check(TEXT, ["good-ground", "care-ground", "bad-ground", "glow"].map(|ground| ("ink", ground)));
    check(
        TEXT,
        [
            ("good", "good-ground"),
            ("care", "care-ground"),
            ("bad", "bad-ground"),
            ("ink-quiet", "glow"),
            ("good", "glow"),
        ],
    );
    check(TEXT, [("accent-ink", "accent"), ("accent-ink", "accent-strong"), ("code-ink", "code-ground")]);
    check(TEXT, [("map-label", "map-ground"), ("map-stage-label", "map-stage"), ("seat-mine-mark", "seat-mine")]);
    check(TEXT, ZONES.map(|zone| ("zone-label", zone)));
}

#[test]
fn controls_and_seats_stand_out() {
    check(
        CONTROL,
        [
            ("accent", "ground"),
            ("focus", "ground"),
            ("focus", "raised"),
            ("line-strong", "ground"),
            ("line-strong", "raised"),
        ],
    );
    check(
        CONTROL,
        ZONES
            .into_iter()
            .chain(["seat-held", "seat-sold", "seat-mine", "map-stage"])
            .map(|state| (state, "map-ground")),
    );
}

/// From dear to cheap the zones run away from the ground's opposite, so that a greyscale print, or an
/// eye without colours, still sees their order.
#[test]
fn the_zones_keep_their_order_in_greyscale() {
    for (theme, colours) in themes() {
        let contrasts: Vec<f64> = ZONES.iter().map(|zone| contrast(&colours, zone, "map-ground")).collect();
        assert!(contrasts.windows(2).all(|pair| pair[0] > pair[1]), "{theme}: {contrasts:?}");
    }
}
