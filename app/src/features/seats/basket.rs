//! The basket beside the map: chosen seats with prices and total, the one next step, and the open
//! hold with its countdown.

use super::model::Notice;
use super::pick::Picker;
use super::room::Room;
use super::words;
use crate::clock::use_clock;
use crate::format;
use crate::i18n::td_string;
use domain::hold::Held;
use domain::{Money, SeatNo};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::use_navigate;

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
            let text = words::notice(room.lang, &notice, room.limit, |seat| room.seat_label(seat));
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
    let count = move || room.selection.with(|selection| selection.seats().len());
    let hold = move |_| {
        let navigate = navigate.clone();
        room.hold(move |path| navigate(path, NavigateOptions::default()));
    };
    let minutes = room.view.with_value(|view| view.hold_ttl_ms / 60_000);
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
                <For each=move || room.selection.with(|s| s.seats().to_vec()) key=|seat| *seat let:seat>
                    <ChosenSeat room seat/>
                </For>
            </ul>
            <p class="basket-total">
                <span>{td_string!(lang, seats.basket_total)}</span>
                <span data-testid="basket-total">{move || total(room).map(|sum| format::money(lang, sum))}</span>
            </p>
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

/// The sum of what is chosen.
fn total(room: Room) -> Option<Money> {
    room.selection.with(|selection| {
        selection
            .seats()
            .iter()
            .filter_map(|seat| price_of(room, *seat))
            .reduce(|sum, price| sum.checked_add(price).unwrap_or(sum))
    })
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
    let seats = held
        .seats
        .iter()
        .map(|seat| {
            let seat = *seat;
            view! {
                <li>
                    <span class="basket-place">
                        {move || { room.scene.version.track(); room.place(seat) }}
                    </span>
                </li>
            }
        })
        .collect_view();
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
            <ul class="basket-seats">{seats}</ul>
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
