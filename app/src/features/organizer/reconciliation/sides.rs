//! Both sides of a difference: what we recorded, and what the provider lists.

use super::words::{dispute_text, movement_text, refund_text};
use crate::components::order_status;
use crate::components::order_status::attempt_text;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::settlement::{Ours, ProviderLine};
use domain::{Millis, Money, ZonedTime};
use leptos::prelude::*;

/// A name and its value in a list of facts.
fn pair(name: &'static str, value: impl IntoView + 'static) -> impl IntoView {
    view! { <div><dt>{name}</dt><dd>{value.into_any()}</dd></div> }
}

/// A moment in UTC.
#[component]
pub(super) fn At(
    /// The moment.
    time: ZonedTime,
) -> impl IntoView {
    view! { <time datetime=format::machine_time(&time)>{format::exact(lang(), &time)}</time> }.into_any()
}

fn pair_at(name: &'static str, at: Option<Millis>, near: &ZonedTime) -> impl IntoView + use<> {
    at.map(|at| {
        let time = format::beside(at, near);
        pair(name, view! { <At time/> })
    })
}

fn code(text: String) -> impl IntoView {
    view! { <code>{text}</code> }
}

/// What we recorded.
#[component]
pub(super) fn OurSide(
    /// The record; none where we have none.
    ours: Option<Ours>,
    /// A moment in UTC.
    near: ZonedTime,
) -> impl IntoView {
    let lang = lang();
    let facts = match ours {
        None => view! { <p class="quiet">{td_string!(lang, reconciliation.ours_none)}</p> }.into_any(),
        Some(Ours::Attempt(attempt)) => view! {
            <dl class="pairs">
                {pair(td_string!(lang, reconciliation.amount), format::money(lang, attempt.amount))}
                {pair(td_string!(lang, reconciliation.state), attempt_text(lang, attempt.status))}
                {attempt.payment.map(|id| pair(td_string!(lang, reconciliation.payment), code(id)))}
                {pair(td_string!(lang, reconciliation.reference), code(attempt.attempt.to_string()))}
                {pair_at(td_string!(lang, reconciliation.recorded), attempt.captured, &near)}
            </dl>
        }
        .into_any(),
        Some(Ours::Refund(refund)) => view! {
            <dl class="pairs">
                {pair(td_string!(lang, reconciliation.amount), format::money(lang, refund.amount))}
                {pair(td_string!(lang, reconciliation.state), refund_text(lang, refund.status))}
                {refund.provider_ref.map(|id| pair(td_string!(lang, reconciliation.id_there), code(id)))}
                {pair(td_string!(lang, reconciliation.refund), code(refund.refund.to_string()))}
                {pair_at(td_string!(lang, reconciliation.recorded), Some(refund.at), &near)}
            </dl>
        }
        .into_any(),
        Some(Ours::Dispute(dispute)) => view! {
            <dl class="pairs">
                {pair(td_string!(lang, reconciliation.amount), format::money(lang, dispute.amount))}
                {pair(td_string!(lang, reconciliation.state), dispute_text(lang, dispute.status))}
                {pair(td_string!(lang, reconciliation.id_there), code(dispute.provider_ref))}
                {pair_at(td_string!(lang, reconciliation.recorded), Some(dispute.opened), &near)}
            </dl>
        }
        .into_any(),
        Some(Ours::Order(order)) => view! {
            <dl class="pairs">
                {pair(td_string!(lang, reconciliation.state), order_status::status_text(lang, order.status))}
                {pair(td_string!(lang, reconciliation.seats), order.seats.len())}
                {pair(td_string!(lang, reconciliation.tickets), order.tickets.len())}
                {pair_at(td_string!(lang, reconciliation.paid), order.paid, &near)}
            </dl>
        }
        .into_any(),
        Some(Ours::Payout(payout)) => view! {
            <dl class="pairs">
                {pair(td_string!(lang, reconciliation.amount), format::money(lang, payout.amount))}
                {pair(td_string!(lang, reconciliation.id_there), code(payout.payout))}
                {pair_at(td_string!(lang, reconciliation.moved), Some(payout.at), &near)}
                {pair_at(td_string!(lang, reconciliation.came_back), payout.failed, &near)}
            </dl>
        }
        .into_any(),
    };
    view! {
        <section class="recon-side">
            <h4>{td_string!(lang, reconciliation.ours)}</h4>
            {facts}
        </section>
    }
    .into_any()
}

/// What the provider lists.
#[component]
pub(super) fn TheirSide(
    /// Its lines.
    theirs: Vec<ProviderLine>,
    /// A moment in UTC.
    near: ZonedTime,
) -> impl IntoView {
    let lang = lang();
    let none = theirs.is_empty();
    let lines = theirs
        .into_iter()
        .map(|line| {
            let money = |minor| format::money(lang, Money::new(minor, line.currency));
            let (gross, fee, net) = (money(line.gross_minor), money(line.fee_minor), money(line.net_minor));
            view! {
                <dl class="pairs">
                    {pair(td_string!(lang, reconciliation.movement), movement_text(lang, line.movement))}
                    {pair(td_string!(lang, reconciliation.amount), gross)}
                    {(line.fee_minor != 0).then(|| pair(td_string!(lang, reconciliation.fee), fee))}
                    {(line.fee_minor != 0).then(|| pair(td_string!(lang, reconciliation.net), net))}
                    {pair(td_string!(lang, reconciliation.id_there), code(line.id))}
                    {(!line.payment.is_empty()).then(|| pair(td_string!(lang, reconciliation.payment), code(line.payment)))}
                    {pair_at(td_string!(lang, reconciliation.moved), Some(line.at), &near)}
                </dl>
            }
        })
        .collect_view();
    view! {
        <section class="recon-side">
            <h4>{td_string!(lang, reconciliation.theirs)}</h4>
            {none.then(|| view! { <p class="quiet">{td_string!(lang, reconciliation.theirs_none)}</p> })}
            {lines}
        </section>
    }
    .into_any()
}
