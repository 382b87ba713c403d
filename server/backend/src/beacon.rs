//! Public randomness for draws: a port, drand's HTTP interface, and a sandbox.
//!
//! A round is named when an on-sale is scheduled, by arithmetic alone, and read when it is due. Whoever
//! checks a draw compares the round with the beacon itself: this side is not to be trusted, and needs not to be.

use crate::config::BeaconSettings;
use crate::error::{Error, Result};
use domain::Millis;
use domain::queue::facts::BeaconRound;
use futures::future::BoxFuture;
use serde::Deserialize;
use sha2::{Digest as _, Sha256, Sha512};
use std::time::Duration;

/// A relay that takes longer is asked again, or the next one is.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// The sandbox's chain.
pub(crate) const SANDBOX: &str = "sandbox";
/// The sandbox has a round a second.
const SANDBOX_PERIOD_MS: i64 = 1_000;

/// What a beacon said in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BeaconValue {
    /// SHA-256 of the signature.
    pub(crate) randomness: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

/// A source of public randomness.
pub(crate) trait Beacon: Send + Sync {
    /// The first round that is due at an instant or after it.
    fn round_at(&self, at: Millis) -> BeaconRound;

    /// What was said in a round.
    ///
    /// # Errors
    /// Where it can't be read yet, or is not what it claims to be.
    fn read<'a>(&'a self, round: &'a BeaconRound) -> BoxFuture<'a, Result<BeaconValue>>;
}

/// The beacon that the settings name.
pub(crate) fn from_settings(settings: &BeaconSettings) -> Result<Option<Box<dyn Beacon>>> {
    Ok(match settings {
        BeaconSettings::None => None,
        BeaconSettings::Sandbox => Some(Box::new(SandboxBeacon)),
        BeaconSettings::Drand { urls, chain, genesis_ms, period_ms } => Some(Box::new(Drand {
            http: client()?,
            urls: urls.clone(),
            chain: chain.clone(),
            genesis: Millis(*genesis_ms),
            period_ms: *period_ms,
        })),
    })
}

/// Chooses the cryptography of outgoing TLS for this process. Needed before an HTTP client is built.
pub fn use_tls() {
    // Who comes later finds it chosen, which is no fault.
    drop(rustls::crypto::ring::default_provider().install_default());
}

fn client() -> Result<reqwest::Client> {
    use_tls();
    reqwest::Client::builder()
        .timeout(REQUEST_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|e| Error::Broken(format!("the HTTP client of the beacon could not be built: {e}")))
}

/// The first round of a chain that is due at an instant or after it. Round 1 is due at the genesis.
fn first_round(chain: &str, genesis: Millis, period_ms: i64, at: Millis) -> BeaconRound {
    let periods = (at.0 - genesis.0).max(0).div_euclid(period_ms);
    let due = |periods: i64| genesis.0 + periods * period_ms;
    let periods = if due(periods) < at.0 { periods + 1 } else { periods };
    BeaconRound { chain: chain.to_owned(), round: u64::try_from(periods + 1).unwrap_or(1), due: Millis(due(periods)) }
}

/// A chain of the drand network, by its HTTP interface (`/{chain}/public/{round}`).
struct Drand {
    http: reqwest::Client,
    urls: Vec<String>,
    chain: String,
    genesis: Millis,
    period_ms: i64,
}

#[derive(Deserialize)]
struct DrandRound {
    round: u64,
    randomness: String,
    signature: String,
}

impl DrandRound {
    /// The value, when it is of the round that was asked for and fits itself.
    fn checked(&self, round: u64) -> Result<BeaconValue> {
        let wrong = |what: &str| Error::Broken(format!("the beacon's answer for round {round} {what}"));
        if self.round != round {
            return Err(wrong("is of another round"));
        }
        let signature = hex::decode(&self.signature).map_err(|_| wrong("has no readable signature"))?;
        let randomness = hex::decode(&self.randomness).map_err(|_| wrong("has no readable randomness"))?;
        if Sha256::digest(&signature).as_slice() != randomness {
            return Err(wrong("has a randomness that is not the SHA-256 of its signature"));
        }
        Ok(BeaconValue { randomness, signature })
    }
}

impl Drand {
    async fn ask(&self, url: &str, round: &BeaconRound) -> Result<BeaconValue> {
        let failed = |e: reqwest::Error| Error::Broken(format!("the beacon's relay {url}: {e}"));
        let address = format!("{url}/{}/public/{}", round.chain, round.round);
        let answer = self.http.get(address).send().await.map_err(failed)?;
        if !answer.status().is_success() {
            return Err(Error::Broken(format!("the beacon's relay {url} answers {}", answer.status())));
        }
        answer.json::<DrandRound>().await.map_err(failed)?.checked(round.round)
    }
}

impl Beacon for Drand {
    fn round_at(&self, at: Millis) -> BeaconRound {
        first_round(&self.chain, self.genesis, self.period_ms, at)
    }

    fn read<'a>(&'a self, round: &'a BeaconRound) -> BoxFuture<'a, Result<BeaconValue>> {
        Box::pin(async move {
            let mut last = Error::Broken("no relay of the beacon is named".to_owned());
            for url in &self.urls {
                match self.ask(url, round).await {
                    Ok(value) => return Ok(value),
                    Err(error) => last = error,
                }
            }
            Err(last)
        })
    }
}

/// A beacon for practice: anybody can compute its rounds beforehand.
struct SandboxBeacon;

impl Beacon for SandboxBeacon {
    fn round_at(&self, at: Millis) -> BeaconRound {
        first_round(SANDBOX, Millis(0), SANDBOX_PERIOD_MS, at)
    }

    fn read<'a>(&'a self, round: &'a BeaconRound) -> BoxFuture<'a, Result<BeaconValue>> {
        let signature = Sha512::digest(format!("stararena sandbox beacon {}", round.round)).to_vec();
        let randomness = Sha256::digest(&signature).to_vec();
        Box::pin(async move { Ok(BeaconValue { randomness, signature }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_is_the_first_that_is_due_then_or_later() {
        let round = |at: i64| {
            let round = first_round("c", Millis(1_000), 3_000, Millis(at));
            (round.round, round.due.0)
        };
        assert_eq!(round(0), (1, 1_000));
        assert_eq!(round(1_000), (1, 1_000));
        assert_eq!(round(1_001), (2, 4_000));
        assert_eq!(round(4_000), (2, 4_000));
        assert_eq!(round(6_999), (3, 7_000));
    }

    #[test]
    fn an_answer_that_does_not_fit_itself_is_refused() {
        let signature = [7_u8; 48];
        let good = DrandRound {
            round: 5,
            randomness: hex::encode(Sha256::digest(signature)),
            signature: hex::encode(signature),
        };
        assert!(good.checked(5).is_ok());
        assert!(good.checked(6).unwrap_err().to_string().contains("another round"));
        let forged = DrandRound { randomness: "00".repeat(32), ..good };
        assert!(forged.checked(5).unwrap_err().to_string().contains("not the SHA-256"));
    }

    #[tokio::test]
    async fn the_sandbox_says_the_same_of_a_round_whenever_it_is_asked() {
        let round = SandboxBeacon.round_at(Millis(12_345));
        assert_eq!((round.round, round.due), (14, Millis(13_000)));
        let value = SandboxBeacon.read(&round).await.unwrap();
        assert_eq!(value, SandboxBeacon.read(&round).await.unwrap());
        assert_eq!(Sha256::digest(&value.signature).as_slice(), value.randomness);
    }
}
