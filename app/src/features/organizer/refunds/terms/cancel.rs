//! The end of a performance before its time: what it means, the step itself, and how far the money is.

use super::super::api::{OrganizerRefundBatchRetry, organizer_refund_batch, page_of};
use super::super::{Query, Refusal};
use super::Acts;
use crate::alive::Alive;
use crate::components::refund::moment;
use crate::features::organizer::frame::may;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::Action;
use domain::refund::view::{BatchView, PerformanceTerms};
use domain::{PerformanceId, ZonedTime};
use gloo_timers::future::TimeoutFuture;
use leptos::{prelude::*, task::spawn_local};

/// How often the progress is asked for.
const POLL_MS: u32 = 2_000;
/// The longest wait after failures.
const POLL_MAX_MS: u32 = 30_000;
/// How often a page without JavaScript loads itself anew, in seconds.
const RELOAD_S: u32 = 5;

/// Cancelling, or how far it is.
#[component]
pub(super) fn Cancelling(terms: PerformanceTerms, acts: Acts) -> impl IntoView {
    match terms.batch.clone() {
        Some(batch) => view! { <Progress id=terms.performance starts=terms.starts batch/> }.into_any(),
        None => view! { <Cancel terms acts/> }.into_any(),
    }
}

#[component]
fn Cancel(terms: PerformanceTerms, acts: Acts) -> impl IntoView {
    let lang = lang();
    let action = acts.cancel;
    let error = Signal::derive(move || acts.latest.refusal(action));
    let paid = format::money(lang, terms.paid);
    let figures = view! {
        <dl class="pairs">
            <div><dt>{td_string!(lang, refunds.cancel_orders)}</dt><dd data-testid="paid-orders">{format::number(terms.paid_orders)}</dd></div>
            <div><dt>{td_string!(lang, refunds.cancel_money)}</dt><dd data-testid="paid">{paid.clone()}</dd></div>
        </dl>
    };
    let step = if may(Action::DecideMoney) {
        view! {
            <details class="org-more" data-testid="cancel">
                <summary>{td_string!(lang, refunds.cancel_open)}</summary>
                <ActionForm action attr:class="form" attr:data-testid="cancel-form">
                    <input type="hidden" name="id" value=terms.performance.to_string()/>
                    <label class="field">
                        <span>{td_string!(lang, refunds.cancel_typed, event = terms.event)}</span>
                        <input type="text" name="typed" required autocomplete="off" maxlength="200" data-testid="typed"/>
                    </label>
                    <button class="button terms-cancel" type="submit" disabled=move || action.pending().get() data-testid="cancel-now">
                        {td_string!(lang, refunds.cancel_now, amount = paid)}
                    </button>
                </ActionForm>
            </details>
        }
        .into_any()
    } else {
        view! { <p class="quiet">{td_string!(lang, refunds.cancel_barred)}</p> }.into_any()
    };
    view! {
        <section class="org-part" aria-labelledby="terms-cancel">
            <h2 id="terms-cancel">{td_string!(lang, refunds.cancel_title)}</h2>
            <p>{td_string!(lang, refunds.cancel_text)}</p>
            {figures}
            <Refusal error/>
            {step}
        </section>
    }
    .into_any()
}

#[component]
fn Progress(id: PerformanceId, starts: ZonedTime, batch: BatchView) -> impl IntoView {
    let lang = lang();
    let time = moment(lang, batch.cancelled, &starts);
    let who = batch.by.clone().unwrap_or_else(|| td_string!(lang, refunds.command_line).to_owned());
    let action = ServerAction::<OrganizerRefundBatchRetry>::new();
    let value = action.value();
    let (shown, offline) = (RwSignal::new(batch), RwSignal::new(false));
    Effect::new(move |_| {
        if let Some(Ok(fresh)) = value.get() {
            shown.set(fresh);
        }
    });
    follow(id, shown, offline);
    let error = Signal::derive(move || value.get().and_then(Result::err));
    let done = Memo::new(move |_| shown.with(|batch| batch.done));
    let failed = Memo::new(move |_| shown.with(|batch| batch.failed));
    let failures = Query::of_performance(id);
    let retry = move || {
        (failed.get() > 0 && may(Action::DecideMoney)).then(|| {
            view! {
                <ActionForm action>
                    <input type="hidden" name="id" value=id.to_string()/>
                    <button class="button" type="submit" disabled=move || action.pending().get() data-testid="retry-batch">
                        {td_string!(lang, refunds.batch_retry)}
                    </button>
                </ActionForm>
            }
        })
    };
    view! {
        <section class="org-part" aria-labelledby="terms-cancel" data-testid="batch" data-done=move || done.get().to_string()>
            <h2 id="terms-cancel">{td_string!(lang, refunds.batch_title)}</h2>
            <p>{td_string!(lang, refunds.batch_by, time = time, who = who)}</p>
            <Counts shown/>
            <p class="notice-place" role="status">
                {move || offline.get().then(|| td_string!(lang, refunds.batch_offline))}
            </p>
            <Refusal error/>
            {retry}
            <p><a href=failures data-testid="to-refunds">{td_string!(lang, refunds.to_list)}</a></p>
            {move || (!done.get()).then(|| {
                let refresh = format!("<meta http-equiv=\"refresh\" content=\"{RELOAD_S};url={}\">", page_of(&id.to_string()));
                view! { <noscript inner_html=refresh></noscript> }
            })}
        </section>
    }
    .into_any()
}

/// The bar and its numbers.
#[component]
fn Counts(shown: RwSignal<BatchView>) -> impl IntoView {
    let lang = lang();
    let done = move || shown.with(|batch| batch.succeeded);
    let orders = move || shown.with(|batch| batch.orders);
    let sentence = Memo::new(move |_| {
        let (done, orders) = (format::number(done()), format::number(orders()));
        td_string!(lang, refunds.batch_count, done = done, orders = orders)
    });
    let fact = |name: &'static str, testid: &'static str, read: fn(&BatchView) -> u32| {
        view! { <div><dt>{name}</dt><dd data-testid=testid>{move || format::number(shown.with(read))}</dd></div> }
    };
    view! {
        <progress
            class="terms-progress"
            max=move || orders().max(1).to_string()
            value=move || done().to_string()
            aria-label=td_string!(lang, refunds.batch_progress)
        ></progress>
        <p aria-live="polite" data-testid="batch-count">
            {move || sentence.get()}
            {move || shown.with(|batch| batch.done).then(|| view! { " " <b>{td_string!(lang, refunds.batch_done)}</b> })}
        </p>
        <dl class="pairs">
            {fact(td_string!(lang, refunds.batch_reserved), "batch-reserved", |batch| batch.reserved)}
            {fact(td_string!(lang, refunds.batch_pending), "batch-pending", |batch| batch.pending)}
            {fact(td_string!(lang, refunds.batch_succeeded), "batch-succeeded", |batch| batch.succeeded)}
            {fact(td_string!(lang, refunds.batch_failed), "batch-failed", |batch| batch.failed)}
            <div>
                <dt>{td_string!(lang, refunds.batch_returned)}</dt>
                <dd data-testid="batch-returned">{move || format::money(lang, shown.with(|batch| batch.returned))}</dd>
            </div>
        </dl>
    }
    .into_any()
}

/// Asks for the progress in the browser, while the page is seen and something is left to do; what failed
/// can go on by somebody else's hand.
fn follow(id: PerformanceId, shown: RwSignal<BatchView>, offline: RwSignal<bool>) {
    let alive = Alive::until_cleanup();
    Effect::new(move |_| {
        let alive = alive.clone();
        spawn_local(async move {
            let mut wait_ms = POLL_MS;
            loop {
                TimeoutFuture::new(wait_ms).await;
                if !alive.get() {
                    return;
                }
                if document().hidden() || shown.with_untracked(|batch| batch.done) {
                    continue;
                }
                let answer = organizer_refund_batch(id).await;
                if !alive.get() {
                    return;
                }
                offline.set(answer.is_err());
                wait_ms = if answer.is_err() { (wait_ms * 2).min(POLL_MAX_MS) } else { POLL_MS };
                if let Ok(Some(fresh)) = answer {
                    shown.set(fresh);
                }
            }
        });
    });
}
