//! The place that follows from a number, for whoever asks.

use crate::components::{icon::Icon, notice::Remark};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::queue::facts::DrawFacts;
use leptos::prelude::*;

/// What the address of the page asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing.
    Nothing,
    /// The place of an arrival number, from 0.
    Arrival(u32),
    /// Something that is no number.
    NoNumber,
}

impl Asked {
    /// Reads a number as people write it: from 1, with or without separators.
    pub(super) fn of(text: Option<&str>) -> Self {
        let digits: String = text.unwrap_or_default().chars().filter(|c| !matches!(c, ' ' | ',' | '\u{a0}')).collect();
        match (digits.is_empty(), digits.parse::<u32>().ok().and_then(|number| number.checked_sub(1))) {
            (true, _) => Self::Nothing,
            (false, Some(arrival)) => Self::Arrival(arrival),
            (false, None) => Self::NoNumber,
        }
    }
}

/// The form, and its answer.
#[component]
pub(super) fn Recompute(facts: DrawFacts, own: Option<u32>, asked: Asked) -> impl IntoView {
    let lang = lang();
    let arrival = match asked {
        Asked::Arrival(arrival) => Some(arrival),
        Asked::Nothing | Asked::NoNumber => own,
    };
    let value = arrival.map_or_else(String::new, |arrival| (u64::from(arrival) + 1).to_string());
    let action = format!("/performances/{}/draw", facts.performance);
    view! {
        <section class="draw-recompute" aria-labelledby="recompute">
            <h2 id="recompute">{td_string!(lang, draw.recompute_title)}</h2>
            <p>{td_string!(lang, draw.recompute_text)}</p>
            <form class="draw-form" method="get" action=action>
                <label class="field">
                    <span>{td_string!(lang, draw.number)}</span>
                    <input
                        type="text"
                        name="arrival"
                        inputmode="numeric"
                        autocomplete="off"
                        required
                        value=value
                        data-testid="arrival"
                    />
                </label>
                <button class="button button-accent" type="submit" data-testid="recompute">
                    {td_string!(lang, draw.recompute)}
                </button>
            </form>
            {answer(lang, &facts, asked, arrival)}
        </section>
    }
    .into_any()
}

/// The place of the number that was asked for, or of the fan's own.
fn answer(lang: Locale, facts: &DrawFacts, asked: Asked, arrival: Option<u32>) -> Option<AnyView> {
    if asked == Asked::NoNumber {
        return Some(remark(td_string!(lang, draw.no_number).to_owned(), "no-number"));
    }
    let arrival = arrival?;
    let Some(draw) = facts.draw() else {
        return Some(remark(td_string!(lang, draw.not_drawn).to_owned(), "not-drawn"));
    };
    let place = format::number(u64::from(draw.place(arrival)) + 1);
    let number = format::number(u64::from(arrival) + 1);
    // Numbers from the size of the lobby on were given after the draw.
    let late = facts.lobby.is_some_and(|lobby| arrival >= lobby);
    let how = if late { td_string!(lang, draw.came_later) } else { td_string!(lang, draw.was_drawn) };
    Some(
        view! {
            <dl class="draw-answer">
                <div>
                    <dt>{td_string!(lang, draw.number)}</dt>
                    <dd data-testid="number">{number}</dd>
                </div>
                <div>
                    <dt>{td_string!(lang, draw.place)}</dt>
                    <dd class="draw-place" data-testid="place">{place}</dd>
                </div>
            </dl>
            <p class="quiet">{how}</p>
        }
        .into_any(),
    )
}

fn remark(text: String, name: &'static str) -> AnyView {
    view! { <Remark icon=Icon::Clock><p data-testid=name>{text}</p></Remark> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::Asked;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        assert_eq!(Asked::of(None), Asked::Nothing);
        assert_eq!(Asked::of(Some(" ")), Asked::Nothing);
        assert_eq!(Asked::of(Some("1")), Asked::Arrival(0));
        assert_eq!(Asked::of(Some("12,345")), Asked::Arrival(12_344));
        for odd in ["0", "-1", "one", "4294967296"] {
            assert_eq!(Asked::of(Some(odd)), Asked::NoNumber, "{odd}");
        }
    }
}
