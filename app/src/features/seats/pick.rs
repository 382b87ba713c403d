//! "Pick for me": how many, which price, one press, and the server finds and holds the best seats.
//!
//! Owns the panel beside the map and the form of the list, which ask for the same. What is better than
//! what is the server's, in words that [`super::words`] owns.

use super::api::{self, HoldBest};
use super::key::fresh_key;
use super::list::{HoldRefused, Listed};
use super::model::{Notice, Selection};
use super::room::Room;
use crate::components::fees;
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use domain::catalog::{PerformanceView, PriceZone};
use domain::hold::Picked;
use domain::{Code, Refusal};
use leptos::html::{Input, Select};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_navigate;

/// How many are asked for when nothing else was said: most people come in pairs.
const USUAL_COUNT: u32 = 2;

/// What the panel asks for, as its form says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    count: u32,
    zone: String,
    wheelchair: bool,
}

/// The panel beside the map; gone once seats are chosen by hand or held.
#[component]
pub fn Picker(
    /// The page's state.
    room: Room,
) -> impl IntoView {
    let (count, zone, wheelchair) = (NodeRef::<Select>::new(), NodeRef::<Select>::new(), NodeRef::<Input>::new());
    // The same wish repeats its key until its outcome is known: a lost answer makes no second hold.
    let asked = StoredValue::new(None::<(Asked, String)>);
    let pick = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let value =
            |select: Option<web_sys::HtmlSelectElement>| select.map(|select| select.value()).unwrap_or_default();
        let wish = Asked {
            count: value(count.get_untracked()).parse().unwrap_or(USUAL_COUNT),
            zone: value(zone.get_untracked()),
            wheelchair: wheelchair.get_untracked().is_some_and(|input| input.checked()),
        };
        room.pick(wish, asked);
    };
    let shown = move || room.own.with(Option::is_none) && room.selection.with(Selection::is_empty);
    let limit = room.limit;
    let fields = move || {
        room.renewed.track();
        view! { <Fields zones=room.view.with_value(|view| view.zones.clone()) limit count zone wheelchair/> }
    };
    let note = move || {
        room.renewed.track();
        room.view.with_value(|view| all_in(room.lang, view))
    };
    view! {
        <Show when=shown>
            <form class="picker" data-testid="picker" on:submit=pick aria-label=td_string!(room.lang, seats.pick_title)>
                {fields}
                <button type="submit" class="button" data-testid="pick" disabled=move || room.busy.get()>
                    {td_string!(room.lang, seats.pick_for_me)}
                </button>
                {note}
            </form>
        </Show>
    }
    .into_any()
}

/// How many, which price, and whether with a wheelchair.
#[component]
fn Fields(
    zones: Vec<PriceZone>,
    limit: u32,
    #[prop(optional)] count: NodeRef<Select>,
    #[prop(optional)] zone: NodeRef<Select>,
    #[prop(optional)] wheelchair: NodeRef<Input>,
) -> impl IntoView {
    let lang = crate::lang::lang();
    let counts = (1..=limit)
        .map(|n| {
            let words = if n == 1 {
                td_string!(lang, seats.pick_seat).to_owned()
            } else {
                td_string!(lang, seats.pick_seats, count = n)
            };
            view! { <option value=n.to_string() selected=n == USUAL_COUNT.min(limit)>{words}</option> }
        })
        .collect_view();
    let zones = zones.into_iter().filter_map(|zone| zone_option(lang, zone)).collect_view();
    view! {
        <label>
            <span class="visually-hidden">{td_string!(lang, seats.pick_how_many)}</span>
            <select name="count" data-testid="pick-how-many" node_ref=count>{counts}</select>
        </label>
        <label class="picker-zone">
            <span class="visually-hidden">{td_string!(lang, seats.pick_zone)}</span>
            <select name="zone" data-testid="pick-zone" node_ref=zone>
                <option value="">{td_string!(lang, seats.pick_any)}</option>
                {zones}
            </select>
        </label>
        <label class="picker-wheelchair">
            <input type="checkbox" name="wheelchair" value="yes" data-testid="pick-wheelchair" node_ref=wheelchair/>
            <span>{td_string!(lang, seats.pick_wheelchair)}</span>
        </label>
    }
    .into_any()
}

/// A zone that something costs in.
fn zone_option(lang: Locale, zone: PriceZone) -> Option<impl IntoView> {
    let price = format::money(lang, zone.price?);
    Some(view! { <option value=zone.category.to_string()>{format!("{price} · {}", zone.name)}</option> })
}

/// What one ticket comes to at least, where that is more than its price.
fn all_in(lang: Locale, view: &PerformanceView) -> Option<impl IntoView + use<>> {
    let text = fees::all_in_from(lang, &view.zones, view.fees.as_ref()?)?;
    Some(view! { <p class="picker-note" data-testid="all-in">{text}</p> })
}

/// The same without script: a form that posts, holds and leads to the order.
#[component]
pub fn PickForm(
    /// The performance, with its prices and its limit.
    view: PerformanceView,
    /// The idempotency key of this rendering.
    key: String,
) -> impl IntoView {
    let lang = crate::lang::lang();
    let hold = ServerAction::<HoldBest>::new();
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(Ok(picked)) = hold.value().get() {
            navigate(&format!("/orders/{}", picked.held.order), leptos_router::NavigateOptions::default());
        }
    });
    let (id, limit) = (view.id, view.limit);
    let note = all_in(lang, &view);
    let refusal = move || {
        let error = hold.value().get()?.err()?;
        Some(view! { <HoldRefused error performance=id limit names=Listed::default()/> })
    };
    view! {
        <section aria-labelledby="pick-title">
            <h2 id="pick-title">{td_string!(lang, seats.pick_title)}</h2>
            <div role="alert">{refusal}</div>
            <ActionForm action=hold attr:class="picker" attr:data-testid="picker">
                <input type="hidden" name="performance" value=id.to_string()/>
                <input type="hidden" name="key" value=key/>
                <Fields zones=view.zones limit/>
                <button class="button" type="submit" data-testid="pick" disabled=move || hold.pending().get()>
                    {td_string!(lang, seats.pick_and_hold)}
                </button>
                {note}
            </ActionForm>
        </section>
    }
    .into_any()
}

impl Room {
    /// Has seats picked and held. The same wish repeats its key until its outcome is clear.
    fn pick(self, wish: Asked, asked: StoredValue<Option<(Asked, String)>>) {
        if self.busy.get_untracked() {
            return;
        }
        let before = asked.get_value().filter(|(before, _)| *before == wish);
        let key = before.map_or_else(fresh_key, |(_, key)| key);
        asked.set_value(Some((wish.clone(), key.clone())));
        self.busy.set(true);
        self.notice.set(None);
        spawn_local(async move {
            let wheelchair = wish.wheelchair.then(|| "yes".to_owned());
            let outcome = api::hold_best(self.performance, wish.count, Some(wish.zone), wheelchair, key).await;
            let unclear = matches!(&outcome, Err(error) if is_unclear(error));
            if !unclear {
                asked.try_set_value(None);
            }
            match outcome {
                Ok(picked) => self.show_picked(picked),
                Err(error) => self.refused(error.0).await,
            }
            self.busy.try_set(false);
        });
    }

    /// Shows what was picked: on the map, in the basket, and in words.
    fn show_picked(self, picked: Picked) {
        let Picked { held, seating } = picked;
        if self.own.try_get_untracked().is_none() {
            return;
        }
        let (count, first) = (held.seats.len(), held.seats.first().copied());
        self.own.set(Some(held));
        self.notice.set(Some(Notice::Picked { count, seating }));
        self.show_own();
        // The map goes to where the focus goes.
        self.scene.focus.set(first);
    }
}

/// Whether the hold may have been made although no answer says so.
fn is_unclear(error: &AppError) -> bool {
    let Refusal { code, .. } = &error.0;
    matches!(code, Code::Unavailable | Code::Internal)
}
