//! Money: integer minor units with an ISO 4217 currency. There is no floating point here.

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
}
