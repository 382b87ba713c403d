//! The code on a ticket: compact, signed, without personal data, verified offline by a door device.
//!
//! Version 2, which is written. 102 bytes: `2` ‖ key id (u8) ‖ performance (16) ‖ ticket (16) ‖ seat
//! number (u24, big endian) ‖ issue (u8: counts reissues) ‖ Ed25519 signature (64) over the 38 before it.
//! As text 153 characters of the QR alphanumeric mode, three for two bytes. With its header (mode 4
//! bits, count 9 bits) that is 13 + 76 · 11 + 6 = 855 bits, and a QR code of version 6 at error correction
//! M holds 108 · 8 = 864 (ISO/IEC 18004, table 7): 41 modules a side. At level L
//! version 5 holds it, 37 modules a side.
//!
//! Version 1, which is still read: seat number in 32 bits, so 103 bytes, in base32 without padding. Its
//! 165 characters need version 7 at level M. The lengths of the texts tell the versions apart, and the
//! first byte, which is signed, says it again. A seat number beyond 24 bits is written in version 1; no
//! plan has one.
//!
//! The key id names the key that signed. So keys can rotate: a door device holds the old and the new one
//! ([`TicketKeys`]) until the last ticket of the old one was played.

pub mod calendar;
pub mod change;
#[cfg(feature = "import")]
pub mod holder;
mod text;

use crate::ids::{PerformanceId, SeatNo, TicketId};
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};
use uuid::Uuid;

const SIGNATURE_BYTES: usize = 64;

/// One way of writing a code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The first byte.
    const fn byte(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    /// Bytes of a seat number.
    const fn seat_bytes(self) -> usize {
        match self {
            Self::One => 4,
            Self::Two => 3,
        }
    }

    /// Bytes that are signed.
    const fn body_bytes(self) -> usize {
        1 + 1 + 16 + 16 + self.seat_bytes() + 1
    }

    /// Characters of a text.
    const fn text_chars(self) -> usize {
        let bytes = self.body_bytes() + SIGNATURE_BYTES;
        match self {
            Self::One => (bytes * 8).div_ceil(5),
            Self::Two => bytes / 2 * 3,
        }
    }

    fn write(self, bytes: &[u8]) -> String {
        match self {
            Self::One => text::base32(bytes),
            Self::Two => text::base41(bytes),
        }
    }

    fn read(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::One => text::unbase32(text),
            Self::Two => text::unbase41(text),
        }
    }

    /// The version of a text, and its bytes.
    fn of(text: &str) -> Option<(Self, Vec<u8>)> {
        let version = [Self::Two, Self::One].into_iter().find(|version| version.text_chars() == text.len())?;
        let bytes = version.read(text)?;
        let fits = bytes.len() == version.body_bytes() + SIGNATURE_BYTES && bytes[0] == version.byte();
        fits.then_some((version, bytes))
    }
}

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
    /// Signed by a key that the device does not have: it must fetch the keys anew.
    #[error("the key of the ticket's signature is not known here")]
    UnknownKey,
    /// The signature is not ours.
    #[error("the ticket's signature is wrong")]
    Forged,
    /// Signed for another performance.
    #[error("the ticket is for another performance")]
    OtherPerformance,
}

/// The public keys that a door device accepts, each with its id. Ids come around after 256 keys, so one
/// may stand for more than one key.
#[derive(Clone, Debug, Default)]
pub struct TicketKeys(Vec<(u8, VerifyingKey)>);

impl TicketKeys {
    /// Keys with their ids.
    #[must_use]
    pub fn new(keys: Vec<(u8, VerifyingKey)>) -> Self {
        Self(keys)
    }

    fn named(&self, key_id: u8) -> impl Iterator<Item = &VerifyingKey> {
        self.0.iter().filter(move |(id, _)| *id == key_id).map(|(_, key)| key)
    }
}

impl TicketCode {
    /// Signs and writes the code.
    pub fn sign(&self, key: &SigningKey) -> String {
        self.sign_as(self.version(), key)
    }

    fn version(&self) -> Version {
        if self.seat.0 < 1 << 24 { Version::Two } else { Version::One }
    }

    fn sign_as(&self, version: Version, key: &SigningKey) -> String {
        let mut bytes = self.body(version);
        let signature = key.sign(&bytes).to_bytes();
        bytes.extend_from_slice(&signature);
        version.write(&bytes)
    }

    fn body(&self, version: Version) -> Vec<u8> {
        let seat = self.seat.0.to_be_bytes();
        let mut body = vec![version.byte(), self.key_id];
        body.extend_from_slice(self.performance.0.as_bytes());
        body.extend_from_slice(self.ticket.0.as_bytes());
        body.extend_from_slice(&seat[seat.len() - version.seat_bytes()..]);
        body.push(self.issue);
        body
    }

    /// Reads and verifies a code at the door of `performance`, by one key whatever its id.
    ///
    /// # Errors
    /// [`TicketCodeError`] says which: another form, a wrong signature, another performance.
    pub fn verify(text: &str, performance: PerformanceId, key: &VerifyingKey) -> Result<Self, TicketCodeError> {
        let signed = Signed::of(text).ok_or(TicketCodeError::Malformed)?;
        signed.verify(performance, std::iter::once(key))
    }

    /// Reads and verifies a code at the door of `performance`, by the key that it names.
    ///
    /// # Errors
    /// [`TicketCodeError`] says which: another form, an unknown key, a wrong signature, another
    /// performance.
    pub fn verify_by(text: &str, performance: PerformanceId, keys: &TicketKeys) -> Result<Self, TicketCodeError> {
        let signed = Signed::of(text).ok_or(TicketCodeError::Malformed)?;
        let key_id = signed.code.key_id;
        if keys.named(key_id).next().is_none() {
            return Err(TicketCodeError::UnknownKey);
        }
        signed.verify(performance, keys.named(key_id))
    }

    /// What a code claims, without a look at its signature: enough to search by, never to admit.
    pub fn read(text: &str) -> Option<Self> {
        Signed::of(text).map(|signed| signed.code)
    }

    fn of_body(version: Version, body: &[u8]) -> Option<Self> {
        let uuid = |range: std::ops::Range<usize>| Uuid::from_slice(body.get(range)?).ok();
        let (seat, issue) = body.get(34..)?.split_at_checked(version.seat_bytes())?;
        Some(Self {
            key_id: *body.get(1)?,
            performance: PerformanceId(uuid(2..18)?),
            ticket: TicketId(uuid(18..34)?),
            seat: SeatNo(seat.iter().fold(0_u32, |number, byte| (number << 8) | u32::from(*byte))),
            issue: *issue.first()?,
        })
    }
}

/// A code in its parts, not verified yet.
struct Signed {
    code: TicketCode,
    body: Vec<u8>,
    signature: Signature,
}

impl Signed {
    fn of(text: &str) -> Option<Self> {
        let (version, mut body) = Version::of(text)?;
        let signature = Signature::from_slice(&body.split_off(version.body_bytes())).ok()?;
        Some(Self { code: TicketCode::of_body(version, &body)?, body, signature })
    }

    fn verify<'a>(
        &self,
        performance: PerformanceId,
        mut keys: impl Iterator<Item = &'a VerifyingKey>,
    ) -> Result<TicketCode, TicketCodeError> {
        if !keys.any(|key| key.verify(&self.body, &self.signature).is_ok()) {
            return Err(TicketCodeError::Forged);
        }
        if self.code.performance != performance {
            return Err(TicketCodeError::OtherPerformance);
        }
        Ok(self.code)
    }
}

#[cfg(test)]
mod tests;
