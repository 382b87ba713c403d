//! All plans, the upload, and the files that were uploaded lately.

use super::super::frame::{Frame, Tab, may};
use super::api;
use super::said::{Said, brought_back};
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::organizer::Action;
use domain::organizer::plans::{ImportRow, ImportState, PlanList, PlanRow};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

type Plans = Resource<Result<PlanList, AppError>>;

/// The plans of the organization.
#[component]
pub fn PlansPage() -> impl IntoView {
    let plans = Resource::new(|| (), |()| api::plans());
    view! { <Frame tab=Tab::Plans><Body plans/></Frame> }.into_any()
}

#[component]
fn Body(plans: Plans) -> impl IntoView {
    let (lang, edit) = (lang(), may(Action::EditPlans));
    let query = use_query_map();
    let refused = Signal::derive(move || brought_back(query.read().get_str("refused")));
    view! {
        <Title text=td_string!(lang, plans.title)/>
        <Suspense>
            {move || Suspend::new(async move {
                match plans.await {
                    Ok(list) => view! {
                        <div class="plans" data-testid="plans-page">
                            <h1>{td_string!(lang, plans.title)}</h1>
                            <Said error=refused/>
                            {edit.then(|| view! { <Upload/> })}
                            <Listed plans=list.plans edit/>
                            <Uploaded imports=list.imports/>
                        </div>
                    }
                    .into_any(),
                    Err(error) => view! { <Failure error back="/organizer/plans"/> }.into_any(),
                }
            })}
        </Suspense>
    }
    .into_any()
}

/// A form of its own kind: the browser sends the file, with JavaScript and without.
#[component]
fn Upload() -> impl IntoView {
    let lang = lang();
    view! {
        <section class="plans-upload" aria-labelledby="upload-title">
            <h2 id="upload-title">{td_string!(lang, plans.upload_title)}</h2>
            <p>{td_string!(lang, plans.upload_text)}</p>
            <form class="plans-drop" action="/api/organizer-plan-upload" method="post" enctype="multipart/form-data">
                <label class="field">
                    <span>{td_string!(lang, plans.file)}</span>
                    <input
                        type="file"
                        name="file"
                        required
                        accept=".json,.csv,.tsv,.txt,.svg,application/json,text/csv,image/svg+xml"
                        data-testid="plan-file"
                    />
                    <small>{td_string!(lang, plans.file_hint)}</small>
                </label>
                <button class="button button-accent" type="submit" data-testid="plan-upload">
                    {td_string!(lang, plans.upload)}
                </button>
            </form>
        </section>
    }
    .into_any()
}

#[component]
fn Listed(plans: Vec<PlanRow>, edit: bool) -> impl IntoView {
    let lang = lang();
    let none = plans.is_empty();
    view! {
        <section aria-labelledby="plans-list">
            <h2 id="plans-list">{td_string!(lang, plans.list_title)}</h2>
            {none.then(|| view! {
                <p class="plans-none" data-testid="no-plans">
                    {if edit { td_string!(lang, plans.none_edit) } else { td_string!(lang, plans.none) }}
                </p>
            })}
            <ul class="plans-list">
                {plans.into_iter().map(|row| view! { <li><Listing row/></li> }).collect_view()}
            </ul>
        </section>
    }
    .into_any()
}

#[component]
fn Listing(row: PlanRow) -> impl IntoView {
    let lang = lang();
    let played = match row.performances {
        0 => td_string!(lang, plans.performances_none).to_owned(),
        1 => td_string!(lang, plans.performances_one).to_owned(),
        many => td_string!(lang, plans.performances, count = format::number(many)),
    };
    view! {
        <a class="plans-row" href=format!("/organizer/plans/{}", row.id) data-testid="plan-row">
            <b>{row.place.venue}</b>
            <span class="facts">
                <span>{row.place.city}</span>
                <span>{td_string!(lang, plans.seats_count, count = format::number(row.seats))}</span>
                <span>{played}</span>
                <span>{row.place.time_zone}</span>
                <time datetime=format::machine_time(&row.made)>{format::date_time(lang, &row.made)}</time>
                {(!row.newest).then(|| view! { <span>{td_string!(lang, plans.older)}</span> })}
            </span>
        </a>
    }
    .into_any()
}

#[component]
fn Uploaded(imports: Vec<ImportRow>) -> impl IntoView {
    let lang = lang();
    (!imports.is_empty()).then(|| {
        view! {
            <section aria-labelledby="imports-list">
                <h2 id="imports-list">{td_string!(lang, plans.imports_title)}</h2>
                <ul class="plans-list">
                    {imports.into_iter().map(|row| view! { <li><Sent row/></li> }).collect_view()}
                </ul>
            </section>
        }
    })
}

/// The words for where a file stands.
pub(super) fn state_text(lang: Locale, state: ImportState) -> &'static str {
    match state {
        ImportState::Refused => td_string!(lang, plans.state_refused),
        ImportState::Ready => td_string!(lang, plans.state_ready),
        ImportState::Accepted => td_string!(lang, plans.state_accepted),
    }
}

#[component]
fn Sent(row: ImportRow) -> impl IntoView {
    let lang = lang();
    let state = row.state.as_str();
    view! {
        <a class="plans-row" href=format!("/organizer/imports/{}", row.id) data-testid="import-row" data-state=state>
            <b>{row.file_name}</b>
            <span class="facts">
                <span class=format!("plans-state plans-state-{state}")>{state_text(lang, row.state)}</span>
                {row.seats.map(|seats| view! {
                    <span>{td_string!(lang, plans.seats_count, count = format::number(seats))}</span>
                })}
                {(row.error_count > 0).then(|| view! {
                    <span>{td_string!(lang, plans.errors_count, count = format::number(row.error_count))}</span>
                })}
                {(row.warning_count > 0).then(|| view! {
                    <span>{td_string!(lang, plans.warnings_count, count = format::number(row.warning_count))}</span>
                })}
                <time datetime=format::machine_time(&row.uploaded)>{format::moment(lang, &row.uploaded)}</time>
            </span>
        </a>
    }
    .into_any()
}
