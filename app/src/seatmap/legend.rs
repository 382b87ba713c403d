//! Prices and signs of the map, rendered by the server: colour, letter, name and price of each zone,
//! and the shapes of the states.

use super::zones::{Zone, Zones};
use crate::format;
use crate::i18n::Locale;
use crate::i18n::td_string;
use leptos::prelude::*;

/// The class that gives a shape the colour of a zone.
fn zone_class(colour: u8) -> &'static str {
    const CLASSES: [&str; super::zones::PALETTE] = ["zone-a", "zone-b", "zone-c", "zone-d", "zone-e", "zone-f"];
    CLASSES[usize::from(colour) % CLASSES.len()]
}

/// The sign of a zone: a filled circle with its letter.
#[component]
pub fn ZoneSwatch(
    /// The zone.
    zone: Zone,
) -> impl IntoView {
    view! {
        <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true">
            <circle class=zone_class(zone.colour) cx="9" cy="9" r="8.5"/>
            <text x="9" y="12.6">{zone.letter.to_string()}</text>
        </svg>
    }
}

/// The legend of the map.
#[component]
pub fn Legend(
    /// The price zones.
    zones: Zones,
    /// Language of the page.
    lang: Locale,
) -> impl IntoView {
    let priced = zones
        .list()
        .iter()
        .map(|zone| {
            let letter = td_string!(lang, seats.zone, letter = zone.letter);
            view! {
                <li data-testid="legend-zone">
                    <ZoneSwatch zone=zone.clone()/>
                    <span class="visually-hidden">{letter}</span>
                    <span>{format::money(lang, zone.price)}</span>
                    <span class="legend-name">{zone.name.clone()}</span>
                </li>
            }
        })
        .collect_view();
    view! {
        <ul class="legend" aria-label=td_string!(lang, seats.legend) data-testid="legend" tabindex="0">
            {priced}
            <li>
                <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true"><circle class="sign-held" cx="9" cy="9" r="6.5"/></svg>
                <span>{td_string!(lang, seats.sign_held)}</span>
            </li>
            <li>
                <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true"><path class="sign-sold" d="M6 6l6 6M12 6l-6 6"/></svg>
                <span>{td_string!(lang, seats.sign_sold)}</span>
            </li>
            <li>
                <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true">
                    <circle class="sign-mine" cx="9" cy="9" r="8.5"/>
                    <path class="sign-mark" d="M5 9.4l2.8 2.8L13 6.4"/>
                </svg>
                <span>{td_string!(lang, seats.sign_mine)}</span>
            </li>
            <li>
                <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true">
                    <rect class="sign-wheelchair" x="1.5" y="1.5" width="15" height="15" rx="4"/>
                    <circle class="sign-wheelchair" cx="8" cy="11" r="3"/>
                    <path class="sign-wheelchair" d="M8 4v4h3.5l1.5 5"/>
                </svg>
                <span>{td_string!(lang, seats.sign_wheelchair)}</span>
            </li>
        </ul>
    }
}
