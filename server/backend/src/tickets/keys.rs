//! The keys of ticket codes in use: the first signs, all verify.

use crate::config::TicketKey;
use domain::ticket::{TicketCode, TicketKeys};
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};

/// Signs codes and lists of revocations.
pub(crate) struct TicketSigner {
    newest: (u8, SigningKey),
    /// All of them, the newest first.
    public: Vec<(u8, VerifyingKey)>,
}

impl TicketSigner {
    /// # Panics
    /// Panics when there is no key: configuration refuses that before.
    pub(crate) fn new(keys: &[TicketKey]) -> Self {
        let first = keys.first().expect("at least one ticket key is configured");
        let public = keys.iter().map(|key| (key.id, SigningKey::from_bytes(&key.seed).verifying_key())).collect();
        Self { newest: (first.id, SigningKey::from_bytes(&first.seed)), public }
    }

    /// The number of the key that signs.
    pub(crate) fn id(&self) -> u8 {
        self.newest.0
    }

    /// Writes a code, by the newest key, whatever number it came with.
    pub(crate) fn code(&self, code: TicketCode) -> String {
        TicketCode { key_id: self.id(), ..code }.sign(&self.newest.1)
    }

    /// Signs other bytes than a code's. A code's begin with 1 or 2; these must not.
    pub(crate) fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        debug_assert!(bytes.first().is_some_and(|first| *first > 2), "a signature of one thing is none of another");
        self.newest.1.sign(bytes).to_bytes()
    }

    /// What a door device has: every key by its number.
    pub(crate) fn keys(&self) -> TicketKeys {
        TicketKeys::new(self.public.clone())
    }

    /// The public keys, the newest first.
    pub(crate) fn public(&self) -> impl Iterator<Item = (u8, [u8; 32])> {
        self.public.iter().map(|(id, key)| (*id, key.to_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ticket::TicketCodeError;
    use domain::{PerformanceId, SeatNo, TicketId};

    #[test]
    fn after_a_rotation_old_codes_verify_and_new_ones_name_the_new_key() {
        let key = |id: u8| TicketKey { id, seed: [id; 32] };
        let performance = PerformanceId(uuid::Uuid::from_u128(1));
        let ticket = TicketId(uuid::Uuid::from_u128(2));
        let code = TicketCode { key_id: 0, performance, ticket, seat: SeatNo(3), issue: 0 };
        let (before, after, later) =
            (TicketSigner::new(&[key(1)]), TicketSigner::new(&[key(2), key(1)]), TicketSigner::new(&[key(2)]));
        let (old, new) = (before.code(code), after.code(code));
        let read = |text: &str, signer: &TicketSigner| {
            TicketCode::verify_by(text, performance, &signer.keys()).map(|code| code.key_id)
        };
        assert_eq!((read(&old, &after), read(&new, &after)), (Ok(1), Ok(2)));
        assert_eq!(read(&old, &later), Err(TicketCodeError::UnknownKey));
        assert_eq!(read(&new, &before), Err(TicketCodeError::UnknownKey));
        assert_eq!(after.public().map(|(id, _)| id).collect::<Vec<_>>(), [2, 1]);
    }
}
