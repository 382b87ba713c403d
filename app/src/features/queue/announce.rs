//! What is said aloud, and rarely: a new stage at once, the estimate at most once a minute, the turn
//! without waiting for a pause. The first stage is part of the page that is being read anyway.

use super::{
    call,
    line::estimate,
    requests::Trouble,
    room::trouble_text,
    state::{Stage, State},
};
use crate::browser;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::queue::Standing;
use leptos::prelude::*;

/// The estimate isn't repeated more often, in milliseconds.
const ESTIMATE_EVERY_MS: f64 = 60_000.0;

/// What was said last.
#[derive(Clone, Debug)]
struct Said {
    stage: Stage,
    trouble: Option<Trouble>,
    estimate: String,
    estimate_ms: f64,
}

/// Starts speaking in the browser; the texts to say when there is time, and at once.
pub(super) fn start(state: State, stage: Memo<Stage>) -> (RwSignal<String>, RwSignal<String>) {
    let lang = lang();
    let (polite, assertive) = (RwSignal::new(String::new()), RwSignal::new(String::new()));
    Effect::new(move |said: Option<Said>| {
        let (stage, trouble) = (stage.get(), state.trouble.get());
        let estimate = estimate(lang, state);
        let now_ms = browser::monotonic_ms();
        let Some(said) = said else {
            if stage == Stage::Turn {
                its_the_turn(lang, state, assertive);
            }
            return Said { stage, trouble, estimate, estimate_ms: now_ms };
        };
        if stage != said.stage {
            if stage == Stage::Turn {
                its_the_turn(lang, state, assertive);
            } else {
                assertive.set(String::new());
                polite.set(stage_text(lang, state, stage));
            }
            return Said { stage, trouble, estimate, estimate_ms: now_ms };
        }
        if trouble.is_some() != said.trouble.is_some() {
            polite.set(trouble.map_or_else(|| td_string!(lang, queue.back), |it| trouble_text(lang, it)).to_owned());
            return Said { trouble, ..said };
        }
        if stage == Stage::Waiting && estimate != said.estimate && now_ms - said.estimate_ms >= ESTIMATE_EVERY_MS {
            polite.set(stage_text(lang, state, stage));
            return Said { stage, trouble, estimate, estimate_ms: now_ms };
        }
        Said { trouble, ..said }
    });
    (polite, assertive)
}

fn its_the_turn(lang: Locale, state: State, assertive: RwSignal<String>) {
    let title = td_string!(lang, queue.turn);
    assertive.set(title.to_owned());
    let (artist, tag) = state.performance.with_value(|view| (view.artist.clone(), view.id.simple()));
    call::ring(state.call.get_untracked(), title, &artist, &tag);
}

/// A stage in a sentence or two.
fn stage_text(lang: Locale, state: State, stage: Stage) -> String {
    match stage {
        Stage::SignIn => td_string!(lang, queue.sign_in_first).to_owned(),
        Stage::Announced => td_string!(lang, queue.announced).to_owned(),
        Stage::Join => td_string!(lang, queue.join_title).to_owned(),
        Stage::Closed => td_string!(lang, queue.closed).to_owned(),
        Stage::Lobby => td_string!(lang, queue.in_lobby).to_owned(),
        Stage::Waiting => match state.standing() {
            Some(Standing::Waiting { place, ahead, .. }) => {
                let place = format::number(u64::from(place) + 1);
                let ahead = format::number(ahead);
                format!(
                    "{} {}",
                    td_string!(lang, queue.said_waiting, place = place, ahead = ahead),
                    estimate(lang, state)
                )
            }
            _ => String::new(),
        },
        Stage::SoldOut => td_string!(lang, queue.sold_out).to_owned(),
        Stage::Turn => td_string!(lang, queue.turn).to_owned(),
        Stage::Passed => td_string!(lang, queue.passed).to_owned(),
        Stage::Ended => td_string!(lang, queue.ended).to_owned(),
    }
}
