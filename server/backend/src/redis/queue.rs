//! Typed calls of the scripts over a queue's numbers, and of those of the door.

use super::seats::{broken, number, word};
use super::{Keys, RedisSeats};
use crate::error::Result;
use domain::queue::{Mode, Window};
use domain::{AccountId, Millis};
use redis::FromRedisValue as _;
use redis::Value;
use std::collections::HashMap;

/// Bytes of an account in the list of arrivals.
pub(crate) const ARRIVAL_BYTES: usize = 16;

/// The numbers of a queue as `lobby.lua` reads them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LobbyRead {
    /// Places given.
    pub(crate) joined: u32,
    /// Size of the lobby, once frozen.
    pub(crate) lobby: Option<u32>,
    /// Redis's clock.
    pub(crate) now: Millis,
    /// Whether numbers may have been skipped after a loss of the store.
    pub(crate) holes: bool,
}

/// One call among those that `join.lua` answers together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinCall {
    pub(crate) account: AccountId,
    /// The arrival number of a signed ticket, should the queue have lost it.
    pub(crate) known: Option<u32>,
}

/// What came of one join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JoinAnswer {
    /// The arrival number.
    Place(u32),
    /// The sale has ended.
    Ended,
    /// Places can't be taken yet.
    NotYet,
    /// The registration of a lottery is over.
    RegistrationOver,
    /// The numbers are being put right.
    Rebuilding,
}

/// What the door's controller decides by.
#[derive(Clone, Debug)]
pub(crate) struct DoorRead {
    pub(crate) serving: u32,
    pub(crate) shoppers: u32,
    /// Visits begun since the state was built.
    pub(crate) entered: u64,
    /// Entries that met a full house since the state was built.
    pub(crate) met_full: u64,
    /// What the controller remembers, as JSON; empty for nothing.
    pub(crate) control: String,
    /// The window of a lottery.
    pub(crate) window: Option<Window>,
    pub(crate) now: Millis,
}

/// What a queue opens with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueStart {
    pub(crate) registers: Millis,
    pub(crate) opens: Millis,
    pub(crate) closes: Millis,
    pub(crate) mode: Mode,
    /// Least number to give next.
    pub(crate) next: i64,
    pub(crate) lobby: Option<i64>,
    /// Whether numbers may have been skipped.
    pub(crate) holes: bool,
}

/// A window as the store keeps it.
pub(crate) fn window_text(window: Option<&Window>) -> String {
    window.map_or_else(String::new, |window| serde_json::to_string(window).unwrap_or_default())
}

/// Reads a window as the store keeps it.
pub(crate) fn read_window(text: &str) -> Option<Window> {
    serde_json::from_str(text).ok()
}

impl RedisSeats {
    /// Gives or restores places, all in one call: an answer for each, in order.
    pub(crate) async fn join_all(&self, keys: &Keys, calls: &[JoinCall]) -> Result<Vec<JoinAnswer>> {
        let known: Vec<String> = calls.iter().map(|c| c.known.map_or_else(String::new, |n| n.to_string())).collect();
        let args: Vec<&[u8]> = calls
            .iter()
            .zip(&known)
            .flat_map(|(call, known)| [call.account.0.as_bytes().as_slice(), known.as_bytes()])
            .collect();
        let values = self.connection().script(self.scripts.join, keys.queue(), &args).await?;
        if word(&values) != "ok" {
            return Ok(vec![JoinAnswer::Rebuilding; calls.len()]);
        }
        let answers: Result<Vec<JoinAnswer>> = (1..values.len()).map(|at| join_answer(&values, at)).collect();
        let answers = answers?;
        if answers.len() == calls.len() { Ok(answers) } else { Err(broken("join.lua", &values.len())) }
    }

    /// The numbers of the queue by Redis's clock; `None` when the queue is not set up in this run.
    pub(crate) async fn lobby(&self, keys: &Keys) -> Result<Option<LobbyRead>> {
        let values = self.run(&self.scripts.lobby, keys.queue(), &[]).await?;
        if word(&values) != "ok" {
            return Ok(None);
        }
        let joined = u32::try_from(number(&values, 1)?).map_err(|_| broken("lobby.lua", &values))?;
        let (lobby, now) = (u32::try_from(number(&values, 2)?).ok(), Millis(number(&values, 3)?));
        Ok(Some(LobbyRead { joined, lobby, now, holes: number(&values, 4)? == 1 }))
    }

    /// Opens the queue in this run, once its numbers are there.
    pub(crate) async fn queue_init(&self, keys: &Keys, start: &QueueStart) -> Result<()> {
        let args = [
            start.opens.0.to_string(),
            start.closes.0.to_string(),
            start.registers.0.to_string(),
            start.mode.as_str().to_owned(),
            start.next.to_string(),
            start.lobby.map(|n| n.to_string()).unwrap_or_default(),
            u8::from(start.holes).to_string(),
        ];
        self.run(&self.scripts.queue_init, keys.queue(), &args.each_ref().map(String::as_str)).await?;
        Ok(())
    }

    /// Puts a stretch of places back before the queue is opened; `false` when it is open already.
    pub(crate) async fn queue_restore(&self, keys: &Keys, first: u32, accounts: &[u8]) -> Result<bool> {
        let first = first.to_string();
        let args = [first.as_bytes(), accounts];
        let values = self.connection().script(self.scripts.queue_restore, keys.queue(), &args).await?;
        Ok(word(&values) == "ok")
    }

    /// The accounts of arrival numbers from `first` to before `last`: 16 bytes each, zeros for a number that
    /// was never given. Short where the store has fewer.
    pub(crate) async fn arrivals(&self, keys: &Keys, first: u32, last: u32) -> Result<Vec<u8>> {
        let at = |number: u32| u64::from(number) * ARRIVAL_BYTES as u64;
        if last <= first {
            return Ok(Vec::new());
        }
        let range = redis::cmd("GETRANGE").arg(keys.queue_arrivals()).arg(at(first)).arg(at(last) - 1).to_owned();
        Ok(range.query_async(&mut self.connection()).await?)
    }

    /// Whether somebody has each of these arrival numbers.
    pub(crate) async fn are_given(&self, keys: &Keys, arrivals: &[u32]) -> Result<Vec<bool>> {
        let mut pipe = redis::pipe();
        for arrival in arrivals {
            let at = u64::from(*arrival) * ARRIVAL_BYTES as u64;
            pipe.cmd("GETRANGE").arg(keys.queue_arrivals()).arg(at).arg(at + ARRIVAL_BYTES as u64 - 1);
        }
        let accounts: Vec<Vec<u8>> = pipe.query_async(&mut self.connection()).await?;
        Ok(accounts.iter().map(|account| account.iter().any(|byte| *byte != 0)).collect())
    }

    /// What the controller decides by; `None` while the state is not complete, or when a newer leader asked.
    pub(crate) async fn door(&self, keys: &Keys, epoch: i64, term: i64) -> Result<Option<DoorRead>> {
        let args = [epoch.to_string(), term.to_string()];
        let values = self.run(&self.scripts.door, keys.all(), &args.each_ref().map(String::as_str)).await?;
        if word(&values) != "ok" {
            return Ok(None);
        }
        let text =
            |at: usize| values.get(at).and_then(|value| String::from_redis_value_ref(value).ok()).unwrap_or_default();
        let small = |at: usize| u32::try_from(number(&values, at)?).map_err(|_| broken("door.lua", &values));
        let large = |at: usize| u64::try_from(number(&values, at)?).map_err(|_| broken("door.lua", &values));
        Ok(Some(DoorRead {
            serving: small(1)?,
            shoppers: small(2)?,
            entered: large(3)?,
            met_full: large(4)?,
            control: text(5),
            window: read_window(&text(6)),
            now: Millis(number(&values, 7)?),
        }))
    }

    /// Raises the served places, with what the controller remembers; `None` when a newer leader wrote or the
    /// state is not complete.
    pub(crate) async fn serve(
        &self,
        keys: &Keys,
        epoch: i64,
        term: i64,
        places: i64,
        (pace_per_min, control, window): (u32, &str, Option<&Window>),
    ) -> Result<Option<i64>> {
        let [epoch, term, places] = [epoch, term, places].map(|number| number.to_string());
        let (pace, window) = (pace_per_min.to_string(), window_text(window));
        let args = [epoch.as_str(), &term, &places, &pace, control, &window];
        let values = self.run(&self.scripts.serve, keys.all(), &args).await?;
        if word(&values) == "ok" { number(&values, 1).map(Some) } else { Ok(None) }
    }

    /// Places served, their pace a minute, and the window of a lottery.
    pub(crate) async fn served(&self, keys: &Keys) -> Result<(Option<u32>, u32, Option<Window>)> {
        let (serving, pace, window): (Option<u32>, Option<u32>, Option<String>) = redis::cmd("HMGET")
            .arg(keys.meta())
            .arg(&["serving", "pace", "window"])
            .query_async(&mut self.connection())
            .await?;
        Ok((serving, pace.unwrap_or(0), window.as_deref().and_then(read_window)))
    }

    /// Exchanges a place for a visit: `Ok(expires)`, or the script's word.
    pub(crate) async fn enter(
        &self,
        keys: &Keys,
        epoch: i64,
        account: AccountId,
        nonce: &str,
        visit_ttl_ms: i64,
    ) -> Result<std::result::Result<Millis, String>> {
        let args = [epoch.to_string(), account.simple(), nonce.to_owned(), visit_ttl_ms.to_string()];
        let values = self.run(&self.scripts.enter, keys.all(), &args.each_ref().map(String::as_str)).await?;
        match word(&values).as_str() {
            "ok" => Ok(Ok(Millis(number(&values, 1)?))),
            other => Ok(Err(other.to_owned())),
        }
    }

    /// Tells how this process is; what no process has told for `keep_ms` goes away with the last.
    pub(crate) async fn tell_pulse(&self, keys: &Keys, process: &str, pulse: &str, keep_ms: i64) -> Result<()> {
        let mut pipe = redis::pipe();
        pipe.hset(keys.pulse(), process, pulse).ignore().pexpire(keys.pulse(), keep_ms).ignore();
        Ok(pipe.query_async(&mut self.connection()).await?)
    }

    /// What the serving processes told.
    pub(crate) async fn pulses(&self, keys: &Keys) -> Result<HashMap<String, String>> {
        Ok(redis::cmd("HGETALL").arg(keys.pulse()).query_async(&mut self.connection()).await?)
    }

    /// Forgets processes that have been silent for long.
    pub(crate) async fn forget_pulses(&self, keys: &Keys, processes: &[String]) -> Result<()> {
        if processes.is_empty() {
            return Ok(());
        }
        Ok(redis::cmd("HDEL").arg(keys.pulse()).arg(processes).query_async(&mut self.connection()).await?)
    }
}

fn join_answer(values: &[Value], at: usize) -> Result<JoinAnswer> {
    Ok(match number(values, at)? {
        -1 => JoinAnswer::Ended,
        -2 => JoinAnswer::NotYet,
        -3 => JoinAnswer::RegistrationOver,
        place => JoinAnswer::Place(u32::try_from(place).map_err(|_| broken("join.lua", &place))?),
    })
}
