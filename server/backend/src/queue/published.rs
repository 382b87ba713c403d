//! What is published about a draw: its facts, and the list of arrivals.

use crate::backend::Backend;
use crate::error::{Error, Result, not_found};
use crate::postgres::{draws, queue as rows};
use crate::redis::ARRIVAL_BYTES;
use domain::queue::facts::{BeaconRound, DrawFacts, ENTRY_BYTES, entry, list_digest};
use domain::{AccountId, Millis, PerformanceId};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

impl Backend {
    /// Everything that is published about a performance's draw.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn draw_facts(self: &Arc<Self>, id: PerformanceId) -> Result<DrawFacts> {
        match draws::facts(&self.pg, id).await? {
            Some(facts) => Ok(facts),
            None => not_found("performance"),
        }
    }

    /// The published list of arrivals: 16 bytes for each number, in order. Read and checked once in a process;
    /// later callers are only told where it is.
    ///
    /// # Errors
    /// `not_found` before it is published; the file's where it can't be written.
    pub async fn arrival_list(self: &Arc<Self>, id: PerformanceId) -> Result<ArrivalList> {
        let facts = self.draw_facts(id).await?;
        let (Some(digest), Some(lobby)) = (facts.list, facts.lobby) else { return not_found("list") };
        let path = self.config.data_dir.join("lists").join(format!("{digest}.bin"));
        // Held while this list is made: a crowd that asks for it has it made once, and others don't wait for it.
        let list = self.lists.of(&digest);
        let mut is_known = list.lock().await;
        if !*is_known || !tokio::fs::try_exists(&path).await.unwrap_or(false) {
            if !holds_list(&path, &digest).await {
                let bytes = self.written_list(id, lobby).await?;
                keep(&path, bytes, &digest).await?;
            }
            *is_known = true;
        }
        Ok(ArrivalList { digest, path })
    }

    /// The list of the first `lobby` arrivals, as it is written down.
    pub(crate) async fn written_list(&self, id: PerformanceId, lobby: u32) -> Result<Vec<u8>> {
        let size = lobby as usize * ENTRY_BYTES;
        let mut list = Vec::with_capacity(size);
        let mut next = 0;
        while list.len() < size {
            let Some(row) = rows::arrivals_from(&self.pg, id, next).await? else { break };
            if row.first != next {
                return Err(Error::Broken(format!("the arrivals of {id} from {next} on are not written")));
            }
            next += i64::try_from(row.accounts.len() / ARRIVAL_BYTES).unwrap_or(i64::MAX);
            let left = (size - list.len()) / ENTRY_BYTES;
            let entries = tokio::task::spawn_blocking(move || entries(id, &row.accounts, left))
                .await
                .map_err(|e| Error::Broken(format!("hashing the arrivals ended early: {e}")))?;
            list.extend(entries);
        }
        if list.len() == size {
            Ok(list)
        } else {
            Err(Error::Broken(format!("{} of {lobby} arrivals of {id} are written", list.len() / ENTRY_BYTES)))
        }
    }

    /// The round of public randomness for an opening, where a beacon is configured.
    pub(crate) fn name_round(&self, opens: Millis) -> Option<BeaconRound> {
        self.beacon.as_ref().map(|beacon| beacon.round_at(opens.plus(self.config.queue.beacon_delay_ms)))
    }
}

/// The published list of arrivals.
#[derive(Clone, Debug)]
pub struct ArrivalList {
    /// SHA-256 of the bytes, hexadecimal.
    pub digest: String,
    /// The file that holds it: 16 bytes for each number.
    pub path: PathBuf,
}

/// By the digest of each list that was asked for: whether its file was found to be what its name says.
#[derive(Default)]
pub(crate) struct Lists(Mutex<HashMap<String, Arc<tokio::sync::Mutex<bool>>>>);

impl Lists {
    fn of(&self, digest: &str) -> Arc<tokio::sync::Mutex<bool>> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(lists.entry(digest.to_owned()).or_default())
    }
}

/// The published entries of a stretch of accounts, at most so many.
fn entries(id: PerformanceId, accounts: &[u8], most: usize) -> Vec<u8> {
    let entry_of = |account: &[u8]| {
        let bytes: [u8; ARRIVAL_BYTES] = account.try_into().unwrap_or_default();
        // A number that was never given.
        if bytes == [0; ARRIVAL_BYTES] { [0; ENTRY_BYTES] } else { entry(id, AccountId(uuid::Uuid::from_bytes(bytes))) }
    };
    accounts.chunks_exact(ARRIVAL_BYTES).take(most).flat_map(entry_of).collect()
}

/// Whether a file is there and is the list of that digest: one that was cut short by a crash is not.
async fn holds_list(path: &Path, digest: &str) -> bool {
    match tokio::fs::read(path).await {
        Ok(bytes) => digest_of(Arc::new(bytes)).await.is_ok_and(|found| found == digest),
        Err(_) => false,
    }
}

/// Writes a list into its file, if it is the one that was published.
async fn keep(path: &Path, bytes: Vec<u8>, digest: &str) -> Result<()> {
    let bytes = Arc::new(bytes);
    if digest_of(Arc::clone(&bytes)).await? != digest {
        return Err(Error::Broken(format!("the arrivals differ from the published digest {digest}")));
    }
    let staged = path.with_extension(format!("{}.part", uuid::Uuid::new_v4().simple()));
    let written = async {
        tokio::fs::create_dir_all(path.parent().unwrap_or(path)).await?;
        tokio::fs::write(&staged, bytes.as_slice()).await?;
        tokio::fs::rename(&staged, path).await
    };
    written.await.map_err(|e| Error::Broken(format!("the list of arrivals could not be written: {e}")))
}

/// The digest of a list of some megabytes, computed where it delays nobody.
async fn digest_of(bytes: Arc<Vec<u8>>) -> Result<String> {
    tokio::task::spawn_blocking(move || hex::encode(list_digest(&bytes)))
        .await
        .map_err(|e| Error::Broken(format!("hashing the arrivals ended early: {e}")))
}
