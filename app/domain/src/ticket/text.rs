//! Bytes as text that a QR code packs tightly: its alphanumeric mode takes 5.5 bits a character.

/// RFC 4648: five bits a character.
const BASE_32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// 41 of the 45 characters of the alphanumeric mode: without the space, which people and programs trim,
/// and without `%`, `+` and `/`, which mean something in an address. Digits and letters come first.
const BASE_41: &[u8; 41] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ$*-.:";

/// Base32 without padding.
pub(super) fn base32(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    let (mut buffer, mut bits) = (0u32, 0u32);
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            out.push(char::from(BASE_32[(buffer >> bits) as usize & 31]));
        }
        buffer &= (1 << bits) - 1;
    }
    if bits > 0 {
        out.push(char::from(BASE_32[(buffer << (5 - bits)) as usize & 31]));
    }
    out
}

/// The bytes of [`base32`], or `None` for another text.
pub(super) fn unbase32(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 5 / 8);
    let (mut buffer, mut bits) = (0u32, 0u32);
    for byte in text.bytes() {
        let value = BASE_32.iter().position(|c| *c == byte)?;
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

/// Pairs of bytes as three characters each, the lowest digit first: 41³ = 68,921 is more than 2¹⁶. The
/// same density as base45 (RFC 9285), whose way of writing pairs this is.
pub(super) fn base41(bytes: &[u8]) -> String {
    debug_assert!(bytes.len().is_multiple_of(2), "a code has an even number of bytes");
    let mut out = String::with_capacity(bytes.len() / 2 * 3);
    for pair in bytes.chunks_exact(2) {
        let value = usize::from(u16::from_be_bytes([pair[0], pair[1]]));
        for digit in [value % 41, value / 41 % 41, value / (41 * 41)] {
            out.push(char::from(BASE_41[digit]));
        }
    }
    out
}

/// The bytes of [`base41`], or `None` for another text. Each text means other bytes.
pub(super) fn unbase41(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(3) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 3 * 2);
    for three in text.as_bytes().chunks_exact(3) {
        let mut value = 0_u32;
        for character in three.iter().rev() {
            let digit = BASE_41.iter().position(|c| c == character)?;
            value = value * 41 + u32::try_from(digit).ok()?;
        }
        out.extend_from_slice(&u16::try_from(value).ok()?.to_be_bytes());
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_bytes_are_known_texts() {
        assert_eq!(base32(b"foobar"), "MZXW6YTBOI");
        // 65535 = 17 + 41 · (40 + 41 · 38).
        assert_eq!(base41(&[0xff, 0xff]), "H:-");
        assert_eq!(base41(&[0, 0, 0, 41]), "000010");
    }

    #[test]
    fn what_no_bytes_are_written_as_is_refused() {
        // The last one is 65536.
        for text in ["0", "00", "0000", "a00", "0 0", "::::", ":::", "I:-"] {
            assert_eq!(unbase41(text), None, "{text}");
        }
        for text in ["A", "B2", "a2", "A1", "AAAA====", "A B"] {
            assert_eq!(unbase32(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn bytes_are_read_back(pairs in prop::collection::vec(any::<[u8; 2]>(), 0..60)) {
            let bytes: Vec<u8> = pairs.concat();
            prop_assert_eq!(unbase41(&base41(&bytes)), Some(bytes.clone()));
            prop_assert_eq!(unbase32(&base32(&bytes)), Some(bytes));
        }

        /// A text that is read is the text that its bytes are written as.
        #[test]
        fn each_text_means_other_bytes(text in "[0-9A-Z$*.:-]{0,12}") {
            if let Some(bytes) = unbase41(&text) {
                prop_assert_eq!(base41(&bytes), text);
            }
        }
    }
}
