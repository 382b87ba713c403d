//! What is published about a draw, and the check that anybody can make of it.
//!
//! Pure: how the facts reach the checker is not told here.

#[cfg(test)]
mod tests;

use super::draw::{Draw, Seed, commitment, digest};
use super::{Mode, hex32};
use crate::ids::{AccountId, PerformanceId};
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Bytes of one entry of the arrival list.
pub const ENTRY_BYTES: usize = 16;

/// One entry of the arrival list: the first 16 bytes of a hash of performance and account, so that a fan
/// finds the own entry, lists of two performances can't be joined, and nobody else is named. A number that
/// was never given (skipped after a loss of the store) has an entry of zeros.
pub fn entry(performance: PerformanceId, account: AccountId) -> [u8; ENTRY_BYTES] {
    let hash = digest("stararena arrival 1", &[performance.0.as_bytes(), account.0.as_bytes()]);
    hash[..ENTRY_BYTES].try_into().expect("a hash has 32 bytes")
}

/// The digest of a list file: its SHA-256.
pub fn list_digest(list: &[u8]) -> [u8; 32] {
    Sha256::digest(list).into()
}

/// A round of a randomness beacon, named when the on-sale was scheduled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeaconRound {
    /// Which beacon: the hash of its chain, or `sandbox`.
    pub chain: String,
    /// Its round.
    pub round: u64,
    /// When the round is due.
    pub due: Millis,
}

/// What was published when the on-sale was scheduled, or scheduled anew. Append only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commitment {
    /// SHA-256 of the seed, hexadecimal.
    pub commitment: String,
    /// The opening that was scheduled then.
    pub opens: Millis,
    /// The round of public randomness that was named, where there was one.
    pub beacon: Option<BeaconRound>,
    /// When it was published.
    pub published: Millis,
}

/// What came of the public randomness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Randomness {
    /// None was named: the operator could have influenced the draw.
    None,
    /// The round is not there yet.
    Awaited,
    /// The round came, and is part of the key.
    Used {
        /// Hexadecimal.
        randomness: String,
        /// The beacon's signature over the round, hexadecimal; the randomness is its SHA-256.
        signature: String,
    },
    /// The beacon stayed silent for longer than the sale could wait: the draw was made without it, and the
    /// operator could have influenced it.
    Silent,
}

/// All published facts of one draw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawFacts {
    /// The performance.
    pub performance: PerformanceId,
    /// Waiting room or lottery.
    pub mode: Mode,
    /// What was committed to, oldest first.
    pub commitments: Vec<Commitment>,
    /// Size of the frozen lobby.
    pub lobby: Option<u32>,
    /// SHA-256 of the arrival list, hexadecimal.
    pub list: Option<String>,
    /// When the list's digest was published.
    #[serde(default)]
    pub list_published: Option<Millis>,
    /// The public randomness.
    pub randomness: Randomness,
    /// The seed, hexadecimal, once it is revealed.
    pub seed: Option<String>,
    /// When it was revealed.
    pub revealed: Option<Millis>,
}

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The commitments among each other.
    Commitments,
    /// The seed and its commitment.
    Seed,
    /// The public randomness and its signature.
    Randomness,
    /// The list before the randomness.
    Order,
    /// The list itself.
    List,
}

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// About what.
    pub subject: Subject,
    /// What, as a sentence that is true when it passed.
    pub what: String,
    /// What came of it.
    pub outcome: CheckOutcome,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "why")]
pub enum CheckOutcome {
    /// It holds.
    Holds,
    /// It does not, and why.
    Fails(String),
    /// It can't be checked yet, or not with what was given.
    Skipped(String),
}

impl DrawFacts {
    /// The draw, once the seed is out.
    pub fn draw(&self) -> Option<Draw> {
        let (seed, lobby) = (hex32(self.seed.as_deref()?)?, self.lobby?);
        let list = hex32(self.list.as_deref()?)?;
        let beacon = match &self.randomness {
            Randomness::Used { randomness, .. } => hex32(randomness)?.to_vec(),
            _ => Vec::new(),
        };
        Some(Draw::new(&seed, u64::from(lobby), &list, &beacon))
    }

    /// Checks everything that follows from the facts alone, and from the list where it is given.
    pub fn verify(&self, list: Option<&[u8]>) -> Vec<Check> {
        vec![
            self.check_commitments(),
            self.check_seed(),
            self.check_randomness(),
            self.check_order(),
            self.check_list(list),
        ]
    }

    fn check_order(&self) -> Check {
        let what = "the list was published before the beacon's round was due".to_owned();
        let due = self.commitments.last().and_then(|last| last.beacon.as_ref()).map(|round| round.due);
        let outcome = match (due, self.list_published) {
            (None, _) => CheckOutcome::Skipped("no public randomness was named".to_owned()),
            (_, None) => CheckOutcome::Skipped("the list is not published yet".to_owned()),
            (Some(due), Some(published)) if published < due => CheckOutcome::Holds,
            _ => CheckOutcome::Fails("it came later, when the randomness could be known".to_owned()),
        };
        Check { subject: Subject::Order, what, outcome }
    }

    fn check_commitments(&self) -> Check {
        let what = "every commitment that was published is to the same seed".to_owned();
        let same = self.commitments.windows(2).all(|pair| pair[0].commitment == pair[1].commitment);
        let outcome = match (self.commitments.is_empty(), same) {
            (true, _) => CheckOutcome::Fails("no commitment was published".to_owned()),
            (_, false) => CheckOutcome::Fails("the commitment was exchanged".to_owned()),
            _ => CheckOutcome::Holds,
        };
        Check { subject: Subject::Commitments, what, outcome }
    }

    fn check_seed(&self) -> Check {
        let what = "the revealed seed is the one that was committed to".to_owned();
        let outcome = match (&self.seed, self.commitments.first()) {
            (None, _) => CheckOutcome::Skipped("the seed is not revealed yet".to_owned()),
            (_, None) => CheckOutcome::Fails("there is no commitment to compare it with".to_owned()),
            (Some(seed), Some(published)) => match hex32(seed) {
                None => CheckOutcome::Fails("the seed is not 64 hexadecimal digits".to_owned()),
                Some(seed) if fits(&seed, &published.commitment) => CheckOutcome::Holds,
                Some(_) => CheckOutcome::Fails("its SHA-256 is another than the commitment".to_owned()),
            },
        };
        Check { subject: Subject::Seed, what, outcome }
    }

    fn check_randomness(&self) -> Check {
        let what = "the public randomness is that of the beacon's signature".to_owned();
        let outcome = match &self.randomness {
            Randomness::None => CheckOutcome::Skipped(
                "no public randomness was named: the operator could have influenced this draw".to_owned(),
            ),
            Randomness::Silent => {
                CheckOutcome::Skipped("the beacon was silent: the operator could have influenced this draw".to_owned())
            }
            Randomness::Awaited => CheckOutcome::Skipped("the beacon's round is not there yet".to_owned()),
            Randomness::Used { randomness, signature } => match (hex32(randomness), hex::decode(signature)) {
                (Some(randomness), Ok(signature)) if Sha256::digest(&signature).as_slice() == randomness => {
                    CheckOutcome::Holds
                }
                _ => CheckOutcome::Fails("the randomness is not the SHA-256 of the signature".to_owned()),
            },
        };
        Check { subject: Subject::Randomness, what, outcome }
    }

    fn check_list(&self, list: Option<&[u8]>) -> Check {
        let what = "the arrival list has the published digest and as many entries as the lobby has places".to_owned();
        let outcome = match (self.list.as_deref().and_then(hex32), self.lobby, list) {
            (None, _, _) | (_, None, _) => CheckOutcome::Skipped("the list is not published yet".to_owned()),
            (_, _, None) => CheckOutcome::Skipped("the list was not read".to_owned()),
            (Some(digest), Some(lobby), Some(list)) => {
                if list_digest(list) != digest {
                    CheckOutcome::Fails("its SHA-256 is another than the published one".to_owned())
                } else if list.len() as u64 != u64::from(lobby) * ENTRY_BYTES as u64 {
                    CheckOutcome::Fails(format!("{} bytes are not {lobby} entries of {ENTRY_BYTES}", list.len()))
                } else {
                    CheckOutcome::Holds
                }
            }
        };
        Check { subject: Subject::List, what, outcome }
    }

    /// The arrival number of an account in the list; `None` where it is not in it (it came later, or never).
    pub fn arrival_in(&self, list: &[u8], account: AccountId) -> Option<u32> {
        let wanted = entry(self.performance, account);
        list.chunks_exact(ENTRY_BYTES).position(|found| found == wanted).and_then(|at| u32::try_from(at).ok())
    }
}

fn fits(seed: &Seed, published: &str) -> bool {
    hex32(published).is_some_and(|published| published == commitment(seed))
}
