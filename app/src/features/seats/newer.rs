//! A newer map while the page is open: an organizer may put another plan in the place of the one on sale.
//!
//! Seat numbers keep their meaning, so that what the page knows stays true, and it goes on with the older
//! map as well. Owns finding out, and what becomes of it: with nothing chosen the newer map is shown at
//! once, else when the fan wants it. The chosen seats stay chosen; those that are gone were given up with
//! the snapshot that said so.

use super::api;
use super::model::Selection;
use super::room::Room;
use crate::browser;
use crate::i18n::td_string;
use crate::seatmap::house::House;
use crate::seatmap::zones::Zones;
use domain::catalog::PerformanceView;
use gloo_timers::future::TimeoutFuture;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// No page asks sooner: a process answers for a second with what it knew before.
const AFTER_MS: f64 = 1_500.0;
/// All pages learn of a sale that was built anew in the same moment: they ask within this time.
const SPREAD_MS: f64 = 3_500.0;
/// How often a page asks while answers fail, each time spread twice as far; the next rebuilt sale, or the
/// next connection with more seats than the map has, begins anew.
const TRIES: u32 = 4;

/// Where the page stands with a newer map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Newer {
    /// None is known.
    #[default]
    None,
    /// There is one, and it waits for the fan: something is chosen, or it could not be loaded.
    Offered,
    /// The fan wants it, and it is on its way.
    Loading,
    /// It is what the page draws now.
    Shown,
}

impl Newer {
    fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Offered => "offered",
            Self::Loading => "loading",
            Self::Shown => "shown",
        }
    }
}

/// What an answer says of the map that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// It is the newest.
    Same,
    /// There is a newer one.
    Newer,
    /// The answer itself is older than what the live map has told.
    Stale,
}

/// Judges the digest and the number of seats that were found.
fn judge(drawn: &str, live_seats: usize, found: (&str, u32)) -> Answer {
    let (digest, seats) = found;
    if (seats as usize) < live_seats {
        Answer::Stale
    } else if digest == drawn {
        Answer::Same
    } else {
        Answer::Newer
    }
}

/// How long to wait before the next question.
fn wait_ms(tries: u32, random: f64) -> u32 {
    let spread = SPREAD_MS * f64::from(1_u32 << tries.min(TRIES));
    // At most a minute: the cast of a float saturates anyway.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive time below a minute")]
    let wait = spread.mul_add(random.clamp(0.0, 1.0), AFTER_MS) as u32;
    wait
}

impl Room {
    /// The sale was built anew: asks, after a while of its own, whether its map is another.
    pub(super) fn look_for_newer(self) {
        let look = self.looks.with_value(|looks| looks.wrapping_add(1));
        self.looks.set_value(look);
        // The page may be left meanwhile, or have begun a later look.
        let is_last = move || self.looks.try_get_value() == Some(look);
        spawn_local(async move {
            for tries in 0..TRIES {
                TimeoutFuture::new(wait_ms(tries, browser::spread())).await;
                if !is_last() {
                    return;
                }
                let answer = api::performance(self.performance).await;
                if !is_last() {
                    return;
                }
                let Ok(found) = answer else { continue };
                let live_seats = self.with_house(House::live_count).unwrap_or(0);
                let newest = (found.map_digest.as_str(), found.seat_count);
                match self.view.with_value(|view| judge(&view.map_digest, live_seats, newest)) {
                    Answer::Same => return,
                    Answer::Newer => return self.take_newer(found).await,
                    Answer::Stale => {}
                }
            }
        });
    }

    async fn take_newer(self, found: PerformanceView) {
        self.found.set_value(Some(found));
        if self.busy.get_untracked() || !self.selection.with_untracked(Selection::is_empty) {
            self.newer.set(Newer::Offered);
        } else {
            self.show_newer().await;
        }
    }

    /// Shows the newer map; the choice stays.
    async fn show_newer(self) {
        let Some(found) = self.found.try_get_value().flatten() else { return };
        let came = self.scene.exchange(&found.map_digest, Zones::of(&found.zones)).await;
        let last = self.found.try_with_value(|last| last.as_ref() == Some(&found));
        // The page was left meanwhile, or a map that is newer still is on its way.
        if last != Some(true) {
            return;
        }
        if !came {
            self.newer.set(Newer::Offered);
            return;
        }
        self.view.set_value(found);
        self.renewed.update(|n| *n = n.wrapping_add(1));
        self.newer.set(Newer::Shown);
        self.show_own();
        self.drop_taken();
    }

    /// The fan goes on: that the newer map is shown was read.
    pub(super) fn newer_is_known(self) {
        if self.newer.get_untracked() == Newer::Shown {
            self.newer.set(Newer::None);
        }
    }
}

/// Says that the organizer has changed the map, and offers the newer one.
#[component]
pub fn NewMap(
    /// The page's state.
    room: Room,
) -> impl IntoView {
    let lang = room.lang;
    let show = move |_| {
        room.newer.set(Newer::Loading);
        spawn_local(async move { room.show_newer().await });
    };
    let line = move || {
        let newer = room.newer.get();
        let text = match newer {
            Newer::None => return None,
            Newer::Offered | Newer::Loading => td_string!(lang, seats.newer_map),
            Newer::Shown => td_string!(lang, seats.newer_map_shown),
        };
        let button = (newer != Newer::Shown).then(|| {
            view! {
                " "
                <button type="button" class="button" data-testid="show-newer-map" disabled=newer == Newer::Loading on:click=show>
                    {td_string!(lang, seats.newer_map_show)}
                </button>
            }
        });
        Some(view! { <p class="basket-notice" data-testid="newer-map" data-state=newer.as_str()>{text} {button}</p> })
    };
    view! { <div role="status">{line}</div> }.into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_when_it_knows_every_seat_of_the_live_map() {
        assert_eq!(judge("old", 100, ("old", 100)), Answer::Same, "rebuilt for another reason");
        assert_eq!(judge("old", 100, ("new", 100)), Answer::Newer, "seats were taken away or moved");
        assert_eq!(judge("old", 120, ("new", 120)), Answer::Newer);
        assert_eq!(judge("old", 120, ("old", 100)), Answer::Stale);
        assert_eq!(judge("old", 120, ("between", 110)), Answer::Stale, "replaced twice");
        assert_eq!(judge("old", 100, ("new", 120)), Answer::Newer, "the live map is a moment behind");
    }

    #[test]
    fn pages_ask_apart_and_never_before_the_answer_can_be_new() {
        for tries in 0..TRIES {
            assert_eq!(f64::from(wait_ms(tries, 0.0)), AFTER_MS);
            assert!(wait_ms(tries, 0.25) < wait_ms(tries, 0.75));
        }
        assert!(wait_ms(0, 1.0) <= 5_000, "the first question comes within five seconds");
        assert_eq!(wait_ms(2, 0.5) - wait_ms(2, 0.0), 2 * (wait_ms(1, 0.5) - wait_ms(1, 0.0)));
    }
}
