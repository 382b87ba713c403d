//! A file between upload and acceptance: what it holds, what is wrong with it, and what to do.

use super::super::frame::{Frame, Tab, may};
use super::accept::{Accept, Discard};
use super::api::{self, RecheckImport};
use super::findings::{Findings, marks};
use super::list::state_text;
use super::options::Choose;
use super::outline::{Facts, Tables, summary, zones};
use crate::components::icon::{Icon, Sign};
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::format::{self, number};
use crate::i18n::td_string;
use crate::lang::lang;
use crate::seatmap::{Paint, PlanCanvas};
use domain::SeatNo;
use domain::organizer::Action;
use domain::organizer::plans::{Filter, ImportState, ImportView};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

type Loaded = Resource<Result<ImportView, AppError>>;

/// A file on its way in.
#[component]
pub fn ImportPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let id = Memo::new(move |_| params.read().get("id").unwrap_or_default());
    let filter = Memo::new(move |_| Filter::parse(query.read().get_str("show")));
    let page = Memo::new(move |_| query.read().get_str("page").and_then(|page| page.parse().ok()).unwrap_or(1));
    let recheck = ServerAction::<RecheckImport>::new();
    let checks = recheck.version();
    let file = Resource::new(
        move || (id.get(), filter.get(), page.get(), checks.get()),
        |(id, filter, page, _)| api::plan_import(id, filter, page),
    );
    view! { <Frame tab=Tab::Plans><Body file id recheck/></Frame> }.into_any()
}

#[component]
fn Body(file: Loaded, id: Memo<String>, recheck: ServerAction<RecheckImport>) -> impl IntoView {
    let edit = may(Action::EditPlans);
    view! {
        <Transition>
            {move || Suspend::new(async move {
                match file.await {
                    Ok(view) => view! { <Import view edit recheck/> }.into_any(),
                    Err(error) => {
                        let back = format!("/organizer/imports/{}", id.get_untracked());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Transition>
    }
    .into_any()
}

#[component]
fn Import(view: ImportView, edit: bool, recheck: ServerAction<RecheckImport>) -> impl IntoView {
    let lang = lang();
    let focus = RwSignal::new(None::<SeatNo>);
    let open = edit && view.state != ImportState::Accepted;
    let drawing = view.map_digest.clone().zip(view.outline.clone()).map(|(digest, outline)| {
        let (zones, marks) = (zones(&outline), marks(&view.bad, &view.care));
        view! {
            <div class="plans-drawing" data-testid="drawing">
                <PlanCanvas digest=digest zones=zones paint=Paint::ByZone marks=marks focus/>
            </div>
        }
    });
    let undrawn = drawing.is_none();
    view! {
        <Title text=view.file_name.clone()/>
        <article class="plans" data-testid="import-page" data-state=view.state.as_str()>
            <Head view=view.clone()/>
            <State view=view.clone()/>
            {open.then(|| view! { <Choose view=view.clone() recheck/> })}
            <div class="plans-look">
                {drawing}
                {undrawn.then(|| view! { <p class="plans-none">{td_string!(lang, plans.not_drawn)}</p> })}
                <Findings view=view.clone() focus/>
            </div>
            {open.then(|| view! {
                {(view.state == ImportState::Ready).then(|| view! { <Accept view=view.clone()/> })}
                <Discard id=view.id/>
            })}
            {view.outline.map(|outline| view! {
                <details class="plans-details">
                    <summary>{td_string!(lang, plans.contents)}</summary>
                    <Tables outline/>
                </details>
            })}
        </article>
    }
    .into_any()
}

#[component]
fn Head(view: ImportView) -> impl IntoView {
    let lang = lang();
    let counts = view.outline.as_ref().map(|outline| outline.counts).unwrap_or_default();
    view! {
        <header class="plans-head">
            <a href="/organizer/plans" class="overline">{td_string!(lang, plans.title)}</a>
            <h1>{view.file_name}</h1>
            <p class="facts" data-testid="summary"><span>{summary(lang, &counts)}</span><Facts counts/></p>
            <p class="facts">
                <span class=format!("plans-state plans-state-{}", view.state.as_str())>{state_text(lang, view.state)}</span>
                <time datetime=format::machine_time(&view.uploaded)>{format::moment(lang, &view.uploaded)}</time>
            </p>
        </header>
    }
    .into_any()
}

/// Where the file stands, and the next step.
#[component]
fn State(view: ImportView) -> impl IntoView {
    let lang = lang();
    let (class, icon, text) = match view.state {
        ImportState::Accepted => ("notice", Icon::Check, td_string!(lang, plans.now_accepted).to_owned()),
        ImportState::Ready if view.warning_count > 0 => (
            "notice notice-care",
            Icon::Attention,
            td_string!(lang, plans.now_repaired, count = number(view.warning_count)),
        ),
        ImportState::Ready => ("notice", Icon::Check, td_string!(lang, plans.now_ready).to_owned()),
        ImportState::Refused if view.error_count > 0 => (
            "notice notice-bad",
            Icon::Attention,
            td_string!(lang, plans.now_refused, count = number(view.error_count)),
        ),
        ImportState::Refused => ("notice notice-bad", Icon::Attention, td_string!(lang, plans.now_empty).to_owned()),
    };
    view! {
        <div class=class data-testid="import-state" data-state=view.state.as_str()>
            <Sign icon/>
            <div>
                <p>{text}</p>
                {view.plan.map(|plan| view! {
                    <p><a href=format!("/organizer/plans/{plan}")>{td_string!(lang, plans.to_plan)}</a></p>
                })}
            </div>
        </div>
    }
    .into_any()
}
