//! Compact signed tokens: session cookie, queue ticket and pass.
//!
//! Form: `<purpose>.<base64url(payload JSON)>.<base64url(HMAC-SHA256)>`, where the signature covers
//! `<purpose>.<payload>`. The purpose keeps a token of one kind from being read as another. Keys
//! rotate: the first key signs, every key verifies.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Serialize, de::DeserializeOwned};
use sha2::Sha256;

/// Longest token that is looked at; anything longer is refused unread.
pub const TOKEN_MAX_BYTES: usize = 1024;

/// The keys of one process: the first signs, all verify.
#[derive(Clone)]
pub struct TokenKeys(Vec<Vec<u8>>);

/// Why a token was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not of this form, or of another purpose.
    #[error("the token is malformed")]
    Malformed,
    /// No key made this signature.
    #[error("the token's signature is wrong")]
    Forged,
}

impl TokenKeys {
    /// Keys in order; the first signs.
    ///
    /// # Panics
    /// Panics when there is no key: configuration refuses that before.
    pub fn new(keys: Vec<Vec<u8>>) -> Self {
        assert!(!keys.is_empty(), "at least one signing key is configured");
        Self(keys)
    }

    fn mac(key: &[u8], signed: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
        mac.update(signed.as_bytes());
        mac
    }

    /// Signs `payload` for `purpose` (a short word without a dot).
    pub fn sign<T: Serialize>(&self, purpose: &str, payload: &T) -> String {
        let json = serde_json::to_vec(payload).expect("token payloads are plain structs");
        let signed = format!("{purpose}.{}", URL_SAFE_NO_PAD.encode(json));
        let mac = Self::mac(&self.0[0], &signed).finalize().into_bytes();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac))
    }

    /// Reads a token of `purpose`. Expiry is the caller's: only it has a clock.
    ///
    /// # Errors
    /// [`TokenError::Malformed`] for another form or purpose, [`TokenError::Forged`] for a signature
    /// that no key made.
    pub fn read<T: DeserializeOwned>(&self, purpose: &str, token: &str) -> Result<T, TokenError> {
        if token.len() > TOKEN_MAX_BYTES {
            return Err(TokenError::Malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (found, payload) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        if found != purpose {
            return Err(TokenError::Malformed);
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::Malformed)?;
        if !self.0.iter().any(|key| Self::mac(key, signed).verify_slice(&signature).is_ok()) {
            return Err(TokenError::Forged);
        }
        let json = URL_SAFE_NO_PAD.decode(payload).map_err(|_| TokenError::Malformed)?;
        serde_json::from_slice(&json).map_err(|_| TokenError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(list: &[&str]) -> TokenKeys {
        TokenKeys::new(list.iter().map(|k| k.as_bytes().to_vec()).collect())
    }

    #[test]
    fn a_token_is_read_back_by_its_purpose_only() {
        let keys = keys(&["one"]);
        let token = keys.sign("q", &(1, "x"));
        assert_eq!(keys.read::<(i32, String)>("q", &token), Ok((1, "x".to_owned())));
        assert_eq!(keys.read::<(i32, String)>("s", &token), Err(TokenError::Malformed));
    }

    #[test]
    fn every_changed_byte_is_refused() {
        let keys = keys(&["one"]);
        let token = keys.sign("q", &42);
        for i in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[i] = if bytes[i] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            if changed != token {
                // The last character carries unused bits: base64 refuses those as well.
                assert!(keys.read::<i32>("q", &changed).is_err(), "byte {i}");
            }
        }
    }

    #[test]
    fn an_old_key_verifies_until_it_is_dropped() {
        let token = keys(&["old"]).sign("q", &1);
        assert_eq!(keys(&["new", "old"]).read::<i32>("q", &token), Ok(1));
        assert_eq!(keys(&["new"]).read::<i32>("q", &token), Err(TokenError::Forged));
    }
}
