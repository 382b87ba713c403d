//! The list alternative to the map: rendered by the server, usable by keyboard, by ear, and without
//! JavaScript.
//!
//! One form holds the checked seats, and for each standing area a number of places. Its idempotency key
//! is part of the page's data, so that sending it twice makes one hold, and both sides render the same
//! HTML.

use super::api::{self, HoldList};
use super::kept::Kept;
use super::kept_api;
use super::key::fresh_key;
use super::model::Notice;
use super::pick::PickForm;
use super::words;
use crate::components::fees;
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::seatmap::words as map_words;
use crate::seatmap::zones::Zones;
use domain::allocation::Openings;
use domain::catalog::{ListArea, ListRow, ListSeat, ListSection, PerformanceView, SeatList};
use domain::{Code, PerformanceId, SeatNo};
use leptos::prelude::*;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};
use serde::{Deserialize, Serialize};

/// Everything that one rendering of the list shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ListData {
    view: PerformanceView,
    list: SeatList,
    /// The idempotency key of the form.
    key: String,
    /// That of the form that asks for the best seats.
    pick_key: String,
    /// Kept seats, as far as they concern this fan.
    openings: Openings,
}

async fn load((id, section): (Option<PerformanceId>, Option<u16>)) -> Result<ListData, AppError> {
    let id = id.ok_or_else(|| AppError::new(Code::NotFound, "id: a performance is expected"))?;
    let view = api::performance(id).await?;
    let list = api::seat_list(id, section).await?;
    // Without them the seats on general sale can be had all the same.
    let openings = kept_api::seat_openings(id).await.unwrap_or_default();
    Ok(ListData { view, list, key: fresh_key(), pick_key: fresh_key(), openings })
}

/// Choosing seats from a list.
#[component]
pub fn SeatListPage() -> impl IntoView {
    let (params, query) = (use_params_map(), use_query_map());
    let id = move || params.read().get("id").and_then(|id| id.parse().ok());
    let section = move || query.read().get("section").and_then(|section| section.parse().ok());
    let data = Resource::new(move || (id(), section()), load);
    view! {
        <Suspense>
            {move || Suspend::new(async move {
                match data.await {
                    Ok(found) => view! { <List data=found opened=Callback::new(move |()| data.refetch())/> }.into_any(),
                    Err(error) => {
                        let back = id().map_or_else(|| "/".to_owned(), |id| format!("/performances/{id}/list"));
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Suspense>
    }
    .into_any()
}

#[component]
fn List(data: ListData, opened: Callback<()>) -> impl IntoView {
    let lang = lang();
    let ListData { view, list, key, pick_key, openings } = data;
    let chosen = list.chosen;
    let sections = list
        .sections
        .iter()
        .map(|section| view! { <li><SectionLink section=section.clone() chosen/></li> })
        .collect_view();
    let title = td_string!(lang, seats.list_title);
    let name =
        chosen.and_then(|index| list.sections.iter().find(|section| section.index == index)).map(|s| s.name.clone());
    view! {
        <Title text=format!("{title} – {}", view.artist)/>
        <div class="seatlist" data-testid="seat-list-page">
            <header>
                <h1>{title}</h1>
                <p>{view.artist.clone()} " · " {view.venue.clone()} " · " {format::moment(lang, &view.starts)}</p>
                <p>{td_string!(lang, seats.list_intro, limit = view.limit)}</p>
                {view.fees.as_ref().map(|schedule| {
                    let text = td_string!(lang, fees.applies, terms = fees::terms(lang, schedule));
                    view! { <p data-testid="fee-terms">{text}</p> }
                })}
            </header>
            <nav class="seatlist-links">
                <a href=format!("/performances/{}/seats", view.id) data-testid="to-map">{td_string!(lang, seats.to_map)}</a>
                <a href=format!("/events/{}", view.slug)>{td_string!(lang, seats.to_event)}</a>
            </nav>
            <PickForm view=view.clone() key=pick_key/>
            <Kept performance=view.id path="list" openings=Signal::stored(openings) then=opened/>
            <section aria-labelledby="sections">
                <h2 id="sections">{td_string!(lang, seats.list_sections)}</h2>
                <ul class="seatlist-sections" data-testid="sections">{sections}</ul>
            </section>
            <section id="rows" aria-labelledby="rows-title">
                <h2 id="rows-title">
                    {name.map_or_else(
                        || td_string!(lang, seats.list_choose_section).to_owned(),
                        |name| td_string!(lang, seats.section_name, section = name),
                    )}
                </h2>
                {chosen
                    .map(|section| {
                        let areas = list.areas.into_iter().filter(|area| area.section == section).collect();
                        view! { <Rows view rows=list.rows areas key/> }
                    })}
            </section>
        </div>
    }
    .into_any()
}

/// One section: its name, how many seats are free, and their prices.
#[component]
fn SectionLink(section: ListSection, chosen: Option<u16>) -> impl IntoView {
    let lang = lang();
    let some = if section.available == 0 {
        td_string!(lang, seats.section_none).to_owned()
    } else {
        td_string!(lang, seats.section_available, count = format::number(section.available))
    };
    let price = match (section.from_price, section.to_price) {
        (Some(from), Some(to)) if from != to => {
            Some(td_string!(lang, seats.price_range, from = format::money(lang, from), to = format::money(lang, to)))
        }
        (Some(price), _) => Some(format::money(lang, price)),
        (None, _) => None,
    };
    view! {
        <a
            href=format!("?section={}#rows", section.index)
            aria-current=(chosen == Some(section.index)).then_some("true")
            data-testid="section"
            data-section=section.index.to_string()
        >
            <span class="seatlist-name">{section.name}</span>
            <span>{price}</span>
            <span class="seatlist-some">{some}</span>
        </a>
    }
    .into_any()
}

/// The chosen section's free seats and standing areas in one form.
#[component]
fn Rows(view: PerformanceView, rows: Vec<ListRow>, areas: Vec<ListArea>, key: String) -> impl IntoView {
    let lang = lang();
    let hold = ServerAction::<HoldList>::new();
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(Ok(held)) = hold.value().get() {
            navigate(&format!("/orders/{}", held.order), leptos_router::NavigateOptions::default());
        }
    });
    let rows: Vec<ListRow> = rows
        .into_iter()
        .map(|mut row| {
            row.seats.retain(|seat| seat.available);
            row
        })
        .filter(|row| !row.seats.is_empty())
        .collect();
    let names = Listed {
        seats: rows.iter().flat_map(|row| &row.seats).map(|seat| (seat.seat, seat.label.clone())).collect(),
        areas: areas.iter().map(|area| (area.area, area.name.clone())).collect(),
    };
    let zones = Zones::of(&view.zones);
    let (id, limit) = (view.id, view.limit);
    let refusal = move || {
        let error = hold.value().get()?.err()?;
        Some(view! { <HoldRefused error performance=id limit names=names.clone()/> })
    };
    let areas: Vec<ListArea> = areas.into_iter().filter(|area| area.free > 0).collect();
    let body = if rows.is_empty() && areas.is_empty() {
        view! { <p>{td_string!(lang, seats.list_section_full)}</p> }.into_any()
    } else {
        let areas = areas.into_iter().map(|area| view! { <Area area limit/> }).collect_view();
        let fieldsets = rows.into_iter().map(|row| view! { <Row row zones=zones.clone()/> }).collect_view();
        view! {
            <ActionForm action=hold attr:class="seatlist-rows" attr:data-testid="hold-form">
                <input type="hidden" name="performance" value=id.to_string()/>
                <input type="hidden" name="key" value=key/>
                {areas}
                {fieldsets}
                <div class="seatlist-hold">
                    <button class="button button-accent" type="submit" data-testid="hold" disabled=move || hold.pending().get()>
                        {td_string!(lang, seats.hold)}
                    </button>
                    <p>{td_string!(lang, seats.hold_terms, minutes = view.hold_ttl_ms / 60_000)}</p>
                </div>
            </ActionForm>
        }
        .into_any()
    };
    view! {
        <div role="alert">{refusal}</div>
        {body}
    }
    .into_any()
}

/// One standing area: how many of its places are wanted.
#[component]
fn Area(area: ListArea, limit: u32) -> impl IntoView {
    let lang = lang();
    let price = map_words::prices(lang, area.from_price.zip(area.to_price));
    let id = format!("area-{}", area.area);
    let facts = format!("{id}-facts");
    view! {
        <p class="seatlist-area" data-testid="area" data-area=area.area.to_string()>
            <label for=id.clone()>{td_string!(lang, seats.list_area, area = &area.name)}</label>
            <input
                type="number"
                inputmode="numeric"
                id=id
                name=format!("areas[{}]", area.area)
                min="0"
                max=limit.min(area.free).to_string()
                value="0"
                aria-describedby=facts.clone()
            />
            <span id=facts>
                {td_string!(lang, seats.list_area_facts, price = price, count = format::number(area.free))}
            </span>
        </p>
    }
    .into_any()
}

/// One row's seats: a group of checkboxes.
#[component]
fn Row(row: ListRow, zones: Zones) -> impl IntoView {
    let lang = lang();
    let seats = row.seats.iter().map(|seat| seat_box(lang, &row, seat, &zones)).collect_view();
    view! {
        <fieldset data-testid="row">
            <legend>{td_string!(lang, seats.list_row, row = &row.label)}</legend>
            <div class="seatlist-row">{seats}</div>
        </fieldset>
    }
    .into_any()
}

fn seat_box(lang: Locale, row: &ListRow, seat: &ListSeat, zones: &Zones) -> impl IntoView + use<> {
    let price = map_words::price(lang, zones.of_category(seat.category));
    let mut name = if row.label.is_empty() {
        td_string!(lang, seats.list_seat_no_row, seat = &seat.label, price = &price)
    } else {
        td_string!(lang, seats.list_seat, row = &row.label, seat = &seat.label, price = &price)
    };
    if seat.kept {
        name = format!("{name}{}{}", map_words::comma(lang), td_string!(lang, seats.sign_kept));
    }
    if seat.accessible {
        name = format!("{name}{}{}", map_words::comma(lang), td_string!(lang, seats.list_accessible));
    }
    view! {
        <label class="seatlist-seat">
            <input type="checkbox" name="seats[]" value=seat.seat.to_string() aria-label=name data-testid="seat"/>
            <b>{seat.label.clone()}</b>
            <span>{price}</span>
            {seat.kept.then(|| view! { <span data-testid="seat-kept">{td_string!(lang, seats.sign_kept)}</span> })}
            {seat.accessible.then(|| view! { <span>{td_string!(lang, seats.list_accessible)}</span> })}
        </label>
    }
}

/// The names of what the page lists.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    seats: Vec<(SeatNo, String)>,
    areas: Vec<(u32, String)>,
}

impl words::Names for Listed {
    fn seat(&self, seat: SeatNo) -> String {
        self.seats.iter().find(|(no, _)| *no == seat).map_or_else(|| seat.to_string(), |(_, label)| label.clone())
    }

    fn area(&self, area: u32) -> String {
        self.areas.iter().find(|(no, _)| *no == area).map_or_else(|| area.to_string(), |(_, name)| name.clone())
    }
}

/// Why nothing was held, and what to do.
#[component]
pub(super) fn HoldRefused(error: AppError, performance: PerformanceId, limit: u32, names: Listed) -> impl IntoView {
    let lang = lang();
    let code = error.code();
    let notice = match code {
        Code::SeatTaken if !error.0.seats.is_empty() => Notice::Taken { lost: error.0.seats, kept: Vec::new() },
        Code::LeavesSingle if !error.0.seats.is_empty() => {
            Notice::LeavesSingle { lonely: error.0.seats, instead: error.0.instead }
        }
        Code::PassRequired | Code::PassInvalid => Notice::PassRequired,
        Code::SignInRequired => Notice::SignInRequired,
        _ => Notice::Refused(error.0),
    };
    let text = match &notice {
        Notice::Refused(refusal) if refusal.code == Code::InvalidInput && refusal.message.starts_with("areas[") => {
            td_string!(lang, seats.list_bad_count).to_owned()
        }
        // The page itself sends everything else.
        Notice::Refused(refusal) if refusal.code == Code::InvalidInput && refusal.message.starts_with("seats:") => {
            td_string!(lang, seats.list_choose_seat).to_owned()
        }
        notice => words::notice(lang, notice, limit, &names),
    };
    let link = match &notice {
        Notice::PassRequired => Some((format!("/performances/{performance}/queue"), td_string!(lang, seats.to_queue))),
        Notice::SignInRequired => {
            Some((format!("/sign-in?next=/performances/{performance}/list"), td_string!(lang, seats.sign_in)))
        }
        Notice::Refused(refusal) if refusal.code == Code::HoldOpen => {
            Some(("/orders".to_owned(), td_string!(lang, common.my_orders)))
        }
        _ => None,
    };
    view! {
        <p class="notice notice-bad" data-testid="refusal" data-code=code.as_str()>
            <span>{text} {link.map(|(href, label)| view! { " " <a href=href>{label}</a> })}</span>
        </p>
    }
    .into_any()
}
