//! What is sold by price zone, and the charts, each with its numbers as a table.

use super::{
    api::{Charts, Figure},
    board::State,
};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::desk::{SeatCounts, ZoneSales};
use leptos::prelude::*;

/// Width of a bar, on the grid of its own drawing.
const BAR: u32 = 1_000;

/// Sold, held and free seats by price zone.
#[component]
pub(super) fn Zones(state: State) -> impl IntoView {
    let lang = lang();
    let zones = Memo::new(move |_| state.view.with(|view| view.zones.clone()));
    let rows = move || zones.get().into_iter().map(|row| view! { <ZoneRow row/> }).collect_view();
    view! {
        // No section: the box that scrolls is the landmark, and two of one name are one too many.
        <div class="desk-zones">
            <h2 id="desk-zones-title">{td_string!(lang, desk.by_zone)}</h2>
            <div class="desk-scroll" tabindex="0" role="region" aria-labelledby="desk-zones-title">
                <table data-testid="desk-zones">
                    <thead>
                        <tr>
                            <th scope="col">{td_string!(lang, desk.zone)}</th>
                            <th scope="col">{td_string!(lang, desk.price)}</th>
                            <th scope="col">{td_string!(lang, desk.sold)}</th>
                            <th scope="col">{td_string!(lang, desk.held)}</th>
                            <th scope="col">{td_string!(lang, desk.free)}</th>
                            <th scope="col">{td_string!(lang, desk.revenue)}</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn ZoneRow(row: ZoneSales) -> impl IntoView {
    let lang = lang();
    let price = row.zone.price.map_or_else(|| "–".to_owned(), |price| format::money(lang, price));
    view! {
        <tr>
            <th scope="row">
                {row.zone.name}
                <Bar seats=row.seats/>
            </th>
            <td>{price}</td>
            <td>{format::number(row.seats.sold)}</td>
            <td>{format::number(row.seats.held)}</td>
            <td>{format::number(row.seats.free)}</td>
            <td>{format::money(lang, row.revenue)}</td>
        </tr>
    }
    .into_any()
}

/// Sold and held seats as parts of a line; the numbers stand beside it.
#[component]
fn Bar(seats: SeatCounts) -> impl IntoView {
    let part = |count: u32| {
        let all = u64::from(seats.for_sale().max(1));
        u32::try_from(u64::from(count) * u64::from(BAR) / all).unwrap_or(BAR)
    };
    let (sold, held) = (part(seats.sold), part(seats.held));
    view! {
        <svg class="desk-bar" viewBox=format!("0 0 {BAR} 10") preserveAspectRatio="none" aria-hidden="true" focusable="false">
            <rect class="desk-bar-free" width=BAR.to_string() height="10"></rect>
            <rect class="desk-bar-sold" width=sold.to_string() height="10"></rect>
            <rect class="desk-bar-held" x=sold.to_string() width=held.to_string() height="10"></rect>
        </svg>
    }
    .into_any()
}

/// The charts of the last hour.
#[component]
pub(super) fn Figures(state: State) -> impl IntoView {
    let lang = lang();
    let of = move |read: fn(&Charts) -> &Figure| {
        Memo::new(move |_| state.charts.with(|charts| charts.as_ref().map(|charts| read(charts).clone())))
    };
    let (crowd, shoppers, rate) = (of(|c| &c.crowd), of(|c| &c.shoppers), of(|c| &c.rate));
    let (holds, writer) = (of(|c| &c.holds), of(|c| &c.writer));
    let (orders, revenue) = (of(|c| &c.orders), of(|c| &c.revenue));
    view! {
        <section class="desk-charts" aria-labelledby="desk-charts-title">
            <h2 id="desk-charts-title">{td_string!(lang, desk.charts)}</h2>
            <div class="desk-figures">
                <Drawing
                    name="crowd"
                    title=td_string!(lang, desk.crowd)
                    columns=vec![td_string!(lang, desk.waiting), td_string!(lang, desk.serving)]
                    figure=crowd
                />
                <Drawing
                    name="shoppers"
                    title=td_string!(lang, desk.shoppers)
                    columns=vec![td_string!(lang, desk.shoppers), td_string!(lang, desk.most_now)]
                    figure=shoppers
                />
                <Drawing
                    name="rate"
                    title=td_string!(lang, desk.rate_chart)
                    columns=vec![td_string!(lang, desk.rate_bound), td_string!(lang, desk.pace)]
                    figure=rate
                />
                <Drawing
                    name="holds"
                    title=td_string!(lang, desk.hold_p99)
                    columns=vec![td_string!(lang, desk.hold_p99)]
                    figure=holds
                />
                <Drawing
                    name="writer"
                    title=td_string!(lang, desk.lag)
                    columns=vec![td_string!(lang, desk.lag)]
                    figure=writer
                />
                <Drawing
                    name="orders"
                    title=td_string!(lang, desk.orders_chart)
                    columns=vec![td_string!(lang, desk.orders_per_min)]
                    figure=orders
                />
                <Drawing
                    name="revenue"
                    title=td_string!(lang, desk.revenue_chart)
                    columns=vec![td_string!(lang, desk.revenue_per_min)]
                    figure=revenue
                />
            </div>
        </section>
    }
    .into_any()
}

/// One chart: a drawing for eyes, and the same numbers for everybody.
#[component]
fn Drawing(
    name: &'static str,
    title: &'static str,
    columns: Vec<&'static str>,
    figure: Memo<Option<Figure>>,
) -> impl IntoView {
    let lang = lang();
    let svg = Memo::new(move |_| figure.get().map(|figure| figure.svg).unwrap_or_default());
    let legend = (columns.len() > 1).then(|| {
        columns
            .iter()
            .enumerate()
            .map(|(i, column)| view! { <span class=format!("chart-key chart-key-{i}")>{*column}</span> })
            .collect_view()
    });
    let heads = columns.iter().map(|column| view! { <th scope="col">{*column}</th> }).collect_view();
    let rows = move || {
        let rows = figure.get().map(|figure| figure.rows).unwrap_or_default();
        rows.into_iter()
            .map(|row| {
                let cells = row.cells.into_iter().map(|cell| view! { <td>{cell}</td> }).collect_view();
                view! { <tr><th scope="row"><time datetime=row.machine>{row.time}</time></th>{cells}</tr> }
            })
            .collect_view()
    };
    view! {
        <figure class="desk-figure" data-testid=format!("desk-chart-{name}")>
            <figcaption>
                <b>{title}</b>
                {legend}
            </figcaption>
            {move || {
                let svg = svg.get();
                if svg.is_empty() {
                    view! { <p class="quiet">{td_string!(lang, desk.no_samples)}</p> }.into_any()
                } else {
                    view! { <div class="chart-frame" aria-hidden="true" inner_html=svg></div> }.into_any()
                }
            }}
            <details>
                <summary>{td_string!(lang, desk.numbers)}</summary>
                <div class="desk-scroll desk-scroll-tall" tabindex="0" role="region" aria-label=title>
                    <table>
                        <thead><tr><th scope="col">{td_string!(lang, desk.time)}</th>{heads}</tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </details>
        </figure>
    }
    .into_any()
}
