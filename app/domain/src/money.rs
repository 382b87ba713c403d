//! Money: integer minor units with an ISO 4217 currency. There is no floating point here.

pub mod fees;
pub mod split;
pub mod summary;

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A currency by its three letters and the number of its minor digits.
///
/// Exponents are those of ISO 4217; a currency that is not listed has two digits, as most do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Currency([u8; 3]);

/// ISO 4217 currencies without minor units.
const ZERO_DIGITS: &[&[u8; 3]] = &[
    b"BIF", b"CLP", b"DJF", b"GNF", b"ISK", b"JPY", b"KMF", b"KRW", b"PYG", b"RWF", b"UGX", b"UYI", b"VND", b"VUV",
    b"XAF", b"XOF", b"XPF",
];
/// ISO 4217 currencies with three minor digits.
const THREE_DIGITS: &[&[u8; 3]] = &[b"BHD", b"IQD", b"JOD", b"KWD", b"LYD", b"OMR", b"TND"];
/// ISO 4217 currencies with four minor digits.
const FOUR_DIGITS: &[&[u8; 3]] = &[b"CLF", b"UYW"];

/// The currencies of ISO 4217 that money is paid in: those in force with minor units, without metals,
/// baskets and test codes.
const IN_FORCE: &str = "\
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD \
    CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL \
    GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW \
    KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD \
    NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP \
    SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS \
    VED VES VND VUV WST XAD XAF XCD XCG XOF XPF YER ZAR ZMW ZWG";

impl Currency {
    /// Whether ISO 4217 lists it as a currency in force that money is paid in.
    #[must_use]
    pub fn is_in_force(self) -> bool {
        IN_FORCE.split_ascii_whitespace().any(|code| code.as_bytes() == self.0)
    }

    /// The currencies in force, by code.
    pub fn in_force() -> impl Iterator<Item = &'static str> {
        IN_FORCE.split_ascii_whitespace()
    }

    /// The number of minor digits: 0 for JPY, 2 for EUR, 3 for KWD, 4 for CLF.
    pub fn exponent(self) -> u32 {
        let listed = |list: &[&[u8; 3]]| list.iter().any(|code| **code == self.0);
        if listed(ZERO_DIGITS) {
            0
        } else if listed(THREE_DIGITS) {
            3
        } else if listed(FOUR_DIGITS) {
            4
        } else {
            2
        }
    }

    /// The three letters.
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("built from three ASCII letters only")
    }
}

/// Not three letters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a currency: three letters of ISO 4217 are expected")]
pub struct NotACurrency(String);

impl FromStr for Currency {
    type Err = NotACurrency;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let upper = text.to_ascii_uppercase();
        match <[u8; 3]>::try_from(upper.as_bytes()) {
            Ok(code) if code.iter().all(u8::is_ascii_uppercase) => Ok(Self(code)),
            _ => Err(NotACurrency(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Currency {
    type Error = NotACurrency;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.code().to_owned()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// An amount in minor units of one currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Money {
    /// Minor units: 1234 is EUR 12.34, JPY 1234, KWD 1.234.
    pub minor: i64,
    /// The currency.
    pub currency: Currency,
}

impl Money {
    /// An amount in minor units.
    pub fn new(minor: i64, currency: Currency) -> Self {
        Self { minor, currency }
    }

    /// The sum, or `None` when the currencies differ or the sum leaves the range.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        (self.currency == other.currency)
            .then(|| self.minor.checked_add(other.minor))
            .flatten()
            .map(|minor| Self { minor, currency: self.currency })
    }

    /// So many times the amount, or `None` when that leaves the range.
    #[must_use]
    pub fn checked_times(self, count: u32) -> Option<Self> {
        self.minor.checked_mul(i64::from(count)).map(|minor| Self { minor, currency: self.currency })
    }

    /// The amount in major units with exactly the currency's digits and a point, such as `-12.30`;
    /// the machine form used in exports. Interface texts format by locale instead.
    pub fn decimal(self) -> String {
        let digits = self.currency.exponent();
        let sign = if self.minor < 0 { "-" } else { "" };
        let magnitude = self.minor.unsigned_abs();
        if digits == 0 {
            return format!("{sign}{magnitude}");
        }
        let unit = 10u64.pow(digits);
        format!("{sign}{}.{:0width$}", magnitude / unit, magnitude % unit, width = digits as usize)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.currency, self.decimal())
    }
}

/// The greatest amount that people may type, in minor units: times the seats of the largest plan it
/// is still far inside of 64 bits.
pub const AMOUNT_MAX_MINOR: i64 = 1_000_000_000_000;
/// Longest text that is looked at as an amount, in bytes: the greatest amount in groups fits thrice.
const AMOUNT_MAX_BYTES: usize = 64;

/// Why a text is no amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Something else than digits, groups of three and one decimal sign.
    #[error("digits are expected, with a point or a comma before the minor ones, such as 129.50")]
    NotAnAmount,
    /// One comma before three digits: a thousand to some, a fraction to others.
    #[error("a comma before three digits can be read in two ways: leave it out, or write a point")]
    Ambiguous,
    /// More digits than the currency has.
    #[error("at most {0} digits may follow the point")]
    TooManyDigits(u32),
    /// Below zero.
    #[error("an amount below zero is not possible")]
    Negative,
    /// Beyond [`AMOUNT_MAX_MINOR`].
    #[error("the amount is too large")]
    TooLarge,
}

/// Reads an amount in major units as people write it: `129`, `129.50`, `129,50`, `1 234,50`,
/// `1.234,50`, `1,234.50`, `1'234.50`, also in full-width characters. The answer is in minor units.
///
/// - A point that stands alone is the decimal sign, always.
/// - A comma that stands alone is the decimal sign; before exactly three digits, after one to three
///   that don't begin with 0, it is refused as ambiguous, whatever the currency.
/// - Where both are there, the last is the decimal sign and the others are group signs; a sign that
///   stands more than once is a group sign. Spaces and apostrophes are group signs.
/// - Groups have three digits, the first one to three.
///
/// # Errors
/// Says what is wrong with it.
pub fn parse_amount(text: &str, currency: Currency) -> Result<i64, AmountError> {
    parse_decimal(text, currency.exponent())
}

/// Reads a decimal number as [`parse_amount`] does: whole and fraction together, in units of the last of
/// `exponent` digits.
///
/// # Errors
/// Says what is wrong with it.
pub fn parse_decimal(text: &str, exponent: u32) -> Result<i64, AmountError> {
    if text.len() > AMOUNT_MAX_BYTES {
        return Err(AmountError::NotAnAmount);
    }
    let text: String = text.trim().chars().map(plain_sign).collect();
    if text.starts_with('-') {
        return Err(AmountError::Negative);
    }
    let (whole, fraction) = match decimal_sign(&text)? {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text.as_str(), None),
    };
    let digits = whole_digits(whole).ok_or(AmountError::NotAnAmount)?;
    let fraction = match fraction {
        Some(digits) if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) => {
            return Err(AmountError::NotAnAmount);
        }
        fraction => fraction.unwrap_or_default(),
    };
    if fraction.len() > exponent as usize {
        return Err(AmountError::TooManyDigits(exponent));
    }
    let minor = format!("{digits}{fraction:0<width$}", width = exponent as usize);
    match minor.parse::<i64>() {
        Ok(minor) if minor <= AMOUNT_MAX_MINOR => Ok(minor),
        _ => Err(AmountError::TooLarge),
    }
}

/// The plain form of a sign: full-width ones, the spaces and the apostrophes of typesetters.
fn plain_sign(sign: char) -> char {
    match sign {
        '０'..='９' => char::from_u32(u32::from(sign) - u32::from('０') + u32::from('0')).unwrap_or(sign),
        '，' => ',',
        '．' | '。' => '.',
        '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{3000}' => ' ',
        '’' => '\'',
        '\u{2212}' | '－' => '-',
        other => other,
    }
}

/// Where the decimal sign stands, if there is one.
fn decimal_sign(text: &str) -> Result<Option<usize>, AmountError> {
    let count = |sign: char| text.matches(sign).count();
    let sign = match (count('.'), count(',')) {
        (0, 0) => return Ok(None),
        (1, 0) => '.',
        (0, 1) => ',',
        (points, commas) if points > 0 && commas > 0 => {
            let last = if text.rfind('.') > text.rfind(',') { '.' } else { ',' };
            if count(last) > 1 {
                return Err(AmountError::NotAnAmount);
            }
            last
        }
        _ => return Ok(None),
    };
    let at = text.find(sign);
    if let Some((whole, fraction)) = text.split_once(',').filter(|_| sign == ',' && count('.') == 0) {
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let grouped = (1..=3).contains(&whole.len()) && !whole.starts_with('0') && digits(whole);
        if grouped && fraction.len() == 3 && digits(fraction) {
            return Err(AmountError::Ambiguous);
        }
    }
    Ok(at)
}

/// The digits before the decimal sign without their group signs, which must all be the same.
fn whole_digits(text: &str) -> Option<String> {
    let sign = text.chars().find(|c| !c.is_ascii_digit());
    let groups: Vec<&str> = match sign {
        Some(sign @ (' ' | '\'' | '.' | ',')) => text.split(sign).collect(),
        Some(_) => return None,
        None => vec![text],
    };
    let fits = |at: usize, group: &str| {
        let size = if groups.len() == 1 {
            !group.is_empty()
        } else if at == 0 {
            (1..=3).contains(&group.len())
        } else {
            group.len() == 3
        };
        size && group.bytes().all(|b| b.is_ascii_digit())
    };
    groups.iter().enumerate().all(|(at, group)| fits(at, group)).then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(minor: i64, code: &str) -> Money {
        Money::new(minor, code.parse().unwrap())
    }

    #[test]
    fn minor_digits_follow_iso_4217() {
        assert_eq!(money(5000, "JPY").decimal(), "5000");
        assert_eq!(money(1235, "KWD").decimal(), "1.235");
        assert_eq!(money(1234, "EUR").decimal(), "12.34");
        assert_eq!(money(5, "EUR").decimal(), "0.05");
        assert_eq!(money(-5, "eur").decimal(), "-0.05");
        assert_eq!(money(10_001, "CLF").decimal(), "1.0001");
    }

    #[test]
    fn currencies_never_mix_and_sums_never_wrap() {
        assert_eq!(money(1, "EUR").checked_add(money(1, "USD")), None);
        assert_eq!(money(i64::MAX, "EUR").checked_add(money(1, "EUR")), None);
        assert_eq!(money(2, "EUR").checked_add(money(3, "EUR")), Some(money(5, "EUR")));
    }

    #[test]
    fn three_letters_alone_are_no_currency_in_force() {
        for code in ["EUR", "JPY", "KWD", "CLF", "CNY"] {
            assert!(code.parse::<Currency>().unwrap().is_in_force(), "{code}");
        }
        for code in ["XYZ", "DEM", "XAU", "XXX", "XTS"] {
            assert!(!code.parse::<Currency>().unwrap().is_in_force(), "{code}");
        }
        assert!(Currency::in_force().all(|code| code.parse::<Currency>().is_ok_and(Currency::is_in_force)));
        let listed = ZERO_DIGITS.iter().chain(THREE_DIGITS).chain(FOUR_DIGITS);
        assert!(listed.into_iter().all(|code| Currency(**code).is_in_force()), "every exponent is of a real currency");
    }

    #[test]
    fn a_currency_is_three_letters() {
        for bad in ["", "EU", "EURO", "E1R", "€€€"] {
            assert!(bad.parse::<Currency>().is_err(), "{bad}");
        }
    }

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, code, minor) in [
            ("129,50", "EUR", 12_950),
            ("129.5", "EUR", 12_950),
            (" 129 ", "EUR", 12_900),
            ("1 234,50", "EUR", 123_450),
            ("1\u{202f}234,50", "EUR", 123_450),
            ("1.234,50", "EUR", 123_450),
            ("1,234.50", "EUR", 123_450),
            ("1'234’567.5", "CHF", 123_456_750),
            ("1,234,567", "EUR", 123_456_700),
            ("1234567", "JPY", 1_234_567),
            ("1.234.567", "JPY", 1_234_567),
            ("１２９．５０", "CNY", 12_950),
            ("1.234", "KWD", 1_234),
            ("0,500", "KWD", 500),
            ("1234,567", "KWD", 1_234_567),
            ("1 234,567", "KWD", 1_234_567),
            ("1.0001", "CLF", 10_001),
            ("0", "EUR", 0),
        ] {
            assert_eq!(parse_amount(text, code.parse().unwrap()), Ok(minor), "{text} {code}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_or_is_no_amount_is_refused() {
        use AmountError::{Ambiguous, Negative, NotAnAmount, TooLarge, TooManyDigits};
        for (text, code, error) in [
            ("1,234", "KWD", Ambiguous),
            ("1,234", "EUR", Ambiguous),
            ("12,345", "JPY", Ambiguous),
            ("1.234", "EUR", TooManyDigits(2)),
            ("1.5", "JPY", TooManyDigits(0)),
            ("1.2345", "KWD", TooManyDigits(3)),
            ("-1", "EUR", Negative),
            ("\u{2212}1", "EUR", Negative),
            ("10000000000,01", "EUR", TooLarge),
            ("99999999999999999999999", "EUR", TooLarge),
        ] {
            assert_eq!(parse_amount(text, code.parse().unwrap()), Err(error), "{text} {code}");
        }
        for text in [
            "",
            " ",
            ".",
            ",",
            "1.",
            ".5",
            "1,,2",
            "1.2.3",
            "12 34",
            "1 23,5",
            "1234 567",
            "1,234.567.8",
            "1.2,3.4",
            "1e3",
            "€5",
            "+5",
            "5-",
            "0x10",
            "٣",
            "1\0",
            "1 234.567,89'0",
            "1'234 567",
        ] {
            assert_eq!(parse_amount(text, "EUR".parse().unwrap()), Err(NotAnAmount), "{text:?}");
        }
        assert_eq!(parse_amount(&"1".repeat(65), "EUR".parse().unwrap()), Err(NotAnAmount));
    }

    #[test]
    fn every_amount_is_read_back_from_its_decimal_form() {
        for code in ["JPY", "EUR", "KWD", "CLF"] {
            for minor in [0, 1, 9, 10, 999, 1_000, 12_345, 1_234_567, AMOUNT_MAX_MINOR] {
                assert_eq!(
                    parse_amount(&money(minor, code).decimal(), code.parse().unwrap()),
                    Ok(minor),
                    "{minor} {code}"
                );
            }
        }
    }
}
