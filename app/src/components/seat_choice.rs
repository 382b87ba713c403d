//! The seats of an order as boxes to tick, with what comes back for each.

use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::SeatNo;
use domain::ids::parse_seats;
use domain::refund::view::ReturnableSeat;
use leptos::{html, prelude::*};
use leptos_router::params::ParamsMap;
use std::collections::BTreeSet;

/// The seats that the address of a page asks about (`?seats=1,2` or `?seats=1&seats=2`), as far as they
/// can be given back.
pub fn asked_seats(query: &ParamsMap, seats: &[ReturnableSeat]) -> BTreeSet<SeatNo> {
    let text = query.get_all("seats").unwrap_or_default().join(",");
    // What is no list of seats asks about none.
    let asked: BTreeSet<SeatNo> = parse_seats(&text).unwrap_or_default().into_iter().collect();
    seats.iter().filter(|seat| can_return(seat) && asked.contains(&seat.item.seat)).map(|seat| seat.item.seat).collect()
}

/// Whether a seat can be ticked.
pub fn can_return(seat: &ReturnableSeat) -> bool {
    seat.returns.is_some()
}

/// The boxes, named `seats`.
#[component]
pub fn SeatChoice(
    /// The seats of the order.
    seats: Vec<ReturnableSeat>,
    /// Those that are ticked.
    chosen: RwSignal<BTreeSet<SeatNo>>,
) -> impl IntoView {
    let rows = seats.into_iter().map(|seat| view! { <li><SeatBox seat chosen/></li> }).collect_view();
    view! { <ul class="refund-seats">{rows}</ul> }.into_any()
}

#[component]
fn SeatBox(seat: ReturnableSeat, chosen: RwSignal<BTreeSet<SeatNo>>) -> impl IntoView {
    let lang = lang();
    let (open, given_back, returns) = (can_return(&seat), seat.given_back, seat.returns);
    let number = seat.item.seat;
    let node = NodeRef::<html::Input>::new();
    let follow = move || {
        let Some(input) = node.get_untracked() else { return };
        let ticked = input.checked();
        if ticked != chosen.with_untracked(|chosen| chosen.contains(&number)) {
            chosen.update(|chosen| {
                if ticked {
                    chosen.insert(number);
                } else {
                    chosen.remove(&number);
                }
            });
        }
    };
    // What was ticked before the page came alive counts, too.
    Effect::new(move |_| {
        if node.get().is_some() {
            follow();
        }
    });
    let ticked = chosen.with_untracked(|chosen| chosen.contains(&number));
    let back = match returns {
        Some(amount) => td_string!(lang, refunds.returns, amount = format::money(lang, amount)),
        None if given_back => td_string!(lang, refunds.was_given_back).to_owned(),
        None => td_string!(lang, refunds.returns_none).to_owned(),
    };
    let item = seat.item;
    view! {
        <label class="refund-seat" data-given-back=(given_back && !open).then_some("")>
            <input
                node_ref=node
                type="checkbox"
                name="seats"
                value=number.to_string()
                checked=ticked
                disabled=!open
                on:change=move |_| follow()
                data-testid="refund-seat"
            />
            <span class="refund-seat-what">
                <b>{td_string!(lang, orders.seat_line, section = item.section, row = item.row, seat = item.label)}</b>
                <span class="quiet">{format!("{} · {}", item.category, format::money(lang, item.price))}</span>
            </span>
            <span class="refund-seat-back">{back}</span>
        </label>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Money;
    use domain::order::OrderItem;

    fn seat(number: u32, returns: bool, given_back: bool) -> ReturnableSeat {
        let price = Money::new(5_000, "EUR".parse().unwrap());
        let text = || number.to_string();
        let item = OrderItem {
            seat: SeatNo(number),
            section: text(),
            row: text(),
            label: text(),
            category: text(),
            price,
            given_back: false,
        };
        ReturnableSeat { item, returns: returns.then_some(price), given_back }
    }

    #[test]
    fn an_address_ticks_what_can_be_given_back_and_nothing_else() {
        let seats = [seat(1, true, false), seat(2, true, false), seat(3, false, true), seat(4, false, false)];
        let asked = |values: &[&str]| {
            let mut query = ParamsMap::new();
            for value in values {
                query.insert("seats", (*value).to_owned());
            }
            asked_seats(&query, &seats).into_iter().map(|seat| seat.0).collect::<Vec<_>>()
        };
        assert_eq!(asked(&["2,1"]), [1, 2]);
        assert_eq!(asked(&["2", "3", "4", "9"]), [2]);
        assert!(asked(&[]).is_empty() && asked(&["<b>"]).is_empty());
    }
}
