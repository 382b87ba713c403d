//! Codes of both versions: read back, refused when anything is changed, and small enough for their QR.

use super::*;
use proptest::prelude::*;

/// Alphanumeric characters that a QR code holds (ISO/IEC 18004, table 7).
const VERSION_6_M_CHARS: usize = 154;
const VERSION_7_M_CHARS: usize = 178;

fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn sample() -> (TicketCode, SigningKey, PerformanceId) {
    let performance = PerformanceId(Uuid::from_u128(7));
    let code =
        TicketCode { key_id: 1, performance, ticket: TicketId(Uuid::from_u128(9)), seat: SeatNo(1234), issue: 0 };
    (code, key(3), performance)
}

/// The code in each version.
fn both(code: &TicketCode, key: &SigningKey) -> [String; 2] {
    [Version::One, Version::Two].map(|version| code.sign_as(version, key))
}

#[test]
fn a_code_verifies_offline_and_fits_a_readable_qr() {
    let (code, key, performance) = sample();
    let [old, new] = both(&code, &key);
    assert_eq!(code.sign(&key), new, "the newer version is written");
    for text in [&old, &new] {
        assert_eq!(TicketCode::verify(text, performance, &key.verifying_key()), Ok(code));
        assert_eq!(TicketCode::read(text), Some(code));
        assert!(text.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase() || b" $%*+-./:".contains(&b)));
    }
    assert_eq!((old.len(), new.len()), (165, 153));
    assert!(old.len() <= VERSION_7_M_CHARS && new.len() <= VERSION_6_M_CHARS);
    assert_eq!((Version::Two.body_bytes(), Version::Two.text_chars()), (38, 153));
    assert!(!new.contains([' ', '%', '+', '/']), "{new}");
}

#[test]
fn every_altered_character_is_refused() {
    let (code, key, performance) = sample();
    for text in both(&code, &key) {
        for i in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[i] = if bytes[i] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(bytes).unwrap();
            assert!(TicketCode::verify(&altered, performance, &key.verifying_key()).is_err(), "character {i}");
        }
        for cut in [&text[1..], &text[..text.len() - 1], &text[3..], &text.to_lowercase()] {
            assert_eq!(TicketCode::read(cut), None, "{cut}");
        }
    }
}

#[test]
fn another_key_or_performance_is_refused() {
    let (code, key, performance) = sample();
    let other = self::key(4);
    let elsewhere = PerformanceId(Uuid::from_u128(8));
    for text in both(&code, &key) {
        let verified = |performance, key: &SigningKey| TicketCode::verify(&text, performance, &key.verifying_key());
        assert_eq!(verified(performance, &other), Err(TicketCodeError::Forged));
        assert_eq!(verified(elsewhere, &key), Err(TicketCodeError::OtherPerformance));
    }
    assert_eq!(TicketCode::verify("hello", performance, &key.verifying_key()), Err(TicketCodeError::Malformed));
}

#[test]
fn keys_rotate_and_an_id_that_comes_around_stands_for_both() {
    let (code, old, performance) = sample();
    let new = key(4);
    let next = TicketCode { key_id: 2, ..code };
    let of =
        |keys: &[(u8, &SigningKey)]| TicketKeys::new(keys.iter().map(|(id, key)| (*id, key.verifying_key())).collect());
    let rotating = of(&[(1, &old), (2, &new)]);
    for (code, key) in [(code, &old), (next, &new)] {
        for text in both(&code, key) {
            assert_eq!(TicketCode::verify_by(&text, performance, &rotating), Ok(code));
        }
    }
    let swapped = next.sign(&old);
    assert_eq!(TicketCode::verify_by(&swapped, performance, &rotating), Err(TicketCodeError::Forged));
    let alone = of(&[(2, &new)]);
    assert_eq!(TicketCode::verify_by(&code.sign(&old), performance, &alone), Err(TicketCodeError::UnknownKey));
    let around = of(&[(1, &new), (1, &old)]);
    assert_eq!(TicketCode::verify_by(&code.sign(&old), performance, &around), Ok(code));
    assert_eq!(TicketCode::verify_by("hello", performance, &around), Err(TicketCodeError::Malformed));
}

#[test]
fn a_seat_that_the_newer_version_has_no_room_for_is_written_in_the_older() {
    let (code, key, performance) = sample();
    for (seat, chars) in [((1 << 24) - 1, 153), (1 << 24, 165), (u32::MAX, 165)] {
        let code = TicketCode { seat: SeatNo(seat), ..code };
        let text = code.sign(&key);
        assert_eq!(text.len(), chars, "seat {seat}");
        assert_eq!(TicketCode::verify(&text, performance, &key.verifying_key()), Ok(code));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_code_is_read_back(
        ids in any::<(u128, u128)>(),
        seat in prop_oneof![0..1_u32 << 24, any::<u32>()],
        key_id in any::<u8>(),
        issue in any::<u8>(),
    ) {
        let (performance, ticket) = (PerformanceId(Uuid::from_u128(ids.0)), TicketId(Uuid::from_u128(ids.1)));
        let code = TicketCode { key_id, performance, ticket, seat: SeatNo(seat), issue };
        let keys = TicketKeys::new(vec![(key_id, key(3).verifying_key())]);
        prop_assert_eq!(TicketCode::verify_by(&code.sign(&key(3)), performance, &keys), Ok(code));
    }

    #[test]
    fn any_text_is_read_without_harm(text in "[0-9A-Z$*.:-]{150,170}") {
        if let Some(code) = TicketCode::read(&text) {
            let verified = TicketCode::verify(&text, code.performance, &key(3).verifying_key());
            prop_assert_eq!(verified, Err(TicketCodeError::Forged));
        }
    }
}
