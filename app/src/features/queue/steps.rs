//! What happens next: the few steps from a place to seats, with the present one marked.

use super::state::{Stage, State};
use crate::components::icon::{Icon, Sign};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::queue::{Mode, QueueStatus};
use leptos::either::Either;
use leptos::prelude::*;

/// One step of the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Place,
    Draw,
    Line,
    Seats,
}

/// Whoever comes after the draw has nothing to do with it: the line goes on from where it ends.
fn way(status: &QueueStatus, arrival: Option<u32>) -> &'static [Step] {
    let late = match (status.lobby, arrival) {
        (Some(lobby), Some(arrival)) => arrival >= lobby,
        (Some(_), None) => status.mode == Mode::Queue,
        (None, _) => false,
    };
    if late { &[Step::Place, Step::Line, Step::Seats] } else { &[Step::Place, Step::Draw, Step::Line, Step::Seats] }
}

/// The step that a stage is at; none where the way is over.
fn present(stage: Stage) -> Option<Step> {
    match stage {
        Stage::SignIn | Stage::Announced | Stage::Join => Some(Step::Place),
        Stage::Lobby => Some(Step::Draw),
        Stage::Waiting | Stage::SoldOut => Some(Step::Line),
        Stage::Turn => Some(Step::Seats),
        Stage::Closed | Stage::Passed | Stage::Ended => None,
    }
}

/// The steps, as long as there is a way.
#[component]
pub(super) fn Steps(state: State, stage: Memo<Stage>) -> impl IntoView {
    let lang = lang();
    let way = Memo::new(move |_| {
        let arrival = state.arrival.get();
        (present(stage.get()), state.status.with(|status| way(status, arrival)))
    });
    move || {
        let (present, way) = way.get();
        let at = way.iter().position(|step| Some(*step) == present)?;
        let steps = way.iter().enumerate().map(|(index, step)| step_view(lang, state, *step, index, at)).collect_view();
        Some(view! {
            <section class="queue-next" aria-labelledby="next-title">
                <h2 id="next-title">{td_string!(lang, queue.next_title)}</h2>
                <ol class="queue-steps" data-testid="steps">{steps}</ol>
            </section>
        })
    }
}

fn step_view(lang: Locale, state: State, step: Step, index: usize, at: usize) -> impl IntoView {
    let (done, now) = (index < at, index == at);
    let class = match (done, now) {
        (true, _) => "queue-step queue-step-done",
        (_, true) => "queue-step queue-step-now",
        _ => "queue-step",
    };
    view! {
        <li class=class aria-current=now.then_some("step")>
            <span class="queue-step-sign" aria-hidden="true">
                {if done {
                    Either::Left(view! { <Sign icon=Icon::Check/> })
                } else {
                    Either::Right((index + 1).to_string())
                }}
            </span>
            <span>
                <b>{title(lang, state, step)}</b>
                {done.then(|| view! { <span class="visually-hidden">" " {td_string!(lang, queue.step_done)}</span> })}
                <span class="queue-step-text">{text(lang, state, step)}</span>
            </span>
        </li>
    }
}

fn title(lang: Locale, state: State, step: Step) -> &'static str {
    match (step, state.is_lottery()) {
        (Step::Place, false) => td_string!(lang, queue.step_place),
        (Step::Place, true) => td_string!(lang, queue.step_register),
        (Step::Draw, _) => td_string!(lang, queue.step_draw),
        (Step::Line, false) => td_string!(lang, queue.step_line),
        (Step::Line, true) => td_string!(lang, queue.step_window),
        (Step::Seats, _) => td_string!(lang, queue.step_seats),
    }
}

fn text(lang: Locale, state: State, step: Step) -> String {
    let opens = || state.performance.with_value(|view| format::venue_clock(lang, &view.opens));
    match (step, state.is_lottery()) {
        (Step::Place, _) => td_string!(lang, queue.step_place_text).to_owned(),
        (Step::Draw, false) => td_string!(lang, queue.step_draw_text, time = opens()).to_string(),
        (Step::Draw, true) => td_string!(lang, queue.step_draw_lottery, time = opens()).to_string(),
        (Step::Line, false) => td_string!(lang, queue.step_line_text).to_owned(),
        (Step::Line, true) => td_string!(lang, queue.step_window_text).to_owned(),
        (Step::Seats, _) => {
            let minutes = state.performance.with_value(|view| view.hold_ttl_ms / 60_000);
            td_string!(lang, queue.step_seats_text, minutes = minutes).to_string()
        }
    }
}
