//! Behind the door: the map, the seats, giving them back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::hold::{Held, HoldWish, SeatState, join_areas};
use domain::ids;
use domain::queue::Joined;
use domain::refusal::{Code, Refusal};
use serde::de::IgnoredAny;
use tokio::time::{Instant, timeout};

use super::super::area::{fits, roomiest};
use super::super::chooser::choose;
use super::super::journal::{Claim, Kind};
use super::super::watch::View;
use super::super::world::EXPIRY_MARGIN_US;
use super::{End, Fan, Reply};

/// How often a fan goes for seats before it gives up.
const HOLD_TRIES_MAX: u32 = 25;
/// How often a fan whose visit has ended enters again.
const REENTRIES_MAX: u32 = 2;
/// Wait before the map is looked at again where it shows nothing.
const LOOK_AGAIN_MS: u64 = 300;
/// A fan who lost seats chooses others within this time.
const CHOOSE_AGAIN_MS: u64 = 400;
/// How long a fan waits for the map to appear.
const MAP_WAIT: Duration = Duration::from_secs(10);

impl Fan {
    /// Chooses and holds seats; the number of the claim in the journal.
    pub(super) async fn choose_seats(&mut self, joined: &Joined) -> Result<usize, End> {
        let view = self.open_map().await;
        self.pause(self.world.think_ms).await;
        let (mut avoid, mut reentries) = (BTreeSet::new(), 0);
        for _ in 0..HOLD_TRIES_MAX {
            let wish = self.pick(&view, &avoid).await?;
            let refusal = match self.hold(&wish).await? {
                Ok(claim) => return Ok(claim),
                Err(refusal) => refusal,
            };
            match refusal.code {
                Code::SeatTaken | Code::SeatNotForSale | Code::UnknownSeat => {
                    self.world.tally.conflicts.add();
                    // The map shows it in a moment; a fan does not press the same seat again meanwhile.
                    let gone = if refusal.seats.is_empty() { &wish.seats } else { &refusal.seats };
                    avoid.extend(gone.iter().map(|seat| seat.0));
                    self.pause(CHOOSE_AGAIN_MS).await;
                }
                Code::AreaFull => {
                    self.world.tally.conflicts.add();
                    self.habits.stands = false;
                    self.pause(CHOOSE_AGAIN_MS).await;
                }
                Code::PassRequired | Code::PassInvalid if reentries < REENTRIES_MAX => {
                    reentries += 1;
                    self.journal.end_visit(self.last.sent_us);
                    self.enter(joined).await?;
                }
                Code::PassRequired => return Err(End::ShownOut),
                Code::HoldClosed => {}
                Code::SaleClosed => return Err(End::SoldOut),
                _ => return Err(End::Failed),
            }
        }
        Err(End::Outrun)
    }

    /// The map of an own socket for some, else the one that all share.
    async fn open_map(&mut self) -> Arc<View> {
        let own = if self.habits.follows_map {
            self.world.open_socket(self.line.source(), self.line.cookies.header())
        } else {
            None
        };
        let view = own.unwrap_or_else(|| Arc::clone(&self.world.eyes));
        if timeout(MAP_WAIT, view.ready()).await.is_err() {
            return Arc::clone(&self.world.eyes);
        }
        view
    }

    /// What this fan wants next: places to stand or seats, as it likes best, and the other where that is gone.
    async fn pick(&mut self, view: &View, avoid: &BTreeSet<u32>) -> Result<HoldWish, End> {
        loop {
            let (world, wanted, stands) = (Arc::clone(&self.world), self.habits.wanted, self.habits.stands);
            let taboo = |seat: u32| avoid.contains(&seat) || world.is_standing(seat);
            let places = |states: &[SeatState]| roomiest(&world.areas, states, wanted);
            let chosen = view.look(|states| match places(states).filter(|_| stands) {
                Some(wish) => Some(wish),
                None => choose(states, wanted, taboo, &mut self.dice).map(HoldWish::from).or_else(|| places(states)),
            });
            if let Some(wish) = chosen {
                self.dry_since = None;
                return Ok(wish);
            }
            if self.loses_patience(0) {
                return Err(End::SoldOut);
            }
            self.wait_about(LOOK_AGAIN_MS).await;
        }
    }

    async fn hold(&mut self, wish: &HoldWish) -> Result<Result<usize, Refusal>, End> {
        let (performance, key) = (self.world.performance.to_string(), self.word());
        let (seats, areas) = (ids::join_seats(&wish.seats), join_areas(&wish.areas));
        let form = [
            ("performance", performance.as_str()),
            ("seats", seats.as_str()),
            ("areas", areas.as_str()),
            ("key", key.as_str()),
        ];
        match self.insist::<Held>(Kind::Hold, "/api/hold", &form, Instant::now()).await {
            Reply::Ok(held) => Ok(Ok(self.accept(held, wish))),
            Reply::No(refusal) if refusal.code == Code::HoldOpen => self.recover(wish).await.map(Ok),
            Reply::No(refusal) => Ok(Err(refusal)),
            Reply::Fault => Err(End::Failed),
        }
    }

    /// An own hold is open of which no answer came back: it is read instead.
    async fn recover(&mut self, wish: &HoldWish) -> Result<usize, End> {
        let performance = self.world.performance.to_string();
        let form = [("performance", performance.as_str())];
        match self.insist::<Option<Held>>(Kind::MyHold, "/api/my-hold", &form, Instant::now()).await {
            Reply::Ok(Some(held)) => Ok(self.accept(held, wish)),
            Reply::Ok(None) | Reply::No(_) | Reply::Fault => Err(End::Failed),
        }
    }

    fn accept(&mut self, held: Held, wish: &HoldWish) -> usize {
        let mut seats = held.seats;
        seats.sort_unstable();
        if !fits(&self.world.areas, wish, &seats) {
            let (asked, given) = (ids::join_seats(&wish.seats), ids::join_seats(&seats));
            let areas = join_areas(&wish.areas);
            self.journal
                .breaches
                .push(format!("hold {}: seats {asked}, places {areas} were asked for, {given} were given", held.order));
        }
        let expires_us = self.world.clock.at(held.expires).saturating_sub(EXPIRY_MARGIN_US);
        self.journal.claims.push(Claim::new(held.order, seats, self.last.sent_us, self.last.ended_us, expires_us));
        self.world.tally.holds.add();
        self.journal.claims.len() - 1
    }

    /// Gives the seats back and goes.
    pub(super) async fn release(&mut self, claim: usize) -> Result<End, End> {
        let order = self.journal.claims[claim].order.to_string();
        // From the first request on the seats may be anybody's, whatever becomes of the answer.
        let leaving_us = self.world.clock.now_us();
        self.journal.claims[claim].given_back_us = Some(leaving_us);
        self.journal.end_visit(leaving_us);
        match self.insist::<IgnoredAny>(Kind::Release, "/api/hold-release", &[("order", &order)], Instant::now()).await
        {
            Reply::Ok(_) => Ok(End::Released),
            Reply::No(refusal) if refusal.code == Code::HoldClosed => Ok(End::Released),
            Reply::No(_) | Reply::Fault => Err(End::Failed),
        }
    }
}
