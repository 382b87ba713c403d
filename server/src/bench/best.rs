//! Best available: the choice alone, without stores, in a half-sold house of 20,000 seats; beside one
//! plain look at every seat.

use super::Context;
use super::figure::{Figure, median, ms};
use anyhow::ensure;
use domain::SeatNo;
use domain::venue::Plan;
use domain::venue::adjacency::Adjacency;
use domain::venue::best::{Spread, Wish};
use domain::venue::generate;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

/// Choices that are timed; the middle one counts.
const CHOICES: usize = 200;
/// How many seats are wanted.
const WANTED: [u32; 3] = [1, 2, 4];

/// Chooses so many of the free seats, and answers how many it found.
type Choose = Box<dyn Fn(&[bool], u32) -> usize + Send>;

pub(super) async fn measure(context: Arc<Context>) -> anyhow::Result<Vec<Figure>> {
    // Pure work that takes a thread: not one of those that carry the sockets.
    tokio::task::spawn_blocking(move || of(&context)).await?
}

fn of(context: &Context) -> anyhow::Result<Vec<Figure>> {
    let seats = context.size(20_000, 1_000);
    let plan = generate::arena(seats, "Bench Arena");
    let free: Vec<bool> = (0..seats).map(is_free).collect();
    let choose = prepare(&plan);
    let plain = timed(context, || black_box(&free).iter().filter(|free| **free).count());
    let mut figures = Vec::new();
    for wanted in WANTED {
        let found = choose(&free, wanted);
        ensure!(found == wanted as usize, "best available found {found} of {wanted} seats");
        let time = timed(context, || choose(black_box(&free), wanted));
        figures.push(Figure::new(format!("best.{seats}.{wanted}_seats"), time, "ms").beside(plain));
    }
    Ok(figures)
}

/// Every second seat on average, in no order: many short gaps, which is the hard case. The same house
/// in every run.
fn is_free(seat: u32) -> bool {
    // Multiplicative hashing (Knuth): the highest bit is well mixed.
    (seat.wrapping_add(1).wrapping_mul(2_654_435_761) ^ (seat >> 3)) & 0x8000_0000 == 0
}

fn timed(context: &Context, mut work: impl FnMut() -> usize) -> f64 {
    let times = (0..context.size(CHOICES, 10)).map(|_| {
        let started = Instant::now();
        black_box(work());
        started.elapsed()
    });
    ms(median(times.collect()))
}

/// The choice over a plan, prepared once as the server does.
fn prepare(plan: &Plan) -> Choose {
    let runs = Adjacency::of(plan);
    Box::new(move |free, count| {
        let is_free = |seat: SeatNo| free.get(seat.0 as usize).copied().unwrap_or(false);
        let found = Wish::new(count, Vec::new(), None, 0)
            .ok()
            .and_then(|wish| runs.best(&wish, is_free, |_| true, Spread::NONE).ok());
        found.map_or(0, |best| best.seats.len())
    })
}
