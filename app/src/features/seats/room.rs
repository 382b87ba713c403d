//! What the parts of the seat-map page share: a handful of signals, and the use-cases on them.
//!
//! Owns the page's state and talks to the server functions. Drawing and pointers belong to the
//! canvas, wording to `words`.

use super::api;
use super::key::fresh_key;
use super::model::{Notice, Selection};
use crate::clock::use_clock;
use crate::i18n::Locale;
use crate::lang::lang;
use crate::seatmap::house::House;
use crate::seatmap::scene::{Happened, Scene};
use crate::seatmap::words;
use crate::seatmap::zones::Zones;
use domain::catalog::PerformanceView;
use domain::hold::Held;
use domain::ids::join_seats;
use domain::venue::plan::Kind;
use domain::{Code, Millis, PerformanceId, Refusal, SeatNo};
use leptos::prelude::*;
use leptos::task::spawn_local;

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

    fn drop_taken(self) {
        let lost = self.with_house(|house| {
            let mut selection = self.selection.get_untracked();
            house
                .is_ready()
                .then(|| selection.drop_taken(|seat| house.state(seat)))
                .flatten()
                .map(|notice| (selection, notice))
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

    /// The number of a seat as the venue names it; none for a place to stand.
    pub fn seat_label(self, seat: SeatNo) -> Option<String> {
        let label = self.with_house(|house| {
            let chart = house.chart();
            chart.label(seat).map(|label| (chart.kind(seat) != Kind::Standing).then(|| label.seat.to_owned()))
        });
        label.flatten().unwrap_or_else(|| Some(seat.to_string()))
    }

    /// Section, row and seat in words.
    pub fn place(self, seat: SeatNo) -> String {
        self.with_house(|house| {
            house.chart().label(seat).map(|label| words::place(self.lang, label, house.chart().kind(seat)))
        })
        .flatten()
        .unwrap_or_else(|| seat.to_string())
    }

    /// Chooses a seat, or gives it up.
    pub fn toggle(self, seat: SeatNo) {
        if self.busy.get_untracked() {
            return;
        }
        if self.own.get_untracked().is_some() {
            self.notice.set(Some(Notice::Refused(Refusal::new(Code::HoldOpen, ""))));
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
        if self.busy.get_untracked() || self.selection.with_untracked(|selection| selection.seats().is_empty()) {
            return;
        }
        self.busy.set(true);
        self.notice.set(None);
        let mut selection = self.selection.get_untracked();
        let (seats, key) = (join_seats(selection.seats()), selection.key(fresh_key));
        // Not a change of what is shown: the key alone.
        self.selection.update_untracked(|current| *current = selection);
        spawn_local(async move {
            match api::hold(self.performance, seats, key).await {
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
                self.selection.update(|selection| selection.remove(&held.seats));
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
            self.scene.update(|house| house.set_own(selection.seats(), &held));
        });
        self.scene.touch();
    }
}
