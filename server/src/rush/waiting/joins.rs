//! Taking places: each fan at its own moment, again when the server asks to come later, some twice.

use std::sync::Arc;
use std::time::Duration;

use domain::queue::Joined;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::time::{Instant, timeout_at};

use super::Scene;
use super::agenda::Agenda;
use super::wire::{Heard, Tally, Wire, heard, join_request};

/// Who presses twice does so within this time.
const AGAIN_WITHIN_MS: u64 = 1_000;
/// Wait before another try after a line broke, in milliseconds.
const BROKEN_WAIT_MS: u64 = 200;

/// A press of Join that is to come.
struct Press {
    fan: usize,
    /// When the fan meant to press.
    meant: Instant,
    /// When its first request left: any of them may have taken effect.
    first_sent_us: Option<u64>,
    /// The ticket of an earlier press, where the fan has one.
    ticket: Option<String>,
}

/// A place that a fan was told.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) fan: usize,
    pub(super) arrival: u32,
    pub(super) ticket: String,
    /// Whether it is the answer to the fan's first press.
    pub(super) first: bool,
    /// When the first request for it left.
    pub(super) sent_us: u64,
    /// When the answer came.
    pub(super) told_us: u64,
}

/// What a stage of joins came to.
pub(super) struct Joins {
    pub(super) told: Vec<Told>,
    pub(super) tally: Tally,
    /// Fans who had no answer when the time was over.
    pub(super) cut_short: u64,
    started_us: u64,
}

impl Joins {
    /// Places told a second, up to the last fan's first one: second presses trail behind.
    pub(super) fn rate(&self) -> f64 {
        let last_us = self.told.iter().filter(|told| told.first).map(|told| told.told_us).max().unwrap_or(0);
        let told = self.told.iter().filter(|told| told.told_us <= last_us).count();
        super::per_second(super::size(told), Duration::from_micros(last_us.saturating_sub(self.started_us)))
    }
}

/// Lets fans join, spread evenly over a time from `start` on, in the order given.
pub(super) async fn join(
    scene: &Arc<Scene>,
    fans: &[usize],
    start: Instant,
    over: Duration,
    deadline: Instant,
) -> anyhow::Result<Joins> {
    let agenda = Arc::new(Agenda::new());
    let step = over / u32::try_from(fans.len()).unwrap_or(u32::MAX).max(1);
    for (number, fan) in (0_u32..).zip(fans) {
        let meant = start + step * number;
        agenda.add(meant, Press { fan: *fan, meant, first_sent_us: None, ticket: None });
    }
    agenda.close();
    let lines: Vec<_> = (0..scene.connections)
        .map(|number| tokio::spawn(line(Arc::clone(scene), Arc::clone(&agenda), number, deadline)))
        .collect();
    let (mut told, mut tally) = (Vec::with_capacity(fans.len()), Tally::new());
    for line in lines {
        let (part, counted) = line.await?;
        told.extend(part);
        tally.add(&counted);
    }
    Ok(Joins { told, tally, cut_short: agenda.open(), started_us: scene.clock.us(start) })
}

async fn line(scene: Arc<Scene>, agenda: Arc<Agenda<Press>>, number: usize, deadline: Instant) -> (Vec<Told>, Tally) {
    let (mut told, mut tally) = (Vec::new(), Tally::new());
    let work = async {
        let mut wire = Wire::new(scene.address, number);
        let mut dice = StdRng::seed_from_u64(scene.seed ^ u64::try_from(number).unwrap_or(0));
        while let Some((due, press)) = agenda.next().await {
            step(&scene, &agenda, &mut wire, &mut dice, (due, press), (&mut told, &mut tally)).await;
        }
    };
    // Whoever still waits is cut short, and counted by the agenda.
    let _in_time = timeout_at(deadline, work).await;
    (told, tally)
}

async fn step(
    scene: &Scene,
    agenda: &Agenda<Press>,
    wire: &mut Wire,
    dice: &mut StdRng,
    (due, mut press): (Instant, Press),
    (told, tally): (&mut Vec<Told>, &mut Tally),
) {
    let cookies = scene.cookies(press.fan, press.ticket.as_deref());
    let sent_us = *press.first_sent_us.get_or_insert(scene.clock.now_us());
    let answer = wire.call(&join_request(&scene.authority, scene.performance, &cookies), heard::<Joined>).await;
    match answer {
        Ok(Heard::Ok(joined)) => {
            tally.latencies.saturating_record(micros(press.meant.elapsed()));
            tally.answers.saturating_record(micros(due.elapsed()));
            let first = press.ticket.is_none();
            if first && scene.presses_twice(press.fan) {
                let meant = Instant::now() + Duration::from_millis(dice.random_range(0..=AGAIN_WITHIN_MS));
                let ticket = Some(joined.ticket.clone());
                agenda.add(meant, Press { fan: press.fan, meant, first_sent_us: None, ticket });
            }
            let told_us = scene.clock.now_us();
            told.push(Told { fan: press.fan, arrival: joined.arrival, ticket: joined.ticket, first, sent_us, told_us });
            agenda.done();
        }
        Ok(Heard::Later(code, ms)) => {
            tally.later(code);
            agenda.put_off(soon(dice, ms), press);
        }
        Ok(Heard::No(code)) => {
            tally.error("join", code.as_str());
            agenda.done();
        }
        Ok(Heard::Unread(status)) => {
            tally.error("join", format!("an answer with the status {status} that can't be read"));
            agenda.done();
        }
        Err(_) => {
            tally.error("join", "no answer");
            agenda.put_off(soon(dice, BROKEN_WAIT_MS), press);
        }
    }
}

/// In so many milliseconds and up to half of them more, so that fans don't come back in step.
pub(super) fn soon(dice: &mut StdRng, ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(ms + dice.random_range(0..=ms / 2))
}

/// Microseconds of a time, at least one.
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1)
}
