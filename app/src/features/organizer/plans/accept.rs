//! The last step of a file: it becomes a venue's plan, or is forgotten.

use super::api::{AcceptImport, DiscardImport};
use super::said::Said;
use crate::format::number;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::ImportId;
use domain::organizer::plans::{ImportView, Place};
use leptos::prelude::*;
use leptos_router::{NavigateOptions, hooks::use_navigate};

/// Zones that are offered; any other of the time-zone database can be typed.
const ZONES: [&str; 36] = [
    "Africa/Cairo",
    "Africa/Johannesburg",
    "Africa/Lagos",
    "Africa/Nairobi",
    "America/Argentina/Buenos_Aires",
    "America/Bogota",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Mexico_City",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Toronto",
    "Asia/Bangkok",
    "Asia/Dubai",
    "Asia/Hong_Kong",
    "Asia/Jakarta",
    "Asia/Kolkata",
    "Asia/Seoul",
    "Asia/Shanghai",
    "Asia/Singapore",
    "Asia/Taipei",
    "Asia/Tokyo",
    "Australia/Melbourne",
    "Australia/Sydney",
    "Europe/Amsterdam",
    "Europe/Berlin",
    "Europe/Istanbul",
    "Europe/Kyiv",
    "Europe/London",
    "Europe/Madrid",
    "Europe/Paris",
    "Europe/Rome",
    "Europe/Stockholm",
    "Europe/Warsaw",
    "Pacific/Auckland",
];

/// What the fields say at first: a venue that is known by the plan's name, else that name in the city
/// of the newest plan.
fn guess(view: &ImportView) -> Place {
    let name = view.outline.as_ref().map(|outline| outline.name.clone()).unwrap_or_default();
    if let Some(known) = view.places.iter().find(|place| place.venue == name) {
        return known.clone();
    }
    let near = view.places.first();
    Place {
        venue: name,
        city: near.map(|place| place.city.clone()).unwrap_or_default(),
        time_zone: near.map(|place| place.time_zone.clone()).unwrap_or_default(),
    }
}

/// The form that makes the file a plan.
#[component]
pub(super) fn Accept(
    /// The file, without errors.
    view: ImportView,
) -> impl IntoView {
    let lang = lang();
    let accept = ServerAction::<AcceptImport>::new();
    let (value, navigate) = (accept.value(), use_navigate());
    Effect::new(move |_| {
        if let Some(Ok(plan)) = value.get() {
            navigate(&format!("/organizer/plans/{plan}"), NavigateOptions::default());
        }
    });
    let place = guess(&view);
    let venues = view.places.iter().map(|place| view! { <option value=place.venue.clone()></option> }).collect_view();
    view! {
        <section class="plans-accept" aria-labelledby="accept-title">
            <h2 id="accept-title">{td_string!(lang, plans.accept_title)}</h2>
            <p>{td_string!(lang, plans.accept_text)}</p>
            <Said error=Signal::derive(move || value.get().and_then(Result::err))/>
            <ActionForm action=accept attr:class="form">
                <input type="hidden" name="id" value=view.id.to_string()/>
                <input type="hidden" name="version" value=view.version.to_string()/>
                <label class="field">
                    <span>{td_string!(lang, plans.venue)}</span>
                    <input type="text" name="venue" required maxlength="120" value=place.venue list="known-venues" autocomplete="off" data-testid="venue"/>
                    <datalist id="known-venues">{venues}</datalist>
                </label>
                <div class="plans-pair">
                    <label class="field">
                        <span>{td_string!(lang, plans.city)}</span>
                        <input type="text" name="city" required maxlength="120" value=place.city data-testid="city"/>
                    </label>
                    <label class="field">
                        <span>{td_string!(lang, plans.time_zone)}</span>
                        <input type="text" name="time_zone" required value=place.time_zone list="known-zones" autocomplete="off" spellcheck="false" data-testid="time-zone"/>
                        <datalist id="known-zones">
                            {ZONES.into_iter().map(|zone| view! { <option value=zone></option> }).collect_view()}
                        </datalist>
                        <small>{td_string!(lang, plans.time_zone_hint)}</small>
                    </label>
                </div>
                {(view.warning_count > 0).then(|| view! {
                    <label class="plans-confirm">
                        <input type="checkbox" name="confirmed" value="true" data-testid="confirmed"/>
                        <span>{td_string!(lang, plans.confirm, count = number(view.warning_count))}</span>
                    </label>
                })}
                <p class="actions">
                    <button class="button button-accent" type="submit" disabled=move || accept.pending().get() data-testid="accept">
                        {td_string!(lang, plans.accept)}
                    </button>
                </p>
            </ActionForm>
        </section>
    }
    .into_any()
}

/// The way to forget a file.
#[component]
pub(super) fn Discard(
    /// The file.
    id: ImportId,
) -> impl IntoView {
    let lang = lang();
    let discard = ServerAction::<DiscardImport>::new();
    let (value, navigate) = (discard.value(), use_navigate());
    Effect::new(move |_| {
        if matches!(value.get(), Some(Ok(()))) {
            navigate("/organizer/plans", NavigateOptions::default());
        }
    });
    view! {
        <Said error=Signal::derive(move || value.get().and_then(Result::err))/>
        <ActionForm action=discard>
            <input type="hidden" name="id" value=id.to_string()/>
            <button class="link" type="submit" disabled=move || discard.pending().get() data-testid="discard">
                {td_string!(lang, plans.discard)}
            </button>
        </ActionForm>
    }
    .into_any()
}
