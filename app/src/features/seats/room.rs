//! What the parts of the seat-map page share: a handful of signals, and the use-cases on them.
//!
//! Owns the page's state and talks to the server functions. Drawing and pointers belong to the
//! canvas, wording to `words`.

use super::api;
use super::key::fresh_key;
use super::model::{Notice, Selection};
use super::newer::Newer;
use super::words::Names;
use crate::clock::use_clock;
use crate::i18n::Locale;
use crate::lang::lang;
use crate::seatmap::house::House;
use crate::seatmap::scene::{Happened, Scene};
use crate::seatmap::words;
use crate::seatmap::zones::Zones;
use domain::allocation::Openings;
use domain::catalog::PerformanceView;
use domain::hold::{AreaWish, Held, join_areas};
use domain::ids::join_seats;
use domain::{Code, Millis, Money, PerformanceId, Refusal, SeatNo};
use leptos::prelude::*;
use leptos::task::spawn_local;
use std::collections::BTreeSet;

/// The shared state of one seat-map page.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// The performance.
    pub performance: PerformanceId,
    /// Most seats of one account.
    pub limit: u32,
    /// Language of the page.
    pub lang: Locale,
    /// Prices and names.
    pub view: StoredValue<PerformanceView>,
    /// The map: prices, chart, live states, focus.
    pub scene: Scene,
    /// The chosen seats.
    pub selection: RwSignal<Selection>,
    /// The fan's open hold.
    pub own: RwSignal<Option<Held>>,
    /// What is to be told.
    pub notice: RwSignal<Option<Notice>>,
    /// Whether a request of this page is under way.
    pub busy: RwSignal<bool>,
    /// Kept seats, as far as they concern this fan.
    pub openings: RwSignal<Openings>,
    /// The standing area whose number of places the keyboard is to be brought to.
    pub asked: RwSignal<Option<u32>>,
    /// Whether there is a newer map.
    pub newer: RwSignal<Newer>,
    /// Counts the newer maps that were shown, for who shows names or prices.
    pub renewed: RwSignal<u32>,
    /// The performance with its newer map, once there is one.
    pub(super) found: StoredValue<Option<PerformanceView>>,
    /// Counts looks for a newer map: only the last one counts.
    pub(super) looks: StoredValue<u32>,
}

impl Names for Room {
    fn seat(&self, seat: SeatNo) -> String {
        self.with_house(|house| house.chart().label(seat).map(|label| label.seat.to_owned()))
            .flatten()
            .unwrap_or_else(|| seat.to_string())
    }

    fn area(&self, area: u32) -> String {
        self.area_name(area)
    }
}

impl Room {
    /// The state of a page that has just been opened.
    pub fn new(view: PerformanceView) -> Self {
        Self {
            performance: view.id,
            limit: view.limit,
            lang: lang(),
            scene: Scene::new(lang(), Zones::of(&view.zones), RwSignal::new(None)),
            view: StoredValue::new(view),
            selection: RwSignal::new(Selection::default()),
            own: RwSignal::new(None),
            notice: RwSignal::new(None),
            busy: RwSignal::new(false),
            asked: RwSignal::new(None),
            newer: RwSignal::new(Newer::None),
            renewed: RwSignal::new(0),
            found: StoredValue::new(None),
            looks: StoredValue::new(0),
            openings: RwSignal::new(Openings::default()),
        }
    }

    /// Starts what only a browser does: loads the chart, connects, asks for an open hold.
    pub fn start(self) {
        Effect::new(move |_| {
            self.load();
            spawn_local(async move { self.refresh_own().await });
        });
        use_clock().measure();
        self.watch_own();
    }

    /// Loads the chart and connects; again after a failure.
    pub fn load(self) {
        let digest = self.view.with_value(|view| view.map_digest.clone());
        self.scene.load(digest, Some(self.performance), move |happened| match happened {
            Happened::Loaded => self.show_own(),
            Happened::Changed => self.after_change(),
            Happened::Rebuilt => self.look_for_newer(),
        });
    }

    /// Gives up what another fan took. While a hold is under way, the own seats turn to held first
    /// and the answer comes second: its refusal names what was lost.
    fn after_change(self) {
        if !self.busy.get_untracked() {
            self.drop_taken();
        }
        let ended = self.with_house(House::own_hold_ended).unwrap_or(false);
        if ended && self.own.get_untracked().is_some() {
            spawn_local(async move { self.refresh_own().await });
        }
    }

    pub(super) fn drop_taken(self) {
        let lost = self.with_house(|house| {
            let mut selection = self.selection.get_untracked();
            if !house.is_ready() {
                return None;
            }
            let taken = selection.drop_taken(|seat| house.state(seat));
            let full = selection.drop_full(|area| house.chart().pit(area).map_or(0, |pit| house.free_in(pit)));
            taken.or(full).map(|notice| (selection, notice))
        });
        if let Some((selection, notice)) = lost.flatten() {
            self.selection.set(selection);
            self.notice.set(Some(notice));
            self.show_own();
        }
    }

    /// Reads the house, once it is there.
    pub fn with_house<T>(self, read: impl FnOnce(&House) -> T) -> Option<T> {
        self.scene.with_house(read)
    }

    /// The name of a standing area.
    pub fn area_name(self, area: u32) -> String {
        self.with_house(|house| house.chart().pit(area).map(|pit| pit.name.clone()))
            .flatten()
            .unwrap_or_else(|| area.to_string())
    }

    /// The lowest and the highest price of a standing area's places.
    pub fn area_prices(self, area: u32) -> Option<(Money, Money)> {
        self.with_house(|house| self.prices_in(house, area)).flatten()
    }

    /// [`Self::area_prices`], for who has the house already.
    pub fn prices_in(self, house: &House, area: u32) -> Option<(Money, Money)> {
        let chart = house.chart();
        let categories: BTreeSet<u8> = chart.row_seats(area).into_iter().map(|seat| chart.category(seat)).collect();
        let prices: Vec<Money> = self.scene.zones.with_value(|zones| {
            categories.into_iter().filter_map(|category| zones.of_category(category)?.price).collect()
        });
        let by_amount = |price: &&Money| price.minor;
        Some((*prices.iter().min_by_key(by_amount)?, *prices.iter().max_by_key(by_amount)?))
    }

    /// Section, row and seat in words.
    pub fn place(self, seat: SeatNo) -> String {
        self.with_house(|house| {
            house.chart().label(seat).map(|label| words::place(self.lang, label, house.chart().kind(seat)))
        })
        .flatten()
        .unwrap_or_else(|| seat.to_string())
    }

    /// A seat was meant on the map: it is chosen, or given up; of a standing area, a first place is wanted,
    /// and how many more is asked for in the basket. `keyed`: the keyboard goes there.
    pub fn mean(self, seat: SeatNo, keyed: bool) {
        let area = self.with_house(|house| house.chart().pit_of(seat).map(|pit| pit.area)).flatten();
        let Some(area) = area else { return self.toggle(seat) };
        if self.selection.with_untracked(|selection| selection.count_in(area)) == 0 {
            self.want(area, 1);
        }
        if keyed && self.selection.with_untracked(|selection| selection.count_in(area)) > 0 {
            self.asked.set(Some(area));
        }
    }

    /// Whether the choice can be changed now; says why not.
    fn can_choose(self) -> bool {
        if self.busy.get_untracked() {
            return false;
        }
        self.newer_is_known();
        let holds = self.own.with_untracked(Option::is_some);
        if holds {
            self.notice.set(Some(Notice::Refused(Refusal::new(Code::HoldOpen, ""))));
        }
        !holds
    }

    /// Wants this many places of a standing area.
    pub fn want(self, area: u32, count: u32) {
        if !self.can_choose() {
            return;
        }
        let free = self.free_in(area);
        let mut outcome = Ok(());
        self.selection.update(|selection| outcome = selection.want(AreaWish { area, count }, free, self.limit));
        self.notice.set(outcome.err());
        self.show_own();
    }

    fn free_in(self, area: u32) -> u32 {
        self.with_house(|house| house.chart().pit(area).map(|pit| house.free_in(pit))).flatten().unwrap_or(0)
    }

    /// Chooses a seat, or gives it up.
    pub fn toggle(self, seat: SeatNo) {
        if !self.can_choose() {
            return;
        }
        let free = self.with_house(|house| house.is_free(seat)).unwrap_or(false);
        let mut outcome = Ok(());
        self.selection.update(|selection| outcome = selection.toggle(seat, free, self.limit));
        self.notice.set(outcome.err());
        self.show_own();
    }

    /// Chooses what was suggested in place of a choice that leaves a seat alone.
    pub fn take_instead(self, seats: Vec<SeatNo>) {
        if self.busy.get_untracked() {
            return;
        }
        self.selection.update(|selection| selection.replace(seats));
        self.notice.set(None);
        self.show_own();
        self.drop_taken();
    }

    /// Holds the chosen seats; `go` leads to the order.
    pub fn hold(self, go: impl Fn(&str) + 'static) {
        if self.busy.get_untracked() || self.selection.with_untracked(Selection::is_empty) {
            return;
        }
        self.busy.set(true);
        self.notice.set(None);
        let mut selection = self.selection.get_untracked();
        let (seats, areas) = (join_seats(selection.seats()), join_areas(selection.areas()));
        let key = selection.key(fresh_key);
        // Not a change of what is shown: the key alone.
        self.selection.update_untracked(|current| *current = selection);
        spawn_local(async move {
            match api::hold(self.performance, seats, areas, key).await {
                Ok(held) => go(&format!("/orders/{}", held.order)),
                Err(error) => self.refused(error.0).await,
            }
            self.busy.try_set(false);
        });
    }

    pub(super) async fn refused(self, refusal: Refusal) {
        // Without a clear answer the hold may have been made: ask before anything is called taken.
        let unclear = matches!(refusal.code, Code::HoldOpen | Code::Unavailable | Code::Internal);
        let Some(mut selection) = self.selection.try_get_untracked() else { return };
        let notice = selection.refused(refusal);
        self.selection.set(selection);
        self.notice.set(Some(notice));
        self.show_own();
        if unclear {
            self.refresh_own().await;
        }
        self.drop_taken();
    }

    /// Gives the open hold back.
    pub fn give_back(self) {
        let Some(held) = self.own.get_untracked() else { return };
        if self.busy.get_untracked() {
            return;
        }
        self.busy.set(true);
        spawn_local(async move {
            match api::hold_release(held.order).await {
                Ok(()) => {
                    self.own.try_set(None);
                    self.notice.try_set(Some(Notice::GivenBack));
                    self.show_own();
                }
                Err(error) => {
                    self.notice.try_set(Some(Notice::Refused(error.0)));
                    self.refresh_own().await;
                }
            }
            self.busy.try_set(false);
        });
    }

    /// Asks for the own open hold. Who isn't signed in has none.
    async fn refresh_own(self) {
        let Ok(found) = api::my_hold(self.performance).await else { return };
        let Some(before) = self.own.try_get_untracked() else { return };
        if before.is_some() && found.is_none() {
            self.notice.set(Some(Notice::Ended));
        }
        if before != found {
            if let Some(held) = &found {
                self.selection.update(|selection| {
                    selection.remove(&held.seats);
                    selection.clear_areas();
                });
            }
            self.own.set(found);
            self.show_own();
        }
    }

    /// Looks again when the time of the own hold has passed by the server's clock.
    fn watch_own(self) {
        let clock = use_clock();
        Effect::new(move |asked: Option<Option<Millis>>| {
            let now = clock.now()?;
            let expires = self.own.with(|own| own.as_ref().map(|held| held.expires))?;
            // Once an expiry: the sweeper may be seconds late, and its delta tells the rest.
            if now < expires || asked.flatten() == Some(expires) {
                return asked.flatten();
            }
            spawn_local(async move { self.refresh_own().await });
            Some(expires)
        });
    }

    /// Brings the house up to the chosen and held seats.
    pub(super) fn show_own(self) {
        let held = self.own.with_untracked(|own| own.as_ref().map(|held| held.seats.clone()).unwrap_or_default());
        self.selection.with_untracked(|selection| {
            self.scene.update(|house| {
                house.set_own(selection.seats(), &held);
                house.set_wanted(selection.areas());
            });
        });
        self.scene.touch();
    }
}
