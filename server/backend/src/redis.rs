//! The hot state in Redis: one performance's seats, holds, visits and log, and its queue's numbers.
//!
//! ```text
//! sa:1:{p<id>}:epoch     string  present only when the state below is complete; equal to Postgres's
//!              meta      hash    opens, closes, limit, ttl, version, max, paused, settings, serving, term, run,
//!                                written (how far the order writer has committed the log), entered and
//!                                full (visits begun, entries that met a full house), control (what the
//!                                door's controller remembers), window (of a lottery)
//!              seats     string  one byte a seat: its state in the low two bits (0 available, 1 held, 2 sold,
//!                                3 blocked), the number of its allocation in the upper six
//!              owner     hash    seat → hold, for held and sold seats only
//!              holds     hash    hold → JSON {a account, s seats, n count, w wish, v price version, c created,
//!                                x expires, o first expiry, st state, k newest attempt, p pass}; since late money took
//!                                its seats: rc attempt, l entry of the log, f fence of the try that asked last;
//!                                g once all seats of its paid order were given back
//!              expiry    zset    hold → expiry, while it can run out
//!              held_by   hash    account → "<seats held or bought>:<open hold>"
//!              shoppers  zset    account → end of the visit
//!              entered   hash    account → nonce of the current pass
//!              log       stream  every change, in order: read by the order writer and the hubs
//!              tombs     zset    ended hold → when it may be forgotten
//! sa:1:{q<id>}:places    hash    account (16 bytes) → arrival number
//!              queue     hash    registers, opens, closes, mode, settings, next, lobby, run
//!              arrivals  string  16 bytes a number: its account, zeros where it was never given
//!              pulse     hash    process → how long its holds and its connections took lately
//! ```
//!
//! Every change is one script (`lua/*.lua`), so that a reply that never arrives leaves either all of
//! it or nothing, and repeating it is harmless. This module owns keys, scripts and their typed
//! answers; it decides nothing and knows no SQL.

mod address;
mod bare;
mod desk;
mod health;
mod hold;
mod keys;
mod mending;
mod queue;
mod reclaim;
mod scripts;
mod seats;
mod store;

pub(crate) use address::Address;
pub(crate) use bare::BareHold;
pub use health::StoreFinding;
pub(crate) use hold::{AREA_START_MAX, AreaDraw, HoldAnswer, HoldCall};
pub(crate) use keys::Keys;
pub(crate) use mending::{HoldRead, SeatMend, Stretch};
pub(crate) use queue::{ARRIVAL_BYTES, DoorRead, JoinAnswer, JoinCall, LobbyRead, QueueStart, window_text};
pub(crate) use reclaim::{ReclaimAnswer, ReclaimCall};
pub(crate) use seats::{LOG_BATCH, LogEntry, PayAnswer, RedisSeats, SeatsRead, ShortAnswer, StoreRun, read_log};
pub(crate) use store::Store;
