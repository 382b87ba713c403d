//! What a plan holds: numbers, categories, sections, areas to stand in.

use crate::format::number;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::catalog::PriceZone;
use domain::organizer::plans::{Counts, Outline};
use leptos::prelude::*;

/// `738 seats, 90 rows, 2 sections`.
pub(super) fn summary(lang: Locale, counts: &Counts) -> String {
    td_string!(
        lang,
        plans.summary,
        seats = number(counts.seats),
        rows = number(counts.rows),
        sections = number(counts.sections)
    )
}

/// The categories as the drawing takes them: no prices yet.
pub(super) fn zones(outline: &Outline) -> Vec<PriceZone> {
    (0_u8..=u8::MAX)
        .zip(&outline.categories)
        .map(|(category, row)| PriceZone { category, name: row.name.clone(), price: None })
        .collect()
}

/// The numbers that are not in the summary, each only where there is something to tell.
#[component]
pub(super) fn Facts(
    /// How much there is.
    counts: Counts,
) -> impl IntoView {
    let lang = lang();
    let facts = [
        (counts.standing, td_string!(lang, plans.fact_standing)),
        (counts.wheelchair, td_string!(lang, plans.fact_wheelchair)),
        (counts.companion, td_string!(lang, plans.fact_companion)),
        (counts.restricted_view, td_string!(lang, plans.fact_restricted)),
    ];
    let areas =
        (counts.areas > 0).then(|| td_string!(lang, plans.fact_areas, count = number(counts.areas)).to_string());
    let facts = facts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| view! { <span>{format!("{}{}{name}", number(count), if lang == Locale::en { " " } else { "" })}</span> })
        .collect_view();
    view! {
        {facts}
        {areas.map(|areas| view! { <span>{areas}</span> })}
    }
    .into_any()
}

/// Tables of categories, sections and areas to stand in.
#[component]
pub(super) fn Tables(
    /// The plan in numbers.
    outline: Outline,
) -> impl IntoView {
    let lang = lang();
    let more = usize::try_from(outline.counts.sections).unwrap_or(usize::MAX).saturating_sub(outline.sections.len());
    let categories = outline.categories.into_iter().map(|row| {
        view! { <tr><th scope="row">{row.name}</th><td class="plans-number">{number(row.seats)}</td></tr> }
    });
    let sections = outline.sections.into_iter().map(|row| {
        view! {
            <tr>
                <th scope="row">{row.name}</th>
                <td class="plans-number">{number(row.rows)}</td>
                <td class="plans-number">{number(row.seats)}</td>
            </tr>
        }
    });
    let standing = (!outline.standing.is_empty()).then(|| {
        let rows = outline.standing.into_iter().map(|row| {
            view! {
                <tr>
                    <th scope="row">{row.section}</th>
                    <td>{row.area}</td>
                    <td class="plans-number">{number(row.capacity)}</td>
                </tr>
            }
        });
        view! {
            <table class="plans-table" data-testid="standing">
                <caption>{td_string!(lang, plans.standing)}</caption>
                <thead>
                    <tr>
                        <th scope="col">{td_string!(lang, plans.section)}</th>
                        <th scope="col">{td_string!(lang, plans.area)}</th>
                        <th scope="col" class="plans-number">{td_string!(lang, plans.capacity)}</th>
                    </tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        }
    });
    view! {
        <div class="plans-tables">
            <table class="plans-table" data-testid="categories">
                <caption>{td_string!(lang, plans.categories)}</caption>
                <thead>
                    <tr>
                        <th scope="col">{td_string!(lang, plans.category)}</th>
                        <th scope="col" class="plans-number">{td_string!(lang, plans.seats)}</th>
                    </tr>
                </thead>
                <tbody>{categories.collect_view()}</tbody>
            </table>
            <div class="plans-scroll" tabindex="0" role="region" aria-label=td_string!(lang, plans.sections)>
            <table class="plans-table" data-testid="sections">
                <caption>{td_string!(lang, plans.sections)}</caption>
                <thead>
                    <tr>
                        <th scope="col">{td_string!(lang, plans.section)}</th>
                        <th scope="col" class="plans-number">{td_string!(lang, plans.rows)}</th>
                        <th scope="col" class="plans-number">{td_string!(lang, plans.seats)}</th>
                    </tr>
                </thead>
                <tbody>{sections.collect_view()}</tbody>
            </table>
            </div>
            {standing}
            {(more > 0).then(|| view! { <p class="quiet">{td_string!(lang, plans.sections_more, count = number(more as u64))}</p> })}
        </div>
    }
    .into_any()
}
