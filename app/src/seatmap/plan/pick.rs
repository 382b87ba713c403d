//! Selecting seats for the price editor: the tools over the map, and the list that does the same
//! without a mouse and without sight.

use super::Plan;
use crate::format;
use crate::i18n::td_string;
use crate::seatmap::picking::{self, Mode};
use domain::SeatNo;
use leptos::ev::Event;
use leptos::prelude::*;
use std::collections::BTreeSet;
use wasm_bindgen::JsCast as _;

type Selected = RwSignal<BTreeSet<SeatNo>>;

/// What a drag does, groups about the focused seat, and how many seats are selected.
#[component]
pub(super) fn PickTools(plan: Plan, selection: Selected) -> impl IntoView {
    let lang = plan.scene.lang;
    let mode = plan.mode;
    let drag = move |this: Mode, testid: &'static str, text: &'static str| {
        let pressed = move || if mode.get() == this { "true" } else { "false" };
        view! {
            <button type="button" aria-pressed=pressed data-testid=testid on:click=move |_| mode.set(this)>{text}</button>
        }
    };
    let without_focus = move || plan.scene.focus.get().is_none();
    let count = Memo::new(move |_| selection.with(BTreeSet::len));
    view! {
        <div class="plan-tools" role="group" aria-label=td_string!(lang, seats.pick_tools) data-testid="pick-tools">
            <div class="plan-modes" role="group" aria-label=td_string!(lang, seats.pick_drag)>
                {drag(Mode::Move, "pick-move", td_string!(lang, seats.pick_move))}
                {drag(Mode::Add, "pick-add", td_string!(lang, seats.pick_add))}
                {drag(Mode::Remove, "pick-remove", td_string!(lang, seats.pick_remove))}
            </div>
            <button type="button" class="button" data-testid="pick-row" disabled=without_focus on:click=move |_| plan.pick(&plan.focused_row())>
                {td_string!(lang, seats.pick_row)}
            </button>
            <button type="button" class="button" data-testid="pick-section" disabled=without_focus on:click=move |_| plan.pick(&plan.focused_section())>
                {td_string!(lang, seats.pick_section)}
            </button>
            <button
                type="button"
                class="button"
                data-testid="pick-clear"
                disabled=move || count.get() == 0
                on:click=move |_| selection.set(BTreeSet::new())
            >
                {td_string!(lang, seats.pick_clear)}
            </button>
            <p role="status" data-testid="pick-count" data-count=move || count.get().to_string()>
                {move || td_string!(lang, seats.pick_count, count = format::number(count.get() as u64))}
            </p>
        </div>
    }
    .into_any()
}

fn is_open(ev: &Event) -> bool {
    let target = ev.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    target.is_some_and(|details| details.has_attribute("open"))
}

/// All sections with their rows, as buttons; made when it is opened, in the browser alone.
#[component]
pub(super) fn PickList(plan: Plan, selection: Selected) -> impl IntoView {
    let lang = plan.scene.lang;
    let open = RwSignal::new(false);
    let sections = move || {
        plan.scene.charts.track();
        let blocks = plan.scene.with_house(|house| {
            let sizes = house.chart().block_sizes();
            house.chart().blocks().iter().zip(sizes).map(|(block, size)| (block.name.clone(), size)).collect::<Vec<_>>()
        });
        let item = |(index, (name, size)): (usize, (String, u32))| {
            view! { <Section plan selection block=index name size/> }
        };
        let all = blocks.unwrap_or_default().into_iter().enumerate();
        // A newer plan may have left a section empty.
        all.filter(|(_, (_, size))| *size > 0).map(item).collect_view()
    };
    view! {
        <details class="plan-list" data-testid="pick-list" on:toggle=move |ev| open.set(is_open(&ev))>
            <summary>{td_string!(lang, seats.pick_list)}</summary>
            <Show when=move || open.get()>
                <ul>{sections}</ul>
            </Show>
        </details>
    }
    .into_any()
}

/// A section: how many of its seats are selected, all, none, and its rows.
#[component]
fn Section(plan: Plan, selection: Selected, block: usize, name: String, size: u32) -> impl IntoView {
    let lang = plan.scene.lang;
    let open = RwSignal::new(false);
    let name = td_string!(lang, seats.section_name, section = name);
    let chosen = move || {
        plan.scene.version.track();
        plan.scene.with_house(|house| house.own_by_block().get(block).copied()).flatten().unwrap_or(0)
    };
    let set = move |removes: bool| {
        let seats = plan.block_seats(block);
        selection.update(|selection| picking::apply(selection, seats, removes));
    };
    let rows = move || {
        plan.scene.charts.track();
        let rows = plan.scene.with_house(|house| {
            let own = |(row, label): (u32, &str)| (label.to_owned(), house.chart().row_seats(row));
            house.chart().block_rows(block).into_iter().map(own).collect::<Vec<_>>()
        });
        let item = |(label, seats): (String, Vec<SeatNo>)| view! { <Row plan label seats/> };
        rows.unwrap_or_default().into_iter().map(item).collect_view()
    };
    view! {
        <li data-testid="pick-block" data-block=block.to_string()>
            <div>
                <span class="plan-list-name">{name.clone()}</span>
                <span>{move || td_string!(lang, seats.pick_of, count = format::number(chosen()), all = format::number(size))}</span>
                <button
                    type="button"
                    class="button"
                    data-testid="pick-block-all"
                    aria-label=td_string!(lang, seats.pick_all_of, name = &name)
                    on:click=move |_| set(false)
                >
                    {td_string!(lang, seats.pick_all)}
                </button>
                <button
                    type="button"
                    class="button"
                    data-testid="pick-block-none"
                    aria-label=td_string!(lang, seats.pick_none_of, name = &name)
                    on:click=move |_| set(true)
                >
                    {td_string!(lang, seats.pick_none)}
                </button>
            </div>
            <details on:toggle=move |ev| open.set(is_open(&ev))>
                <summary>{td_string!(lang, seats.pick_rows)} <span class="visually-hidden">{name}</span></summary>
                <Show when=move || open.get()>
                    <ul class="plan-rows">{rows}</ul>
                </Show>
            </details>
        </li>
    }
    .into_any()
}

/// A row: a button that selects all of it, or takes it away.
#[component]
fn Row(plan: Plan, label: String, seats: Vec<SeatNo>) -> impl IntoView {
    let lang = plan.scene.lang;
    let (all, seats) = (seats.len(), StoredValue::new(seats));
    let chosen = Memo::new(move |_| {
        plan.scene.version.track();
        plan.scene.with_house(|house| seats.with_value(|seats| house.chosen_of(seats))).unwrap_or(0)
    });
    let pressed = move || match chosen.get() {
        0 => "false",
        count if count == all => "true",
        _ => "mixed",
    };
    let name = if label.is_empty() {
        td_string!(lang, seats.no_row).to_owned()
    } else {
        td_string!(lang, seats.list_row, row = label)
    };
    let pick = move |_| {
        if let Some(selection) = plan.selection {
            selection.update(|selection| seats.with_value(|seats| picking::toggle(selection, seats)));
        }
    };
    view! {
        <li>
            <button type="button" class="button" aria-pressed=pressed data-testid="pick-list-row" on:click=pick>
                <b>{name}</b>
                <span>{move || td_string!(lang, seats.pick_of, count = format::number(chosen.get() as u64), all = format::number(all as u64))}</span>
            </button>
        </li>
    }
    .into_any()
}
