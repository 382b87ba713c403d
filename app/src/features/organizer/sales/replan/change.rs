//! What another plan would change, seat by seat where that matters, and the button that does it.

use crate::components::icon::{Icon, Sign};
use crate::features::organizer::sales::replan_api::{self as api, PlanReplace};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::PerformanceId;
use domain::organizer::replanning::{PLACES_MAX, PlanChange, RENAMED_MAX, Renamed, SeatPlaces, Taken};
use leptos::prelude::*;

/// Lists of more lines are opened by who wants to read them.
const OPEN_LINES_MAX: usize = 6;

/// What a plan would change; then either why it may not, or the button.
#[component]
pub(super) fn Change(id: PerformanceId, change: PlanChange, replace: ServerAction<PlanReplace>) -> impl IntoView {
    let lang = lang();
    let allowed = change.is_allowed();
    let step = if allowed {
        view! { <Confirm id change=change.clone() replace/> }.into_any()
    } else {
        view! { <Lost lost=change.lost.clone()/> }.into_any()
    };
    let PlanChange { added, back, gone, renamed_sold, .. } = change.clone();
    view! {
        <section class="prices-effect" data-testid="plan-change" data-allowed=allowed.to_string() aria-labelledby="plan-change-title">
            <h2 id="plan-change-title">{td_string!(lang, sales.price_effect_title)}</h2>
            <Numbers change/>
            <Places title=td_string!(lang, sales.replan_added, count = format::number(added.count)) seats=added testid="added"/>
            <Places title=td_string!(lang, sales.replan_back, count = format::number(back.count)) seats=back testid="back"/>
            <Places title=td_string!(lang, sales.replan_gone, count = format::number(gone.count)) seats=gone testid="gone"/>
            <RenamedSold seats=renamed_sold/>
            {step}
        </section>
    }
    .into_any()
}

/// How many seats it touches, and how.
#[component]
fn Numbers(change: PlanChange) -> impl IntoView {
    let lang = lang();
    let fact = |name: &'static str, testid: &'static str, value: String| {
        view! { <div><dt>{name}</dt><dd data-testid=testid>{value}</dd></div> }
    };
    let seats = format!("{} → {}", format::number(change.seats_before), format::number(change.seats_after));
    let recategorized = change.recategorized > 0;
    view! {
        <dl class="kept-counts">
            {fact(td_string!(lang, sales.seats), "seats", seats)}
            {fact(td_string!(lang, sales.replan_stay), "stay", format::number(change.kept))}
            {fact(td_string!(lang, sales.replan_moved), "moved", format::number(change.moved))}
            {fact(td_string!(lang, sales.replan_renamed), "renamed", format::number(change.renamed))}
            {fact(td_string!(lang, sales.replan_recategorized), "recategorized", format::number(change.recategorized))}
        </dl>
        {recategorized.then(|| view! { <p data-testid="keep-zone">{td_string!(lang, sales.replan_keep_zone)}</p> })}
    }
    .into_any()
}

/// Some seats, one row a line; nothing where there are none.
#[component]
fn Places(
    /// What they are, with their number.
    title: String,
    seats: SeatPlaces,
    testid: &'static str,
) -> impl IntoView {
    let lang = lang();
    (seats.count > 0).then(|| {
        let cut =
            (seats.places.len() >= PLACES_MAX).then(|| td_string!(lang, sales.replan_rows_most, count = PLACES_MAX));
        view! { <List title lines=seats.places cut testid/> }
    })
}

/// The sold seats that read differently, whose buyers are told.
#[component]
fn RenamedSold(seats: Vec<Renamed>) -> impl IntoView {
    let lang = lang();
    (!seats.is_empty()).then(|| {
        let cut = (seats.len() >= RENAMED_MAX).then(|| td_string!(lang, sales.replan_seats_most, count = RENAMED_MAX));
        let lines = seats.iter().map(|seat| format!("{} → {}", seat.before, seat.after)).collect();
        let title = td_string!(lang, sales.replan_renamed_sold).to_owned();
        view! {
            <List title lines cut testid="renamed-sold"/>
            <p>{td_string!(lang, sales.replan_renamed_mail)}</p>
        }
    })
}

/// Lines under a title: at once when they are few.
#[component]
fn List(
    title: String,
    lines: Vec<String>,
    /// What is said of lines that were left out.
    cut: Option<String>,
    testid: &'static str,
) -> impl IntoView {
    let long = is_long(&lines);
    let items = lines.into_iter().map(|line| view! { <li>{line}</li> }).collect_view();
    let cut = cut.map(|text| view! { <p class="quiet">{text}</p> });
    let list = view! { <ul class="prices-places">{items}</ul>{cut} };
    if long {
        view! { <details class="kept-step" data-testid=testid><summary>{title}</summary>{list}</details> }.into_any()
    } else {
        view! { <div data-testid=testid><h3 class="replan-list">{title}</h3>{list}</div> }.into_any()
    }
}

fn is_long(lines: &[String]) -> bool {
    lines.len() > OPEN_LINES_MAX
}

fn lost_text(lang: Locale, taken: Taken, count: u32) -> String {
    let count = format::number(count);
    match taken {
        Taken::Sold => td_string!(lang, sales.replan_lost_sold, count = count),
        Taken::Held => td_string!(lang, sales.replan_lost_held, count = count),
        Taken::Allocated => td_string!(lang, sales.replan_lost_kept, count = count),
    }
}

fn lost_testid(taken: Taken) -> &'static str {
    match taken {
        Taken::Sold => "lost-sold",
        Taken::Held => "lost-held",
        Taken::Allocated => "lost-allocated",
    }
}

/// Whom the plan would take a seat from.
#[component]
fn Lost(lost: Vec<(Taken, SeatPlaces)>) -> impl IntoView {
    let lang = lang();
    let lists = lost
        .into_iter()
        .map(|(taken, seats)| {
            let title = lost_text(lang, taken, seats.count);
            view! { <Places title seats testid=lost_testid(taken)/> }
        })
        .collect_view();
    view! {
        <div class="notice notice-bad" role="alert" data-testid="lost">
            <Sign icon=Icon::Attention/>
            <div>
                <h3>{td_string!(lang, sales.replan_lost_title)}</h3>
                <p>{td_string!(lang, sales.replan_lost_text)}</p>
                {lists}
            </div>
        </div>
    }
    .into_any()
}

/// What will happen, and the button, behind a box to tick.
#[component]
fn Confirm(id: PerformanceId, change: PlanChange, replace: ServerAction<PlanReplace>) -> impl IntoView {
    let lang = lang();
    view! {
        <p>{td_string!(lang, sales.replan_effect)}</p>
        <p>{td_string!(lang, sales.replan_undo)}</p>
        <ActionForm action=replace attr:class="prices-confirm" attr:data-testid="replace-form">
            <input type="hidden" name="id" value=id.to_string()/>
            <input type="hidden" name="from" value=change.from.to_string()/>
            <input type="hidden" name="plan" value=change.to.to_string()/>
            // Without a name: it is for who reads, and nothing that is sent.
            <label class="kept-check replan-sure">
                <input type="checkbox" required data-testid="sure"/>
                <span>{td_string!(lang, sales.replan_sure)}</span>
            </label>
            <button class="button button-accent" type="submit" data-testid="replace-plan" disabled=move || replace.pending().get()>
                {td_string!(lang, sales.replan_confirm)}
            </button>
            <a class="button" href=api::page_of(id) data-testid="keep-plan">{td_string!(lang, sales.replan_cancel)}</a>
        </ActionForm>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_of_many_lines_are_folded() {
        let lines = |count: usize| vec!["A; 1; 1-9".to_owned(); count];
        assert!(!is_long(&lines(OPEN_LINES_MAX)));
        assert!(is_long(&lines(OPEN_LINES_MAX + 1)));
    }

    #[test]
    fn what_would_be_lost_is_told_apart_in_both_languages() {
        for lang in [Locale::en, Locale::zh] {
            let texts = [Taken::Sold, Taken::Held, Taken::Allocated].map(|taken| lost_text(lang, taken, 1_200));
            assert!(texts.iter().all(|text| text.contains("1,200")), "{texts:?}");
            assert!(texts[0] != texts[1] && texts[1] != texts[2] && texts[0] != texts[2], "{texts:?}");
        }
    }
}
