//! What doors are told: which tickets of a performance they refuse although the signature is right.
//!
//! The list names tickets and nothing else: no person, no seat, no reason. So it is public, as the keys are, and
//! caches may keep it for a moment; its signature tells a device that it is ours whoever handed it on. The
//! position only rises: of two lists the one with the higher position is the newer, and two with the same
//! position say the same.

use crate::backend::Backend;
use crate::error::Result;
use crate::postgres::{door as rows, tickets};
use domain::PerformanceId;
use domain::ticket::TicketCode;
use domain::ticket::change::Verdict;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex as AsyncMutex;

/// How long a list is handed out before it is made again.
const FRESH: Duration = Duration::from_secs(1);
/// Lists that a process keeps; more performances than that are not played on one evening.
const KEPT_MAX: usize = 256;
/// What a signature covers before the list's own bytes, so that no signature of a list is one of a code.
const SIGNED_PREFIX: &[u8] = b"stararena revocations\n";

/// A performance's list.
#[derive(Debug)]
pub struct Revocations {
    /// The list, as it is signed.
    pub json: String,
    /// Follows from the content.
    pub etag: String,
    /// Number of the key, a colon, and the Ed25519 signature over `stararena revocations`, a line feed and the
    /// list, in hexadecimal digits.
    pub signature: String,
}

/// The list of one performance with the instant at which it was made; none before the first. Who makes it anew
/// holds the lock, so that all doors that ask at this moment cost one look at the tickets.
pub(crate) type CachedRevocations = Arc<AsyncMutex<Option<(Arc<Revocations>, Instant)>>>;

/// What a door says about a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// What becomes of who shows it.
    pub verdict: Verdict,
    /// What the code claims, where it is one.
    pub code: Option<TicketCode>,
    /// Why the ticket was revoked, in a word.
    pub reason: Option<String>,
    /// The name on the ticket.
    pub name: Option<String>,
}

impl Backend {
    /// The tickets of a performance that doors refuse, at most a second old.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn revocations(self: &Arc<Self>, id: PerformanceId) -> Result<Arc<Revocations>> {
        let kept = self.lock_revocations().get(&id).cloned();
        let kept = match kept {
            Some(kept) => kept,
            None => {
                // Refuses what is no performance before anything is kept for it.
                self.sale(id).await?;
                self.keep_revocations(id)
            }
        };
        let mut kept = kept.lock().await;
        if let Some((list, made)) = kept.as_ref()
            && made.elapsed() < FRESH
        {
            return Ok(Arc::clone(list));
        }
        let made = Instant::now();
        let list = Arc::new(self.make_revocations(id).await?);
        *kept = Some((Arc::clone(&list), made));
        Ok(list)
    }

    /// The place of a performance's list; that of others that nobody asks for is given up where there are many.
    fn keep_revocations(&self, id: PerformanceId) -> CachedRevocations {
        let mut lists = self.lock_revocations();
        if lists.len() >= KEPT_MAX {
            lists.retain(|_, kept| match kept.try_lock() {
                Ok(kept) => kept.as_ref().is_some_and(|(_, made)| made.elapsed() < FRESH),
                Err(_) => true,
            });
        }
        Arc::clone(lists.entry(id).or_default())
    }

    async fn make_revocations(&self, id: PerformanceId) -> Result<Revocations> {
        let changed = rows::changed(&self.pg, id).await?;
        let position: i64 = changed.iter().map(|row| i64::from(row.changes)).sum();
        let refused: Vec<_> = changed
            .iter()
            .filter(|row| row.verdict != Verdict::Valid)
            .map(|row| json!({ "ticket": row.id, "issue": row.issue, "state": row.verdict }))
            .collect();
        let json = json!({ "performance": id, "position": position, "tickets": refused }).to_string();
        let signature = self.ticket_signer.sign(&[SIGNED_PREFIX, json.as_bytes()].concat());
        Ok(Revocations {
            etag: format!("\"{}\"", hex::encode(&Sha256::digest(json.as_bytes())[..16])),
            signature: format!("{}:{}", self.ticket_signer.id(), hex::encode(signature)),
            json,
        })
    }

    fn lock_revocations(&self) -> MutexGuard<'_, HashMap<PerformanceId, CachedRevocations>> {
        let revocations: &Mutex<_> = &self.revocations;
        revocations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a door of a performance says about a code; of the performance that the code names, when none is given.
    ///
    /// # Errors
    /// Outages only: a code that is refused is a result.
    pub async fn examine_ticket(&self, text: &str, performance: Option<PerformanceId>) -> Result<Examined> {
        let text = text.trim();
        let claimed = TicketCode::read(text);
        let refused = |verdict| Examined { verdict, code: claimed, reason: None, name: None };
        let Some(code) = claimed else { return Ok(refused(Verdict::Malformed)) };
        let at = performance.unwrap_or(code.performance);
        if let Err(error) = TicketCode::verify_by(text, at, &self.ticket_signer.keys()) {
            return Ok(refused(error.into()));
        }
        let row = tickets::one(&self.pg, code.ticket).await?;
        // A code says what the ticket was when it was made: a row that says otherwise is another installation's.
        let Some(row) = row.filter(|row| row.performance == code.performance && row.issue == code.issue) else {
            return Ok(refused(Verdict::Unknown));
        };
        Ok(Examined { verdict: row.verdict(), code: claimed, reason: row.revoked_reason, name: row.name })
    }
}
