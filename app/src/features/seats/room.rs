//! What the parts of the seat-map page share: a handful of signals, and the use-cases on them.
//!
//! Owns the page's state and talks to the server functions. Drawing and pointers belong to the
//! canvas, wording to `words`.

use super::api;
use super::browser_only::BrowserOnly;
use super::chart::Chart;
use super::house::{Applied, House};
use super::key::fresh_key;
use super::model::{Notice, Selection};
use super::socket::{Link, Report};
use super::words;
use super::zones::Zones;
use crate::clock::use_clock;
use crate::i18n::Locale;
use crate::lang::lang;
use domain::catalog::PerformanceView;
use domain::hold::{Held, SeatState};
use domain::ids::join_seats;
use domain::venue::static_map;
use domain::{Code, Millis, PerformanceId, Refusal, SeatNo};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// Where the map stands with its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Chart or first snapshot are on their way.
    Loading,
    /// The map is live.
    Live,
    /// The connection is lost and being made again.
    Reconnecting,
    /// The chart could not be loaded.
    Failed,
}

/// The last change of a seat, for who watches the canvas from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The seat.
    pub seat: SeatNo,
    /// Its new state.
    pub state: SeatState,
}

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
    /// The price zones in order.
    pub zones: StoredValue<Zones>,
    /// Chart and live states, once loaded.
    pub house: StoredValue<Option<House>>,
    /// Counts changes of the house, for who draws it.
    pub version: RwSignal<u32>,
    /// The chosen seats.
    pub selection: RwSignal<Selection>,
    /// The fan's open hold.
    pub own: RwSignal<Option<Held>>,
    /// What is to be told.
    pub notice: RwSignal<Option<Notice>>,
    /// Where the map stands.
    pub status: RwSignal<Status>,
    /// The last change that came as a delta.
    pub change: RwSignal<Option<Change>>,
    /// The seats of the last delta, for the rings about them.
    pub changed: RwSignal<Vec<u32>>,
    /// Whether a request of this page is under way.
    pub busy: RwSignal<bool>,
    /// The seat that the keyboard is on.
    pub focus: RwSignal<Option<SeatNo>>,
    link: BrowserOnly<Link>,
}

impl Room {
    /// The state of a page that has just been opened.
    pub fn new(view: PerformanceView) -> Self {
        Self {
            performance: view.id,
            limit: view.limit,
            lang: lang(),
            zones: StoredValue::new(Zones::of(&view.zones)),
            view: StoredValue::new(view),
            house: StoredValue::new(None),
            version: RwSignal::new(0),
            selection: RwSignal::new(Selection::default()),
            own: RwSignal::new(None),
            notice: RwSignal::new(None),
            status: RwSignal::new(Status::Loading),
            change: RwSignal::new(None),
            changed: RwSignal::new(Vec::new()),
            busy: RwSignal::new(false),
            focus: RwSignal::new(None),
            link: BrowserOnly::new(),
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
        self.status.set(Status::Loading);
        spawn_local(async move {
            let digest = self.view.with_value(|view| view.map_digest.clone());
            let Some(chart) = fetch_chart(&digest, &self.zones.get_value()).await else {
                self.status.try_set(Status::Failed);
                return;
            };
            // The page may have been left meanwhile.
            if self.house.try_update_value(|house| *house = Some(House::new(chart))).is_none() {
                return;
            }
            self.show_own();
            let link = Link::open(self.performance, move |report| self.receive(report));
            self.link.set(link);
        });
    }

    fn receive(self, report: Report) {
        match report {
            Report::Lost => {
                self.house.try_update_value(|house| house.as_mut().map(House::disconnected));
                self.status.try_set(Status::Reconnecting);
            }
            Report::Frame(bytes) => {
                let applied = self.house.try_update_value(|house| house.as_mut().map(|house| house.apply(&bytes)));
                match applied.flatten() {
                    Some(Applied::NeedsSnapshot) => drop(self.link.with(Link::resync)),
                    Some(Applied::Everything) => {
                        self.status.set(Status::Live);
                        self.after_change();
                    }
                    Some(Applied::Seats(seats)) => {
                        if let Some(seat) = seats.last().copied().map(SeatNo) {
                            let state =
                                self.house.with_value(|house| house.as_ref().and_then(|house| house.state(seat)));
                            self.change.set(state.map(|state| Change { seat, state }));
                        }
                        self.changed.set(seats);
                        self.after_change();
                    }
                    Some(Applied::Waiting) | None => {}
                }
            }
        }
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
        self.version.update(|n| *n = n.wrapping_add(1));
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
        self.house.try_with_value(|house| house.as_ref().map(read)).flatten()
    }

    /// The number of a seat as the venue names it.
    pub fn seat_label(self, seat: SeatNo) -> String {
        self.with_house(|house| house.chart().label(seat).map(|label| label.seat.to_owned()))
            .flatten()
            .unwrap_or_else(|| seat.to_string())
    }

    /// Section, row and seat in words.
    pub fn place(self, seat: SeatNo) -> String {
        self.with_house(|house| house.chart().label(seat).map(|label| words::place(self.lang, label)))
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

    async fn refused(self, refusal: Refusal) {
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
    fn show_own(self) {
        let held = self.own.with_untracked(|own| own.as_ref().map(|held| held.seats.clone()).unwrap_or_default());
        self.selection.with_untracked(|selection| {
            self.house.update_value(|house| {
                if let Some(house) = house {
                    house.set_own(selection.seats(), &held);
                }
            });
        });
        self.version.update(|n| *n = n.wrapping_add(1));
    }
}

/// The published map of that digest.
async fn fetch_chart(digest: &str, zones: &Zones) -> Option<Chart> {
    let get = |ending: &str| gloo_net::http::Request::get(&format!("/maps/{digest}.{ending}")).send();
    let (json, bin) = (get("json").await.ok()?, get("bin").await.ok()?);
    if !json.ok() || !bin.ok() {
        return None;
    }
    let map = static_map::decode(&bin.binary().await.ok()?, &json.text().await.ok()?).ok()?;
    Some(Chart::new(map, zones))
}
