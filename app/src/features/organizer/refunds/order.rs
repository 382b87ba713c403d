//! A refund in a fan's place: which tickets of an order, and why.
//!
//! As on the fan's page the choice is in the address for pages without JavaScript.

use super::api::{OrganizerOrderRefund, organizer_order_refund_offer, page_of_order};
use super::decide::NOTE_MAX_CHARS;
use super::{LIST, Refusal};
use crate::components::icon::Icon;
use crate::components::missing::Failure;
use crate::components::notice::Remark;
use crate::components::raw_text::Title;
use crate::components::refund::{Steps, cause_text, status_text};
use crate::components::seat_choice::{SeatChoice, asked_seats};
use crate::features::organizer::frame::{Frame, Tab};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::ids::join_seats;
use domain::organizer::Action;
use domain::refund::view::{RefundOffer, RefundView, Refused, ReturnableSeat};
use domain::{Code, Money, SeatNo};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};
use std::collections::BTreeSet;

/// Giving money of one order back.
#[component]
pub fn OrderRefundPage() -> impl IntoView {
    let (lang, params) = (lang(), use_params_map());
    let id = move || params.read().get("id").unwrap_or_default();
    let ask = ServerAction::<OrganizerOrderRefund>::new();
    let value = ask.value();
    let offer = Resource::new(id, organizer_order_refund_offer);
    // What was typed stays where it was refused, unless what is shown is no longer so.
    Effect::new(move |_| match value.get() {
        Some(Ok(_)) => offer.refetch(),
        Some(Err(error)) if error.code() == Code::WrongState => offer.refetch(),
        Some(Err(_)) | None => (),
    });
    view! {
        <Title text=td_string!(lang, refunds.of_order)/>
        <Frame tab=Tab::Orders needs=Action::AskRefunds>
            <Transition>
                {move || Suspend::new(async move {
                    match offer.await {
                        Ok(offer) => view! { <Offer offer ask/> }.into_any(),
                        Err(error) => {
                            let back = page_of_order(&id());
                            view! { <Failure error back/> }.into_any()
                        }
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Offer(offer: RefundOffer, ask: ServerAction<OrganizerOrderRefund>) -> impl IntoView {
    let lang = lang();
    let value = ask.value();
    let asked_before = use_query_map().read_untracked().get_str("asked").is_some();
    let asked = move || value.get().map_or(asked_before, |answer| answer.is_ok());
    let error = Signal::derive(move || value.get().and_then(Result::err));
    let story = format!("/organizer/orders/{}", offer.order);
    let refunds = offer.refunds.clone();
    let none = refunds.is_empty();
    let choice = match offer.refused {
        Some(why) => {
            let text = if why == Refused::Disputed {
                td_string!(lang, refunds.refused_disputed)
            } else {
                td_string!(lang, refunds.refused_nothing_left)
            };
            view! { <div data-testid="refused"><Remark icon=Icon::Attention><p>{text}</p></Remark></div> }.into_any()
        }
        None => view! { <Choose offer ask/> }.into_any(),
    };
    let lines = refunds.into_iter().map(|refund| view! { <li><Line refund/></li> }).collect_view();
    view! {
        <header class="org-head">
            <p class="overline"><a href=story data-testid="to-order">{td_string!(lang, refunds.to_order)}</a></p>
            <h1>{td_string!(lang, refunds.of_order)}</h1>
            <p class="quiet">{td_string!(lang, refunds.staff_text)}</p>
        </header>
        <div role="status" class="notice-place">
            {move || asked().then(|| view! {
                <div data-testid="asked">
                    <Remark icon=Icon::Check>
                        <p>{td_string!(lang, refunds.staff_asked)} " " <a href=LIST>{td_string!(lang, refunds.to_list)}</a></p>
                    </Remark>
                </div>
            })}
        </div>
        <Refusal error/>
        {choice}
        <section class="org-part" aria-labelledby="refund-history">
            <h2 id="refund-history">{td_string!(lang, refunds.history)}</h2>
            {none.then(|| view! { <p class="quiet">{td_string!(lang, refunds.history_none)}</p> })}
            <ul class="refund-history">{lines}</ul>
        </section>
    }
    .into_any()
}

/// What the chosen seats come to, each by itself; the order's fee goes with the last, and the refund
/// that is made names it.
fn sum(seats: &[ReturnableSeat], chosen: &BTreeSet<SeatNo>) -> Option<Money> {
    let mut amounts = seats.iter().filter(|seat| chosen.contains(&seat.item.seat)).filter_map(|seat| seat.returns);
    let first = amounts.next()?;
    amounts.try_fold(first, Money::checked_add)
}

#[component]
fn Choose(offer: RefundOffer, ask: ServerAction<OrganizerOrderRefund>) -> impl IntoView {
    let lang = lang();
    let RefundOffer { order, seats, .. } = offer;
    let chosen = RwSignal::new(asked_seats(&use_query_map().read_untracked(), &seats));
    let listed = seats.clone();
    let total = Memo::new(move |_| chosen.with(|chosen| sum(&seats, chosen)));
    let amount = move || total.get().map(|total| format::money(lang, total)).unwrap_or_default();
    let joined = move || chosen.with(|chosen| join_seats(&chosen.iter().copied().collect::<Vec<_>>()));
    let show = format!(
        "<button class=\"button\" type=\"submit\" data-testid=\"refund-show\">{}</button>",
        td_string!(lang, refunds.show)
    );
    // The form stays while boxes are ticked: what was typed stays in it.
    let nothing = move || total.get().is_none();
    view! {
        <form class="refund-form" method="get" action=page_of_order(&order.to_string()) data-testid="refund-form">
            <fieldset class="refund-fields">
                <legend>{td_string!(lang, refunds.staff_choose)}</legend>
                <SeatChoice seats=listed chosen/>
            </fieldset>
            <noscript inner_html=show></noscript>
        </form>
        <p class="quiet" hidden=move || !nothing() data-testid="choose-hint">{td_string!(lang, refunds.choose_hint)}</p>
        <div class="refund-quote" hidden=nothing>
            <dl class="refund-sums" aria-live="polite">
                <div class="refund-sum-returns">
                    <dt>{td_string!(lang, refunds.staff_sum)}</dt>
                    <dd data-testid="quote-returns">{amount}</dd>
                </div>
            </dl>
            <p class="quiet">{td_string!(lang, refunds.staff_order_fee)}</p>
            <ActionForm action=ask attr:class="form" attr:data-testid="refund-confirm">
                <input type="hidden" name="order" value=order.to_string()/>
                <input type="hidden" name="seats" value=joined/>
                <label class="field">
                    <span>{td_string!(lang, refunds.staff_note)}</span>
                    <textarea name="note" rows="3" required maxlength=NOTE_MAX_CHARS.to_string() data-testid="note"></textarea>
                </label>
                <button class="button button-accent" type="submit" disabled=move || ask.pending().get() || nothing() data-testid="refund-ask">
                    {move || td_string!(lang, refunds.staff_ask, amount = amount())}
                </button>
            </ActionForm>
        </div>
    }
    .into_any()
}

#[component]
fn Line(refund: RefundView) -> impl IntoView {
    let lang = lang();
    let RefundView { id, status, cause, amount, seats, asked, note, failure, .. } = refund;
    view! {
        <article class="refund-line" data-testid="refund" data-refund=id.to_string() data-status=status.as_str()>
            <p class="refund-line-head"><b>{format::money(lang, amount)}</b><span>{status_text(lang, status)}</span></p>
            <p class="facts">
                <time datetime=format::machine_time(&asked)>{format::moment(lang, &asked)}</time>
                <span>{cause_text(lang, cause)}</span>
            </p>
            {(!seats.is_empty()).then(|| view! { <p>{seats.join(", ")}</p> })}
            <Steps status/>
            {(!note.is_empty()).then(|| view! { <p class="refund-note">{td_string!(lang, refunds.note)} ": " {note}</p> })}
            {failure.map(|failure| view! { <p class="refund-note" lang="en" data-testid="failure">{failure}</p> })}
        </article>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::order::OrderItem;

    fn seat(number: u32, minor: i64) -> ReturnableSeat {
        let price = Money::new(minor, "EUR".parse().unwrap());
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
        ReturnableSeat { item, returns: (minor > 0).then_some(price), given_back: minor == 0 }
    }

    #[test]
    fn the_sum_is_that_of_the_chosen_seats() {
        let seats = [seat(1, 5_000), seat(2, 7_050), seat(3, 0)];
        let of = |chosen: &[u32]| sum(&seats, &chosen.iter().copied().map(SeatNo).collect()).map(|sum| sum.minor);
        assert_eq!(of(&[1, 2]), Some(12_050));
        assert_eq!(of(&[2, 3]), Some(7_050));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3, 9]), None);
    }
}
