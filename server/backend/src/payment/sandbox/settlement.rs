//! The sandbox's settlement file: one line for each movement, in the columns of `docs/sandbox-provider.md`.

use crate::payment::ProviderError;
use domain::settlement::schedule::{DAY_MS, day_of};
use domain::settlement::{Movement, ProviderLine};
use domain::{Currency, Millis};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

/// Most days of one question: more are a mistake.
const DAYS_MAX: usize = 100;

#[derive(Deserialize)]
struct Row {
    id: String,
    kind: Movement,
    payment: String,
    reference: String,
    currency: Currency,
    gross_minor: i64,
    fee_minor: i64,
    net_minor: i64,
    at_ms: i64,
}

/// The days (UTC) that an interval touches, as the provider names them.
pub(super) fn days(from: Millis, to: Millis) -> Result<Vec<String>, ProviderError> {
    let mut days = Vec::new();
    let mut day = day_of(from);
    while day < to {
        if days.len() == DAYS_MAX {
            return Err(ProviderError::Refused { code: format!("more than {DAYS_MAX} days") });
        }
        let at = Timestamp::from_millisecond(day.0).map_err(ProviderError::unreadable)?;
        days.push(at.to_zoned_datetime(TimeZone::UTC).date().to_string());
        day = day.plus(DAY_MS);
    }
    Ok(days)
}

/// The lines of a file. A word that is not known here, or an amount that can't be read, makes the whole file
/// unreadable: a part of the money would be missing in silence.
pub(super) fn lines(file: &[u8]) -> Result<Vec<ProviderLine>, ProviderError> {
    let mut lines = Vec::new();
    for row in csv::Reader::from_reader(file).deserialize::<Row>() {
        let row = row.map_err(ProviderError::unreadable)?;
        lines.push(ProviderLine {
            movement: row.kind,
            id: row.id,
            payment: row.payment,
            reference: row.reference,
            currency: row.currency,
            gross_minor: row.gross_minor,
            fee_minor: row.fee_minor,
            net_minor: row.net_minor,
            at: Millis(row.at_ms),
        });
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "id,kind,payment,reference,currency,gross_minor,fee_minor,net_minor,at_ms\n";

    #[test]
    fn each_movement_is_read_in_our_signs() {
        let file = format!(
            "{HEAD}pay_1,charge,pay_1,\"odd \"\"one\"\", two\",KWD,1235,35,1200,7\n\
             re_1,refund,pay_1,\"refund:x\",KWD,-235,0,-235,8\nre_1,refund_failure,pay_1,\"\",KWD,235,0,235,9\n\
             dp_1,dispute,pay_1,\"a\",KWD,-1000,0,-1000,10\ndp_1,fee,pay_1,\"a\",KWD,0,1500,-1500,10\n\
             dp_1,dispute_reversal,pay_1,\"a\",KWD,1000,0,1000,11\n"
        );
        let lines = lines(file.as_bytes()).unwrap();
        let keys: Vec<String> = lines.iter().map(ProviderLine::key).collect();
        assert_eq!(
            keys,
            ["charge:pay_1", "refund:re_1", "refund_failure:re_1", "dispute:dp_1", "fee:dp_1", "dispute_reversal:dp_1"]
        );
        assert_eq!(lines[0].reference, "odd \"one\", two");
        assert_eq!(
            (lines[0].recorded_minor(), lines[1].recorded_minor(), lines[3].recorded_minor()),
            (1235, 235, 1000)
        );
        assert!(lines.iter().all(|line| line.gross_minor - line.fee_minor == line.net_minor));
        assert_eq!(lines[5].at, Millis(11));
    }

    #[test]
    fn a_file_that_cannot_be_read_whole_is_not_read_in_parts() {
        assert!(lines(HEAD.as_bytes()).unwrap().is_empty());
        for wrong in [
            "pay_1,bonus,pay_1,r,EUR,1,0,1,7\n",
            "pay_1,charge,pay_1,r,EUR,1.5,0,1,7\n",
            "pay_1,charge,pay_1,r,euro,1,0,1,7\n",
            "pay_1,charge,pay_1\n",
        ] {
            let file = format!("{HEAD}pay_0,charge,pay_0,r,EUR,1,0,1,7\n{wrong}");
            assert!(lines(file.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_interval_touches_its_days() {
        let noon = Millis(951_868_800_000 + DAY_MS / 2);
        assert_eq!(days(noon, noon.plus(1)).unwrap(), ["2000-03-01"]);
        assert_eq!(days(noon.plus(-DAY_MS), noon).unwrap(), ["2000-02-29", "2000-03-01"]);
        assert_eq!(days(day_of(noon), day_of(noon).plus(DAY_MS)).unwrap(), ["2000-03-01"], "its end is the next day's");
        assert!(days(Millis(0), noon).is_err());
    }
}
