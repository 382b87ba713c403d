//! Prices and signs of the map: colour, letter, name and price of each zone, and the shapes of the
//! states. The buyers' is rendered by the server; the organizers' also counts seats, once they are there.

use super::scene::Scene;
use super::zones::{Zone, Zones};
use crate::format;
use crate::i18n::Locale;
use crate::i18n::td_string;
use domain::venue::plan::Kind;
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
    .into_any()
}

/// The legend of the buyers' map.
#[component]
pub fn Legend(
    /// The price zones.
    zones: Zones,
    /// Language of the page.
    lang: Locale,
    /// Whether any seats are kept for this viewer.
    #[prop(into)]
    kept: Signal<bool>,
) -> impl IntoView {
    let kept = move || {
        kept.get().then(|| {
            view! {
                <li data-testid="legend-kept">
                    <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true">
                        <circle class="sign-kept" cx="9" cy="9" r="7.5"/>
                        <circle class="sign-kept-seat" cx="9" cy="9" r="4.5"/>
                    </svg>
                    <span>{td_string!(lang, seats.sign_kept)}</span>
                </li>
            }
        })
    };
    let priced = zones.list().iter().map(|zone| zone_item(lang, zone, ())).collect_view();
    view! {
        <ul class="legend" aria-label=td_string!(lang, seats.legend) data-testid="legend" tabindex="0">
            {priced}
            {held_and_sold(lang)}
            <li>{mine_swatch()} <span>{td_string!(lang, seats.sign_mine)}</span></li>
            {kept}
            {wheelchair(lang)}
        </ul>
    }
    .into_any()
}

/// How many seats are free, and how many there are, by zone; and those of no zone.
type Counts = (Vec<u32>, Vec<u32>, u32);

/// The legend of an organizer's map: zones with their numbers of seats.
#[component]
pub fn PlanLegend(
    /// The map.
    scene: Scene,
    /// The zones as they are painted.
    #[prop(into)]
    zones: Signal<Zones>,
    /// Whether live states are shown.
    live: bool,
    /// Whether seats can be selected.
    selects: bool,
) -> impl IntoView {
    let lang = scene.lang;
    let counts = Memo::new(move |_| -> Option<Counts> {
        scene.version.track();
        scene.with_house(|house| {
            let sizes = house.chart().zone_sizes();
            let zoned: u32 = sizes.iter().sum();
            let all = u32::try_from(house.chart().place_count()).unwrap_or(u32::MAX);
            (house.free_by_zone(), sizes, all.saturating_sub(zoned))
        })
    });
    let count_of = move |index: usize| {
        counts.with(|counts| {
            let (free, sizes, _) = counts.as_ref()?;
            let (free, size) = (free.get(index)?, sizes.get(index)?);
            Some(if live {
                td_string!(lang, seats.zone_free, free = format::number(*free), count = format::number(*size))
            } else {
                td_string!(lang, seats.zone_seats, count = format::number(*size))
            })
        })
    };
    let list = move || {
        let item = |(index, zone): (usize, &Zone)| {
            zone_item(lang, zone, view! { <span class="legend-count">{move || count_of(index)}</span> })
        };
        zones.with(|zones| zones.list().iter().enumerate().map(item).collect_view())
    };
    let rest = move || {
        let count = counts.with(|counts| counts.as_ref().map(|(_, _, rest)| *rest)).filter(|rest| *rest > 0)?;
        let count = td_string!(lang, seats.zone_seats, count = format::number(count));
        Some(view! {
            <li data-testid="legend-rest">
                <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true"><circle class="sign-blocked" cx="9" cy="9" r="3"/></svg>
                <span>{td_string!(lang, seats.sign_no_price)}</span>
                <span class="legend-count">{count}</span>
            </li>
        })
    };
    let standing = move || {
        scene.charts.track();
        let any = scene.with_house(|house| house.chart().has(Kind::Standing)) == Some(true);
        any.then(|| standing_sign(lang))
    };
    view! {
        <ul class="legend" aria-label=td_string!(lang, seats.legend) data-testid="legend" tabindex="0">
            {list}
            {rest}
            {live.then(|| held_and_sold(lang))}
            {selects.then(|| view! { <li>{mine_swatch()} <span>{td_string!(lang, seats.sign_selected)}</span></li> })}
            {standing}
            {wheelchair(lang)}
        </ul>
    }
    .into_any()
}

/// Sign, letter, price and name of a zone.
fn zone_item<Count: IntoView>(lang: Locale, zone: &Zone, count: Count) -> impl IntoView + use<Count> {
    let letter = td_string!(lang, seats.zone, letter = zone.letter);
    view! {
        <li data-testid="legend-zone">
            <ZoneSwatch zone=zone.clone()/>
            <span class="visually-hidden">{letter}</span>
            {zone.price.map(|price| view! { <span>{format::money(lang, price)}</span> })}
            <span class="legend-name">{zone.name.clone()}</span>
            {count}
        </li>
    }
}

fn held_and_sold(lang: Locale) -> impl IntoView {
    view! {
        <li>
            <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true"><circle class="sign-held" cx="9" cy="9" r="6.5"/></svg>
            <span>{td_string!(lang, seats.sign_held)}</span>
        </li>
        <li>
            <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true"><path class="sign-sold" d="M6 6l6 6M12 6l-6 6"/></svg>
            <span>{td_string!(lang, seats.sign_sold)}</span>
        </li>
    }
}

fn standing_sign(lang: Locale) -> impl IntoView {
    view! {
        <li>
            <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true"><circle class="sign-standing" cx="9" cy="9" r="4"/></svg>
            <span>{td_string!(lang, seats.kind_standing)}</span>
        </li>
    }
}

fn mine_swatch() -> impl IntoView {
    view! {
        <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true">
            <circle class="sign-mine" cx="9" cy="9" r="8.5"/>
            <path class="sign-mark" d="M5 9.4l2.8 2.8L13 6.4"/>
        </svg>
    }
}

fn wheelchair(lang: Locale) -> impl IntoView {
    view! {
        <li>
            <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true">
                <rect class="sign-wheelchair" x="1.5" y="1.5" width="15" height="15" rx="4"/>
                <circle class="sign-wheelchair" cx="8" cy="11" r="3"/>
                <path class="sign-wheelchair" d="M8 4v4h3.5l1.5 5"/>
            </svg>
            <span>{td_string!(lang, seats.sign_wheelchair)}</span>
        </li>
    }
}
