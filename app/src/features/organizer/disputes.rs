//! The queue of finance: disputes, money that was set aside, and what becomes of the seats of a lost dispute.

mod api;
mod aside;
mod words;

use super::frame::{Frame, Sub, Subnav, Tab, may};
use crate::components::raw_text::Title;
use crate::components::{missing::Failure, notice::Refused};
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::latest::Latest;
use api::{OrganizerDisputePolicy, OrganizerQuarantineReturn, OrganizerQuarantineSettle};
use aside::SetAside;
use domain::OrderId;
use domain::dispute::{DisputeStatus, SeatPolicy};
use domain::organizer::Action;
use domain::organizer::disputes::{DisputeDesk, DisputeView, SELL_UNTIL_MAX_HOURS, SetAsideView};
use leptos::prelude::*;
use words::{reason_text, status_text, tickets_text, tickets_word};

/// Digits of an order's id that people say to each other.
const SHORT_ID_DIGITS: usize = 8;
/// What the form offers for the time before the start, in hours.
const HOURS_OFFERED: i64 = 24;
/// Milliseconds in an hour.
const HOUR_MS: i64 = 3_600_000;

/// What can be done on the page.
#[derive(Clone, Copy)]
struct Actions {
    latest: Latest,
    policy: ServerAction<OrganizerDisputePolicy>,
    give_back: ServerAction<OrganizerQuarantineReturn>,
    settle: ServerAction<OrganizerQuarantineSettle>,
}

impl Actions {
    fn new() -> Self {
        let latest = Latest::of_page();
        Self { latest, policy: latest.action(), give_back: latest.action(), settle: latest.action() }
    }

    /// Why the last decision was refused.
    fn refused(self) -> Option<AppError> {
        self.latest.refusal(self.give_back).or_else(|| self.latest.refusal(self.settle))
    }
}

/// The beginning of an order's id.
fn short_id(id: OrderId) -> String {
    id.simple().chars().take(SHORT_ID_DIGITS).collect()
}

/// Disputes, money that was set aside, and the policy.
#[component]
pub fn DisputesPage() -> impl IntoView {
    let lang = lang();
    let actions = Actions::new();
    let desk = Resource::new(move || actions.latest.changes(), |_| api::organizer_disputes());
    view! {
        <Title text=td_string!(lang, disputes.title)/>
        <Frame tab=Tab::Money>
            <header class="org-head">
                <h1>{td_string!(lang, disputes.title)}</h1>
                <p class="quiet">{td_string!(lang, disputes.text)}</p>
            </header>
            <Subnav current=Sub::Disputes/>
            <Transition>
                {move || Suspend::new(async move {
                    match desk.await {
                        Ok(desk) => view! { <Shown desk actions/> }.into_any(),
                        Err(error) => view! { <Failure error back="/organizer/money/disputes"/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Shown(desk: DisputeDesk, actions: Actions) -> impl IntoView {
    let lang = lang();
    let DisputeDesk { disputes, set_aside, policy, left_out } = desk;
    view! {
        <Disputes list=disputes/>
        <Aside list=set_aside actions/>
        {left_out.then(|| view! { <p class="quiet" data-testid="left-out">{td_string!(lang, disputes.left_out)}</p> })}
        <Seats policy actions/>
    }
    .into_any()
}

#[component]
fn Disputes(list: Vec<DisputeView>) -> impl IntoView {
    let lang = lang();
    let none = list.is_empty();
    let open = list.iter().filter(|dispute| dispute.status == DisputeStatus::Opened).count();
    let open = u32::try_from(open).unwrap_or(u32::MAX);
    view! {
        <section class="org-part" data-testid="disputes">
            <h2>{td_string!(lang, disputes.list)}</h2>
            {none.then(|| view! { <p class="quiet" data-testid="no-disputes">{td_string!(lang, disputes.none)}</p> })}
            {(open > 0).then(|| view! {
                <p class="notice dispute-alert" data-testid="open-disputes">
                    {td_string!(lang, disputes.open_now, count = format::number(open))}
                </p>
            })}
            <ul class="dispute-list">
                {list.into_iter().map(|dispute| view! { <li><Dispute dispute/></li> }).collect_view()}
            </ul>
        </section>
    }
    .into_any()
}

#[component]
fn Dispute(dispute: DisputeView) -> impl IntoView {
    let lang = lang();
    let DisputeView { order, email, event, amount, reason, provider, reference, status, .. } = dispute;
    let over = (status != DisputeStatus::Opened).then_some("");
    let moment = move |name: &'static str, time: domain::ZonedTime| {
        view! {
            <div>
                <dt>{name}</dt>
                <dd><time datetime=format::machine_time(&time)>{format::moment(lang, &time)}</time></dd>
            </div>
        }
    };
    view! {
        <article class="dispute" data-testid="dispute" data-status=status.as_str() data-tickets=tickets_word(dispute.tickets)>
            <header class="dispute-head">
                <h3><a href=format!("/organizer/orders/{order}")>{td_string!(lang, search.order, id = short_id(order))}</a></h3>
                <b class="dispute-sum">{format::money(lang, amount)}</b>
                <span class="dispute-state" data-over=over data-status=status.as_str()>{status_text(lang, status)}</span>
            </header>
            <p class="facts"><span>{event}</span><span>{email}</span></p>
            <dl class="pairs">
                <div><dt>{td_string!(lang, disputes.reason)}</dt><dd>{reason_text(lang, &reason)}</dd></div>
                {moment(td_string!(lang, disputes.since), dispute.opened)}
                {dispute.ended.map(|ended| moment(td_string!(lang, disputes.ended), ended))}
                <div><dt>{td_string!(lang, disputes.tickets)}</dt><dd>{tickets_text(lang, dispute.tickets)}</dd></div>
                {(dispute.seats_sold > 0).then(|| view! {
                    <div>
                        <dt>{td_string!(lang, disputes.seats_sold)}</dt>
                        <dd>{format::number(dispute.seats_sold)}</dd>
                    </div>
                })}
                <div>
                    <dt>{td_string!(lang, disputes.answer)}</dt>
                    <dd>{provider} " · " <code>{reference}</code></dd>
                </div>
            </dl>
        </article>
    }
    .into_any()
}

#[component]
fn Aside(list: Vec<SetAsideView>, actions: Actions) -> impl IntoView {
    let lang = lang();
    let none = list.is_empty();
    view! {
        <section class="org-part" data-testid="aside">
            <h2>{td_string!(lang, disputes.aside)}</h2>
            <p class="quiet">{td_string!(lang, disputes.aside_text)}</p>
            <Refused error=Signal::derive(move || actions.refused()) detail=true/>
            {none.then(|| view! { <p class="quiet" data-testid="none-aside">{td_string!(lang, disputes.aside_none)}</p> })}
            <ul class="dispute-list">
                {list.into_iter().map(|row| view! { <li><SetAside row actions/></li> }).collect_view()}
            </ul>
        </section>
    }
    .into_any()
}

/// What becomes of the seats of a lost dispute.
#[component]
fn Seats(policy: SeatPolicy, actions: Actions) -> impl IntoView {
    let lang = lang();
    let edits = may(Action::EditTerms);
    let (sells, hours) = match policy {
        SeatPolicy::Keep => (false, HOURS_OFFERED),
        SeatPolicy::Sell { until_before_start_ms } => (true, until_before_start_ms / HOUR_MS),
    };
    let word = if sells { "sell" } else { "keep" };
    let now = if sells {
        td_string!(lang, disputes.seats_sell_now, hours = format::number(u64::try_from(hours).unwrap_or(0)))
    } else {
        td_string!(lang, disputes.seats_keep_now).to_owned()
    };
    view! {
        <section class="org-part" data-testid="seat-policy" data-policy=word>
            <h2>{td_string!(lang, disputes.seats)}</h2>
            <p>{now}</p>
            <Refused error=Signal::derive(move || actions.latest.refusal(actions.policy)) detail=true/>
            {edits.then(|| view! {
                <ActionForm action=actions.policy attr:class="form dispute-policy" attr:data-testid="policy-form">
                    <label class="dispute-choice">
                        <input type="radio" name="seats" value="keep" checked=!sells data-testid="keep"/>
                        <span>{td_string!(lang, disputes.seats_keep)}</span>
                    </label>
                    <label class="dispute-choice">
                        <input type="radio" name="seats" value="sell" checked=sells data-testid="sell"/>
                        <span>{td_string!(lang, disputes.seats_sell)}</span>
                    </label>
                    <label class="field">
                        <span>{td_string!(lang, disputes.hours)}</span>
                        <input type="number" name="hours" min="0" max=SELL_UNTIL_MAX_HOURS.to_string() value=hours.to_string() inputmode="numeric" data-testid="hours"/>
                    </label>
                    <button class="button" type="submit">{td_string!(lang, disputes.save)}</button>
                </ActionForm>
            })}
        </section>
    }
    .into_any()
}
