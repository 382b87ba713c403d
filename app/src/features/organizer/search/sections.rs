//! The evidence of an order by kind: seats, tickets, payments, money back, mails, webhooks.

use super::story::At;
use super::words::{refund_text, revoked_text};
use crate::components::fees::Sums;
use crate::components::order_status::attempt_text;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::money::summary::Summary;
use domain::order::OrderItem;
use domain::organizer::search::{SetAside, StoryAttempt, StoryMail, StoryRefund, StoryTicket, StoryWebhook};
use domain::{Money, ZonedTime};
use leptos::prelude::*;

/// A name and its value in a list of facts.
fn pair(name: &'static str, value: impl IntoView + 'static) -> impl IntoView {
    view! { <div><dt>{name}</dt><dd>{value.into_any()}</dd></div> }
}

fn pair_at(name: &'static str, time: Option<ZonedTime>) -> impl IntoView {
    time.map(|time| pair(name, view! { <At time/> }))
}

#[component]
pub(super) fn Seats(items: Vec<OrderItem>, charges: Option<Summary>, total: Money) -> impl IntoView {
    let lang = lang();
    view! {
        <section class="story-part">
            <h2>{td_string!(lang, search.seats)}</h2>
            <ul class="order-items" data-testid="items">
                {items
                    .into_iter()
                    .map(|item| view! {
                        <li>
                            <span class="order-seat">
                                <b>{td_string!(lang, orders.seat_line, section = item.section, row = item.row, seat = item.label)}</b>
                                <span class="quiet">{item.category}</span>
                            </span>
                            <span class="order-price">{format::money(lang, item.price)}</span>
                        </li>
                    })
                    .collect_view()}
            </ul>
            <Sums charges total/>
        </section>
    }
    .into_any()
}

#[component]
pub(super) fn Tickets(tickets: Vec<StoryTicket>) -> impl IntoView {
    let lang = lang();
    let none = tickets.is_empty();
    view! {
        <section class="story-part">
            <h2>{td_string!(lang, search.tickets)}</h2>
            {none.then(|| view! { <p class="quiet">{td_string!(lang, search.tickets_none)}</p> })}
            {tickets
                .into_iter()
                .map(|ticket| {
                    let (section, row, seat) = ticket.seat;
                    let over = ticket.revoked.is_some();
                    let reason = ticket.reason.map(|reason| revoked_text(lang, &reason).map_or(reason, str::to_owned));
                    view! {
                        <div class="story-card" data-testid="ticket" data-over=over.then_some("")>
                            <h3>{td_string!(lang, orders.seat_line, section = section, row = row, seat = seat)}</h3>
                            <dl class="pairs">
                                {pair(td_string!(lang, search.ticket), view! { <code>{ticket.id.to_string()}</code> })}
                                {pair(td_string!(lang, search.code), view! { <code>{ticket.code}</code> })}
                                {pair(td_string!(lang, search.issue), ticket.issue)}
                                {pair_at(td_string!(lang, search.issued_at), Some(ticket.created))}
                                {pair_at(td_string!(lang, search.revoked_at), ticket.revoked)}
                                {reason.map(|reason| pair(td_string!(lang, tickets.revoked_why), reason))}
                                {ticket.holder.map(|holder| pair(td_string!(lang, tickets.held_by), holder))}
                                {ticket.frozen.then(|| pair(td_string!(lang, tickets.state), td_string!(lang, tickets.frozen)))}
                            </dl>
                        </div>
                    }
                })
                .collect_view()}
        </section>
    }
    .into_any()
}

#[component]
pub(super) fn Attempts(attempts: Vec<StoryAttempt>) -> impl IntoView {
    let lang = lang();
    let none = attempts.is_empty();
    view! {
        <section class="story-part">
            <h2>{td_string!(lang, search.attempts)}</h2>
            {none.then(|| view! { <p class="quiet">{td_string!(lang, search.attempts_none)}</p> })}
            {attempts
                .into_iter()
                .map(|attempt| view! {
                    <div class="story-card" data-testid="attempt" data-status=attempt.status.as_str()>
                        <h3>
                            {td_string!(lang, search.attempt, number = attempt.number)} " · "
                            {attempt_text(lang, attempt.status)}
                        </h3>
                        <dl class="pairs">
                            {pair(td_string!(lang, search.amount), format::money(lang, attempt.amount))}
                            {pair(td_string!(lang, search.provider), attempt.provider)}
                            {attempt.reference.map(|reference| pair(td_string!(lang, search.reference), view! { <code>{reference}</code> }))}
                            {pair(td_string!(lang, search.attempt_id), view! { <code>{attempt.id.to_string()}</code> })}
                            {attempt.last_error.map(|error| pair(td_string!(lang, search.last_error), error))}
                            {pair_at(td_string!(lang, search.began), Some(attempt.created))}
                            {pair_at(td_string!(lang, search.deadline), Some(attempt.deadline))}
                            {pair(td_string!(lang, search.queries), attempt.queries)}
                            {pair_at(td_string!(lang, search.next_query), attempt.next_query)}
                        </dl>
                    </div>
                })
                .collect_view()}
        </section>
    }
    .into_any()
}

#[component]
pub(super) fn Refunds(refunds: Vec<StoryRefund>, set_aside: Vec<SetAside>) -> impl IntoView {
    let lang = lang();
    if refunds.is_empty() && set_aside.is_empty() {
        return ().into_any();
    }
    view! {
        <section class="story-part">
            <h2>{td_string!(lang, search.money_back)}</h2>
            {refunds
                .into_iter()
                .map(|refund| {
                    let status = refund_text(lang, &refund.status).map_or_else(|| refund.status.clone(), str::to_owned);
                    view! {
                        <div class="story-card" data-testid="refund" data-status=refund.status>
                            <h3>{format::money(lang, refund.amount)} " · " {status}</h3>
                            <dl class="pairs">
                                {pair(td_string!(lang, search.reason), refund.reason)}
                                {pair(td_string!(lang, search.of_attempt), refund.attempt)}
                                {refund.reference.map(|reference| pair(td_string!(lang, search.reference), view! { <code>{reference}</code> }))}
                                {pair_at(td_string!(lang, search.decided), Some(refund.created))}
                                {pair(td_string!(lang, search.tries), refund.tries)}
                            </dl>
                        </div>
                    }
                })
                .collect_view()}
            {set_aside
                .into_iter()
                .map(|money| view! {
                    <div class="story-card story-care" data-testid="set-aside">
                        <h3>{td_string!(lang, search.set_aside)} " · " {money.reason}</h3>
                        <dl class="pairs">
                            {pair(td_string!(lang, search.reference), view! { <code>{money.reference}</code> })}
                            {pair_at(td_string!(lang, search.since), Some(money.created))}
                            {pair_at(td_string!(lang, search.resolved), money.resolved)}
                        </dl>
                        <details class="org-more">
                            <summary>{td_string!(lang, search.evidence)}</summary>
                            <pre tabindex="0">{money.evidence}</pre>
                        </details>
                    </div>
                })
                .collect_view()}
        </section>
    }
    .into_any()
}

#[component]
pub(super) fn Mails(mails: Vec<StoryMail>) -> impl IntoView {
    let lang = lang();
    let none = mails.is_empty();
    view! {
        <section class="story-part">
            <h2>{td_string!(lang, search.mails)}</h2>
            {none.then(|| view! { <p class="quiet">{td_string!(lang, search.mails_none)}</p> })}
            {mails
                .into_iter()
                .map(|mail| view! {
                    <div class="story-card" data-testid="story-mail" data-kind=mail.kind>
                        <h3>{mail.subject}</h3>
                        <dl class="pairs">
                            {pair(td_string!(lang, search.to), mail.to)}
                            {pair_at(td_string!(lang, search.written), Some(mail.created))}
                            {pair_at(td_string!(lang, search.sent), mail.sent)}
                            {(mail.tries > 0).then(|| pair(td_string!(lang, search.failed_tries), mail.tries))}
                        </dl>
                    </div>
                })
                .collect_view()}
        </section>
    }
    .into_any()
}

#[component]
pub(super) fn Webhooks(webhooks: Vec<StoryWebhook>, more: bool) -> impl IntoView {
    let lang = lang();
    let none = webhooks.is_empty();
    view! {
        <section class="story-part">
            <h2>{td_string!(lang, search.webhooks)}</h2>
            {none.then(|| view! { <p class="quiet">{td_string!(lang, search.webhooks_none)}</p> })}
            {webhooks
                .into_iter()
                .map(|webhook| view! {
                    <div class="story-card" data-testid="webhook" data-kind=webhook.kind>
                        <h3><code>{webhook.kind.clone()}</code></h3>
                        <dl class="pairs">
                            {pair(td_string!(lang, search.provider), webhook.provider)}
                            {pair(td_string!(lang, search.event), view! { <code>{webhook.event}</code> })}
                            {pair_at(td_string!(lang, search.received), Some(webhook.received))}
                            {match webhook.applied {
                                Some(time) => pair_at(td_string!(lang, search.applied_at), Some(time)).into_any(),
                                None => pair(td_string!(lang, search.applied_at), td_string!(lang, search.not_yet)).into_any(),
                            }}
                            {pair(td_string!(lang, search.tries), webhook.tries)}
                            {webhook.error.map(|error| pair(td_string!(lang, search.last_error), error))}
                        </dl>
                        <details class="org-more">
                            <summary>{td_string!(lang, search.body)}</summary>
                            <pre tabindex="0">{webhook.body}</pre>
                        </details>
                    </div>
                })
                .collect_view()}
            {more.then(|| view! { <p class="quiet">{td_string!(lang, search.webhooks_more)}</p> })}
        </section>
    }
    .into_any()
}
