//! The frame of the desk: what is sold, where it stands, and the numbers.

use super::{
    api::Charts,
    controls::{Ask, Controls},
    door::Door,
    figures::{Figures, Zones},
    polling,
};
use crate::clock::{ServerClock, use_clock};
use crate::components::{countdown::Countdown, icon::Icon, notice::Remark, phase::PhaseLabel};
use crate::features::organizer::frame::may;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::seatmap::PlanCanvas;
use domain::ZonedTime;
use domain::catalog::PriceZone;
use domain::organizer::Action;
use domain::organizer::desk::{DeskView, Readiness};
use domain::queue::{Mode, Phase};
use leptos::prelude::*;

/// How often a page without JavaScript loads itself anew, in seconds.
const RELOAD_S: u32 = 10;

/// What the page knows; learnt from the server-rendered data, then from polling.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) view: RwSignal<DeskView>,
    pub(super) charts: RwSignal<Option<Charts>>,
    /// The last poll failed: the page says so, and goes on trying.
    pub(super) offline: RwSignal<bool>,
    /// The control that waits for its confirmation.
    pub(super) asked: RwSignal<Option<Ask>>,
    pub(super) clock: ServerClock,
}

impl State {
    /// The performance, as addresses write it.
    pub(super) fn id(self) -> String {
        self.view.with_untracked(|view| view.performance.to_string())
    }
}

/// The desk.
#[component]
pub(super) fn Board(view: DeskView, charts: Option<Charts>) -> impl IntoView {
    let lang = lang();
    let state = State {
        asked: RwSignal::new(Ask::of_address()),
        view: RwSignal::new(view),
        charts: RwSignal::new(charts),
        offline: RwSignal::new(false),
        clock: use_clock(),
    };
    polling::start(state);
    let readiness = Memo::new(move |_| state.view.with(|view| view.readiness));
    // A page that asks for a confirmation must not load itself away.
    let reload = state.asked.with_untracked(Option::is_none);
    view! {
        <article class="desk" data-testid="desk">
            <Head state/>
            <div aria-live="polite" class="desk-remarks">
                {move || state.offline.get().then(|| view! {
                    <Remark icon=Icon::Attention><p data-testid="desk-offline">{td_string!(lang, desk.offline)}</p></Remark>
                })}
                {move || {
                    let text = match readiness.get() {
                        Readiness::Ready => return None,
                        Readiness::Building => td_string!(lang, desk.building),
                        Readiness::Away => td_string!(lang, desk.away),
                    };
                    Some(view! { <Remark icon=Icon::Clock><p>{text}</p></Remark> })
                }}
            </div>
            <Numbers state/>
            <Door state/>
            {may(Action::RunSale).then(|| view! { <Controls state/> })}
            <Map state/>
            <Zones state/>
            <Figures state/>
            <Facts state/>
            {reload.then(|| view! {
                <noscript inner_html=format!("<meta http-equiv=\"refresh\" content=\"{RELOAD_S}\">")></noscript>
            })}
        </article>
    }
    .into_any()
}

/// What is sold, where and when; the time left while it is ahead.
#[component]
fn Head(state: State) -> impl IntoView {
    let lang = lang();
    let phase = Memo::new(move |_| state.view.with(|view| view.phase));
    let paused = Memo::new(move |_| state.view.with(|view| view.settings.paused));
    let opens = Memo::new(move |_| state.view.with(|view| view.opens.clone()));
    let closes = Memo::new(move |_| state.view.with(|view| view.closes.clone()));
    let rendered = state.view.with_untracked(|view| view.now);
    let (artist, title, place, starts, event) = state.view.with_untracked(|view| {
        let place = format!("{}, {}", view.venue, view.city);
        (view.artist.clone(), view.title.clone(), place, view.starts.clone(), view.event)
    });
    let (mode, registers) = state.view.with_untracked(|view| (view.mode, view.registers.clone()));
    view! {
        <header class="desk-head">
            <p class="overline">{td_string!(lang, desk.title)}</p>
            <h1><a href=format!("/organizer/events/{event}")>{artist}</a></h1>
            <p class="facts">
                <span>{title}</span>
                <span>{place}</span>
                <time datetime=format::machine_time(&starts)>{format::date_time(lang, &starts)}</time>
                <a href=format!("/organizer/performances/{}/allocations", state.id()) data-testid="to-allocations">
                    {td_string!(lang, desk.to_allocations)}
                </a>
            </p>
            <p class="desk-phase" data-testid="desk-phase" data-phase=move || phase_name(phase.get())>
                {move || view! { <PhaseLabel phase=phase.get() mode/> }}
                {move || (paused.get() && phase.get() == Phase::Lobby).then(|| view! {
                    <span class="quiet">{td_string!(lang, desk.opens_paused)}</span>
                })}
            </p>
            <dl class="desk-times">
                <div><dt>{td_string!(lang, sales.mode)}</dt><dd data-testid="desk-mode">{mode_text(mode)}</dd></div>
                {registers.map(|at| view! {
                    <div><dt>{td_string!(lang, sales.registers)}</dt><dd>{venue_time(&at)}</dd></div>
                })}
                <div><dt>{td_string!(lang, desk.opens)}</dt><dd>{move || venue_time(&opens.get())}</dd></div>
                <div><dt>{td_string!(lang, desk.closes)}</dt><dd>{move || venue_time(&closes.get())}</dd></div>
            </dl>
            {move || {
                let (text, until) = match phase.get() {
                    Phase::Announced | Phase::Lobby => (td_string!(lang, desk.until_opening), opens.get().at),
                    Phase::Open | Phase::Paused => (td_string!(lang, desk.until_closing), closes.get().at),
                    Phase::Ended => return None,
                };
                Some(view! {
                    <div class="desk-countdown">
                        <p class="overline">{text}</p>
                        <Countdown until rendered=Some(rendered)/>
                    </div>
                })
            }}
        </header>
    }
    .into_any()
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Announced => "announced",
        Phase::Lobby => "lobby",
        Phase::Open => "open",
        Phase::Paused => "paused",
        Phase::Ended => "ended",
    }
}

fn mode_text(mode: Mode) -> &'static str {
    let lang = lang();
    match mode {
        Mode::Queue => td_string!(lang, sales.mode_queue),
        Mode::Lottery => td_string!(lang, sales.mode_lottery),
    }
}

/// A moment at the venue, with its zone by name: organizers may be elsewhere.
pub(super) fn venue_time(time: &ZonedTime) -> impl IntoView + use<> {
    view! {
        <time datetime=format::machine_time(time)>{format::moment(lang(), time)}</time>
        " "
        <span class="quiet">{time.zone.clone()}</span>
    }
}

/// The numbers that are looked at all the time. They are not read out as they change.
#[component]
fn Numbers(state: State) -> impl IntoView {
    let lang = lang();
    let of = move |read: fn(&DeskView) -> u32| move || format::number(state.view.with(read));
    let money = move |read: fn(&DeskView) -> domain::Money| move || format::money(lang, state.view.with(read));
    let maximum = move || {
        let most = format::number(state.view.with(|view| view.settings.shoppers_max));
        td_string!(lang, desk.of_most, most = most).to_string()
    };
    let total = move || {
        let total = format::number(state.view.with(|view| view.seats.for_sale()));
        td_string!(lang, desk.of_seats, total = total).to_string()
    };
    view! {
        <dl class="desk-numbers">
            <div>
                <dt>{td_string!(lang, desk.waiting)}</dt>
                <dd data-testid="desk-waiting">{of(|view| view.waiting)}</dd>
            </div>
            <div>
                <dt>{td_string!(lang, desk.shoppers)}</dt>
                <dd><span data-testid="desk-shoppers">{of(|view| view.shoppers)}</span><small>{maximum}</small></dd>
            </div>
            <div>
                <dt>{td_string!(lang, desk.held)}</dt>
                <dd data-testid="desk-held">{of(|view| view.seats.held)}</dd>
            </div>
            <div>
                <dt>{td_string!(lang, desk.sold)}</dt>
                <dd><span data-testid="desk-sold">{of(|view| view.seats.sold)}</span><small>{total}</small></dd>
            </div>
            <div>
                <dt>{td_string!(lang, desk.orders_per_min)}</dt>
                <dd data-testid="desk-orders-per-min">{of(|view| view.orders_per_min)}</dd>
            </div>
            <div>
                <dt>{td_string!(lang, desk.revenue_per_min)}</dt>
                <dd data-testid="desk-revenue-per-min">{money(|view| view.revenue_per_min)}</dd>
            </div>
            <div>
                <dt>{td_string!(lang, desk.revenue)}</dt>
                <dd data-testid="desk-revenue">{money(|view| view.revenue)}</dd>
            </div>
        </dl>
    }
    .into_any()
}

/// The house, live.
#[component]
fn Map(state: State) -> impl IntoView {
    let lang = lang();
    let digest = Memo::new(move |_| state.view.with(|view| view.map_digest.clone()));
    let zones = Memo::new(move |_| {
        state.view.with(|view| view.zones.iter().map(|row| row.zone.clone()).collect::<Vec<PriceZone>>())
    });
    let performance = state.view.with_untracked(|view| view.performance);
    view! {
        <section class="desk-map" aria-labelledby="desk-map-title">
            <h2 id="desk-map-title">{td_string!(lang, desk.map)}</h2>
            <PlanCanvas digest zones live=performance/>
        </section>
    }
    .into_any()
}

/// What is asked for when something looks wrong.
#[component]
fn Facts(state: State) -> impl IntoView {
    let lang = lang();
    let of = move |read: fn(&DeskView) -> u32| move || format::number(state.view.with(read));
    let fact = move |name: &'static str, read: fn(&DeskView) -> u32| {
        view! { <div><dt>{name}</dt><dd>{of(read)}</dd></div> }
    };
    let lag = move || {
        let ms = state.view.with(|view| view.writer_lag_ms);
        td_string!(lang, desk.ms, count = format::number(ms.unsigned_abs())).to_string()
    };
    view! {
        <details class="desk-facts">
            <summary>{td_string!(lang, desk.facts)}</summary>
            <dl>
                {fact(td_string!(lang, desk.joined), |view| view.joined)}
                {fact(td_string!(lang, desk.serving), |view| view.serving)}
                {fact(td_string!(lang, desk.rate), |view| view.settings.rate_per_min)}
                {fact(td_string!(lang, desk.open_holds), |view| view.open_holds)}
                {fact(td_string!(lang, desk.in_payment), |view| view.in_payment)}
                {fact(td_string!(lang, desk.paid_orders), |view| view.paid_orders)}
                {fact(td_string!(lang, desk.free), |view| view.seats.free)}
                {fact(td_string!(lang, desk.kept), |view| view.seats.kept)}
                {fact(td_string!(lang, desk.blocked), |view| view.seats.blocked)}
                {fact(td_string!(lang, desk.price_version), |view| u32::try_from(view.price_version).unwrap_or(0))}
                {fact(td_string!(lang, desk.epoch), |view| u32::try_from(view.epoch).unwrap_or(0))}
                <div><dt>{td_string!(lang, desk.lag)}</dt><dd>{lag}</dd></div>
            </dl>
            <p class="quiet">{td_string!(lang, desk.definitions)}</p>
        </details>
    }
    .into_any()
}
