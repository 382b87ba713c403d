//! The basket beside the map: chosen seats with prices and total, the one next step, and the open
//! hold with its countdown.

use super::model::{Notice, Selection};
use super::newer::NewMap;
use super::pick::Picker;
use super::room::Room;
use super::words;
use crate::clock::use_clock;
use crate::format;
use crate::i18n::td_string;
use crate::seatmap::words as map_words;
use domain::hold::Held;
use domain::money::fees::FeeSchedule;
use domain::money::summary::Summary;
use domain::{Money, SeatNo};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;
use std::collections::BTreeMap;

/// From here on the end of a hold is announced.
const ENDING_SECONDS: i64 = 60;

/// The basket.
#[component]
pub fn Basket(
    /// The page's state.
    room: Room,
) -> impl IntoView {
    view! {
        <aside class="basket" aria-label=td_string!(room.lang, seats.basket) data-testid="basket">
            <NewMap room/>
            <NoticeLine room/>
            <Picker room/>
            {move || {
                room.own
                    .get()
                    .map_or_else(
                        || view! { <Chosen room/> }.into_any(),
                        |held| view! { <OwnHold room held/> }.into_any(),
                    )
            }}
        </aside>
    }
    .into_any()
}

/// What is to be told, read out politely.
#[component]
fn NoticeLine(room: Room) -> impl IntoView {
    let line = move || {
        room.notice.get().map(|notice| {
            let text = words::notice(room.lang, &notice, room.limit, &room);
            let link = match &notice {
                Notice::PassRequired => {
                    Some((format!("/performances/{}/queue", room.performance), td_string!(room.lang, seats.to_queue)))
                }
                Notice::SignInRequired => Some((
                    format!("/sign-in?next=/performances/{}/seats", room.performance),
                    td_string!(room.lang, seats.sign_in),
                )),
                _ => None,
            };
            let instead = match notice {
                Notice::LeavesSingle { instead, .. } if !instead.is_empty() => Some(instead),
                _ => None,
            };
            let take = instead.map(|seats| {
                let take = move |_| room.take_instead(seats.clone());
                view! {
                    " "
                    <button type="button" class="button" data-testid="take-instead" on:click=take>
                        {td_string!(room.lang, seats.take_instead)}
                    </button>
                }
            });
            view! {
                <p class="basket-notice" data-testid="notice">
                    {text} {link.map(|(href, label)| view! { " " <a href=href>{label}</a> })} {take}
                </p>
            }
        })
    };
    view! { <div role="status">{line}</div> }.into_any()
}

/// The chosen seats and the one next step.
#[component]
fn Chosen(room: Room) -> impl IntoView {
    let lang = room.lang;
    let navigate = use_navigate();
    let count = move || room.selection.with(Selection::places);
    let hold = move |_| {
        let navigate = navigate.clone();
        room.hold(move |path| navigate(path, NavigateOptions::default()));
    };
    let minutes = room.view.with_value(|view| view.hold_ttl_ms / 60_000);
    let sums = Memo::new(move |_| total(room));
    let prices = move || sums.with(|sums| sums.as_ref().map(|(least, most)| (least.total, most.total)));
    let included = move || sums.with(|sums| sums.as_ref().and_then(|(least, most)| words::included(lang, least, most)));
    view! {
        <div class="basket-head">
            <h2>{td_string!(lang, seats.basket)}</h2>
            <span>{move || td_string!(lang, seats.basket_count, count = count(), limit = room.limit)}</span>
        </div>
        <Show
            when=move || { count() > 0 }
            fallback=move || {
                view! {
                    <p class="basket-quiet" data-testid="basket-empty">
                        {td_string!(lang, seats.basket_empty, limit = room.limit)}
                    </p>
                }
            }
        >
            <ul class="basket-seats" data-testid="basket-seats">
                <For each=move || of_map(room, |chosen| chosen.seats().to_vec()) key=|one| *one let:one>
                    <ChosenSeat room seat=one.1/>
                </For>
                <For each=move || of_map(room, chosen_areas) key=|one| *one let:one>
                    <ChosenArea room area=one.1/>
                </For>
            </ul>
            <p class="basket-total">
                <span>{td_string!(lang, seats.basket_total)}</span>
                <span data-testid="basket-total">
                    {move || prices().map(|ends| map_words::prices(lang, Some(ends)))}
                </span>
            </p>
            {move || included().map(|text| view! { <p class="basket-fees" data-testid="basket-fees">{text}</p> })}
        </Show>
        <button
            type="button"
            class="button button-accent"
            data-testid="hold"
            disabled=move || count() == 0 || room.busy.get()
            on:click=hold
        >
            {move || if room.busy.get() { td_string!(lang, seats.holding) } else { td_string!(lang, seats.hold) }}
        </button>
        <Show when=move || { count() > 0 }>
            <p class="basket-quiet basket-terms">{td_string!(lang, seats.hold_terms, minutes = minutes)}</p>
        </Show>
    }
    .into_any()
}

/// The price of a seat, when it is for sale.
fn price_of(room: Room, seat: SeatNo) -> Option<Money> {
    let category = room.with_house(|house| house.chart().category(seat))?;
    room.scene.zones.with_value(|zones| zones.of_category(category).and_then(|zone| zone.price))
}

/// What is chosen, each with the number of the map that names and prices are told from.
fn of_map<T>(room: Room, chosen: impl FnOnce(&Selection) -> Vec<T>) -> Vec<(u32, T)> {
    let map = room.renewed.get();
    room.selection.with(chosen).into_iter().map(|one| (map, one)).collect()
}

fn chosen_areas(selection: &Selection) -> Vec<u32> {
    selection.areas().iter().map(|wish| wish.area).collect()
}

/// The least and the most that an order of the chosen seats and places comes to, fees and tax with it, by
/// the rule that bills it: another sum only where an area has places of several prices.
fn total(room: Room) -> Option<(Summary, Summary)> {
    room.renewed.track();
    let prices: Vec<(Money, Money)> = room.selection.with(|selection| {
        let seats = selection.seats().iter().filter_map(|seat| price_of(room, *seat)).map(|price| (price, price));
        let areas = selection.areas().iter().filter_map(|wish| {
            let count = usize::try_from(wish.count).ok()?;
            Some(std::iter::repeat_n(room.area_prices(wish.area)?, count))
        });
        seats.chain(areas.flatten()).collect()
    });
    let currency = prices.first()?.0.currency;
    let schedule = room.view.with_value(|view| view.fees).unwrap_or_else(|| FeeSchedule::none(currency));
    let (least, most): (Vec<Money>, Vec<Money>) = prices.into_iter().unzip();
    let sums = |prices: &[Money]| Some(Summary::of(&schedule, &schedule.bill_of_prices(prices).ok()?));
    Some((sums(&least)?, sums(&most)?))
}

/// So many places at these prices.
fn times(prices: (Money, Money), count: u32) -> Option<(Money, Money)> {
    Some((prices.0.checked_times(count)?, prices.1.checked_times(count)?))
}

/// One chosen seat.
#[component]
fn ChosenSeat(room: Room, seat: SeatNo) -> impl IntoView {
    let place = room.place(seat);
    let remove = td_string!(room.lang, seats.remove, seat = &place);
    view! {
        <li data-testid="basket-seat" data-seat=seat.to_string()>
            <span class="basket-place">{place}</span>
            <span>{price_of(room, seat).map(|price| format::money(room.lang, price))}</span>
            <button type="button" aria-label=remove disabled=move || room.busy.get() on:click=move |_| room.toggle(seat)>
                <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M3 3l10 10M13 3L3 13"/></svg>
            </button>
        </li>
    }
    .into_any()
}

/// The chosen places of one standing area, with the stepper that says how many.
#[component]
fn ChosenArea(room: Room, area: u32) -> impl IntoView {
    let lang = room.lang;
    let name = room.area_name(area);
    let count = move || room.selection.with(|selection| selection.count_in(area));
    let more = NodeRef::<leptos::html::Button>::new();
    Effect::new(move |_| {
        if let (true, Some(button)) = (room.asked.get() == Some(area), more.get()) {
            // Fails where the element can't have the focus; then it stays on the map.
            drop(button.focus());
            room.asked.set(None);
        }
    });
    let price = move || {
        let sums = times(room.area_prices(area)?, count())?;
        Some(map_words::prices(lang, Some(sums)))
    };
    let (fewer_name, more_name) =
        (td_string!(lang, seats.area_fewer, area = &name), td_string!(lang, seats.area_more, area = &name));
    let label = move || td_string!(lang, seats.area_count, count = count(), area = &name);
    view! {
        <li class="basket-area" data-testid="basket-area" data-area=area.to_string()>
            <span class="basket-place" role="status" data-testid="area-count">{label}</span>
            <span>{price}</span>
            <button
                type="button"
                aria-label=fewer_name
                data-testid="area-fewer"
                disabled=move || room.busy.get()
                on:click=move |_| room.want(area, count().saturating_sub(1))
            >
                <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M3 8h10"/></svg>
            </button>
            <button
                type="button"
                node_ref=more
                aria-label=more_name
                data-testid="area-more"
                disabled=move || room.busy.get()
                on:click=move |_| room.want(area, count().saturating_add(1))
            >
                <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M3 8h10M8 3v10"/></svg>
            </button>
        </li>
    }
    .into_any()
}

/// The places of a hold in words, one line each: seats one by one, standing places by area.
fn held_lines(room: Room, held: &[SeatNo]) -> Vec<String> {
    let mut areas: BTreeMap<u32, u32> = BTreeMap::new();
    let mut lines = Vec::new();
    for seat in held {
        match room.with_house(|house| house.chart().pit_of(*seat).map(|pit| pit.area)).flatten() {
            Some(area) => *areas.entry(area).or_default() += 1,
            None => lines.push(room.place(*seat)),
        }
    }
    lines.extend(
        areas
            .into_iter()
            .map(|(area, count)| td_string!(room.lang, seats.area_count, count = count, area = room.area_name(area))),
    );
    lines
}

/// The open hold: how long it stands, and what can be done with it.
#[component]
fn OwnHold(room: Room, held: Held) -> impl IntoView {
    let lang = room.lang;
    let clock = use_clock();
    let expires = held.expires;
    let left = move || clock.now().map(|now| format::seconds_left(now, expires));
    let ending =
        move || left().filter(|seconds| *seconds <= ENDING_SECONDS).map(|_| td_string!(lang, seats.own_ending));
    // Read out once, not every second: the memo changes at the last minute only.
    let ending = Memo::new(move |_| ending());
    let places = move || {
        room.scene.version.track();
        held_lines(room, &held.seats)
            .into_iter()
            .map(|line| view! { <li><span class="basket-place">{line}</span></li> })
            .collect_view()
    };
    view! {
        <div class="own-hold" data-testid="own-hold">
            <div class="basket-head">
                <h2>{td_string!(lang, seats.own_title)}</h2>
                <span>{format::money(lang, held.total)}</span>
            </div>
            <p class="own-left" role="timer" aria-live="off" data-testid="own-left">
                {move || left().map(|seconds| td_string!(lang, seats.own_left, time = format::short_clock(seconds)))}
            </p>
            <p class="visually-hidden" role="status">{ending}</p>
            <ul class="basket-seats">{places}</ul>
            <div class="own-actions">
                <a class="button button-accent" href=format!("/orders/{}", held.order) data-testid="to-checkout">
                    {td_string!(lang, seats.own_checkout)}
                </a>
                <button
                    type="button"
                    class="button"
                    data-testid="give-back"
                    disabled=move || room.busy.get()
                    on:click=move |_| room.give_back()
                >
                    {td_string!(lang, seats.own_give_back)}
                </button>
            </div>
        </div>
    }
    .into_any()
}
