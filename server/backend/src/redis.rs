//! The hot state in Redis: one performance's seats, holds, visits and log, and its queue's numbers.
//!
//! ```text
//! sa:1:{p<id>}:epoch     string  present only when the state below is complete; equal to Postgres's
//!              meta      hash    opens, closes, limit, ttl, version, max, paused, settings, serving, term, run,
//!                                written (how far the order writer has committed the log)
//!              seats     string  one byte a seat: its state in the low two bits (0 available, 1 held, 2 sold,
//!                                3 blocked), the number of its allocation in the upper six
//!              owner     hash    seat → hold, for held and sold seats only
//!              holds     hash    hold → JSON {a account, s seats, n count, w wish, v price version, c created,
//!                                x expires, o first expiry, st state, t attempt, p pass}
//!              expiry    zset    hold → expiry, while it can run out
//!              held_by   hash    account → "<seats held or bought>:<open hold>"
//!              shoppers  zset    account → end of the visit
//!              entered   hash    account → nonce of the current pass
//!              log       stream  every change, in order: read by the order writer and the hubs
//!              tombs     zset    ended hold → when it may be forgotten
//! sa:1:{q<id>}:places    hash    account (16 bytes) → arrival number
//!              queue     hash    opens, closes, settings, next, lobby
//! ```
//!
//! Every change is one script (`lua/*.lua`), so that a reply that never arrives leaves either all of
//! it or nothing, and repeating it is harmless. This module owns keys, scripts and their typed
//! answers; it decides nothing and knows no SQL.

mod desk;
mod hold;
mod keys;
mod mending;
mod scripts;
mod seats;

pub(crate) use hold::{AREA_START_MAX, AreaDraw, HoldAnswer, HoldCall};
pub(crate) use keys::Keys;
pub(crate) use mending::{HoldRead, SeatMend, Stretch};
pub(crate) use seats::{LOG_BATCH, LogEntry, PayAnswer, RedisSeats, SeatsRead, ShortAnswer, read_log};

use crate::error::Result;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use std::time::Duration;

/// A script on an idle store takes well under a millisecond; a call that waits half a second is an outage.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// A local or near store answers a connection at once.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// Waits between reconnects stay below this, so that a store that is back is found soon.
const RECONNECT_DELAY_MAX: Duration = Duration::from_millis(500);
/// Reconnects before a command gives up; the next command tries again.
const RECONNECT_TRIES: usize = 6;

/// Opens a connection that repairs itself. The command in flight when it breaks fails.
pub(crate) async fn connect(url: &str) -> Result<ConnectionManager> {
    let config = ConnectionManagerConfig::new()
        .set_response_timeout(Some(RESPONSE_TIMEOUT))
        .set_connection_timeout(Some(CONNECTION_TIMEOUT))
        .set_max_delay(RECONNECT_DELAY_MAX)
        .set_number_of_retries(RECONNECT_TRIES);
    Ok(ConnectionManager::new_with_config(redis::Client::open(url)?, config).await?)
}
