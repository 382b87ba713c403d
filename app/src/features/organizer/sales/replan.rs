//! Another version of the plan for a published performance, in two steps: a list of the venue's plans,
//! then what the chosen one would change and the button that puts it in place.
//!
//! The choice is in the address (`?plan=…`), so that everything works without JavaScript, too.

mod change;

use super::replan_api::{self as api, PlanReplace, plan_choices, plan_preview};
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::features::organizer::frame::{Frame, Tab};
use crate::features::organizer::plans::SaidInFull;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use change::Change;
use domain::organizer::Action;
use domain::organizer::replanning::{PlanChange, PlanChoice, ReplanningView};
use domain::{Code, PerformanceId, PlanId};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};

/// The plan that the address asks about, and what it would change.
#[derive(Clone, Copy)]
struct Preview {
    asked: Memo<Option<PlanId>>,
    answer: Resource<Option<Result<PlanChange, AppError>>>,
}

/// Another plan for one performance.
#[component]
pub fn ReplanPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let id = move || params.read().get("id").and_then(|id| id.parse::<PerformanceId>().ok());
    let view = Resource::new(id, load);
    let asked = Memo::new(move |_| query.read().get("plan").and_then(|plan| plan.parse().ok()));
    let answer = Resource::new(
        move || id().zip(asked.get()),
        |asked| async move {
            match asked {
                Some((id, plan)) => Some(plan_preview(id, plan).await),
                None => None,
            }
        },
    );
    // Made here and not where it is shown: what a frame makes twice would be asked twice.
    provide_context(Preview { asked, answer });
    view! {
        <Frame tab=Tab::Events needs=Action::EditEvents>
            <Suspense>
                {move || Suspend::new(async move {
                    match view.await {
                        Ok(view) => view! { <Replan view/> }.into_any(),
                        Err(error) => {
                            let back = id().map_or_else(|| "/organizer".to_owned(), api::page_of);
                            view! { <Failure error back/> }.into_any()
                        }
                    }
                })}
            </Suspense>
        </Frame>
    }
    .into_any()
}

async fn load(id: Option<PerformanceId>) -> Result<ReplanningView, AppError> {
    plan_choices(id.ok_or_else(|| AppError::new(Code::NotFound, "id: a performance is expected"))?).await
}

#[component]
fn Replan(view: ReplanningView) -> impl IntoView {
    let lang = lang();
    let (id, title) = (view.performance, view.title.clone());
    let heading = td_string!(lang, sales.replan_title);
    let place = format!("{}, {}", view.venue, view.city);
    let seats = td_string!(lang, plans.seats_count, count = format::number(view.seats));
    let choices = RwSignal::new(view.choices);
    let body = if has_other(&choices.read_untracked()) {
        view! {
            <Choose id choices/>
            <Outcome id choices/>
        }
        .into_any()
    } else {
        view! { <OnlyOne/> }.into_any()
    };
    view! {
        <Title text=format!("{heading} – {title}")/>
        <div class="prices" data-testid="replan-page">
            <header>
                <p><a href=format!("/organizer/performances/{id}") data-testid="to-performance">{title}</a></p>
                <h1>{heading}</h1>
                <p class="facts"><span>{place}</span><span>{seats}</span></p>
                <p>{td_string!(lang, sales.replan_intro)}</p>
            </header>
            {body}
        </div>
    }
    .into_any()
}

/// Whether there is any plan that could take the place of the present one.
fn has_other(choices: &[PlanChoice]) -> bool {
    choices.iter().any(|choice| !choice.current)
}

/// The plan that the list has ticked: the one that was asked about, else the newest that isn't in use.
fn preselected(choices: &[PlanChoice], asked: Option<PlanId>) -> Option<PlanId> {
    let mut others = choices.iter().filter(|choice| !choice.current).map(|choice| choice.id);
    let newest = others.clone().next();
    asked.filter(|asked| others.any(|other| other == *asked)).or(newest)
}

/// What to do where nothing can be chosen.
#[component]
fn OnlyOne() -> impl IntoView {
    let lang = lang();
    view! {
        <p class="notice" data-testid="only-one-plan">
            <span>
                {td_string!(lang, sales.replan_only_one)} " "
                <a href="/organizer/plans" data-testid="to-plans">{td_string!(lang, sales.replan_to_plans)}</a>
            </span>
        </p>
    }
    .into_any()
}

/// The first step: the plans of the venue.
#[component]
fn Choose(id: PerformanceId, choices: RwSignal<Vec<PlanChoice>>) -> impl IntoView {
    let lang = lang();
    let Preview { asked, .. } = expect_context();
    let ticked = Memo::new(move |_| preselected(&choices.read(), asked.get()));
    let rows = move || choices.get().into_iter().map(|choice| view! { <Choice choice ticked/> }).collect_view();
    view! {
        <form action=api::page_of(id) method="get" class="replan-choose" data-testid="choose-plan">
            <fieldset class="plans-modes">
                <legend>{td_string!(lang, sales.replan_choose)}</legend>
                <ul class="plans-list">{rows}</ul>
            </fieldset>
            <button class="button" type="submit" data-testid="preview-plan">{td_string!(lang, sales.price_preview)}</button>
        </form>
    }
    .into_any()
}

#[component]
fn Choice(choice: PlanChoice, ticked: Memo<Option<PlanId>>) -> impl IntoView {
    let lang = lang();
    let PlanChoice { id, made, seats, current } = choice;
    let when = format::date_time(lang, &made);
    let is_ticked = move || ticked.get() == Some(id);
    let at_first = ticked.get_untracked() == Some(id);
    let mark = current.then(
        || view! { <span class="sales-draft" data-testid="in-use">{td_string!(lang, sales.replan_in_use)}</span> },
    );
    view! {
        <li class="replan-plan" data-testid="plan-choice" data-plan=id.to_string() data-current=current.to_string()>
            <label>
                <input type="radio" name="plan" value=id.to_string() required disabled=current checked=at_first prop:checked=is_ticked/>
                <span class="facts">
                    <time datetime=format::machine_time(&made)>{when.clone()}</time>
                    <span>{td_string!(lang, plans.seats_count, count = format::number(seats))}</span>
                    {mark}
                </span>
            </label>
            <a href=format!("/organizer/plans/{id}")>
                {td_string!(lang, sales.replan_look)} <span class="visually-hidden">" " {when}</span>
            </a>
        </li>
    }
    .into_any()
}

/// The second step: what the chosen plan would change, and why a change was refused.
#[component]
fn Outcome(id: PerformanceId, choices: RwSignal<Vec<PlanChoice>>) -> impl IntoView {
    let Preview { asked, answer } = expect_context();
    let replace = ServerAction::<PlanReplace>::new();
    let error = Signal::derive(move || replace.value().get().and_then(Result::err));
    let navigate = use_navigate();
    Effect::new(move |_| match replace.value().get() {
        Some(Ok(_)) => navigate(&api::done(id), NavigateOptions::default()),
        Some(Err(error)) if looks_again(error.code()) => {
            answer.refetch();
            spawn_local(async move {
                if let Ok(fresh) = plan_choices(id).await {
                    choices.try_set(fresh.choices);
                }
            });
        }
        Some(Err(_)) | None => (),
    });
    // A refusal belongs to the plan that was asked about.
    Effect::new(move |before: Option<Option<PlanId>>| {
        let now = asked.get();
        if before.is_some_and(|before| before != now) {
            replace.clear();
        }
        now
    });
    view! {
        <SaidInFull error text/>
        <Transition>
            {move || Suspend::new(async move {
                match answer.await {
                    Some(Ok(change)) => view! { <Change id change replace/> }.into_any(),
                    Some(Err(error)) => view! { <SaidInFull error=Some(error) text/> }.into_any(),
                    None => ().into_any(),
                }
            })}
        </Transition>
    }
    .into_any()
}

/// Whether a refused change means that the page shows what is no longer so.
fn looks_again(code: Code) -> bool {
    matches!(code, Code::SeatTaken | Code::WrongState)
}

/// Why a plan can't be put in place, in words.
fn text(lang: Locale, error: &AppError) -> &'static str {
    match error.code() {
        Code::SeatTaken => td_string!(lang, sales.replan_refused_taken),
        Code::WrongState => td_string!(lang, sales.replan_refused_moved_on),
        Code::InvalidInput => td_string!(lang, sales.replan_refused_unfit),
        _ => error.text(lang),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{Millis, Refusal, ZonedTime};

    fn choice(number: u8, current: bool) -> PlanChoice {
        let made = ZonedTime {
            at: Millis(0),
            zone: "Europe/Berlin".to_owned(),
            year: 2027,
            month: 3,
            day: 28,
            hour: 20,
            minute: 0,
            weekday: 7,
            offset_min: 120,
        };
        PlanChoice { id: id(number), made, seats: 100, current }
    }

    fn id(number: u8) -> PlanId {
        format!("00000000-0000-7000-8000-0000000000{number:02}").parse().unwrap()
    }

    #[test]
    fn the_newest_plan_that_is_not_in_use_is_ticked_until_one_is_asked_about() {
        let choices = [choice(3, true), choice(2, false), choice(1, false)];
        assert_eq!(preselected(&choices, None), Some(id(2)));
        assert_eq!(preselected(&choices, Some(id(1))), Some(id(1)));
        assert_eq!(preselected(&choices, Some(id(3))), Some(id(2)), "the one in use can't be chosen");
        assert_eq!(preselected(&choices, Some(id(9))), Some(id(2)), "an address may name anything");
        assert!(has_other(&choices));
        assert_eq!(preselected(&choices[..1], None), None);
        assert!(!has_other(&choices[..1]) && !has_other(&[]));
    }

    #[test]
    fn each_refusal_says_that_nothing_was_changed() {
        for code in [Code::SeatTaken, Code::WrongState, Code::InvalidInput] {
            let error = AppError(Refusal::new(code, "plan: no"));
            assert!(text(Locale::en, &error).contains("othing"), "{code:?}");
            assert_ne!(text(Locale::en, &error), error.text(Locale::en), "{code:?} is told as it concerns a plan");
            assert_ne!(text(Locale::zh, &error), error.text(Locale::zh), "{code:?} is told as it concerns a plan");
        }
        assert!(looks_again(Code::SeatTaken) && looks_again(Code::WrongState) && !looks_again(Code::Unavailable));
    }
}
