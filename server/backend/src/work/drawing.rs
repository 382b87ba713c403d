//! The draw of one performance, step by step: the arrivals are written down as they come; once the lobby is
//! frozen their list is published by its digest, then the public randomness is waited for, then the seed is
//! revealed, exactly once.
//!
//! Every step can be repeated by another leader: rows decide, not this process.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::Result;
use crate::postgres::draws::{self, BeaconOutcome, PendingDraw};
use crate::postgres::queue as rows;
use crate::redis::{ARRIVAL_BYTES, LobbyRead};
use domain::PerformanceId;
use domain::queue::facts::{BeaconRound, list_digest};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Arrivals of one row: a megabyte, and four times as many a second as were ever asked for.
const STRETCH_MAX: u32 = 65_536;
/// How often a beacon that has nothing yet is asked again.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// What a leader knows of a draw.
pub(super) struct Drawing {
    /// Arrivals that are written down, from 0 on; none before that was read.
    written: Option<u32>,
    made: bool,
    asked: Option<Instant>,
}

impl Drawing {
    pub(super) fn new() -> Self {
        Self { written: None, made: false, asked: None }
    }

    /// Writes down who came since the last time.
    pub(super) async fn note_arrivals(&mut self, backend: &Backend, sale: &Sale, joined: u32) -> Result<u32> {
        let id = sale.id();
        let mut written = match self.written {
            Some(written) => written,
            None => whole(rows::arrivals_written(&backend.pg, id).await?),
        };
        if joined > written {
            let upto = joined.min(written.saturating_add(STRETCH_MAX));
            let accounts = backend.seats.arrivals(&sale.keys, written, upto).await?;
            let whole_ones = accounts.len() / ARRIVAL_BYTES;
            if whole_ones > 0 {
                let stretch = &accounts[..whole_ones * ARRIVAL_BYTES];
                rows::add_arrivals(&backend.pg, id, i64::from(written), stretch).await?;
            }
            // Another leader may have written another stretch there: the rows say how far they are.
            written = whole(rows::arrivals_written(&backend.pg, id).await?);
        }
        self.written = Some(written);
        Ok(written)
    }

    /// Does what is next, once the lobby is frozen.
    pub(super) async fn step(&mut self, backend: &Arc<Backend>, sale: &Sale, queue: &LobbyRead) -> Result<()> {
        if self.made || sale.row.drawn.is_some() {
            self.made = true;
            return Ok(());
        }
        if queue.lobby.is_none() {
            return Ok(());
        }
        let Some(pending) = draws::pending(&backend.pg, sale.id()).await? else { return Ok(()) };
        if pending.made {
            backend.reload_sale(sale.id()).await?;
            self.made = true;
            return Ok(());
        }
        // The lobby that was written down counts, should the store have been rebuilt since.
        let Some(lobby) = pending.lobby.map(whole) else { return Ok(()) };
        if self.written.is_none_or(|written| written < lobby) {
            return Ok(());
        }
        if pending.list_digest.is_none() {
            self.publish_list(backend, sale, lobby, queue).await?;
        }
        self.reveal(backend, sale.id(), &pending, queue).await
    }

    async fn publish_list(&self, backend: &Backend, sale: &Sale, lobby: u32, queue: &LobbyRead) -> Result<()> {
        revise(backend, sale, lobby).await?;
        let list = backend.written_list(sale.id(), lobby).await?;
        let digest = list_digest(&list);
        draws::publish_list(&backend.pg, sale.id(), i64::from(lobby), &digest, queue.now).await?;
        tracing::info!(id = %sale.id(), lobby, digest = hex::encode(digest), "the list of arrivals is published");
        Ok(())
    }

    async fn reveal(
        &mut self,
        backend: &Arc<Backend>,
        id: PerformanceId,
        pending: &PendingDraw,
        queue: &LobbyRead,
    ) -> Result<()> {
        let Some(round) = &pending.round else {
            return self.finish(backend, id, &BeaconOutcome::None, queue).await;
        };
        if queue.now < round.due || self.asked.is_some_and(|at| at.elapsed() < ASK_EVERY) {
            return Ok(());
        }
        self.asked = Some(Instant::now());
        match read(backend, round).await {
            Ok(value) => {
                let outcome = BeaconOutcome::Used { randomness: &value.randomness, signature: &value.signature };
                self.finish(backend, id, &outcome, queue).await
            }
            Err(error) if queue.now > round.due.plus(backend.config.queue.beacon_patience_ms) => {
                tracing::error!(%id, error = &error as &dyn std::error::Error, "the beacon stayed silent: the draw is made without it");
                metrics::counter!("stararena_silent_beacons_total").increment(1);
                self.finish(backend, id, &BeaconOutcome::Silent, queue).await
            }
            Err(error) => {
                tracing::warn!(%id, error = &error as &dyn std::error::Error, "the beacon's round is not there yet");
                Ok(())
            }
        }
    }

    async fn finish(
        &mut self,
        backend: &Arc<Backend>,
        id: PerformanceId,
        outcome: &BeaconOutcome<'_>,
        queue: &LobbyRead,
    ) -> Result<()> {
        if draws::reveal(&backend.pg, id, outcome, queue.now).await? {
            tracing::info!(%id, "the draw is made and its seed revealed");
        }
        // Shown by this process at once, by others within the second for which they keep a sale.
        self.made = backend.reload_sale(id).await?.row.drawn.is_some();
        Ok(())
    }
}

async fn read(backend: &Backend, round: &BeaconRound) -> Result<crate::beacon::BeaconValue> {
    match &backend.beacon {
        Some(beacon) => beacon.read(round).await,
        None => Err(crate::error::Error::Broken("a beacon was named, and none is configured any more".to_owned())),
    }
}

/// Carries who came back by a signed ticket, after the store had lost them, into what is written down.
async fn revise(backend: &Backend, sale: &Sale, lobby: u32) -> Result<()> {
    let mut next = 0;
    while next < i64::from(lobby) {
        let Some(row) = rows::arrivals_from(&backend.pg, sale.id(), next).await? else { return Ok(()) };
        let count = i64::try_from(row.accounts.len() / ARRIVAL_BYTES).unwrap_or(0);
        let now = backend.seats.arrivals(&sale.keys, whole(row.first), whole(row.first + count)).await?;
        if now.len() == row.accounts.len() && now != row.accounts {
            rows::put_arrivals(&backend.pg, sale.id(), row.first, &now).await?;
        }
        next = row.first + count.max(1);
    }
    Ok(())
}

fn whole(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}
