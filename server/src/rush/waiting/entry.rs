//! Going in: fans whose place is reached knock within a moment, as pages do that poll at their own
//! times, and again while the house is full. Some never come.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use domain::queue::{Entered, Phase};
use domain::refusal::Code;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::time::{Instant, timeout, timeout_at};

use super::super::journal::Visit;
use super::super::world::EXPIRY_MARGIN_US;
use super::Scene;
use super::agenda::Agenda;
use super::joins::{micros, soon};
use super::wire::{Heard, Tally, Wire, enter_request, heard};

/// Within this time after its place is reached, a page has polled and knocks.
const KNOCKS_WITHIN_MS: u64 = 1_000;
/// Longest wait for the board to change before the dispatcher looks at the clock.
const BOARD_WAIT: Duration = Duration::from_millis(500);
/// Wait before another try after a line broke, in milliseconds.
const BROKEN_WAIT_MS: u64 = 200;

/// A fan who means to come in.
pub(super) struct Guest {
    pub(super) fan: usize,
    pub(super) place: u32,
    pub(super) ticket: String,
}

/// A knock that is to come.
struct Knock {
    guest: Guest,
    meant: Instant,
    nonce: String,
}

/// What came of the knocking.
pub(super) struct Entries {
    pub(super) visits: Vec<Visit>,
    pub(super) tally: Tally,
    /// Fans whose place was reached.
    pub(super) called: u64,
}

/// Lets guests in until `deadline`, each when its place is reached.
pub(super) async fn enter(scene: &Arc<Scene>, mut guests: Vec<Guest>, deadline: Instant) -> anyhow::Result<Entries> {
    let agenda = Arc::new(Agenda::new());
    let lines: Vec<_> = (0..scene.connections)
        .map(|number| tokio::spawn(line(Arc::clone(scene), Arc::clone(&agenda), number, deadline)))
        .collect();
    // The last is the next: whoever is called is taken from the end.
    guests.sort_unstable_by_key(|guest| std::cmp::Reverse(guest.place));
    let called = call(scene, &agenda, guests, deadline).await;
    agenda.close();
    let (mut visits, mut tally) = (Vec::new(), Tally::new());
    for line in lines {
        let (part, counted) = line.await.context("a line at the door broke off")?;
        visits.extend(part);
        tally.add(&counted);
    }
    Ok(Entries { visits, tally, called })
}

/// Calls guests as the door reaches their places: how many.
async fn call(scene: &Scene, agenda: &Agenda<Knock>, mut guests: Vec<Guest>, deadline: Instant) -> u64 {
    let mut dice = StdRng::seed_from_u64(scene.seed.rotate_left(32));
    let (mut board, mut called) = (scene.board.subscribe(), 0);
    while Instant::now() < deadline && !guests.is_empty() {
        let status = board.borrow_and_update().clone();
        let serving = status.filter(|status| status.phase == Phase::Open).map_or(0, |status| status.serving);
        while let Some(guest) = guests.pop_if(|guest| guest.place < serving) {
            let meant = Instant::now() + Duration::from_millis(dice.random_range(0..=KNOCKS_WITHIN_MS));
            let nonce = format!("{:016x}{:016x}", dice.random::<u64>(), dice.random::<u64>());
            agenda.add(meant, Knock { guest, meant, nonce });
            called += 1;
        }
        // Nothing new is no news: the loop looks at the clock.
        let _news = timeout(BOARD_WAIT, board.changed()).await;
    }
    called
}

async fn line(scene: Arc<Scene>, agenda: Arc<Agenda<Knock>>, number: usize, deadline: Instant) -> (Vec<Visit>, Tally) {
    let (mut visits, mut tally) = (Vec::new(), Tally::new());
    let work = async {
        let mut wire = Wire::new(scene.address, number);
        let mut dice = StdRng::seed_from_u64(scene.seed ^ u64::try_from(number).unwrap_or(0));
        while let Some((due, knock)) = agenda.next().await {
            step(&scene, &agenda, &mut wire, &mut dice, (due, knock), (&mut visits, &mut tally)).await;
        }
    };
    // Whoever still stands before the door is cut short.
    let _in_time = timeout_at(deadline, work).await;
    (visits, tally)
}

async fn step(
    scene: &Scene,
    agenda: &Agenda<Knock>,
    wire: &mut Wire,
    dice: &mut StdRng,
    (due, knock): (Instant, Knock),
    (visits, tally): (&mut Vec<Visit>, &mut Tally),
) {
    let performance = scene.performance.to_string();
    let form = [
        ("performance", performance.as_str()),
        ("ticket", knock.guest.ticket.as_str()),
        ("nonce", knock.nonce.as_str()),
    ];
    let cookies = scene.cookies(knock.guest.fan, Some(&knock.guest.ticket));
    let request = enter_request(&scene.authority, &cookies, &form);
    match wire.call(&request, heard::<Entered>).await {
        Ok(Heard::Ok(entered)) => {
            tally.latencies.saturating_record(micros(knock.meant.elapsed()));
            tally.answers.saturating_record(micros(due.elapsed()));
            let until_us = scene.clock.at(entered.expires).saturating_sub(EXPIRY_MARGIN_US);
            visits.push(Visit { from_us: scene.clock.now_us(), until_us });
            agenda.done();
        }
        Ok(Heard::Later(code, ms)) => {
            tally.later(code);
            agenda.put_off(soon(dice, ms), knock);
        }
        Ok(Heard::No(Code::SaleClosed)) => agenda.done(),
        Ok(Heard::No(code)) => {
            tally.error("enter", code.as_str());
            agenda.done();
        }
        Ok(Heard::Unread(status)) => {
            tally.error("enter", format!("an answer with the status {status} that can't be read"));
            agenda.done();
        }
        Err(_) => {
            tally.error("enter", "no answer");
            agenda.put_off(soon(dice, BROKEN_WAIT_MS), knock);
        }
    }
}
