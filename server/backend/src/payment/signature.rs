//! Signatures of webhooks: `t=<seconds>,v1=<hex>[,v1=<hex>]`, HMAC-SHA256 over `t.body`.
//!
//! Stripe documents this form; the sandbox uses it as well.

use domain::Millis;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// How far a signature's time may be from ours, in seconds: the tolerance that Stripe documents.
const TOLERANCE_S: i64 = 300;

/// Whether a header fits a body: any of the secrets (two while they rotate), any of the signatures, within
/// the tolerance.
pub(super) fn fits(secrets: &[String], header: &str, body: &[u8], now: Millis) -> bool {
    let mut time = None;
    let mut signatures = Vec::new();
    for part in header.split(',') {
        match part.trim().split_once('=') {
            Some(("t", value)) => time = value.parse::<i64>().ok(),
            Some(("v1", value)) => signatures.extend(hex::decode(value)),
            _ => {}
        }
    }
    let Some(time) = time else { return false };
    if (now.0 / 1000).abs_diff(time) > TOLERANCE_S.unsigned_abs() {
        return false;
    }
    secrets.iter().any(|secret| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
        mac.update(format!("{time}.").as_bytes());
        mac.update(body);
        signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(secret: &str, time: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{time}.").as_bytes());
        mac.update(body);
        hex::encode(mac.finalize().into_bytes())
    }

    /// A vector that this program's own crates had no part in. It was made with OpenSSL 3.0.19:
    ///
    /// ```sh
    /// printf '%s' '1700000000.{"id":"evt_1","object":"event","type":"payment_intent.succeeded","created":1700000000,"livemode":false}' \
    ///   | openssl dgst -sha256 -hmac whsec_openssl -hex
    /// ```
    #[test]
    fn a_signature_that_openssl_made_fits() {
        let body = br#"{"id":"evt_1","object":"event","type":"payment_intent.succeeded","created":1700000000,"livemode":false}"#;
        let header = "t=1700000000,v1=c2cf99245a43f30985c4115a1dc68e1e76f356a7816d81a3e303c4c220f682f1";
        let (secrets, now) = (["whsec_openssl".to_owned()], Millis(1_700_000_000_000));
        assert!(fits(&secrets, header, body, now));
        assert!(!fits(&["whsec_other".to_owned()], header, body, now));
        assert!(!fits(&secrets, header, &body[..body.len() - 1], now));
        assert!(!fits(&secrets, &header.replace("t=1700000000", "t=1700000001"), body, now), "the time is signed too");
    }

    #[test]
    fn a_signature_needs_the_secret_the_body_and_the_time() {
        let secrets = ["new".to_owned(), "old".to_owned()];
        let now = Millis(1_000_000_000);
        let good = format!("t=1000000,v1={}", sign("old", 1_000_000, b"x"));
        assert!(fits(&secrets, &good, b"x", now));
        assert!(fits(&secrets, &format!("t=1000000,v1=00,v1={}", sign("new", 1_000_000, b"x")), b"x", now));
        assert!(fits(&secrets, &format!("{good},v0=00"), b"x", now), "other schemes are passed over");
        assert!(fits(&secrets, &good, b"x", now.plus(300_000)), "at the edge of the tolerance");
        assert!(!fits(&secrets, &good, b"y", now));
        assert!(!fits(&secrets, &good.replace("t=1000000", "t=1000001"), b"x", now));
        assert!(!fits(&secrets, &format!("t=1000000,v1={}", sign("other", 1_000_000, b"x")), b"x", now));
        assert!(!fits(&secrets, &good, b"x", now.plus(301_000)));
        assert!(!fits(&[], &good, b"x", now), "no secret fits nothing");
        let ends_of_time = format!("t={},v1=00", i64::MIN);
        for bad in ["", "t=", "v1=00", "t=1000000", "nonsense", &ends_of_time] {
            assert!(!fits(&secrets, bad, b"x", now), "{bad}");
        }
    }
}
