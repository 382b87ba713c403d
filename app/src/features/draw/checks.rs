//! Whether the published facts fit together, and how to check it without this page.

use crate::components::icon::{Icon, Sign};
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::queue::facts::{Check, CheckOutcome, DrawFacts, Randomness, Subject};
use leptos::prelude::*;

/// The checks that this page makes itself, each with what came of it.
#[component]
pub(super) fn Checks(facts: DrawFacts) -> impl IntoView {
    let lang = lang();
    let rows = facts.verify(None).into_iter().map(|check| row(lang, &facts.randomness, check)).collect_view();
    view! {
        <section aria-labelledby="checks">
            <h2 id="checks">{td_string!(lang, draw.checks_title)}</h2>
            <ul class="draw-checks">{rows}</ul>
        </section>
    }
    .into_any()
}

fn row(lang: Locale, randomness: &Randomness, check: Check) -> impl IntoView + use<> {
    let (icon, state, word) = match &check.outcome {
        CheckOutcome::Holds => (Icon::Check, "holds", td_string!(lang, draw.holds)),
        CheckOutcome::Fails(_) => (Icon::Attention, "fails", td_string!(lang, draw.fails)),
        CheckOutcome::Skipped(_) => (Icon::Clock, "skipped", skipped(lang, randomness, check.subject)),
    };
    // Why something fails is for those who look into it: in the words of the checker.
    let why = match check.outcome {
        CheckOutcome::Fails(why) => Some(view! { <small lang="en">{why}</small> }),
        CheckOutcome::Holds | CheckOutcome::Skipped(_) => None,
    };
    view! {
        <li class=format!("draw-check draw-check-{state}") data-testid="check" data-outcome=state>
            <Sign icon/>
            <div>
                <p>{what(lang, check.subject)}</p>
                <p class="quiet">{word} " " {why}</p>
            </div>
        </li>
    }
}

/// What is checked.
fn what(lang: Locale, subject: Subject) -> &'static str {
    match subject {
        Subject::Commitments => td_string!(lang, draw.check_commitments),
        Subject::Seed => td_string!(lang, draw.check_seed),
        Subject::Randomness => td_string!(lang, draw.check_randomness),
        Subject::Order => td_string!(lang, draw.check_order),
        Subject::List => td_string!(lang, draw.check_list),
    }
}

/// Why a check can't be made here, or not yet.
fn skipped(lang: Locale, randomness: &Randomness, subject: Subject) -> &'static str {
    match (subject, randomness) {
        (Subject::Randomness | Subject::Order, Randomness::None) => td_string!(lang, draw.randomness_none),
        (Subject::Randomness, Randomness::Silent) => td_string!(lang, draw.randomness_silent),
        (Subject::List, _) => td_string!(lang, draw.skipped_list),
        _ => td_string!(lang, draw.skipped_yet),
    }
}

/// The command that checks everything by itself, the list included.
#[component]
pub(super) fn CommandLine(facts: DrawFacts, own: Option<u32>, origin: String) -> impl IntoView {
    let lang = lang();
    let arrival = own.map_or_else(|| "N".to_owned(), |arrival| arrival.to_string());
    let command =
        format!("stararena queue verify --url {origin} --performance {} --arrival {arrival}", facts.performance);
    view! {
        <section aria-labelledby="command">
            <h2 id="command">{td_string!(lang, draw.command_title)}</h2>
            <p>{td_string!(lang, draw.command_text)}</p>
            <pre class="draw-command"><code data-testid="command">{command}</code></pre>
            <p class="quiet">{td_string!(lang, draw.command_from_zero)}</p>
        </section>
    }
    .into_any()
}
