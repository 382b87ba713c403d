//! The currencies this provider takes, and how an amount in minor units reads to a person.

/// ISO 4217 currencies without a minor unit.
const NO_DECIMALS: &[&str] =
    &["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"];
/// ISO 4217 currencies with three decimals.
const THREE_DECIMALS: &[&str] = &["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];
/// ISO 4217 units of account with four decimals.
const FOUR_DECIMALS: &[&str] = &["CLF", "UYW"];
/// ISO 4217 currencies with two decimals.
const TWO_DECIMALS: &[&str] = &[
    "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BMD", "BND", "BOB", "BRL",
    "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CNY", "COP", "CRC", "CUP", "CVE", "CZK", "DKK", "DOP",
    "DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL", "GHS", "GIP", "GMD", "GTQ", "GYD", "HKD", "HNL",
    "HTG", "HUF", "IDR", "ILS", "INR", "IRR", "JMD", "KES", "KGS", "KHR", "KPW", "KYD", "KZT", "LAK", "LBP", "LKR",
    "LRD", "LSL", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK", "MXN", "MYR", "MZN",
    "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "PAB", "PEN", "PGK", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "RUB",
    "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SYP", "SZL", "THB", "TJS",
    "TMT", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "USD", "UYU", "UZS", "VES", "WST", "XCD", "XCG", "YER", "ZAR",
    "ZMW", "ZWG",
];

/// How many decimals a currency has; `None` for a code that is not taken.
pub(super) fn exponent(currency: &str) -> Option<u32> {
    let lists = [(NO_DECIMALS, 0), (TWO_DECIMALS, 2), (THREE_DECIMALS, 3), (FOUR_DECIMALS, 4)];
    lists.iter().find(|(list, _)| list.contains(&currency)).map(|(_, exponent)| *exponent)
}

/// `12345`, `EUR` → `EUR 123.45`, with thin groups of thousands: `KRW 1 200 000`.
pub(super) fn format(amount: i64, currency: &str) -> String {
    let exponent = exponent(currency).unwrap_or(2);
    let scale = 10_u64.pow(exponent);
    let whole = (amount.unsigned_abs() / scale).to_string();
    let mut grouped = String::with_capacity(whole.len() * 2);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    let sign = if amount < 0 { "-" } else { "" };
    if exponent == 0 {
        return format!("{currency} {sign}{grouped}");
    }
    let fraction = amount.unsigned_abs() % scale;
    let width = exponent as usize;
    format!("{currency} {sign}{grouped}.{fraction:0width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_in_their_own_scale() {
        assert_eq!(format(1234, "EUR"), "EUR 12.34");
        assert_eq!(format(5000, "JPY"), "JPY 5\u{202f}000");
        assert_eq!(format(1235, "KWD"), "KWD 1.235");
        assert_eq!(format(12_345, "CLF"), "CLF 1.2345");
        assert_eq!(format(5, "USD"), "USD 0.05");
        assert_eq!(format(123_456_789, "CNY"), "CNY 1\u{202f}234\u{202f}567.89");
        assert_eq!(exponent("XXX"), None);
    }
}
