//! Where a sale stands, as a short label whose sign differs by shape.

use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::queue::{Mode, Phase};
use leptos::prelude::*;

/// The words for a phase.
pub fn phase_text(lang: Locale, phase: Phase, mode: Mode) -> &'static str {
    match phase {
        Phase::Announced => td_string!(lang, common.phase_announced),
        Phase::Lobby if mode == Mode::Lottery => td_string!(lang, common.phase_registration),
        Phase::Lobby => td_string!(lang, common.phase_lobby),
        Phase::Open => td_string!(lang, common.phase_open),
        Phase::Paused => td_string!(lang, common.phase_paused),
        Phase::Ended => td_string!(lang, common.phase_ended),
    }
}

/// The label.
#[component]
pub fn PhaseLabel(
    /// Where the sale stands.
    phase: Phase,
    /// How its places become turns.
    mode: Mode,
) -> impl IntoView {
    let class = match phase {
        Phase::Announced => "phase phase-announced",
        Phase::Lobby => "phase phase-lobby",
        Phase::Open => "phase phase-open",
        Phase::Paused => "phase phase-paused",
        Phase::Ended => "phase phase-ended",
    };
    view! { <span class=class>{phase_text(lang(), phase, mode)}</span> }
}
