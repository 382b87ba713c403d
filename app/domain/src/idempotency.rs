//! The same request twice: a key that the client chooses, and what becomes of a request that carries one.
//!
//! The rules are those that Stripe documents for its keys: the first request under a key is carried out
//! and its answer kept; the same request again gets the kept answer, a failure too; another request under
//! the same key is refused; and keys are kept for a day at least. The header's name and its quotes are
//! those of the draft "The Idempotency-Key HTTP Header Field" of the IETF's HTTPAPI working group.
//!
//! Keeping the records is the work of a store; this says what each of them means.

use crate::refusal::{Code, Refusal};
use crate::time::Millis;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// How long an answer is kept, in milliseconds.
pub const KEEP_MS: i64 = 24 * 3_600_000;
/// How long a request may run until another may take its place, in milliseconds: longer than any answer
/// is waited for.
pub const LEASE_MS: i64 = 60_000;
/// When a client should ask again while its first request still runs, in milliseconds.
pub const AGAIN_MS: u32 = 1_000;

/// The header that carries a key; refusals of a key name it.
pub const HEADER: &str = "Idempotency-Key";
/// Longest key, in characters: that of Stripe's, so that clients may bring the keys that they have.
pub const KEY_MAX_CHARS: usize = 255;
/// Largest answer that is kept, in bytes. What changes something answers with far less; of a larger answer
/// only its status is kept.
pub const ANSWER_MAX_BYTES: usize = 16 * 1024;
/// Most keys of one account at a time: bounds what one of them can have kept, at 32 MB.
pub const KEYS_MAX: i64 = 2_000;
/// How long a request is remembered that nobody finished, in milliseconds: it may have moved money, so for
/// far longer than its client can try.
pub const KEEP_UNFINISHED_MS: i64 = 30 * 24 * 3_600_000;

/// A client's key: 1 to 255 printable ASCII characters without spaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the value of an `Idempotency-Key` header: a key in quotes, as the draft writes it, or bare,
    /// as most clients do.
    ///
    /// # Errors
    /// `invalid_input` names the header.
    pub fn of_header(value: &str) -> Result<Self, Refusal> {
        let value = value.trim();
        value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value).parse()
    }

    /// The digest under which the key is stored: of one size, whatever clients send.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

impl FromStr for Key {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() || text.len() > KEY_MAX_CHARS || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(Refusal::new(
                Code::InvalidInput,
                format!("{HEADER}: 1 to {KEY_MAX_CHARS} printable ASCII characters are expected"),
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a request asks for, as a digest: two requests are the same when it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a request's parts, such as method, path, account and body. The order counts,
    /// and so does where one part ends: each goes in with its length. Bytes are compared and not what
    /// they mean, since a retry sends the same bytes.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"stararena request 1");
        for part in parts {
            // A length in memory is below 2⁶⁴.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The 32 bytes, as stored.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 32] {
        self.0
    }

    /// The fingerprint of 32 stored bytes; `None` for another number of them.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What is stored under a key. Keys of two accounts are apart: the account is part of the store's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The request that used the key first.
    pub fingerprint: Fingerprint,
    /// When it began.
    pub began: Millis,
    /// How far it is.
    pub progress: Progress,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Somebody carries it out, until then at most.
    Running {
        /// When the lease ends.
        until: Millis,
    },
    /// Its answer is kept beside the record.
    Answered,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The key is free: carry it out.
    New,
    /// Whoever carried it out has gone: carry it out in its place. What it may have done already is
    /// found by the ids that it derived from the key.
    TakeOver {
        /// The end of the lease that is taken over: part of the condition of the update.
        from: Millis,
    },
    /// Answer as before.
    Replay,
    /// Another request used the key.
    Conflict,
    /// The first request still runs.
    InProgress,
}

impl Decision {
    /// Decides about a request by what is stored under its key.
    #[must_use]
    pub fn of(stored: Option<&Record>, fingerprint: Fingerprint, now: Millis) -> Self {
        let Some(record) = stored else { return Self::New };
        match record.progress {
            Progress::Answered if now >= record.began.plus(KEEP_MS) => Self::New,
            _ if record.fingerprint != fingerprint => Self::Conflict,
            Progress::Answered => Self::Replay,
            Progress::Running { until } if now >= until => Self::TakeOver { from: until },
            Progress::Running { .. } => Self::InProgress,
        }
    }

    /// The refusal of a request that is neither carried out nor answered as before.
    #[must_use]
    pub fn refusal(self) -> Option<Refusal> {
        match self {
            Self::New | Self::TakeOver { .. } | Self::Replay => None,
            Self::Conflict => {
                Some(Refusal::new(Code::KeyReused, format!("{HEADER}: it was used with another request")))
            }
            Self::InProgress => Some(
                Refusal::new(Code::WrongState, format!("{HEADER}: the first request with it still runs"))
                    .retry_after_ms(AGAIN_MS),
            ),
        }
    }
}

/// Whether an answer is kept. What says that the server could not, or that the client shall come again, is
/// no answer to the request: the same request is carried out again.
#[must_use]
pub fn is_kept(status: u16, says_when_to_come_again: bool) -> bool {
    status < 500 && status != 429 && !says_when_to_come_again
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fingerprint(body: &str) -> Fingerprint {
        Fingerprint::of(&[b"POST", b"/api/refunds", body.as_bytes()])
    }

    fn record(progress: Progress) -> Record {
        Record { fingerprint: fingerprint("a"), began: Millis(1_000), progress }
    }

    #[test]
    fn a_key_has_bounds_and_may_stand_in_quotes() {
        assert_eq!(Key::of_header(" \"8e03978e-40d5\" ").unwrap().as_str(), "8e03978e-40d5");
        assert_eq!(Key::of_header("8e03978e-40d5").unwrap().to_string(), "8e03978e-40d5");
        assert!("k".repeat(255).parse::<Key>().is_ok());
        for bad in ["", "\"\"", "a b", "ä", "a\u{7f}", &"k".repeat(256)] {
            let refusal = Key::of_header(bad).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidInput, "{bad}");
            assert!(refusal.message.starts_with("Idempotency-Key: "), "{}", refusal.message);
        }
        let digest = |key: &str| key.parse::<Key>().unwrap().digest();
        assert_eq!(digest("a"), digest("a"));
        assert_ne!(digest("a"), digest("A"));
    }

    #[test]
    fn only_an_answer_to_the_request_is_kept() {
        for status in [200, 204, 302, 400, 403, 404, 409, 410, 422] {
            assert!(is_kept(status, false), "{status}");
            assert!(!is_kept(status, true), "{status}");
        }
        for status in [429, 500, 502, 503] {
            assert!(!is_kept(status, false), "{status}");
        }
    }

    #[test]
    fn parts_are_told_apart_by_where_they_end() {
        let of = Fingerprint::of;
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b"a"]), of(&[b"a", b""]));
        assert_ne!(of(&[b"a", b"b"]), of(&[b"b", b"a"]));
        let print = fingerprint("a");
        assert_eq!(Fingerprint::of_bytes(&print.to_bytes()), Some(print));
        assert_eq!(Fingerprint::of_bytes(&[0; 31]), None);
        assert_eq!(print.to_string().len(), 64);
    }

    #[test]
    fn a_request_is_carried_out_once_and_then_answered_as_before() {
        let running = record(Progress::Running { until: Millis(1_000 + LEASE_MS) });
        let answered = record(Progress::Answered);
        let (same, other) = (fingerprint("a"), fingerprint("b"));
        let end = 1_000 + KEEP_MS;
        for (stored, print, now, decision) in [
            (None, same, 0, Decision::New),
            (Some(&running), same, 1_001, Decision::InProgress),
            (Some(&running), other, 1_001, Decision::Conflict),
            (Some(&running), same, 1_000 + LEASE_MS, Decision::TakeOver { from: Millis(1_000 + LEASE_MS) }),
            (Some(&running), other, 1_000 + LEASE_MS, Decision::Conflict),
            (Some(&answered), same, end - 1, Decision::Replay),
            (Some(&answered), other, end - 1, Decision::Conflict),
            (Some(&answered), same, end, Decision::New),
            (Some(&answered), other, end, Decision::New),
            // What nobody finished is never forgotten: it may have moved money.
            (Some(&running), same, end, Decision::TakeOver { from: Millis(1_000 + LEASE_MS) }),
        ] {
            assert_eq!(Decision::of(stored, print, Millis(now)), decision, "at {now}");
        }
    }

    #[test]
    fn only_a_conflict_and_a_running_request_are_refused() {
        assert_eq!(Decision::Conflict.refusal().unwrap().code, Code::KeyReused);
        let running = Decision::InProgress.refusal().unwrap();
        assert_eq!((running.code.http_status(), running.retry_after_ms), (409, Some(AGAIN_MS)));
        for carried_out in [Decision::New, Decision::TakeOver { from: Millis(0) }, Decision::Replay] {
            assert_eq!(carried_out.refusal(), None);
        }
    }

    proptest! {
        /// Within the day, another request never gets the first one's answer nor a run of its own.
        #[test]
        fn a_key_serves_one_request(
            body in "[a-c]{0,3}",
            now in 0..KEEP_MS,
            until in proptest::option::of(0..KEEP_MS),
        ) {
            let progress = until.map_or(Progress::Answered, |until| Progress::Running { until: Millis(until) });
            let decision = Decision::of(Some(&record(progress)), fingerprint(&body), Millis(now));
            prop_assert_eq!(decision == Decision::Conflict, body != "a");
            prop_assert_ne!(decision, Decision::New);
        }
    }
}
