//! Payouts: what is owed, noting what was transferred, and the list with its reversals.

mod api;

use super::frame::{Frame, Sub, Subnav, Tab, may};
use crate::components::raw_text::Title;
use crate::components::{missing::Failure, notice::Refused};
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::latest::Latest;
use crate::typed::brought_back;
use api::{OrganizerPayoutRecord, OrganizerPayoutReverse};
use domain::organizer::Action;
use domain::organizer::payouts::{PayoutDesk, PayoutForm, PayoutView, REASON_MAX_CHARS, REFERENCE_MAX_CHARS, Reversal};
use domain::{Money, PayoutId};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// Where the page is.
const PAGE: &str = "/organizer/money/payouts";

/// What can be done on the page.
#[derive(Clone, Copy)]
struct Actions {
    latest: Latest,
    record: ServerAction<OrganizerPayoutRecord>,
    reverse: ServerAction<OrganizerPayoutReverse>,
    /// What a refused form without JavaScript brought back.
    recorded: StoredValue<Option<OrganizerPayoutRecord>>,
}

impl Actions {
    /// Those of a page: made where it is built, and not inside of its waiting parts.
    fn new() -> Self {
        let latest = Latest::of_page();
        let recorded = StoredValue::new(brought_back());
        Self { latest, record: latest.action(), reverse: latest.action(), recorded }
    }

    /// Why the last one was refused.
    fn refused(self) -> Option<AppError> {
        self.latest.refusal(self.record).or_else(|| self.latest.refusal(self.reverse))
    }

    /// What the form said that was refused just now.
    fn typed(self) -> Option<PayoutForm> {
        self.recorded.get_value().filter(|_| self.latest.is_none()).map(|typed| typed.form)
    }
}

/// Payouts of the organization.
#[component]
pub fn PayoutsPage() -> impl IntoView {
    let lang = lang();
    let (query, actions) = (use_query_map(), Actions::new());
    let before = Memo::new(move |_| query.read().get("before").filter(|text| !text.is_empty()));
    let desk =
        Resource::new(move || (before.get(), actions.latest.changes()), |(before, _)| api::organizer_payouts(before));
    view! {
        <Title text=td_string!(lang, payouts.title)/>
        <Frame tab=Tab::Money>
            <header class="org-head">
                <h1>{td_string!(lang, payouts.title)}</h1>
                <p class="quiet">{td_string!(lang, payouts.text)}</p>
            </header>
            <Subnav current=Sub::Payouts/>
            <Refused error=Signal::derive(move || actions.refused()) detail=true/>
            <Transition>
                {move || Suspend::new(async move {
                    match desk.await {
                        Ok(desk) => {
                            let newest = before.get_untracked().is_none();
                            view! { <Shown desk newest actions/> }.into_any()
                        }
                        Err(error) => view! { <Failure error back=PAGE/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Shown(
    desk: PayoutDesk,
    /// Whether the page begins with the newest.
    newest: bool,
    actions: Actions,
) -> impl IntoView {
    let lang = lang();
    let PayoutDesk { owed, payouts, next } = desk;
    let none = payouts.is_empty();
    let rows = payouts.into_iter().map(|payout| view! { <li><Payout payout actions/></li> }).collect_view();
    view! {
        <Owed owed=owed.clone()/>
        {may(Action::DecideMoney).then(|| view! { <Record owed actions/> })}
        <section class="org-part" data-testid="payouts">
            <h2>{td_string!(lang, payouts.list)}</h2>
            {none.then(|| view! { <p class="quiet" data-testid="no-payouts">{td_string!(lang, payouts.none)}</p> })}
            <ul class="dispute-list">{rows}</ul>
            <nav class="org-pager" aria-label=td_string!(lang, organizer.pages)>
                {(!newest).then(|| view! { <a class="button" href=PAGE>{td_string!(lang, organizer.newest)}</a> })}
                {next.map(|next| view! {
                    <a class="button" href=format!("{PAGE}?before={next}") data-testid="older">{td_string!(lang, organizer.older)}</a>
                })}
            </nav>
        </section>
    }
    .into_any()
}

/// What the books owe now.
#[component]
fn Owed(owed: Vec<Money>) -> impl IntoView {
    let lang = lang();
    let none = owed.is_empty();
    let figures = owed
        .into_iter()
        .map(|amount| {
            view! {
                <div class="money-figure" data-testid="owed" data-currency=amount.currency.code().to_owned()>
                    <dt>{td_string!(lang, money.owed)}</dt>
                    <dd>{format::money(lang, amount)}</dd>
                </div>
            }
        })
        .collect_view();
    if none {
        return view! { <p class="money-empty" role="status" data-testid="none-owed">{td_string!(lang, payouts.none_owed)}</p> }
            .into_any();
    }
    view! { <dl class="money-figures">{figures}</dl> }.into_any()
}

/// The form of a transfer, where something is owed.
#[component]
fn Record(owed: Vec<Money>, actions: Actions) -> impl IntoView {
    let lang = lang();
    let typed = actions.typed();
    let known = owed.into_iter().filter(|amount| amount.minor > 0).map(|amount| amount.currency.code().to_owned());
    let mut codes: Vec<String> = known.collect();
    let open = typed.is_some();
    let form = typed.unwrap_or_default();
    if codes.is_empty() && !open {
        return ().into_any();
    }
    // What was typed is shown as it was, also where nothing is owed in it.
    if open && !codes.contains(&form.currency) {
        codes.push(form.currency.clone());
    }
    let currencies = codes
        .into_iter()
        .map(|code| {
            let selected = code == form.currency;
            view! { <option value=code.clone() selected=selected>{code.clone()}</option> }
        })
        .collect_view();
    let PayoutForm { amount, day, reference, .. } = form;
    view! {
        <details class="org-part org-more" data-testid="record" open=open>
            <summary>{td_string!(lang, payouts.record)}</summary>
            <ActionForm action=actions.record attr:class="form dispute-policy" attr:data-testid="record-form">
                <p class="quiet">{td_string!(lang, payouts.record_text)}</p>
                <label class="field">
                    <span>{td_string!(lang, payouts.amount)}</span>
                    <input type="text" name="form[amount]" required inputmode="decimal" autocomplete="off" value=amount/>
                </label>
                <label class="field">
                    <span>{td_string!(lang, payouts.currency)}</span>
                    <select name="form[currency]" required>{currencies}</select>
                </label>
                <label class="field">
                    <span>{td_string!(lang, payouts.day)}</span>
                    <input type="date" name="form[day]" required value=day/>
                </label>
                <label class="field">
                    <span>{td_string!(lang, payouts.reference)}</span>
                    <input
                        type="text"
                        name="form[reference]"
                        required
                        maxlength=REFERENCE_MAX_CHARS.to_string()
                        autocomplete="off"
                        value=reference
                    />
                    <small>{td_string!(lang, payouts.reference_hint)}</small>
                </label>
                <button class="button button-accent" type="submit" disabled=move || actions.record.pending().get()>
                    {td_string!(lang, payouts.save)}
                </button>
            </ActionForm>
        </details>
    }
    .into_any()
}

#[component]
fn Payout(payout: PayoutView, actions: Actions) -> impl IntoView {
    let lang = lang();
    let PayoutView { id, amount, day, reference, recorded, recorded_by, reversed } = payout;
    let who = move |by: Option<String>| by.unwrap_or_else(|| td_string!(lang, payouts.command_line).to_owned());
    let can_reverse = reversed.is_none() && may(Action::DecideMoney);
    let (state, word) = match &reversed {
        Some(_) => ("reversed", td_string!(lang, payouts.reversed)),
        None => ("paid", td_string!(lang, payouts.paid)),
    };
    let fact = move |name: &'static str, time: domain::ZonedTime, by: Option<String>| {
        view! {
            <div>
                <dt>{name}</dt>
                <dd>
                    <time datetime=format::machine_time(&time)>{format::moment(lang, &time)}</time>
                    " · " {who(by)}
                </dd>
            </div>
        }
    };
    let reversal = reversed.map(|Reversal { at, by, reason }| {
        view! {
            {fact(td_string!(lang, payouts.reversed), at, by)}
            <div><dt>{td_string!(lang, payouts.reason)}</dt><dd data-testid="reason">{reason}</dd></div>
        }
    });
    view! {
        <article class="dispute" data-testid="payout" data-state=state>
            <header class="dispute-head">
                <h3>{reference}</h3>
                <b class="dispute-sum">{format::money(lang, amount)}</b>
                <span class="dispute-state" data-over="">{word}</span>
            </header>
            <dl class="pairs">
                <div>
                    <dt>{td_string!(lang, payouts.day)}</dt>
                    <dd><time datetime=format::machine_time(&day)>{format::day(lang, &day)}</time></dd>
                </div>
                {fact(td_string!(lang, payouts.recorded), recorded, recorded_by)}
                {reversal}
            </dl>
            {can_reverse.then(|| view! { <div class="dispute-acts"><Reverse id actions/></div> })}
        </article>
    }
    .into_any()
}

#[component]
fn Reverse(id: PayoutId, actions: Actions) -> impl IntoView {
    let lang = lang();
    view! {
        <details class="org-more" data-testid="reverse">
            <summary>{td_string!(lang, payouts.reverse)}</summary>
            <ActionForm action=actions.reverse attr:class="form">
                <input type="hidden" name="id" value=id.to_string()/>
                <p class="quiet">{td_string!(lang, payouts.reverse_text)}</p>
                <label class="field">
                    <span>{td_string!(lang, payouts.reason)}</span>
                    <input type="text" name="reason" required maxlength=REASON_MAX_CHARS.to_string() autocomplete="off"/>
                </label>
                <button class="button" type="submit">{td_string!(lang, payouts.reverse_sure)}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}
