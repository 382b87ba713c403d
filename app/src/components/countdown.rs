//! A countdown by the server's clock.

use crate::clock::use_clock;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::Millis;
use leptos::prelude::*;

/// Days, hours, minutes and seconds until a moment. Before the server's clock is known it shows what
/// the server rendered, or keeps its space. Screen readers are not told every second: pages
/// announce what matters by themselves.
#[component]
pub fn Countdown(
    /// The moment.
    until: Millis,
    /// The server's clock when the page was made, where its data says so.
    #[prop(optional_no_strip)]
    rendered: Option<Millis>,
) -> impl IntoView {
    let (lang, clock) = (lang(), use_clock());
    let left = Memo::new(move |_| clock.now().or(rendered).map(|now| format::parts(format::seconds_left(now, until))));
    let two = |value: i64| format!("{value:02}");
    let part = move |pick: fn((i64, i64, i64, i64)) -> i64, unit: &'static str| {
        view! {
            <span class="countdown-part">
                <b>{move || left.get().map_or_else(|| "--".to_owned(), |parts| two(pick(parts)))}</b>
                <span>{unit}</span>
            </span>
        }
    };
    view! {
        <div class="countdown" class:countdown-unknown=move || left.get().is_none() role="timer" aria-live="off" data-testid="countdown">
            {part(|p| p.0, td_string!(lang, common.days))}
            {part(|p| p.1, td_string!(lang, common.hours))}
            {part(|p| p.2, td_string!(lang, common.minutes))}
            {part(|p| p.3, td_string!(lang, common.seconds))}
        </div>
    }
    .into_any()
}
