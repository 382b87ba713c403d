//! Secrets of endpoints, and what is signed with them (Standard Webhooks 1.0.0, "Signature scheme").

use crate::backend::random_bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// What a secret begins with, so that people and scanners know it for one.
const PREFIX: &str = "whsec_";
/// Bytes of a secret: the specification asks for 24 to 64.
const SECRET_BYTES: usize = 32;

/// A new secret.
pub(super) fn new_secret() -> [u8; SECRET_BYTES] {
    random_bytes()
}

/// A secret as its owner is shown it.
pub(super) fn shown(secret: &[u8]) -> String {
    format!("{PREFIX}{}", STANDARD.encode(secret))
}

/// The `webhook-signature`: one for each secret, separated by spaces. `id.timestamp.body` is signed.
pub(super) fn sign(secrets: &[&[u8]], id: &str, unix_s: i64, body: &str) -> String {
    let one = |secret: &&[u8]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
        mac.update(format!("{id}.{unix_s}.").as_bytes());
        mac.update(body.as_bytes());
        format!("v1,{}", STANDARD.encode(&mac.finalize().into_bytes()[..]))
    };
    secrets.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with `openssl dgst -sha256 -mac HMAC` from the key 01 … 20 (hexadecimal, 32 bytes).
    const SIGNED: &str = "v1,pBxn0wHkJYBo4OjQUmqxUkQ0HmM+Jz140N9wxDb+5Sc=";

    #[test]
    fn a_signature_is_that_of_an_independent_program() {
        let key: Vec<u8> = (1..=32).collect();
        assert_eq!(sign(&[&key], "evt_1", 1_792_891_800, r#"{"type":"order.paid"}"#), SIGNED);
    }

    #[test]
    fn both_secrets_sign_while_one_follows_the_other() {
        let (new, old) = (new_secret(), new_secret());
        assert_ne!(new, old);
        let both = sign(&[&new, &old], "evt_1", 7, "{}");
        assert_eq!(both, format!("{} {}", sign(&[&new], "evt_1", 7, "{}"), sign(&[&old], "evt_1", 7, "{}")));
        assert_eq!(shown(&[0; 24]), format!("whsec_{}", "A".repeat(32)));
    }
}
