//! The organizers' map: a house from its published files, as the page's signals say it is to be shown.
//!
//! Owns what is said of seats to organizers and what selecting means. Changes nothing by itself: the
//! page reads the selection and decides.

mod pick;

use self::pick::{PickList, PickTools};
use super::canvas::Floor;
use super::house::{House, Standing};
use super::legend::PlanLegend;
use super::picking::{self, Mode};
use super::scene::{Happened, Host, Meant, Scene, Status, Tip};
use super::zones::Zones;
use super::{Paint, SeatMark, Tone, words};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::catalog::PriceZone;
use domain::hold::SeatState;
use domain::{PerformanceId, SeatNo};
use leptos::prelude::*;
use std::collections::BTreeSet;

/// A house on the buyers' canvas, for organizers.
#[component]
pub fn PlanCanvas(
    /// Name of the published map: `/maps/<digest>.bin` and `.json`. Another digest loads another map;
    /// while it is empty, nothing is loaded.
    #[prop(into)]
    digest: Signal<String>,
    /// The price zones by index.
    #[prop(into)]
    zones: Signal<Vec<PriceZone>>,
    /// How seats are coloured.
    #[prop(optional, into)]
    paint: Signal<Paint>,
    /// Seats whose zone is another than in the map, with that zone.
    #[prop(optional, into)]
    moved: Signal<Vec<(SeatNo, u8)>>,
    /// Seats drawn as off sale, where they are free.
    #[prop(optional, into)]
    blocked: Signal<Vec<SeatNo>>,
    /// Rings about seats.
    #[prop(optional, into)]
    marks: Signal<Vec<SeatMark>>,
    /// The live states of this performance; every seat is shown as free otherwise.
    #[prop(optional)]
    live: Option<PerformanceId>,
    /// Turns selecting on: seats by tap or key, rectangles by drag, rows and sections.
    #[prop(optional)]
    selection: Option<RwSignal<BTreeSet<SeatNo>>>,
    /// Set it, and the map goes there; it follows the keyboard, too.
    #[prop(optional)]
    focus: Option<RwSignal<Option<SeatNo>>>,
) -> impl IntoView {
    let lang = lang();
    let painted = Memo::new(move |_| zones.with(|zones| Zones::painted(paint.get(), zones)));
    let focus = focus.unwrap_or_else(|| RwSignal::new(None));
    let scene = Scene::new(lang, painted.get_untracked(), focus);
    let mode = RwSignal::new(Mode::Move);
    let plan = Plan { scene, digest, painted, moved, blocked, marks, live, selection, mode };
    plan.start();
    let host = Host {
        scene,
        meant: Callback::new(move |meant| plan.take(meant)),
        tell: Callback::new(move |on| plan.tell(on)),
        mode: mode.into(),
        any_seat: true,
    };
    let help =
        if selection.is_some() { td_string!(lang, seats.plan_help_select) } else { td_string!(lang, seats.plan_help) };
    view! {
        <section class="plan-canvas" class:is-picking=move || mode.get().draws() aria-label=td_string!(lang, seats.plan_label) data-testid="plan-canvas">
            {selection.map(|selection| view! { <PickTools plan selection/> })}
            <Floor host label=td_string!(lang, seats.plan_label) help="plan-help" start=None>
                <StatusLine plan/>
                <FocusPlate plan/>
            </Floor>
            <p id="plan-help" class="visually-hidden">{help}</p>
            <PlanLegend scene zones=painted live=live.is_some() selects=selection.is_some()/>
            {selection.map(|selection| view! { <PickList plan selection/> })}
        </section>
    }
    .into_any()
}

/// What the parts of an organizers' map share.
#[derive(Clone, Copy)]
struct Plan {
    scene: Scene,
    digest: Signal<String>,
    painted: Memo<Zones>,
    moved: Signal<Vec<(SeatNo, u8)>>,
    blocked: Signal<Vec<SeatNo>>,
    marks: Signal<Vec<SeatMark>>,
    live: Option<PerformanceId>,
    selection: Option<RwSignal<BTreeSet<SeatNo>>>,
    mode: RwSignal<Mode>,
}

impl Plan {
    /// Loads the map, and keeps the house up to the page's signals.
    fn start(self) {
        let scene = self.scene;
        Effect::new(move |_| {
            self.digest.track();
            self.load();
        });
        Effect::new(move |_| {
            self.painted.track();
            self.moved.track();
            self.colour();
            scene.touch();
        });
        Effect::new(move |_| {
            self.blocked.track();
            self.block();
            scene.touch();
        });
        Effect::new(move |_| {
            self.marks.track();
            self.mark();
            scene.touch();
        });
        Effect::new(move |_| {
            if let Some(selection) = self.selection {
                selection.track();
            }
            self.choose();
            scene.touch();
        });
    }

    /// Loads the map; again after a failure.
    fn load(self) {
        let digest = self.digest.get_untracked();
        if digest.is_empty() {
            return;
        }
        self.scene.load(digest, self.live, move |happened| {
            if happened == Happened::Loaded {
                self.colour();
                self.block();
                self.mark();
                self.choose();
            }
        });
    }

    fn colour(self) {
        let zones = self.painted.get_untracked();
        self.moved.with_untracked(|moved| self.scene.update(|house| house.colour_by(&zones, moved)));
        self.scene.zones.set_value(zones);
    }

    fn block(self) {
        let blocked = self.blocked.with_untracked(|blocked| blocked.iter().copied().collect());
        self.scene.update(|house| house.set_blocked(blocked));
    }

    fn mark(self) {
        self.scene.update(|house| house.set_marks(self.marks.get_untracked()));
    }

    fn choose(self) {
        if let Some(selection) = self.selection {
            self.scene.update(|house| house.set_chosen(selection.get_untracked()));
        }
    }

    /// What was meant on the map: selecting where it is on, else going to the seat.
    fn take(self, meant: Meant) {
        let draws = self.mode.get_untracked().draws();
        match (self.selection, meant) {
            (Some(_), Meant::Pressed(seat)) => self.pick(&[seat]),
            (Some(_), Meant::Seat(seat)) if draws => self.pick(&[seat]),
            (_, Meant::Seat(seat)) => self.scene.focus.set(Some(seat)),
            (Some(selection), Meant::Seats { seats, removes }) => {
                selection.update(|selection| picking::apply(selection, seats, removes));
            }
            (_, Meant::Block(block)) => self.pick(&self.block_seats(block)),
            (_, Meant::Row) => self.pick(&self.focused_row()),
            (_, Meant::Section) => self.pick(&self.focused_section()),
            (None, Meant::Pressed(_) | Meant::Seats { .. }) => {}
        }
    }

    /// Selects a group, or takes it away: always while taking away, else where all of it is selected.
    fn pick(self, group: &[SeatNo]) {
        let Some(selection) = self.selection.filter(|_| !group.is_empty()) else { return };
        selection.update(|selection| match self.mode.get_untracked() {
            Mode::Remove => picking::apply(selection, group.iter().copied(), true),
            Mode::Move | Mode::Add => picking::toggle(selection, group),
        });
    }

    fn block_seats(self, block: usize) -> Vec<SeatNo> {
        self.scene.with_house(|house| house.chart().block_seats(block)).unwrap_or_default()
    }

    fn row_seats(self, row: u32) -> Vec<SeatNo> {
        self.scene.with_house(|house| house.chart().row_seats(row)).unwrap_or_default()
    }

    fn focused_row(self) -> Vec<SeatNo> {
        let row = self
            .scene
            .focus
            .get_untracked()
            .and_then(|seat| self.scene.with_house(|house| house.chart().row_of(seat)).flatten());
        row.map(|row| self.row_seats(row)).unwrap_or_default()
    }

    fn focused_section(self) -> Vec<SeatNo> {
        let block = self
            .scene
            .focus
            .get_untracked()
            .and_then(|seat| self.scene.with_house(|house| house.chart().block_of(seat)));
        block.map(|block| self.block_seats(block)).unwrap_or_default()
    }

    fn tell(self, on: Tip) -> Option<[String; 2]> {
        self.scene.with_house(|house| match on {
            Tip::Seat(seat, _) => self.seat_lines(house, seat),
            Tip::Block(block, _) => self.block_lines(house, block),
        })?
    }

    /// Place; zone, price, kind, state and mark of a seat.
    fn seat_lines(self, house: &House, seat: SeatNo) -> Option<[String; 2]> {
        let (lang, chart) = (self.scene.lang, house.chart());
        if chart.is_gone(seat) {
            return None;
        }
        let place = words::place(lang, chart.label(seat)?, chart.kind(seat));
        let mut parts = self.scene.zones.with_value(|zones| {
            let Some(zone) = zones.of_category(chart.category(seat)) else {
                return vec![td_string!(lang, seats.no_price).to_owned()];
            };
            vec![
                td_string!(lang, seats.zone_name, letter = zone.letter, name = &zone.name),
                zone.price
                    .map_or_else(|| td_string!(lang, seats.no_price).to_owned(), |price| format::money(lang, price)),
            ]
        });
        parts.extend(words::kind(lang, chart.kind(seat)).map(str::to_owned));
        let standing = house.standing(seat);
        match standing {
            Standing::Chosen => parts.push(td_string!(lang, seats.state_selected).to_owned()),
            // Without live states, that a seat is free says nothing.
            Standing::Live(SeatState::Available) if self.live.is_none() => {}
            // No zone was told already.
            Standing::Live(SeatState::Blocked) if chart.zone(seat).is_none() => {}
            standing => parts.push(words::standing(lang, standing).to_owned()),
        }
        parts.extend(house.mark_of(seat).map(|tone| {
            match tone {
                Tone::Bad => td_string!(lang, seats.mark_bad),
                Tone::Care => td_string!(lang, seats.mark_care),
                Tone::Note => td_string!(lang, seats.mark_note),
            }
            .to_owned()
        }));
        Some([place, parts.join(words::comma(lang))])
    }

    /// Name; seats, free, selected and marked ones of a section.
    fn block_lines(self, house: &House, index: usize) -> Option<[String; 2]> {
        let lang = self.scene.lang;
        let (block, tally) = (house.chart().blocks().get(index)?, house.tallies().get(index)?);
        let name = td_string!(lang, seats.section_name, section = &block.name);
        let size = house.chart().block_sizes().get(index).copied().unwrap_or(0);
        let mut parts = vec![td_string!(lang, seats.zone_seats, count = format::number(size))];
        if self.live.is_some() {
            parts.push(td_string!(lang, seats.section_available, count = format::number(tally.free)));
        }
        if let Some(count) = house.own_by_block().get(index).filter(|count| **count > 0) {
            parts.push(td_string!(lang, seats.pick_count, count = format::number(*count)));
        }
        if let Some(marks) = house.mark_tallies().get(index).filter(|marks| marks.count() > 0) {
            parts.push(td_string!(lang, seats.mark_count, count = format::number(marks.count())));
        }
        Some([name, parts.join(words::comma(lang))])
    }
}

/// The focused seat in words: seen in a corner of the map, and read out.
#[component]
fn FocusPlate(plan: Plan) -> impl IntoView {
    let text = Memo::new(move |_| {
        plan.scene.version.track();
        let seat = plan.scene.focus.get()?;
        plan.scene.with_house(|house| plan.seat_lines(house, seat)).flatten()
    });
    let comma = words::comma(plan.scene.lang);
    view! {
        <p class="house-focus" class:is-empty=move || text.with(Option::is_none) aria-live="polite" data-testid="announcement">
            {move || text.get().map(|[place, details]| view! { <strong>{place}</strong> <span>{comma}{details}</span> })}
        </p>
    }
    .into_any()
}

/// Where the map stands: drawing, live, reconnecting, failed; without script, that it needs one.
#[component]
fn StatusLine(plan: Plan) -> impl IntoView {
    let (scene, lang) = (plan.scene, plan.scene.lang);
    let body = move || {
        match scene.status.get() {
        // Another map takes the place of the one that is seen once it is there.
        Status::Loading if scene.charts.get() > 0 => ().into_any(),
        Status::Loading => {
            view! { <div class="house-message is-waiting"><p>{td_string!(lang, seats.map_loading)}</p></div> }.into_any()
        }
        Status::Live if plan.live.is_some() => {
            view! { <p class="house-status is-live" data-testid="live">{td_string!(lang, seats.plan_live)}</p> }.into_any()
        }
        Status::Live => ().into_any(),
        Status::Reconnecting => {
            view! { <p class="house-status" data-testid="reconnecting">{td_string!(lang, seats.map_reconnecting)}</p> }
                .into_any()
        }
        Status::Failed => view! {
            <div class="house-message is-failed" data-testid="map-failed">
                <p>{td_string!(lang, seats.plan_failed)}</p>
                <button type="button" class="button" on:click=move |_| plan.load()>{td_string!(lang, seats.try_again)}</button>
            </div>
        }
        .into_any(),
    }
    };
    view! {
        <div role="status">{body}</div>
        <div class="house-message is-unscripted"><p>{td_string!(lang, seats.map_needs_script)}</p></div>
    }
    .into_any()
}

#[cfg(test)]
mod tests;
