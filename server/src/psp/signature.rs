//! Signs webhook deliveries: `StarPay-Signature: t=<unix seconds>,v1=<hex>[,v1=<hex>]`.
//!
//! Owns the header's form, nothing else; verifying is the merchant's work.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The name of the header that carries the signature.
pub const HEADER: &str = "StarPay-Signature";

/// The whole header value for `body` at `unix_s`. While a secret is being rotated, `secret` names the
/// new and the old one, separated by a comma; each gives a `v1`, and a receiver accepts any.
pub fn sign(secret: &str, body: &[u8], unix_s: i64) -> String {
    let mut header = format!("t={unix_s}");
    for part in secret.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        header.push_str(",v1=");
        header.push_str(&mac(part, body, unix_s));
    }
    header
}

/// Hex HMAC-SHA256 of `"<unix_s>.<body>"` under one secret.
pub fn mac(secret: &str, body: &[u8], unix_s: i64) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(unix_s.to_string().as_bytes());
    mac.update(b".");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_value_and_rotation() {
        // Computed with `printf '1700000000.{}' | openssl dgst -sha256 -hmac secret`.
        let expected = "b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163";
        assert_eq!(mac("secret", b"{}", 1_700_000_000), expected);
        let header = sign("new, secret", b"{}", 1_700_000_000);
        assert_eq!(header.matches("v1=").count(), 2);
        assert!(header.starts_with("t=1700000000,v1=") && header.ends_with(expected));
    }
}
