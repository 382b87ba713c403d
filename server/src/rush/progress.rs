//! Where a run stands, told about once a second.

use std::fmt;

use serde::Serialize;

use super::RushConfig;
use super::world::World;

/// Where a run stands; its `Display` is a line for people.
#[derive(Clone, Debug, Serialize)]
pub struct Progress {
    /// Seconds since the start.
    pub elapsed_s: u64,
    /// All fans.
    pub fans: u64,
    /// Have a place in the queue.
    pub joined: u64,
    /// Went in.
    pub admitted: u64,
    /// Accepted holds.
    pub holds: u64,
    /// Holds lost to others.
    pub conflicts: u64,
    /// Accepted cards.
    pub paid: u64,
    /// Issued tickets.
    pub tickets: u64,
    /// Fans whose evening is over.
    pub finished: u64,
    /// Open sockets to the live map.
    pub sockets: u64,
    /// Places that may enter.
    pub serving: u32,
    /// Seats available.
    pub stock: u32,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>4} s  joined {}/{}  serving {}  admitted {}  holds {} (+{} lost)  paid {}  tickets {}  left {}  sockets {}  stock {}",
            self.elapsed_s,
            self.joined,
            self.fans,
            self.serving,
            self.admitted,
            self.holds,
            self.conflicts,
            self.paid,
            self.tickets,
            self.finished,
            self.sockets,
            self.stock
        )
    }
}

impl Progress {
    /// Where a run stands now.
    pub(super) fn of(config: &RushConfig, world: &World) -> Self {
        let (tally, status) = (&world.tally, world.board.newest());
        Self {
            elapsed_s: world.clock.elapsed().as_secs(),
            fans: u64::try_from(config.fans.len()).unwrap_or(u64::MAX),
            joined: tally.joined.get(),
            admitted: tally.admitted.get(),
            holds: tally.holds.get(),
            conflicts: tally.conflicts.get(),
            paid: tally.paid.get(),
            tickets: tally.tickets.get(),
            finished: tally.finished.get(),
            sockets: u64::try_from(world.socket_count()).unwrap_or(u64::MAX),
            serving: status.as_ref().map_or(0, |status| status.serving),
            stock: status.as_ref().map_or(0, |status| status.stock),
        }
    }
}
