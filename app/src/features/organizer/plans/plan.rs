//! One plan: its drawing, what it holds, and its ways out.

use super::super::frame::{Frame, Tab};
use super::api;
use super::outline::{Facts, Tables, summary, zones};
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::seatmap::{Paint, PlanCanvas};
use domain::organizer::plans::PlanView;
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

type Loaded = Resource<Result<PlanView, AppError>>;

/// A plan.
#[component]
pub fn PlanPage() -> impl IntoView {
    let params = use_params_map();
    let id = Memo::new(move |_| params.read().get("id").unwrap_or_default());
    let plan = Resource::new(move || id.get(), api::plan);
    view! { <Frame tab=Tab::Plans><Body plan id/></Frame> }.into_any()
}

#[component]
fn Body(plan: Loaded, id: Memo<String>) -> impl IntoView {
    view! {
        <Suspense>
            {move || Suspend::new(async move {
                match plan.await {
                    Ok(view) => view! { <Plan view/> }.into_any(),
                    Err(error) => {
                        let back = format!("/organizer/plans/{}", id.get_untracked());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn Plan(view: PlanView) -> impl IntoView {
    let lang = lang();
    let PlanView { row, map_digest, outline, losses, loss_count } = view;
    let (zones, counts) = (zones(&outline), outline.counts);
    let export = |ext: &str| format!("/api/organizer-plan-export/{}.{ext}", row.id);
    let (json, csv) = (export("json"), export("csv"));
    let more = usize::try_from(loss_count).unwrap_or(usize::MAX).saturating_sub(losses.len());
    view! {
        <Title text=row.place.venue.clone()/>
        <article class="plans" data-testid="plan-page">
            <header class="plans-head">
                <a href="/organizer/plans" class="overline">{td_string!(lang, plans.title)}</a>
                <h1>{row.place.venue.clone()}</h1>
                <p class="facts" data-testid="summary"><span>{summary(lang, &counts)}</span><Facts counts/></p>
                <p class="facts">
                    <span>{row.place.city.clone()}</span>
                    <span>{row.place.time_zone.clone()}</span>
                    <time datetime=format::machine_time(&row.made)>{format::date_time(lang, &row.made)}</time>
                    {(!row.newest).then(|| view! { <span>{td_string!(lang, plans.older)}</span> })}
                </p>
            </header>
            <div class="plans-drawing"><PlanCanvas digest=map_digest zones=zones paint=Paint::ByZone/></div>
            <Tables outline/>
            <section class="plans-export" aria-labelledby="export-title">
                <h2 id="export-title">{td_string!(lang, plans.export_title)}</h2>
                <p class="actions">
                    <a class="button" href=json rel="external" download="" data-testid="export-json">
                        {td_string!(lang, plans.export_json)}
                    </a>
                    <a class="button" href=csv rel="external" download="" data-testid="export-csv">
                        {td_string!(lang, plans.export_csv)}
                    </a>
                </p>
                <p class="quiet">{td_string!(lang, plans.export_csv_loses)}</p>
                {(loss_count > 0).then(|| view! {
                    <details>
                        <summary>{td_string!(lang, plans.export_json_loses, count = format::number(loss_count))}</summary>
                        <ul class="plans-losses">
                            {losses.into_iter().map(|loss| view! {
                                <li><code>{loss.path}</code> " " <span lang="en">{loss.message}</span></li>
                            }).collect_view()}
                            {(more > 0).then(|| view! { <li>{td_string!(lang, plans.and_more, count = format::number(more as u64))}</li> })}
                        </ul>
                    </details>
                })}
            </section>
        </article>
    }
    .into_any()
}
