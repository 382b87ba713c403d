//! Keys of clients on what changes something: a request is carried out once under its key, and answered as
//! before when it comes again. What each record means is decided in `domain::idempotency`.

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::postgres::idempotency::{self as rows, Asked};
use domain::idempotency::{
    AGAIN_MS, Decision, Fingerprint, HEADER, KEEP_MS, KEEP_UNFINISHED_MS, KEYS_MAX, Key, LEASE_MS,
};
use domain::{AccountId, Code, Refusal};
use uuid::Uuid;

/// Looks at a key that others change at the same time, until the caller is told to come again.
const LOOKS_MAX: usize = 4;
/// Keys that are forgotten in one statement.
const FORGET_BATCH: i64 = 1_000;
/// When an account that has as many keys as it may shall come again, in milliseconds.
const FULL_AGAIN_MS: u32 = 60_000;

/// The right to carry a request out, alone, for a while.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Whose key it is.
    pub(crate) account: AccountId,
    /// Digest of the key.
    pub(crate) key: [u8; 32],
    /// What the right is known by.
    pub(crate) id: Uuid,
}

/// An answer as it is given again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// HTTP status.
    pub status: u16,
    /// What the body is.
    pub content_type: Option<String>,
    /// The body; none where it was larger than what is kept.
    pub body: Option<Vec<u8>>,
}

/// What becomes of a request with a key.
#[derive(Clone, Debug)]
pub enum Keyed {
    /// It is carried out, and [`Backend::end_keyed`] called with its answer.
    CarryOut(Lease),
    /// It was carried out before.
    Replay(KeptAnswer),
}

impl Backend {
    /// Decides about a request of an account under a key.
    ///
    /// # Errors
    /// `key_reused` when the key was used with another request, `wrong_state` while the first one runs,
    /// `too_many_requests` when the account has as many keys as it may.
    pub async fn begin_keyed(
        &self,
        account: AccountId,
        endpoint: &str,
        key: &Key,
        fingerprint: Fingerprint,
    ) -> Result<Keyed> {
        let lease = Lease { account, key: key.digest(), id: Uuid::new_v4() };
        for _ in 0..LOOKS_MAX {
            let now = self.now();
            let asked = Asked { endpoint, fingerprint, now, until: now.plus(LEASE_MS) };
            if rows::insert(&self.pg, &lease, &asked, KEYS_MAX).await? {
                return Ok(Keyed::CarryOut(lease));
            }
            let Some(stored) = rows::find(&self.pg, &lease).await? else {
                // Forgotten between the two statements, or never taken.
                if rows::count(&self.pg, account).await? >= KEYS_MAX {
                    return Err(Error::Refused(full()));
                }
                continue;
            };
            let decision = Decision::of(Some(&stored.record), fingerprint, now);
            let taken = match decision {
                Decision::New => rows::renew(&self.pg, &lease, &asked, stored.record.began).await?,
                Decision::TakeOver { from } => rows::take_over(&self.pg, &lease, asked.until, from).await?,
                Decision::Replay => {
                    let Some(answer) = stored.answer else {
                        return Err(Error::Broken("an answered key has no answer".to_owned()));
                    };
                    metrics::counter!("stararena_keys_replayed_total").increment(1);
                    return Ok(Keyed::Replay(answer));
                }
                Decision::Conflict | Decision::InProgress => false,
            };
            if let Some(refusal) = decision.refusal() {
                return Err(Error::Refused(refusal));
            }
            if taken {
                return Ok(Keyed::CarryOut(lease));
            }
        }
        let refusal = Refusal::new(Code::WrongState, format!("{HEADER}: others use it at this moment"));
        Err(Error::Refused(refusal.retry_after_ms(AGAIN_MS)))
    }

    /// Keeps the answer of a request; without one, the same request may be carried out again at once.
    ///
    /// # Errors
    /// Outages only: the lease runs out by itself then.
    pub async fn end_keyed(&self, lease: &Lease, answer: Option<&KeptAnswer>) -> Result<()> {
        self.fault("before-keyed-answer");
        let noted = match answer {
            Some(answer) => rows::answer(&self.pg, lease, answer, self.now()).await?,
            None => rows::give_up(&self.pg, lease, self.now()).await?,
        };
        if !noted {
            metrics::counter!("stararena_claims_lost_total").increment(1);
            tracing::warn!("a request took longer than its lease: another one with its key may have run beside it");
        }
        Ok(())
    }

    /// Forgets keys that are kept no longer; whether there may be more.
    ///
    /// # Errors
    /// Outages only.
    pub async fn forget_keys(&self) -> Result<bool> {
        let now = self.now();
        let (began, unfinished) = (now.plus(-KEEP_MS), now.plus(-KEEP_UNFINISHED_MS));
        let forgotten = rows::forget(&self.pg, began, unfinished, FORGET_BATCH).await?;
        Ok(i64::try_from(forgotten).is_ok_and(|count| count >= FORGET_BATCH))
    }
}

fn full() -> Refusal {
    let text = format!("{HEADER}: an account has at most {KEYS_MAX} keys a day");
    Refusal::new(Code::TooManyRequests, text).retry_after_ms(FULL_AGAIN_MS)
}
