//! What the parts of one mounted map share: chart and live states, focus, and where the map stands
//! with its server; and the seam between a map and the page that it is part of.
//!
//! Owns loading the published map and following the live one. What a tapped seat means, and in which
//! words a seat is told, is the page's ([`Host`]).

use super::browser_only::BrowserOnly;
use super::chart::Chart;
use super::house::{Applied, House};
use super::picking::Mode;
use super::socket::{Link, Report};
use super::zones::Zones;
use crate::i18n::Locale;
use domain::hold::SeatState;
use domain::venue::{Point, static_map};
use domain::{PerformanceId, SeatNo};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// Where the map stands with its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Chart or first snapshot are on their way.
    Loading,
    /// The map is up to date.
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

/// What happened to the house, for the page to take into account before it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The chart is there.
    Loaded,
    /// Live states changed.
    Changed,
    /// The sale was built anew, perhaps with another map.
    Rebuilt,
}

/// What the mouse rests on, with its place in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tip {
    /// A seat.
    Seat(SeatNo, Point),
    /// A section, by index.
    Block(usize, Point),
}

/// What was meant by a tap or a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meant {
    /// This seat was tapped.
    Seat(SeatNo),
    /// Enter or Space on this seat.
    Pressed(SeatNo),
    /// This section was tapped while selecting.
    Block(usize),
    /// A rectangle was drawn about these seats.
    Seats {
        /// The seats.
        seats: Vec<SeatNo>,
        /// Whether it takes them away.
        removes: bool,
    },
    /// A key on the canvas asked for the focused seat's row.
    Row,
    /// A key on the canvas asked for the focused seat's section.
    Section,
}

/// The seam: what a map asks of the page that it is part of.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// The map's own state.
    pub scene: Scene,
    /// Something on the map was meant.
    pub meant: Callback<Meant>,
    /// Name and details of a seat or section.
    pub tell: Callback<Tip, Option<[String; 2]>>,
    /// What a drag over the map does.
    pub mode: Signal<Mode>,
    /// Whether seats that are not free can be meant as well.
    pub any_seat: bool,
}

/// The shared state of one mounted map. Cheap to copy: all copies are the same scene.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// Language of the page.
    pub lang: Locale,
    /// The price zones in order.
    pub zones: StoredValue<Zones>,
    /// Counts changes of the house, for who draws it.
    pub version: RwSignal<u32>,
    /// Counts the charts that were loaded.
    pub charts: RwSignal<u32>,
    /// Where the map stands.
    pub status: RwSignal<Status>,
    /// The last change that came as a delta.
    pub change: RwSignal<Option<Change>>,
    /// The seats of the last delta, for the rings about them.
    pub changed: RwSignal<Vec<u32>>,
    /// The seat that the keyboard is on.
    pub focus: RwSignal<Option<SeatNo>>,
    house: StoredValue<Option<House>>,
    /// Whether the last chart is a newer one of the house that was seen already.
    newer: StoredValue<bool>,
    link: BrowserOnly<Link>,
    /// Counts loads: only the last one counts.
    loads: StoredValue<u32>,
}

impl Scene {
    /// A scene before its chart; `focus` is the seat that the keyboard is on.
    pub fn new(lang: Locale, zones: Zones, focus: RwSignal<Option<SeatNo>>) -> Self {
        Self {
            lang,
            zones: StoredValue::new(zones),
            version: RwSignal::new(0),
            charts: RwSignal::new(0),
            status: RwSignal::new(Status::Loading),
            change: RwSignal::new(None),
            changed: RwSignal::new(Vec::new()),
            focus,
            house: StoredValue::new(None),
            newer: StoredValue::new(false),
            link: BrowserOnly::new(),
            loads: StoredValue::new(0),
        }
    }

    /// Loads the chart of that digest, and follows the live map of a performance; without one, every
    /// seat is shown as free. Again after a failure, or for another chart.
    pub fn load(self, digest: String, live: Option<PerformanceId>, told: impl Fn(Happened) + Copy + 'static) {
        self.status.set(Status::Loading);
        self.link.clear();
        let Some(load) = self.begin_load() else { return };
        spawn_local(async move {
            let map = fetch_map(&digest).await;
            if !self.is_last(load) {
                return;
            }
            let Some(map) = map else {
                self.status.set(Status::Failed);
                return;
            };
            let chart = self.zones.with_value(|zones| Chart::new(map, zones));
            self.put(if live.is_some() { House::new(chart) } else { House::all_free(chart) });
            self.newer.set_value(false);
            told(Happened::Loaded);
            self.charts.update(|n| *n = n.wrapping_add(1));
            match live {
                Some(performance) => {
                    let link = Link::open(performance, move |report| self.receive(report, told));
                    self.link.set(link);
                }
                None => self.status.set(Status::Live),
            }
            self.touch();
        });
    }

    /// Puts a newer chart of the same house in the place of the one that is seen, which stays until then;
    /// the connection and all that is known of seats stay. Whether it came.
    pub async fn exchange(self, digest: &str, zones: Zones) -> bool {
        let Some(load) = self.begin_load() else { return false };
        let Some(map) = fetch_map(digest).await.filter(|_| self.is_last(load)) else { return false };
        let chart = Chart::new(map, &zones);
        self.zones.set_value(zones);
        self.update(|house| house.exchange(chart));
        self.newer.set_value(true);
        self.charts.update(|n| *n = n.wrapping_add(1));
        self.touch();
        true
    }

    /// Whether the chart is a newer one of the house that was seen before it.
    pub(super) fn is_newer(self) -> bool {
        self.newer.get_value()
    }

    /// The number of a load that begins now; none after the page.
    fn begin_load(self) -> Option<u32> {
        self.loads.try_update_value(|loads| {
            *loads = loads.wrapping_add(1);
            *loads
        })
    }

    /// Whether the page still waits for this load: it may have been left, or asked for another chart.
    fn is_last(self, load: u32) -> bool {
        self.loads.try_get_value() == Some(load)
    }

    /// Puts a house in the place of the one before.
    pub(super) fn put(self, house: House) {
        self.house.set_value(Some(house));
    }

    fn receive(self, report: Report, told: impl Fn(Happened)) {
        match report {
            Report::Lost => {
                self.house.try_update_value(|house| house.as_mut().map(House::disconnected));
                self.status.try_set(Status::Reconnecting);
            }
            Report::Frame(bytes) => match self.update(|house| house.apply(&bytes)) {
                Some(Applied::NeedsSnapshot) => drop(self.link.with(Link::resync)),
                Some(applied @ (Applied::Everything | Applied::Rebuilt)) => {
                    self.status.set(Status::Live);
                    told(Happened::Changed);
                    self.touch();
                    if applied == Applied::Rebuilt {
                        told(Happened::Rebuilt);
                    }
                }
                // A sign of life changes nothing.
                Some(Applied::Seats(seats)) if seats.is_empty() => {}
                Some(Applied::Seats(seats)) => {
                    if let Some(seat) = seats.last().copied().map(SeatNo) {
                        let state = self.with_house(|house| house.state(seat)).flatten();
                        self.change.set(state.map(|state| Change { seat, state }));
                    }
                    self.changed.set(seats);
                    told(Happened::Changed);
                    self.touch();
                }
                Some(Applied::Waiting) | None => {}
            },
        }
    }

    /// Reads the house, once it is there.
    pub fn with_house<T>(self, read: impl FnOnce(&House) -> T) -> Option<T> {
        self.house.try_with_value(|house| house.as_ref().map(read)).flatten()
    }

    /// Changes the house, once it is there; [`Scene::touch`] has it drawn.
    pub fn update<T>(self, change: impl FnOnce(&mut House) -> T) -> Option<T> {
        self.house.try_update_value(|house| house.as_mut().map(change)).flatten()
    }

    /// Tells whoever shows the house that it has changed.
    pub fn touch(self) {
        self.version.update(|n| *n = n.wrapping_add(1));
    }
}

/// The published map of that digest.
async fn fetch_map(digest: &str) -> Option<static_map::MapData> {
    let get = |ending: &str| gloo_net::http::Request::get(&format!("/maps/{digest}.{ending}")).send();
    let (json, bin) = (get("json").await.ok()?, get("bin").await.ok()?);
    if !json.ok() || !bin.ok() {
        return None;
    }
    static_map::decode(&bin.binary().await.ok()?, &json.text().await.ok()?).ok()
}
