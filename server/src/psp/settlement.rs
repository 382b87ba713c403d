//! The settlement: one line for each movement of money, by day, with totals.
//!
//! A line is written in the commit that moves the money. A day that is over and was read once takes no
//! more lines, whatever the clock does: later movements are booked after its end. Its last lines are the payouts of what
//! it came to ([`super::payouts`]).
//!
//! `GET /v1/settlements/<day>.csv` has the columns of [`COLUMNS`]. Days are UTC. `id` names the object
//! that moved the money (a payment, refund, dispute or payout); it is unique together with `kind`. Amounts are
//! minor units, seen from the merchant: positive came in, negative went out; `net = gross - fee`.
//! `GET /v1/settlements/<day>.json` has the totals by currency, and whether the day is closed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use redb::{ReadTransaction, ReadableTable, ReadableTableMetadata};
use serde::{Deserialize, Serialize};

use super::payment::Payment;
use super::payouts;
use super::refusal::Refusal;
use super::store::{self, StoreError, Tables, decode, encode};
use super::{Inner, now_ms};

/// The first line of every file.
const COLUMNS: &str = "id,kind,payment,reference,currency,gross_minor,fee_minor,net_minor,at_ms\n";
pub(super) const DAY_MS: i64 = 24 * 3_600_000;
/// The row of the settings that says until when days are closed, in milliseconds since 1970.
const CLOSED_ROW: &str = "settlement_closed_until_ms";

/// Why money moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Charge,
    Refund,
    /// A refund that had succeeded came back.
    RefundFailure,
    Dispute,
    /// A dispute was won.
    DisputeReversal,
    /// What the provider takes for something that is no charge.
    Fee,
    /// Money went to the merchant's bank.
    Payout,
    /// It came back.
    PayoutFailure,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Refund => "refund",
            Self::RefundFailure => "refund_failure",
            Self::Dispute => "dispute",
            Self::DisputeReversal => "dispute_reversal",
            Self::Fee => "fee",
            Self::Payout => "payout",
            Self::PayoutFailure => "payout_failure",
        }
    }
}

/// One movement of money, as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Movement {
    id: String,
    kind: Kind,
    payment: String,
    reference: String,
    currency: String,
    gross_minor: i64,
    fee_minor: i64,
    /// Zero until it is booked.
    at_ms: i64,
}

impl Movement {
    pub(super) fn new(kind: Kind, id: &str, payment: &Payment, reference: &str, gross_minor: i64) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            payment: payment.id.clone(),
            reference: reference.to_owned(),
            currency: payment.currency.clone(),
            gross_minor,
            fee_minor: 0,
            at_ms: 0,
        }
    }

    /// A movement of the balance as a whole: of no payment.
    pub(super) fn of_balance(kind: Kind, id: &str, currency: &str, gross_minor: i64) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            payment: String::new(),
            reference: String::new(),
            currency: currency.to_owned(),
            gross_minor,
            fee_minor: 0,
            at_ms: 0,
        }
    }

    pub(super) fn currency(&self) -> &str {
        &self.currency
    }

    pub(super) fn with_fee(self, fee_minor: i64) -> Self {
        Self { fee_minor, ..self }
    }

    pub(super) fn net_minor(&self) -> i64 {
        self.gross_minor - self.fee_minor
    }

    fn write_line(&self, csv: &mut String) {
        let Self { id, payment, currency, gross_minor, fee_minor, at_ms, .. } = self;
        let (kind, net_minor, reference) = (self.kind.as_str(), self.net_minor(), self.reference.replace('"', "\"\""));
        // Writing to text can't fail.
        writeln!(csv, "{id},{kind},{payment},\"{reference}\",{currency},{gross_minor},{fee_minor},{net_minor},{at_ms}")
            .ok();
    }
}

/// Writes a movement down.
pub(super) fn book(tables: &mut Tables<'_>, movement: Movement, now_ms: i64) -> Result<(), StoreError> {
    let at_ms = now_ms.max(closed_until_ms(tables)?);
    let number = tables.movements.len()? + 1;
    let row = encode(&Movement { at_ms, ..movement })?;
    tables.movements.insert((at_ms, number), row.as_slice())?;
    Ok(())
}

fn closed_until_ms(tables: &Tables<'_>) -> Result<i64, StoreError> {
    let row = tables.settings.get(CLOSED_ROW)?;
    let until_ms = row.map(|row| decode(row.value())).transpose()?;
    Ok(until_ms.unwrap_or(0))
}

/// Closes everything before `end_ms`, which is the end of a day, if that is over; answers whether it is. What the days
/// came to is paid out.
fn close(tables: &mut Tables<'_>, end_ms: i64, now_ms: i64) -> Result<bool, StoreError> {
    let closed_ms = closed_until_ms(tables)?;
    if closed_ms < end_ms && end_ms <= now_ms {
        payouts::of_days(tables, closed_ms, end_ms)?;
        tables.settings.insert(CLOSED_ROW, encode(&end_ms)?.as_slice())?;
    }
    Ok(end_ms <= closed_ms.max(now_ms))
}

fn between(txn: &ReadTransaction, from_ms: i64, to_ms: i64) -> Result<Vec<Movement>, StoreError> {
    let mut found = Vec::new();
    for entry in txn.open_table(store::MOVEMENTS)?.range((from_ms, 0)..(to_ms, 0))? {
        found.push(decode(entry?.1.value())?);
    }
    Ok(found)
}

/// The sums of one currency. Wider than an amount, so that no sum of amounts overflows.
#[derive(Debug, Default, Serialize)]
struct Total {
    currency: String,
    lines: u64,
    gross_minor: i128,
    fee_minor: i128,
    net_minor: i128,
}

/// What a day comes to.
#[derive(Debug, Serialize)]
struct Summary {
    object: &'static str,
    day: String,
    /// The day is over: its file stays as it is.
    closed: bool,
    lines: usize,
    totals: Vec<Total>,
}

fn totals(movements: &[Movement]) -> Vec<Total> {
    let mut totals = BTreeMap::<&str, Total>::new();
    for movement in movements {
        let total = totals.entry(movement.currency.as_str()).or_default();
        total.lines += 1;
        total.gross_minor += i128::from(movement.gross_minor);
        total.fee_minor += i128::from(movement.fee_minor);
        total.net_minor += i128::from(movement.net_minor());
    }
    totals.into_iter().map(|(currency, total)| Total { currency: currency.to_owned(), ..total }).collect()
}

/// `GET /v1/settlements/{day}.csv` and `.json`.
pub(super) async fn show(State(psp): State<Arc<Inner>>, Path(file): Path<String>) -> Result<Response, Refusal> {
    let (day, form) = file.split_once('.').unwrap_or((file.as_str(), ""));
    let from_ms = day_start_ms(day)
        .ok_or_else(|| Refusal::invalid("parameter_invalid", "day", "day must be a date such as 2026-01-31, in UTC"))?;
    if !matches!(form, "csv" | "json") {
        return Err(Refusal::not_found("form of a settlement: it is .csv or .json"));
    }
    let to_ms = from_ms + DAY_MS;
    // In the writer, so that every movement of a day that is over is committed before it is read.
    let closed = psp.store.write(move |tables| close(tables, to_ms, now_ms())).await?;
    let movements = psp.store.read(move |txn| between(txn, from_ms, to_ms)).await?;
    if form == "json" {
        let (lines, totals) = (movements.len(), totals(&movements));
        return Ok(Json(Summary { object: "settlement", day: day.to_owned(), closed, lines, totals }).into_response());
    }
    let mut csv = COLUMNS.to_owned();
    movements.iter().for_each(|movement| movement.write_line(&mut csv));
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"))], csv).into_response())
}

/// The first millisecond (UTC) of `YYYY-MM-DD`, by the proleptic Gregorian calendar.
fn day_start_ms(day: &str) -> Option<i64> {
    let digits = |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = day.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if !digits(year, 4) || !digits(month, 2) || !digits(day, 2) {
        return None;
    }
    let (year, month, day): (i64, i64, i64) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if year < 1970 || !(1..=longest).contains(&day) {
        return None;
    }
    // Years begin in March here, so that the leap day is the last of its year.
    let (shifted_year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (shifted_year.div_euclid(400), shifted_year.rem_euclid(400));
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    Some(days * DAY_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::psp::store::Store;
    use crate::psp::tests::Folder;

    fn movement(kind: Kind, currency: &str, gross_minor: i64, fee_minor: i64) -> Movement {
        Movement {
            id: "re_1".to_owned(),
            kind,
            payment: "pay_1".to_owned(),
            reference: "odd \"one\", two".to_owned(),
            currency: currency.to_owned(),
            gross_minor,
            fee_minor,
            at_ms: 7,
        }
    }

    #[tokio::test]
    async fn a_closed_day_takes_no_more_lines_even_when_the_clock_steps_back() {
        let folder = Folder::new();
        std::fs::create_dir_all(&folder.0).unwrap();
        let store = Store::open(&folder.0).unwrap();
        let moved = store.write(|tables| {
            book(tables, movement(Kind::Charge, "EUR", 1, 0), DAY_MS - 1)?;
            assert!(!close(tables, DAY_MS, DAY_MS - 1)?, "it is not over yet");
            assert!(close(tables, DAY_MS, DAY_MS)?);
            book(tables, movement(Kind::Refund, "EUR", -1, 0), DAY_MS - 1)
        });
        moved.await.unwrap();
        let days = store.read(|txn| Ok((between(txn, 0, DAY_MS)?, between(txn, DAY_MS, 2 * DAY_MS)?)));
        let (first, second) = days.await.unwrap();
        assert_eq!((first.len(), second.len()), (2, 1), "with its payout");
        assert_eq!((second[0].kind, second[0].at_ms), (Kind::Refund, DAY_MS));
        store.close().await;
    }

    #[tokio::test]
    async fn what_each_day_came_to_goes_out_once_as_its_last_line() {
        let folder = Folder::new();
        std::fs::create_dir_all(&folder.0).unwrap();
        let store = Store::open(&folder.0).unwrap();
        let moved = store.write(|tables| {
            book(tables, movement(Kind::Charge, "EUR", 1_000, 35), 5)?;
            book(tables, movement(Kind::Refund, "EUR", -100, 0), 6)?;
            book(tables, movement(Kind::Charge, "JPY", 500, 0), 7)?;
            let early = payouts::now(tables, 8)?.len();
            book(tables, movement(Kind::Charge, "EUR", 50, 0), 9)?;
            // A day later more goes back than comes in, and nothing moves in another currency.
            book(tables, movement(Kind::Refund, "EUR", -70, 0), DAY_MS + 1)?;
            close(tables, 2 * DAY_MS, 2 * DAY_MS)?;
            close(tables, 2 * DAY_MS, 3 * DAY_MS)?;
            Ok(early)
        });
        assert_eq!(moved.await.unwrap(), 2, "one for each currency");
        let days = store.read(|txn| Ok((between(txn, 0, DAY_MS)?, between(txn, DAY_MS, 2 * DAY_MS)?)));
        let (first, second) = days.await.unwrap();
        let out = |day: &[Movement]| -> Vec<(String, i64, i64)> {
            let payouts = day.iter().filter(|one| one.kind == Kind::Payout);
            payouts.map(|one| (one.currency.clone(), one.gross_minor, one.at_ms)).collect()
        };
        let euros = |minor, at_ms| ("EUR".to_owned(), minor, at_ms);
        assert_eq!(out(&first), [euros(-865, 8), ("JPY".to_owned(), -500, 8), euros(-50, DAY_MS - 1)]);
        assert_eq!(out(&second), [euros(70, 2 * DAY_MS - 1)], "what it lacked is collected");
        for day in [first, second] {
            assert!(totals(&day).iter().all(|total| total.net_minor == 0));
        }
        store.close().await;
    }

    #[test]
    fn days_are_counted_in_utc() {
        assert_eq!(day_start_ms("1970-01-01"), Some(0));
        assert_eq!(day_start_ms("2000-03-01"), Some(951_868_800_000));
        assert_eq!(day_start_ms("2024-02-29"), Some(1_709_164_800_000));
        for wrong in ["2023-02-29", "2024-13-01", "2024-1", "today", "", "2024-00-10", "2024-1-01", "2024-01-+1"] {
            assert_eq!(day_start_ms(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn lines_are_quoted_and_totals_add_up_by_currency() {
        let movements = [
            movement(Kind::Charge, "KWD", 1_235, 35),
            movement(Kind::Charge, "JPY", 5_000, 0),
            movement(Kind::Refund, "KWD", -235, 0),
        ];
        let mut csv = String::new();
        movements[0].write_line(&mut csv);
        assert_eq!(csv, "re_1,charge,pay_1,\"odd \"\"one\"\", two\",KWD,1235,35,1200,7\n");
        let totals = serde_json::to_string(&totals(&movements)).unwrap();
        assert_eq!(
            totals,
            "[{\"currency\":\"JPY\",\"lines\":1,\"gross_minor\":5000,\"fee_minor\":0,\"net_minor\":5000},\
             {\"currency\":\"KWD\",\"lines\":2,\"gross_minor\":1000,\"fee_minor\":35,\"net_minor\":965}]"
        );
    }
}
