//! What a check found: a filtered list by pages, each finding with the way to its seat on the drawing.

use crate::format::number;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::seatmap::{SeatMark, Tone};
use domain::SeatNo;
use domain::organizer::plans::{Filter, ImportView, Told};
use leptos::prelude::*;

/// Rings about the seats that findings are about.
pub(super) fn marks(bad: &[SeatNo], care: &[SeatNo]) -> Vec<SeatMark> {
    let ring = |tone: Tone| move |seat: &SeatNo| SeatMark { seat: *seat, tone };
    bad.iter().map(ring(Tone::Bad)).chain(care.iter().map(ring(Tone::Care))).collect()
}

/// The list.
#[component]
pub(super) fn Findings(
    /// The file.
    view: ImportView,
    /// Set it, and the drawing goes there.
    focus: RwSignal<Option<SeatNo>>,
) -> impl IntoView {
    let lang = lang();
    let all = u64::from(view.error_count) + u64::from(view.warning_count);
    if all == 0 {
        return view! {
            <section class="plans-findings" aria-labelledby="findings">
                <h2 id="findings">{td_string!(lang, plans.findings)}</h2>
                <p data-testid="no-findings">{td_string!(lang, plans.findings_none)}</p>
            </section>
        }
        .into_any();
    }
    let beyond = all.saturating_sub(u64::from(view.findings_kept));
    let none_here = view.findings.is_empty();
    view! {
        <section class="plans-findings" aria-labelledby="findings">
            <h2 id="findings">{td_string!(lang, plans.findings)}</h2>
            <Filters view=view.clone()/>
            {none_here.then(|| view! { <p>{td_string!(lang, plans.findings_none_here)}</p> })}
            <ol class="plans-finding-list" data-testid="findings" tabindex="0" aria-labelledby="findings">
                {view.findings.iter().map(|told| view! { <Line told=told.clone() focus/> }).collect_view()}
            </ol>
            <Pages view/>
            {(beyond > 0).then(|| view! { <p class="quiet">{td_string!(lang, plans.findings_beyond, count = number(beyond))}</p> })}
        </section>
    }
    .into_any()
}

fn address(filter: Filter, page: u32) -> String {
    if page == 1 { format!("?show={}", filter.as_str()) } else { format!("?show={}&page={page}", filter.as_str()) }
}

#[component]
fn Filters(view: ImportView) -> impl IntoView {
    let lang = lang();
    let all = u64::from(view.error_count) + u64::from(view.warning_count);
    let link = |filter: Filter, name: &'static str, count: u64| {
        let current = (filter == view.filter).then_some("true");
        view! {
            <li>
                <a href=address(filter, 1) aria-current=current data-testid=format!("filter-{}", filter.as_str())>
                    {name} " " <span class="figure">{number(count)}</span>
                </a>
            </li>
        }
    };
    view! {
        <ul class="plans-filters">
            {link(Filter::All, td_string!(lang, plans.filter_all), all)}
            {link(Filter::Errors, td_string!(lang, plans.filter_errors), u64::from(view.error_count))}
            {link(Filter::Warnings, td_string!(lang, plans.filter_warnings), u64::from(view.warning_count))}
        </ul>
    }
    .into_any()
}

#[component]
fn Pages(view: ImportView) -> impl IntoView {
    let lang = lang();
    let (page, pages, filter) = (view.page, view.pages, view.filter);
    (pages > 1).then(|| {
        view! {
            <nav class="plans-pages" aria-label=td_string!(lang, plans.pages)>
                {(page > 1).then(|| view! { <a href=address(filter, page - 1) rel="prev">{td_string!(lang, plans.page_before)}</a> })}
                <span>{td_string!(lang, plans.page_of, page = number(page), pages = number(pages))}</span>
                {(page < pages).then(|| view! { <a href=address(filter, page + 1) rel="next">{td_string!(lang, plans.page_after)}</a> })}
            </nav>
        }
    })
}

fn place(lang: Locale, told: &Told) -> String {
    match (told.finding.line, told.finding.path.as_str()) {
        (Some(line), "") => td_string!(lang, plans.line, line = number(line)),
        (Some(line), path) => format!("{} · {path}", td_string!(lang, plans.line, line = number(line))),
        (None, "") => td_string!(lang, plans.whole_file).to_owned(),
        (None, path) => path.to_owned(),
    }
}

#[component]
fn Line(told: Told, focus: RwSignal<Option<SeatNo>>) -> impl IntoView {
    let lang = lang();
    let place = place(lang, &told);
    let (kind, name) = if told.refuses {
        ("error", td_string!(lang, plans.an_error))
    } else {
        ("warning", td_string!(lang, plans.a_warning))
    };
    let seat = told.finding.seats.first().copied().map(SeatNo);
    view! {
        <li class=format!("plans-finding plans-finding-{kind}") data-testid="finding" data-kind=kind>
            <span class="plans-finding-kind">{name}</span>
            <code>{place}</code>
            <p lang="en">{told.finding.message}</p>
            <span class="facts">
                <code>{told.finding.code.as_str()}</code>
                {seat.map(|seat| view! {
                    <button class="link" type="button" on:click=move |_| focus.set(Some(seat)) data-testid="show-seat">
                        {td_string!(lang, plans.show)}
                    </button>
                })}
            </span>
        </li>
    }
    .into_any()
}
