//! The live map: frames between server and browser, and the reducer that applies them.
//!
//! Binary, little endian. Every frame starts with its kind and the epoch. A snapshot states the
//! position up to which it is complete; a delta states the position after which it starts and the
//! one at which it ends. A client applies a delta only when it continues exactly where it stands;
//! anything else is a gap, and it asks for a new snapshot. A delta without changes is a sign of life:
//! it shows that the connection stands, and whoever missed the delta before it finds that out.
//!
//! A seat number means the same seat in every epoch. A later epoch may have more seats, never fewer: a
//! client with an older map applies its frames all the same, and knows some numbers that it can't show.

use crate::hold::SeatState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A position in a performance's log: the two numbers of a Redis stream id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LogPosition {
    /// Milliseconds part.
    pub ms: u64,
    /// Sequence within the millisecond.
    pub seq: u64,
}

impl LogPosition {
    /// Reads the form `ms-seq`.
    pub fn parse(text: &str) -> Option<Self> {
        let (ms, seq) = text.split_once('-')?;
        Some(Self { ms: ms.parse().ok()?, seq: seq.parse().ok()? })
    }
}

impl std::fmt::Display for LogPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

const KIND_SNAPSHOT: u8 = 1;
const KIND_DELTA: u8 = 2;
/// Most seats in a map: bounds what a frame can make a client allocate.
pub const SEATS_MAX: u32 = 100_000;
/// What a client sends to ask for a new snapshot.
pub const RESYNC: &str = "resync";
/// A watched map without changes gives a sign of life this often. Scripts don't see the pings of
/// WebSockets, so that a page could not tell a quiet map from a dead connection.
pub const BEAT_MS: u32 = 10_000;
/// A page that heard nothing for this long takes its connection for dead: two beats, and a slow network.
pub const QUIET_MAX_MS: u32 = 25_000;
/// Snapshots on request come at most this often to one socket; a request in between is answered when
/// the time has come.
pub const RESYNC_EVERY_MS: u32 = 1_000;
/// The close code of a process that winds down ("going away", RFC 6455). Whoever gets it spreads the
/// way back, since everybody else got it at the same moment.
pub const GOING_AWAY: u16 = 1_001;

/// One message of the live map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The whole map.
    Snapshot {
        /// Epoch of the state.
        epoch: u64,
        /// Position up to which it is complete.
        at: LogPosition,
        /// One state a seat.
        seats: Vec<SeatState>,
    },
    /// Changes since the last frame.
    Delta {
        /// Epoch of the state.
        epoch: u64,
        /// Position after which the changes start.
        after: LogPosition,
        /// Position of the last change.
        upto: LogPosition,
        /// Seats with their new states, in order.
        changes: Vec<(u32, SeatState)>,
    },
}

/// Why a frame can't be read or applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Too short, too long, or of an unknown kind.
    #[error("the frame is malformed")]
    Malformed,
    /// The frame does not continue where the map stands: ask for a snapshot.
    #[error("the frame does not continue where the map stands")]
    Gap,
}

impl Frame {
    /// Writes the frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Snapshot { epoch, at, seats } => encode_snapshot(*epoch, *at, seats),
            Self::Delta { epoch, after, upto, changes } => {
                let mut out = Vec::with_capacity(41 + changes.len() * 4);
                out.push(KIND_DELTA);
                out.extend_from_slice(&epoch.to_le_bytes());
                put_position(&mut out, *after);
                put_position(&mut out, *upto);
                // 24 bits of number and 8 of state: SEATS_MAX fits.
                for (seat, state) in changes {
                    out.extend_from_slice(&((seat << 2) | *state as u32).to_le_bytes());
                }
                out
            }
        }
    }

    /// Whether an encoded frame is a snapshot.
    pub fn is_snapshot(bytes: &[u8]) -> bool {
        bytes.first() == Some(&KIND_SNAPSHOT)
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`FrameError::Malformed`] for anything that [`Frame::encode`] does not write.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut rest = Reader(bytes);
        let kind = rest.take(1)?[0];
        let epoch = rest.u64()?;
        match kind {
            KIND_SNAPSHOT => {
                let at = rest.position()?;
                let count = rest.u32()?;
                if count > SEATS_MAX || rest.0.len() != (count as usize).div_ceil(4) {
                    return Err(FrameError::Malformed);
                }
                let packed = rest.0;
                let seats = (0..count as usize).map(|i| SeatState::from_byte(packed[i / 4] >> (2 * (i % 4)))).collect();
                Ok(Self::Snapshot { epoch, at, seats })
            }
            KIND_DELTA => {
                let (after, upto) = (rest.position()?, rest.position()?);
                if rest.0.len() % 4 != 0 {
                    return Err(FrameError::Malformed);
                }
                let mut changes = Vec::with_capacity(rest.0.len() / 4);
                while !rest.0.is_empty() {
                    let word = rest.u32()?;
                    changes.push((word >> 2, SeatState::from_byte((word & 3) as u8)));
                }
                Ok(Self::Delta { epoch, after, upto, changes })
            }
            _ => Err(FrameError::Malformed),
        }
    }
}

fn encode_snapshot(epoch: u64, at: LogPosition, seats: &[SeatState]) -> Vec<u8> {
    let count = u32::try_from(seats.len()).expect("a map has at most SEATS_MAX seats");
    let mut out = Vec::with_capacity(29 + seats.len().div_ceil(4));
    out.push(KIND_SNAPSHOT);
    out.extend_from_slice(&epoch.to_le_bytes());
    put_position(&mut out, at);
    out.extend_from_slice(&count.to_le_bytes());
    for four in seats.chunks(4) {
        out.push(four.iter().enumerate().fold(0, |byte, (i, seat)| byte | ((*seat as u8) << (2 * i))));
    }
    out
}

fn put_position(out: &mut Vec<u8>, position: LogPosition) {
    out.extend_from_slice(&position.ms.to_le_bytes());
    out.extend_from_slice(&position.seq.to_le_bytes());
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], FrameError> {
        let (head, tail) = self.0.split_at_checked(count).ok_or(FrameError::Malformed)?;
        self.0 = tail;
        Ok(head)
    }

    fn u64(&mut self) -> Result<u64, FrameError> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().map_err(|_| FrameError::Malformed)?))
    }

    fn u32(&mut self) -> Result<u32, FrameError> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| FrameError::Malformed)?))
    }

    fn position(&mut self) -> Result<LogPosition, FrameError> {
        Ok(LogPosition { ms: self.u64()?, seq: self.u64()? })
    }
}

/// The state of a map as one client knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveMap {
    epoch: u64,
    at: LogPosition,
    seats: Vec<SeatState>,
}

impl LiveMap {
    /// A map that waits for its first snapshot.
    pub fn new() -> Self {
        Self::default()
    }

    /// The states, by seat number; empty before the first snapshot.
    pub fn seats(&self) -> &[SeatState] {
        &self.seats
    }

    /// The state of one seat.
    pub fn state(&self, seat: u32) -> Option<SeatState> {
        self.seats.get(seat as usize).copied()
    }

    /// The position up to which this map is complete.
    pub fn position(&self) -> LogPosition {
        self.at
    }

    /// The epoch of this map.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Applies a frame and returns the seats whose state changed (all, for a snapshot: `None`).
    ///
    /// # Errors
    /// [`FrameError::Gap`] leaves the map as it was: ask for a snapshot. A delta for a seat that
    /// does not exist is malformed.
    pub fn apply(&mut self, frame: Frame) -> Result<Option<Vec<u32>>, FrameError> {
        match frame {
            Frame::Snapshot { epoch, at, seats } => {
                // A snapshot that was under way when newer deltas came would turn time back.
                if epoch < self.epoch || (epoch == self.epoch && at < self.at) {
                    return Err(FrameError::Gap);
                }
                *self = Self { epoch, at, seats };
                Ok(None)
            }
            Frame::Delta { epoch, after, upto, changes } => {
                if self.seats.is_empty() || epoch != self.epoch || after != self.at {
                    return Err(FrameError::Gap);
                }
                if changes.iter().any(|(seat, _)| *seat as usize >= self.seats.len()) {
                    return Err(FrameError::Malformed);
                }
                let mut changed = Vec::with_capacity(changes.len());
                for (seat, state) in changes {
                    let slot = &mut self.seats[seat as usize];
                    if *slot != state {
                        *slot = state;
                        changed.push(seat);
                    }
                }
                self.at = upto;
                Ok(Some(changed))
            }
        }
    }

    /// How many seats are available.
    pub fn available(&self) -> u32 {
        u32::try_from(self.seats.iter().filter(|s| **s == SeatState::Available).count()).unwrap_or(u32::MAX)
    }

    /// The whole map as a frame.
    pub fn snapshot(&self) -> Frame {
        Frame::Snapshot { epoch: self.epoch, at: self.at, seats: self.seats.clone() }
    }

    /// The whole map as an encoded frame.
    pub fn encoded(&self) -> Vec<u8> {
        encode_snapshot(self.epoch, self.at, &self.seats)
    }

    /// The delta from here to a later position: of several changes of a seat the last, and none that
    /// changes nothing. It may be empty, and is to be sent all the same: positions must go on alike on
    /// every process, so that a client can go from one to another.
    pub fn delta(&self, upto: LogPosition, changes: impl IntoIterator<Item = (u32, SeatState)>) -> Frame {
        let last: BTreeMap<u32, SeatState> = changes.into_iter().collect();
        let changes = last.into_iter().filter(|(seat, state)| self.state(*seat) != Some(*state)).collect();
        Frame::Delta { epoch: self.epoch, after: self.at, upto, changes }
    }

    /// A delta that changes nothing and goes nowhere: the sign of life.
    pub fn beat(&self) -> Frame {
        self.delta(self.at, [])
    }

    /// The shortest frame that leads from here to a state that was read anew; `None` when this map is
    /// there already.
    ///
    /// # Errors
    /// [`FrameError::Gap`] when that state is older than this map.
    pub fn towards(&self, epoch: u64, at: LogPosition, seats: Vec<SeatState>) -> Result<Option<Frame>, FrameError> {
        if epoch < self.epoch || (epoch == self.epoch && at < self.at) {
            return Err(FrameError::Gap);
        }
        if epoch > self.epoch || seats.len() != self.seats.len() {
            return Ok(Some(Frame::Snapshot { epoch, at, seats }));
        }
        let changed = seats.iter().zip(&self.seats).filter(|(new, old)| new != old).count();
        if changed == 0 && at == self.at {
            return Ok(None);
        }
        // A change takes four bytes, a seat of a snapshot a quarter of one.
        if changed > seats.len() / 16 {
            return Ok(Some(Frame::Snapshot { epoch, at, seats }));
        }
        Ok(Some(self.delta(at, (0..).zip(seats))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> LogPosition {
        LogPosition { ms, seq: 0 }
    }

    fn any_state() -> impl Strategy<Value = SeatState> {
        (0u8..4).prop_map(SeatState::from_byte)
    }

    proptest! {
        #[test]
        fn frames_survive_the_wire(seats in prop::collection::vec(any_state(), 0..300), changes in prop::collection::vec((0u32..SEATS_MAX, any_state()), 0..50)) {
            for frame in [
                Frame::Snapshot { epoch: 3, at: at(9), seats: seats.clone() },
                Frame::Delta { epoch: 3, after: at(9), upto: at(12), changes: changes.clone() },
            ] {
                prop_assert_eq!(Frame::decode(&frame.encode()), Ok(frame));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(frame) = Frame::decode(&bytes) {
                let mut map = LiveMap::new();
                let _outcome = map.apply(frame);
            }
        }

        /// Lost and repeated deltas never leave a wrong map behind: each is applied or reported as a gap.
        #[test]
        fn a_client_map_equals_the_server_map(steps in prop::collection::vec((0u32..20, any_state(), 0u8..10), 1..60)) {
            let mut server = LiveMap { epoch: 1, at: at(0), seats: vec![SeatState::Available; 20] };
            let mut client = server.clone();
            for (i, (seat, state, fate)) in steps.into_iter().enumerate() {
                let after = server.position();
                let delta = Frame::Delta { epoch: 1, after, upto: at(i as u64 + 1), changes: vec![(seat, state)] };
                server.apply(delta.clone()).unwrap();
                let deliveries = match fate { 0 => 0, 1 => 2, _ => 1 };
                for _ in 0..deliveries {
                    if client.apply(delta.clone()) == Err(FrameError::Gap) && client != server {
                        client.apply(server.snapshot()).unwrap();
                    }
                }
            }
            if client.apply(server.snapshot()).is_ok() {
                prop_assert_eq!(client, server);
            }
        }
    }

    #[test]
    fn a_delta_has_each_seat_once_and_nothing_that_stays_as_it_is() {
        let map = LiveMap { epoch: 1, at: at(1), seats: vec![SeatState::Available; 3] };
        let (held, free) = (SeatState::Held, SeatState::Available);
        let delta = map.delta(at(2), [(2, held), (0, held), (0, free), (1, free), (2, SeatState::Sold)]);
        let changes = vec![(2, SeatState::Sold)];
        assert_eq!(delta, Frame::Delta { epoch: 1, after: at(1), upto: at(2), changes });
        assert_eq!(map.clone().apply(map.beat()), Ok(Some(vec![])), "a beat fits where one stands");
        let mut behind = LiveMap { at: at(0), ..map.clone() };
        assert_eq!(behind.apply(map.beat()), Err(FrameError::Gap), "and shows who does not");
    }

    #[test]
    fn the_way_to_a_state_that_was_read_anew_is_the_shortest() {
        let map = LiveMap { epoch: 2, at: at(10), seats: vec![SeatState::Available; 64] };
        assert_eq!(map.towards(2, at(10), map.seats.clone()), Ok(None));
        assert_eq!(map.towards(2, at(9), map.seats.clone()), Err(FrameError::Gap));
        assert_eq!(map.towards(1, at(99), map.seats.clone()), Err(FrameError::Gap));
        let mut few = map.seats.clone();
        few[5] = SeatState::Held;
        let changes = vec![(5, SeatState::Held)];
        let delta = Frame::Delta { epoch: 2, after: at(10), upto: at(11), changes };
        assert_eq!(map.towards(2, at(11), few.clone()), Ok(Some(delta)));
        let all = vec![SeatState::Sold; 64];
        for (epoch, seats) in [(2, all), (3, few)] {
            let snapshot = Frame::Snapshot { epoch, at: at(11), seats: seats.clone() };
            assert_eq!(map.towards(epoch, at(11), seats), Ok(Some(snapshot)));
        }
    }

    proptest! {
        /// Clients that move between processes, which are not equally far, end where the log ends: stale
        /// snapshots are refused and asked for again, and nothing is ever taken back.
        #[test]
        fn a_client_that_moves_between_processes_ends_where_the_log_ends(
            log in prop::collection::vec((0u32..12, any_state()), 1..50),
            steps in prop::collection::vec((0usize..2, 0usize..6, any::<bool>()), 1..80),
        ) {
            let first = LiveMap { epoch: 1, at: at(0), seats: vec![SeatState::Available; 12] };
            let mut hubs = [(first.clone(), 0), (first, 0)];
            let (mut client, mut on) = (LiveMap::new(), 0);
            let read = |hub: &mut (LiveMap, usize), count: usize| {
                let end = (hub.1 + count).min(log.len());
                let frame = hub.0.delta(at(end as u64), log[hub.1..end].iter().copied());
                hub.1 = end;
                hub.0.apply(frame.clone()).unwrap();
                frame
            };
            let last = (0..2).map(|hub| (hub, log.len(), true));
            for (hub, count, moves) in steps.into_iter().chain(last) {
                let frame = read(&mut hubs[hub], count);
                let before = client.position();
                if moves {
                    on = hub;
                    let _stale = client.apply(hubs[on].0.snapshot());
                } else if on == hub && client.apply(frame) == Err(FrameError::Gap) {
                    let _stale = client.apply(hubs[on].0.snapshot());
                }
                prop_assert!(client.position() >= before);
            }
            prop_assert_eq!(&client, &hubs[0].0);
            prop_assert_eq!(&client, &hubs[1].0);
        }
    }

    #[test]
    fn twenty_thousand_seats_fit_into_six_kilobytes() {
        let frame = Frame::Snapshot { epoch: 1, at: at(1), seats: vec![SeatState::Sold; 20_000] };
        assert!(frame.encode().len() <= 6 * 1024);
    }

    #[test]
    fn an_older_snapshot_never_turns_time_back() {
        let mut map = LiveMap { epoch: 2, at: at(10), seats: vec![SeatState::Sold] };
        let old = Frame::Snapshot { epoch: 2, at: at(9), seats: vec![SeatState::Available] };
        assert_eq!(map.apply(old), Err(FrameError::Gap));
        assert_eq!(map.state(0), Some(SeatState::Sold));
    }
}
