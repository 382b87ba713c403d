//! Price zones, prices and seats off sale of a performance: a map to choose on, and forms beside it.
//!
//! Everything is also a form without JavaScript: prices in one table, seats as typed text. A
//! performance in the making is changed at once; the prices of a published one in two steps, the
//! second of which is this page with the new prices in its address.

mod seats;
mod table;

use super::prices_api::{self as api, organizer_prices, prices_preview};
use crate::components::missing::Failure;
use crate::components::notice::Refused;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::features::organizer::frame::{Frame, Tab, may};
use crate::i18n::td_string;
use crate::lang::lang;
use crate::seatmap::zones::Zones;
use crate::seatmap::{Paint, PlanCanvas};
use domain::catalog::PriceZone;
use domain::organizer::Action;
use domain::organizer::pricing::{Effect as PriceEffect, PricingView, ZoneTotal};
use domain::venue::plan::MAX_CATEGORIES;
use domain::{Code, PerformanceId, SeatNo};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::{use_params_map, use_query_map};
use leptos_router::params::ParamsMap;
use seats::{BlockedGroups, SeatForms, ZoneList};
use std::collections::BTreeSet;
use table::PriceTable;

/// What the parts of the page share.
#[derive(Clone, Copy)]
struct Sheet {
    /// As the server told last.
    view: RwSignal<PricingView>,
    /// The prices as they stand in the fields, by zone.
    typed: RwSignal<Vec<String>>,
    /// Seats that are picked on the map.
    selection: RwSignal<BTreeSet<SeatNo>>,
    /// Set it, and the map goes there.
    focus: RwSignal<Option<SeatNo>>,
    /// Whether the member may change anything.
    editing: bool,
}

/// A price as it stands in its field: exact, with a point.
fn saved(zone: &ZoneTotal) -> String {
    zone.price.map(domain::Money::decimal).unwrap_or_default()
}

impl Sheet {
    fn new(view: PricingView) -> Self {
        let typed = view.zones.iter().map(saved).collect();
        Self {
            view: RwSignal::new(view),
            typed: RwSignal::new(typed),
            selection: RwSignal::default(),
            focus: RwSignal::default(),
            editing: may(Action::EditEvents),
        }
    }

    fn id(self) -> PerformanceId {
        self.view.read_untracked().performance
    }

    /// Asks for the present state. Prices that were typed and not saved stay in their fields, if wanted.
    fn refresh(self, keep_typed: bool) {
        spawn_local(async move {
            let Ok(fresh) = organizer_prices(self.id()).await else { return };
            let old = self.view.get_untracked();
            let typed = self.typed.get_untracked();
            let field = |zone: &ZoneTotal| {
                let before = old.zones.iter().zip(&typed).find(|(before, _)| before.name == zone.name);
                match before {
                    Some((before, text)) if keep_typed && *text != saved(before) => text.clone(),
                    _ => saved(zone),
                }
            };
            self.typed.set(fresh.zones.iter().map(field).collect());
            self.view.set(fresh);
        });
    }

    /// Refreshes whenever this answer is a success, after doing what else is to be done then.
    fn refresh_after<T: 'static>(
        self,
        value: impl Fn() -> Option<Result<T, AppError>> + 'static,
        keep_typed: bool,
        then: impl Fn() + 'static,
    ) {
        Effect::new(move |_| {
            if let Some(Ok(_)) = value() {
                then();
                self.refresh(keep_typed);
            }
        });
    }
}

/// The zones as the map takes them.
pub(super) fn price_zones(zones: &[ZoneTotal]) -> Vec<PriceZone> {
    let zone = |zone: &ZoneTotal| PriceZone { category: zone.zone, name: zone.name.clone(), price: zone.price };
    zones.iter().map(zone).collect()
}

/// By price once all zones have one, each zone in its own colour before.
pub(super) fn paint_of(zones: &[ZoneTotal]) -> Paint {
    if zones.iter().all(|zone| zone.price.is_some()) { Paint::ByPrice } else { Paint::ByZone }
}

/// The sign of each zone, as the map shows it: letter and place in the palette.
fn signs(zones: &[ZoneTotal]) -> Vec<(char, usize)> {
    let shown = Zones::painted(paint_of(zones), &price_zones(zones));
    let sign = |zone: &ZoneTotal| shown.of_category(zone.zone).map_or(('·', 0), |z| (z.letter, usize::from(z.colour)));
    zones.iter().map(sign).collect()
}

/// Prices and seats off sale of one performance.
#[component]
pub fn PricesPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let id = move || params.read().get("id").and_then(|id| id.parse::<PerformanceId>().ok());
    let view = Resource::new(id, load);
    let asked = Memo::new(move |_| asked(&query.read()));
    let preview = Resource::new(
        move || id().zip(asked.get()),
        |asked| async move {
            match asked {
                Some((id, prices)) => Some(prices_preview(id, Some(prices)).await),
                None => None,
            }
        },
    );
    // Made here and not where it is shown: what a frame makes twice would be asked twice.
    provide_context(Preview { asked, answer: preview });
    view! {
        <Frame tab=Tab::Events>
            <Suspense>
                {move || Suspend::new(async move {
                    match view.await {
                        Ok(view) => view! { <Prices view/> }.into_any(),
                        Err(error) => {
                            let back = id().map_or_else(|| "/organizer".to_owned(), api::page_of);
                            view! { <Failure error back/> }.into_any()
                        }
                    }
                })}
            </Suspense>
        </Frame>
    }
    .into_any()
}

/// New prices of a published performance that the address asks about, and what they would change.
#[derive(Clone, Copy)]
struct Preview {
    asked: Memo<Option<Vec<String>>>,
    answer: Resource<Option<Result<PriceEffect, AppError>>>,
}

/// The prices in the address of the second step: `p0`, `p1` and so on, none left out.
fn asked(query: &ParamsMap) -> Option<Vec<String>> {
    let prices: Vec<String> = (0..MAX_CATEGORIES).map_while(|zone| query.get(&format!("p{zone}"))).collect();
    (!prices.is_empty()).then_some(prices)
}

async fn load(id: Option<PerformanceId>) -> Result<PricingView, AppError> {
    organizer_prices(id.ok_or_else(|| AppError::new(Code::NotFound, "id: a performance is expected"))?).await
}

#[component]
fn Prices(view: PricingView) -> impl IntoView {
    let lang = lang();
    let (title, published, ready) = (view.title.clone(), view.published, view.map_digest.is_some());
    let back = format!("/organizer/performances/{}", view.performance);
    let kept = format!("{back}/allocations");
    let sheet = Sheet::new(view);
    let heading = td_string!(lang, sales.price_title);
    let intro = if published {
        td_string!(lang, sales.price_intro_published)
    } else {
        td_string!(lang, sales.price_intro_draft)
    };
    let body = if ready {
        view! { <Body sheet/> }.into_any()
    } else {
        view! { <p class="notice notice-care" data-testid="no-plan">{td_string!(lang, sales.price_no_plan)}</p> }
            .into_any()
    };
    view! {
        <Title text=format!("{heading} – {title}")/>
        <div class="prices" data-testid="prices-page">
            <header>
                <p><a href=back data-testid="to-performance">{title}</a></p>
                <h1>{heading}</h1>
                <p>{intro}</p>
                {published.then(|| view! { <p><a href=kept data-testid="to-allocations">{td_string!(lang, sales.kept_link)}</a></p> })}
                {(!sheet.editing).then(|| view! { <p class="notice" data-testid="read-only">{td_string!(lang, sales.price_read_only)}</p> })}
            </header>
            {body}
        </div>
    }
    .into_any()
}

#[component]
fn Body(sheet: Sheet) -> impl IntoView {
    let published = sheet.view.read_untracked().published;
    view! {
        <div class="prices-body">
            <div class="prices-map"><House sheet/></div>
            <div class="prices-side"><PriceTable sheet/></div>
        </div>
        <div class="prices-below">
            {sheet.editing.then(|| view! { <SeatForms sheet/> })}
            <BlockedGroups sheet/>
            {(sheet.editing && !published).then(|| view! { <ZoneList sheet/> })}
        </div>
    }
    .into_any()
}

/// The map: by price once all zones have one, each zone in its own colour before.
#[component]
fn House(sheet: Sheet) -> impl IntoView {
    let view = sheet.view;
    let digest = Memo::new(move |_| view.read().map_digest.clone().unwrap_or_default());
    let zones = Memo::new(move |_| price_zones(&view.read().zones));
    let moved = Memo::new(move |_| {
        let view = view.read();
        let seats = view.moved.iter().flat_map(|(zone, seats)| seats.list().iter().map(|seat| (*seat, *zone)));
        seats.collect::<Vec<_>>()
    });
    let blocked = Memo::new(move |_| {
        view.read().blocked.iter().flat_map(|group| group.seats.list().iter().copied()).collect::<Vec<_>>()
    });
    let paint = Memo::new(move |_| paint_of(&view.read().zones));
    move || {
        let paint = paint.get();
        if sheet.editing {
            view! { <PlanCanvas digest zones paint moved blocked selection=sheet.selection focus=sheet.focus/> }
                .into_any()
        } else {
            view! { <PlanCanvas digest zones paint moved blocked focus=sheet.focus/> }.into_any()
        }
    }
}

/// Why a form was refused: the text by its code, the sentence of the refusal, and a way on.
#[component]
pub(super) fn Why(
    /// The refusal, while there is one.
    #[prop(into)]
    error: Signal<Option<AppError>>,
) -> impl IntoView {
    let lang = lang();
    let conflict = move || {
        error.read().as_ref().is_some_and(|e| e.code() == Code::WrongState && e.0.message.starts_with("version:"))
    };
    move || {
        if conflict() {
            view! {
                <p class="notice notice-care" role="alert" data-testid="refusal" data-code="wrong_state">
                    <span>
                        {td_string!(lang, sales.price_conflict)} " "
                        <a href="" rel="external">{td_string!(lang, sales.price_reload)}</a>
                    </span>
                </p>
            }
            .into_any()
        } else {
            view! {
                <Refused error/>
                {error.get().map(|error| view! { <p class="prices-why" lang="en" data-testid="why">{error.0.message}</p> })}
            }
            .into_any()
        }
    }
}

/// The refusal that belongs to one field, beneath it.
#[component]
pub(super) fn FieldError(
    /// The refusal, while there is one.
    #[prop(into)]
    error: Signal<Option<AppError>>,
    /// The field's name in the message.
    #[prop(into)]
    field: String,
) -> impl IntoView {
    move || {
        let error = error.get()?;
        let (name, text) = error.0.message.split_once(": ")?;
        (name == field).then(|| {
            view! {
                <small class="prices-error" lang="en" data-testid="field-error" data-field=name.to_owned()>{text.to_owned()}</small>
            }
        })
    }
}

/// A zone's sign: a filled circle with its letter.
#[component]
fn ZoneSign(letter: char, colour: usize) -> impl IntoView {
    const CLASSES: [&str; 6] = ["zone-a", "zone-b", "zone-c", "zone-d", "zone-e", "zone-f"];
    view! {
        <svg class="swatch" viewBox="0 0 18 18" aria-hidden="true">
            <circle class=CLASSES[colour % CLASSES.len()] cx="9" cy="9" r="8.5"/>
            <text x="9" y="12.6">{letter.to_string()}</text>
        </svg>
    }
    .into_any()
}
