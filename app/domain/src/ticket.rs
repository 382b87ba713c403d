//! The code on a ticket: compact, signed, without personal data, verified offline by a door device.
//!
//! Bytes, version 1: `1` ‖ key id (u8) ‖ performance (16) ‖ ticket (16) ‖ seat number (u32, big endian)
//! ‖ issue (u8: counts reissues) ‖ Ed25519 signature (64) over everything before it. Written in
//! base32 without padding, upper case, since a QR code packs that alphabet tightest (its
//! alphanumeric mode takes 5.5 bits a character).

use crate::ids::{PerformanceId, SeatNo, TicketId};
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};
use uuid::Uuid;

const VERSION: u8 = 1;
const BODY_BYTES: usize = 1 + 1 + 16 + 16 + 4 + 1;
const SIGNATURE_BYTES: usize = 64;
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// What a code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketCode {
    /// Which of the organizer's keys signed.
    pub key_id: u8,
    /// The performance.
    pub performance: PerformanceId,
    /// The ticket.
    pub ticket: TicketId,
    /// The seat.
    pub seat: SeatNo,
    /// 0 for the first issue, one more for each reissue.
    pub issue: u8,
}

/// Why a code is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketCodeError {
    /// Not a code of ours.
    #[error("this is not a ticket code")]
    Malformed,
    /// The signature is not ours.
    #[error("the ticket's signature is wrong")]
    Forged,
    /// Signed for another performance.
    #[error("the ticket is for another performance")]
    OtherPerformance,
}

impl TicketCode {
    fn body(&self) -> [u8; BODY_BYTES] {
        let mut body = [0; BODY_BYTES];
        body[0] = VERSION;
        body[1] = self.key_id;
        body[2..18].copy_from_slice(self.performance.0.as_bytes());
        body[18..34].copy_from_slice(self.ticket.0.as_bytes());
        body[34..38].copy_from_slice(&self.seat.0.to_be_bytes());
        body[38] = self.issue;
        body
    }

    /// Signs and writes the code.
    pub fn sign(&self, key: &SigningKey) -> String {
        let body = self.body();
        let mut bytes = body.to_vec();
        bytes.extend_from_slice(&key.sign(&body).to_bytes());
        base32(&bytes)
    }

    /// Reads and verifies a code at the door of `performance`.
    ///
    /// # Errors
    /// [`TicketCodeError`] says which: another form, a wrong signature, another performance.
    pub fn verify(text: &str, performance: PerformanceId, key: &VerifyingKey) -> Result<Self, TicketCodeError> {
        let bytes = bytes_of(text).ok_or(TicketCodeError::Malformed)?;
        let (body, signature) = bytes.split_at(BODY_BYTES);
        let signature = Signature::from_slice(signature).map_err(|_| TicketCodeError::Malformed)?;
        key.verify(body, &signature).map_err(|_| TicketCodeError::Forged)?;
        let code = Self::of_body(body).ok_or(TicketCodeError::Malformed)?;
        if code.performance != performance {
            return Err(TicketCodeError::OtherPerformance);
        }
        Ok(code)
    }

    /// What a code claims, without a look at its signature: enough to search by, never to admit.
    pub fn read(text: &str) -> Option<Self> {
        Self::of_body(bytes_of(text)?.get(..BODY_BYTES)?)
    }

    fn of_body(body: &[u8]) -> Option<Self> {
        let uuid = |range: std::ops::Range<usize>| Uuid::from_slice(body.get(range)?).ok();
        Some(Self {
            key_id: *body.get(1)?,
            performance: PerformanceId(uuid(2..18)?),
            ticket: TicketId(uuid(18..34)?),
            seat: SeatNo(u32::from_be_bytes(body.get(34..38)?.try_into().ok()?)),
            issue: *body.get(38)?,
        })
    }
}

/// The bytes of a text that has the form of a code.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    unbase32(text).filter(|bytes| bytes.len() == BODY_BYTES + SIGNATURE_BYTES && bytes[0] == VERSION)
}

fn base32(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    let (mut buffer, mut bits) = (0u32, 0u32);
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            out.push(char::from(ALPHABET[(buffer >> bits) as usize & 31]));
        }
        buffer &= (1 << bits) - 1;
    }
    if bits > 0 {
        out.push(char::from(ALPHABET[(buffer << (5 - bits)) as usize & 31]));
    }
    out
}

fn unbase32(text: &str) -> Option<Vec<u8>> {
    if text.len() > 4 * (BODY_BYTES + SIGNATURE_BYTES) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() * 5 / 8);
    let (mut buffer, mut bits) = (0u32, 0u32);
    for byte in text.bytes() {
        let value = ALPHABET.iter().position(|c| *c == byte)?;
        buffer = (buffer << 5) | u32::try_from(value).ok()?;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(buffer >> bits).ok()?);
            buffer &= (1 << bits) - 1;
        }
    }
    // Bits that carry nothing must be zero, or two texts would mean one ticket.
    (buffer == 0 && bits < 5).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (TicketCode, SigningKey, PerformanceId) {
        let performance = PerformanceId(Uuid::from_u128(7));
        let code =
            TicketCode { key_id: 1, performance, ticket: TicketId(Uuid::from_u128(9)), seat: SeatNo(1234), issue: 0 };
        (code, SigningKey::from_bytes(&[3; 32]), performance)
    }

    #[test]
    fn a_code_verifies_offline_and_fits_a_readable_qr() {
        let (code, key, performance) = sample();
        let text = code.sign(&key);
        assert_eq!(TicketCode::verify(&text, performance, &key.verifying_key()), Ok(code));
        assert_eq!(TicketCode::read(&text), Some(code));
        // QR version 8 at error correction M holds 221 alphanumeric characters: 49 modules a side.
        assert!(text.len() <= 221, "{}", text.len());
    }

    #[test]
    fn every_altered_character_is_refused() {
        let (code, key, performance) = sample();
        let text = code.sign(&key);
        for i in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[i] = if bytes[i] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(bytes).unwrap();
            assert!(TicketCode::verify(&altered, performance, &key.verifying_key()).is_err(), "character {i}");
        }
    }

    #[test]
    fn another_key_or_performance_is_refused() {
        let (code, key, performance) = sample();
        let text = code.sign(&key);
        let other = SigningKey::from_bytes(&[4; 32]);
        assert_eq!(TicketCode::verify(&text, performance, &other.verifying_key()), Err(TicketCodeError::Forged));
        let elsewhere = PerformanceId(Uuid::from_u128(8));
        assert_eq!(TicketCode::verify(&text, elsewhere, &key.verifying_key()), Err(TicketCodeError::OtherPerformance));
        assert_eq!(TicketCode::verify("hello", performance, &key.verifying_key()), Err(TicketCodeError::Malformed));
    }
}
