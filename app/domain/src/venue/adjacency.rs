//! Who sits beside whom: runs of ordinary seats without an aisle or a gap between them.
//!
//! Owns physical neighbourhood, told from places alone: labels may count in any order, by odd and
//! even or from the middle, and a file may list its seats in any order too. It does not own what is
//! free or sold: that comes in as a question about each seat.
//!
//! Two seats are neighbours when one row object holds both, none sits between them, and the way from
//! one to the other is not clearly longer than that row's usual one. Places for wheelchairs, their
//! companion seats and places to stand belong to no run, and end the run that they interrupt.

mod lines;

use std::ops::Range;

use super::geometry::Point;
use super::plan::{Kind, Plan};
use crate::ids::SeatNo;

/// In [`Adjacency::place`]: belongs to no run.
const NOWHERE: u32 = u32::MAX;
/// Distances are compared in tenths of a plan unit: what differs by less is a tie, which the seat's
/// number decides, on every machine alike.
const TENTHS: f64 = 10.0;

/// The runs of a plan, with all that choosing seats asks of a place. Made once for each plan.
#[derive(Clone, Debug)]
pub struct Adjacency {
    /// The seats of all runs, one run after the other, each in the order of sitting.
    order: Vec<SeatNo>,
    /// Where each run begins in `order`; one more than runs.
    starts: Vec<u32>,
    /// By seat number: its place in `order`.
    place: Vec<u32>,
    /// By place in `order`: its run.
    run_of: Vec<u32>,
    /// Sums of the distances to the focal point along `order`; one more than seats, so that the
    /// distance of any neighbours is one subtraction.
    walked: Vec<f64>,
    /// By seat number.
    points: Vec<Point>,
    kinds: Vec<Kind>,
    sections: Vec<u16>,
    focal: Point,
    /// The usual way from a seat to its neighbour in this house.
    pitch: f64,
}

impl Adjacency {
    /// Finds the neighbours of every ordinary seat.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let focal = plan.focal_point();
        let points: Vec<Point> = plan.seats.iter().map(|seat| seat.center()).collect();
        let mut order = Vec::with_capacity(points.len());
        let mut starts = vec![0];
        let rows: Vec<Vec<SeatNo>> = plan.seats_by_row().into_iter().map(|row| sat_on(plan, row)).collect();
        let places: Vec<Vec<Point>> = rows
            .iter()
            .map(|row| row.iter().filter_map(|seat| points.get(seat.0 as usize)).copied().collect())
            .collect();
        let all = lines::all(&places, focal);
        for (row, line) in rows.iter().zip(all).flat_map(|(row, lines)| lines.into_iter().map(move |line| (row, line)))
        {
            let seats: Vec<SeatNo> = line.into_iter().filter_map(|index| row.get(index)).copied().collect();
            // What is kept for some ends a run for all others.
            let ordinary = |seat: &SeatNo| plan.seat(seat.0).is_some_and(|seat| seat.kind == Kind::Seat);
            for run in seats.split(|seat| !ordinary(seat)).filter(|run| !run.is_empty()) {
                order.extend_from_slice(run);
                starts.push(index_of(order.len()));
            }
        }
        let mut adjacency = Self {
            place: vec![NOWHERE; points.len()],
            run_of: Vec::with_capacity(order.len()),
            walked: Vec::with_capacity(order.len() + 1),
            kinds: plan.seats.iter().map(|seat| seat.kind).collect(),
            sections: plan.seats.iter().map(|seat| seat.section).collect(),
            order,
            starts,
            points,
            focal,
            pitch: 0.0,
        };
        adjacency.settle();
        adjacency
    }

    fn settle(&mut self) {
        let mut walked = 0.0;
        self.walked.push(walked);
        for (at, seat) in (0_u32..).zip(&self.order) {
            if let Some(place) = self.place.get_mut(seat.0 as usize) {
                *place = at;
            }
            walked += self.points.get(seat.0 as usize).map_or(0.0, |point| point.distance(self.focal));
            self.walked.push(walked);
        }
        for (run, bounds) in (0_u32..).zip(self.starts.windows(2)) {
            self.run_of.resize(bounds[1] as usize, run);
        }
        let this = &*self;
        let step = |pair: &[SeatNo]| this.point(pair[0]).distance(this.point(pair[1]));
        let mut steps: Vec<f64> = this.runs().flat_map(|run| run.windows(2).map(step)).collect();
        steps.sort_unstable_by(f64::total_cmp);
        self.pitch = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    }

    /// Every run in the order of sitting; a seat without neighbours is a run of its own.
    pub fn runs(&self) -> impl Iterator<Item = &[SeatNo]> {
        (0..self.run_count()).map(|run| self.run(run))
    }

    /// How many seats the plan has, of every kind.
    #[must_use]
    pub fn seat_count(&self) -> usize {
        self.points.len()
    }

    pub(super) fn run_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The places in the common order that a run takes.
    pub(super) fn bounds(&self, run: usize) -> Range<usize> {
        match (self.starts.get(run), self.starts.get(run + 1)) {
            (Some(from), Some(to)) => *from as usize..*to as usize,
            _ => 0..0,
        }
    }

    pub(super) fn run(&self, run: usize) -> &[SeatNo] {
        self.at(self.bounds(run))
    }

    /// The seats at these places of the common order.
    pub(super) fn at(&self, places: Range<usize>) -> &[SeatNo] {
        self.order.get(places).unwrap_or(&[])
    }

    /// Run and place of a seat; none for a protected, a standing or an unknown one.
    pub(super) fn place(&self, seat: SeatNo) -> Option<(usize, usize)> {
        let place = *self.place.get(seat.0 as usize)?;
        Some((*self.run_of.get(place as usize)? as usize, place as usize))
    }

    pub(super) fn kind(&self, seat: SeatNo) -> Kind {
        self.kinds.get(seat.0 as usize).copied().unwrap_or(Kind::Standing)
    }

    pub(super) fn section(&self, seat: SeatNo) -> u16 {
        self.sections.get(seat.0 as usize).copied().unwrap_or(u16::MAX)
    }

    pub(super) fn point(&self, seat: SeatNo) -> Point {
        self.points.get(seat.0 as usize).copied().unwrap_or_default()
    }

    pub(super) fn pitch(&self) -> f64 {
        self.pitch
    }

    /// The mean distance to the focal point of neighbours at these places.
    pub(super) fn distance(&self, places: &Range<usize>) -> f64 {
        let count = places.len().max(1) as f64;
        let sum = |place: usize| self.walked.get(place).copied().unwrap_or(0.0);
        (sum(places.end) - sum(places.start)) / count
    }

    /// The distance of one seat to the focal point.
    pub(super) fn distance_of(&self, seat: SeatNo) -> f64 {
        self.point(seat).distance(self.focal)
    }

    /// The middle of seats.
    pub(super) fn middle(&self, seats: &[SeatNo]) -> Point {
        let count = seats.len().max(1) as f64;
        let sum = seats.iter().fold(Point::default(), |sum, seat| sum.plus(self.point(*seat)));
        Point::new(sum.x / count, sum.y / count)
    }
}

/// The seats of a row object: a place to stand has no neighbours.
fn sat_on(plan: &Plan, row: Vec<u32>) -> Vec<SeatNo> {
    let stands = |seat_no: &u32| plan.seat(*seat_no).is_none_or(|seat| seat.kind == Kind::Standing);
    row.into_iter().filter(|seat_no| !stands(seat_no)).map(SeatNo).collect()
}

/// A distance as it is compared.
pub(super) fn tenths(distance: f64) -> u64 {
    super::geometry::whole((distance * TENTHS).round()) as u64
}

/// Seats of a plan are far fewer than 2³².
fn index_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(NOWHERE)
}
