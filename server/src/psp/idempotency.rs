//! Idempotency keys: the same key with the same parameters gives the same answer, an error included.
//!
//! A key is filed under the day of its first use and looked for on that day and the next, so it lives
//! between 24 and 48 hours. Looking, doing and filing happen in one commit, in the writer: of two calls
//! at once, the second finds the first one's answer. A failure of the work is filed too, as any answer
//! is; what fails before the work (a body that can't be read, a switch) leaves the key as it was.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use redb::{ReadTransaction, ReadableTable};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::ledger::Outcome;
use super::refusal::Refusal;
use super::store::{self, StoreError, Tables, decode, encode};

const DAY_MS: i64 = 24 * 3_600_000;
/// Longest key that is taken, in bytes.
const KEY_MAX_BYTES: usize = 255;
/// Most keys that one sweep forgets, so that it never holds a commit up.
const FORGET_MAX: usize = 1000;

/// A caller's key with the digest of what it asked for.
pub(super) struct Key {
    key: String,
    fingerprint: String,
}

impl Key {
    /// Reads the header, if there is one. `path` and `params` are what must stay the same.
    pub(super) fn read(headers: &HeaderMap, path: &str, params: &impl Serialize) -> Result<Option<Self>, Refusal> {
        let Some(key) = headers.get("idempotency-key") else {
            return Ok(None);
        };
        let key = key.to_str().unwrap_or_default();
        if key.is_empty() || key.len() > KEY_MAX_BYTES {
            let message = format!("Idempotency-Key must be 1 to {KEY_MAX_BYTES} printable ASCII characters");
            return Err(Refusal::invalid("idempotency_key_invalid", "Idempotency-Key", message));
        }
        let mut digest = Sha256::new();
        digest.update(path.as_bytes());
        digest.update([0]);
        digest.update(encode(params)?);
        Ok(Some(Self { key: key.to_owned(), fingerprint: hex::encode(digest.finalize()) }))
    }
}

/// An answer as it goes over the wire, and as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Answer {
    fingerprint: String,
    status: u16,
    body: String,
    #[serde(skip)]
    replayed: bool,
}

impl Answer {
    fn new(fingerprint: &str, status: StatusCode, body: &impl Serialize) -> Result<Self, StoreError> {
        let body = serde_json::to_string(body)?;
        Ok(Self { fingerprint: fingerprint.to_owned(), status: status.as_u16(), body, replayed: false })
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let mut response = (status, json, self.body).into_response();
        if self.replayed {
            response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
        }
        response
    }
}

/// Answers from the stored outcome of `key`, or does the work and stores its outcome.
pub(super) fn once<T: Serialize>(
    tables: &mut Tables<'_>,
    key: Option<&Key>,
    now_ms: i64,
    work: impl FnOnce(&mut Tables<'_>) -> Outcome<T>,
) -> Result<Answer, StoreError> {
    let day = now_ms.div_euclid(DAY_MS);
    if let Some(key) = key {
        for day in [day, day - 1] {
            let Some(row) = tables.idempotency.get((day, key.key.as_str()))? else { continue };
            let stored: Answer = decode(row.value())?;
            if stored.fingerprint == key.fingerprint {
                return Ok(Answer { replayed: true, ..stored });
            }
            let message = "this idempotency key was used with other parameters";
            let refusal = Refusal::conflict("idempotency_mismatch", message, None).with_param("Idempotency-Key");
            return Answer::new("", refusal.http, &refusal.body());
        }
    }
    let fingerprint = key.map_or("", |key| key.fingerprint.as_str());
    let answer = match work(tables)? {
        Ok(value) => Answer::new(fingerprint, StatusCode::OK, &value)?,
        Err(refusal) => Answer::new(fingerprint, refusal.http, &refusal.body())?,
    };
    if let Some(key) = key {
        tables.idempotency.insert((day, key.key.as_str()), encode(&answer)?.as_slice())?;
    }
    Ok(answer)
}

/// Whether there are keys to forget.
pub(super) fn has_old(txn: &ReadTransaction, now_ms: i64) -> Result<bool, StoreError> {
    let keys = txn.open_table(store::IDEMPOTENCY)?;
    let first = keys.first()?;
    Ok(first.is_some_and(|(key, _)| key.value().0 < oldest_day(now_ms)))
}

/// Forgets keys of the days that nobody looks at; answers whether more are left.
pub(super) fn forget_old(tables: &mut Tables<'_>, now_ms: i64) -> Result<bool, StoreError> {
    for _ in 0..FORGET_MAX {
        match tables.idempotency.first()? {
            Some((key, _)) if key.value().0 < oldest_day(now_ms) => {}
            _ => return Ok(false),
        }
        tables.idempotency.pop_first()?;
    }
    Ok(true)
}

fn oldest_day(now_ms: i64) -> i64 {
    now_ms.div_euclid(DAY_MS) - 1
}
