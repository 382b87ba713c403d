//! What was published about a draw: when, and the numbers themselves.

use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::{
    Millis, ZonedTime,
    queue::facts::{Commitment, DrawFacts, Randomness},
};
use leptos::prelude::*;

/// What was published when, oldest first, with what is to come.
#[component]
pub(super) fn Published(
    facts: DrawFacts,
    /// The opening at the venue: all moments are told on its clock.
    opens: ZonedTime,
) -> impl IntoView {
    let lang = lang();
    let commitments = facts.commitments.iter().map(|made| committed(lang, made, &opens)).collect_view();
    let frozen = match facts.lobby {
        Some(lobby) => td_string!(lang, draw.frozen, lobby = format::number(lobby)).to_string(),
        None => td_string!(lang, draw.frozen_later).to_owned(),
    };
    let revealed = match facts.revealed {
        Some(at) => {
            view! { <b>{moment(lang, at, &opens)}</b> <span>{td_string!(lang, draw.revealed)}</span> }.into_any()
        }
        None => view! { <b>{td_string!(lang, draw.to_come)}</b> <span>{td_string!(lang, draw.revealed_later)}</span> }
            .into_any(),
    };
    view! {
        <section aria-labelledby="published">
            <h2 id="published">{td_string!(lang, draw.published_title)}</h2>
            <ol class="draw-story" data-testid="story">
                {commitments}
                <li><b>{moment(lang, opens.at, &opens)}</b> <span>{frozen}</span></li>
                <li>
                    <b>{td_string!(lang, draw.randomness)}</b>
                    <span data-testid="randomness">{randomness_text(lang, &facts.randomness)}</span>
                </li>
                <li>{revealed}</li>
            </ol>
        </section>
    }
    .into_any()
}

/// A commitment: when it was published, for which opening, and with which public randomness.
fn committed(lang: Locale, made: &Commitment, near: &ZonedTime) -> impl IntoView + use<> {
    let opens = format::moment(lang, &format::beside(made.opens, near));
    let beacon = made.beacon.as_ref().map_or_else(
        || td_string!(lang, draw.committed_alone).to_owned(),
        |named| {
            let due = format::exact(lang, &format::beside(named.due, near));
            td_string!(lang, draw.committed_round, round = named.round, due = due).to_string()
        },
    );
    let chain = made.beacon.as_ref().map(|named| named.chain.clone());
    view! {
        <li>
            <b>{moment(lang, made.published, near)}</b>
            <span>
                {td_string!(lang, draw.committed, opens = opens).to_string()} " " {beacon}
                <code>{made.commitment.clone()}</code>
                {chain.map(|chain| view! { <code>{chain}</code> })}
            </span>
        </li>
    }
}

fn moment(lang: Locale, at: Millis, near: &ZonedTime) -> impl IntoView + use<> {
    let time = format::beside(at, near);
    view! { <time datetime=format::machine_time(&time)>{format::exact(lang, &time)}</time> }
}

/// What came of the public randomness, with what it means where it is missing.
fn randomness_text(lang: Locale, randomness: &Randomness) -> &'static str {
    match randomness {
        Randomness::None => td_string!(lang, draw.randomness_none),
        Randomness::Awaited => td_string!(lang, draw.randomness_awaited),
        Randomness::Used { .. } => td_string!(lang, draw.randomness_used),
        Randomness::Silent => td_string!(lang, draw.randomness_silent),
    }
}

/// The numbers that make the order, and the files to download.
#[component]
pub(super) fn Numbers(facts: DrawFacts, opens: ZonedTime) -> impl IntoView {
    let lang = lang();
    let files = format!("/api/performances/{}/queue", facts.performance);
    let (randomness, signature) = match facts.randomness {
        Randomness::Used { randomness, signature } => (Some(randomness), Some(signature)),
        Randomness::None | Randomness::Awaited | Randomness::Silent => (None, None),
    };
    let is_listed = facts.list.is_some();
    let commitment = facts.commitments.first().map(|made| made.commitment.clone());
    view! {
        <section aria-labelledby="numbers">
            <h2 id="numbers">{td_string!(lang, draw.numbers_title)}</h2>
            <dl class="draw-numbers">
                <dt>{td_string!(lang, draw.opening)}</dt>
                <dd>{moment(lang, opens.at, &opens)}</dd>
                <dt>{td_string!(lang, draw.commitment)}</dt>
                <dd>{known(lang, commitment)}</dd>
                <dt>{td_string!(lang, draw.lobby)}</dt>
                <dd data-testid="lobby">{known(lang, facts.lobby.map(format::number))}</dd>
                <dt>{td_string!(lang, draw.list)}</dt>
                <dd>{known(lang, facts.list)}</dd>
                <dt>{td_string!(lang, draw.randomness)}</dt>
                <dd>{known(lang, randomness)}</dd>
                {signature.map(|signature| view! {
                    <dt>{td_string!(lang, draw.signature)}</dt>
                    <dd><code>{signature}</code></dd>
                })}
                <dt>{td_string!(lang, draw.seed)}</dt>
                <dd data-testid="seed">{known(lang, facts.seed)}</dd>
            </dl>
            <p class="actions">
                <a class="button" href=format!("{files}/draw") rel="external" data-testid="facts-file">
                    {td_string!(lang, draw.facts_file)}
                </a>
                {is_listed.then(|| view! {
                    <a class="button" href=format!("{files}/arrivals") rel="external" download="" data-testid="list-file">
                        {td_string!(lang, draw.list_file)}
                    </a>
                })}
            </p>
            <p class="quiet">{td_string!(lang, draw.list_text)}</p>
        </section>
    }
    .into_any()
}

fn known(lang: Locale, value: Option<String>) -> AnyView {
    match value {
        Some(value) => view! { <code>{value}</code> }.into_any(),
        None => view! { <span class="quiet">{td_string!(lang, draw.not_known)}</span> }.into_any(),
    }
}
