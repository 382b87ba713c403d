//! Figures, their budgets, and the report that they make up.

use anyhow::ensure;
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// Longest latency that is told apart, in microseconds: a minute.
const LATENCY_MAX_US: u64 = 60_000_000;

/// What a figure must be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Budget {
    /// The value stays below.
    Below(f64),
    /// The value stays at or below.
    AtMost(f64),
    /// The value reaches this.
    AtLeast(f64),
    /// The value reaches this share of the baseline.
    Share(f64),
}

/// One figure of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What was measured: `group.what.detail`, stable from run to run.
    pub name: String,
    /// The measured value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The baseline of the same run, in the same unit.
    pub baseline: Option<f64>,
    /// Value by baseline.
    pub ratio: Option<f64>,
    /// The budget: `value < 25`, `value <= 20`, `value >= 5000` or `ratio >= 0.25`.
    pub budget: Option<String>,
    /// Whether it holds.
    pub holds: Option<bool>,
}

impl Figure {
    /// A figure without baseline and budget.
    pub(super) fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value: rounded(value), unit, baseline: None, ratio: None, budget: None, holds: None }
    }

    /// Puts the baseline beside it.
    pub(super) fn beside(self, baseline: f64) -> Self {
        let baseline = rounded(baseline);
        Self { ratio: (baseline > 0.0).then(|| rounded(self.value / baseline)), baseline: Some(baseline), ..self }
    }

    /// Compares it with its budget. A share needs the baseline beside it.
    pub(super) fn within(self, budget: Budget) -> Self {
        let (text, holds) = match budget {
            Budget::Below(most) => (format!("value < {most}"), self.value < most),
            Budget::AtMost(most) => (format!("value <= {most}"), self.value <= most),
            Budget::AtLeast(least) => (format!("value >= {least}"), self.value >= least),
            Budget::Share(least) => (format!("ratio >= {least}"), self.ratio.is_some_and(|ratio| ratio >= least)),
        };
        Self { budget: Some(text), holds: Some(holds), ..self }
    }
}

/// Four digits behind the point are more than any of these measurements is worth.
fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// Refuses figures that are no numbers, and names that are there twice.
pub(super) fn checked(figures: Vec<Figure>) -> anyhow::Result<Vec<Figure>> {
    for (at, figure) in figures.iter().enumerate() {
        let numbers = [Some(figure.value), figure.baseline, figure.ratio];
        ensure!(numbers.iter().flatten().all(|n| n.is_finite() && *n >= 0.0), "{} is no number", figure.name);
        ensure!(figures[..at].iter().all(|other| other.name != figure.name), "{} is there twice", figure.name);
    }
    Ok(figures)
}

/// How many a second.
#[expect(clippy::cast_precision_loss, reason = "counts of one run are far below 2^52")]
pub(super) fn per_second(count: usize, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64().max(1e-9)
}

/// A count as a value.
#[expect(clippy::cast_precision_loss, reason = "counts of one run are far below 2^52")]
pub(super) fn count(count: usize) -> f64 {
    count as f64
}

/// A number of bytes as a value.
#[expect(clippy::cast_precision_loss, reason = "memory is far below 2^52 bytes")]
pub(super) fn bytes(bytes: u64) -> f64 {
    bytes as f64
}

/// Milliseconds of a time.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// The middle of some times; nothing for none.
pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Latencies in microseconds, to three digits.
pub(super) fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX_US, 3).expect("the bounds are constants that fit three digits")
}

/// Adds a latency; one beyond the bound counts as the bound.
pub(super) fn note(latencies: &mut Histogram<u64>, latency: Duration) {
    latencies.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX).max(1));
}

/// A quantile in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "a minute in microseconds is far below 2^52")]
pub(super) fn quantile_ms(latencies: &Histogram<u64>, quantile: f64) -> f64 {
    latencies.value_at_quantile(quantile) as f64 / 1_000.0
}

/// All figures of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Where and what was measured.
    pub machine: Value,
    /// In the order of the groups.
    pub figures: Vec<Figure>,
    /// What could not be measured, or was wrong: the group and why.
    pub failures: Vec<String>,
}

impl Report {
    /// The list that is written to a file: first the machine, in the form of a figure whose value is its
    /// number of cores and with the facts in `facts`, then every figure.
    pub fn to_json(&self) -> Value {
        let cores = self.machine["cores"].clone();
        let machine = json!({
            "name": "machine", "value": cores, "unit": "cores", "baseline": null, "ratio": null, "budget": null,
            "holds": null, "facts": self.machine,
        });
        std::iter::once(machine).chain(self.figures.iter().map(|figure| json!(figure))).collect()
    }

    /// Budgets that hold, and all budgets.
    pub fn budgets(&self) -> (usize, usize) {
        let judged = || self.figures.iter().filter_map(|figure| figure.holds);
        (judged().filter(|holds| *holds).count(), judged().count())
    }

    /// The table for people; its last line counts the budgets.
    pub fn table(&self) -> String {
        let optional = |number: Option<f64>| number.map_or_else(String::new, shown);
        let mut rows = vec![["figure", "value", "unit", "baseline", "ratio", "budget", ""].map(str::to_owned)];
        rows.extend(self.figures.iter().map(|figure| {
            [
                figure.name.clone(),
                shown(figure.value),
                figure.unit.to_owned(),
                optional(figure.baseline),
                figure.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                figure.budget.clone().unwrap_or_default(),
                figure.holds.map_or("", |holds| if holds { "holds" } else { "MISSED" }).to_owned(),
            ]
        }));
        let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..7).map(width).collect();
        let mut out = String::new();
        for row in &rows {
            let mut line = format!("{:<w$}", row[0], w = widths[0]);
            for (column, cell) in row.iter().enumerate().skip(1) {
                let cell = match column {
                    1 | 3 | 4 => format!("  {cell:>w$}", w = widths[column]),
                    _ => format!("  {cell:<w$}", w = widths[column]),
                };
                line.push_str(&cell);
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        for failure in &self.failures {
            // Writing into a string can't fail.
            let _infallible = writeln!(out, "not measured, or wrong: {failure}");
        }
        let (held, all) = self.budgets();
        out + &format!("{held} of {all} budgets hold")
    }
}

/// A number as the table shows it: as many digits as it is worth.
fn shown(value: f64) -> String {
    match value {
        _ if value >= 1_000.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_judged_and_counted() {
        let figures = vec![
            Figure::new("a", 30.0, "1/s").beside(100.0).within(Budget::Share(0.25)),
            Figure::new("b", 25.0, "ms").within(Budget::Below(25.0)),
            Figure::new("c", 20.0, "KB").within(Budget::AtMost(20.0)),
            Figure::new("d", 1.0, "ms"),
            Figure::new("e", 4_999.0, "1/s").within(Budget::AtLeast(5_000.0)),
        ];
        let report = Report { machine: json!({ "cores": 2 }), figures, failures: Vec::new() };
        assert_eq!(report.budgets(), (2, 4));
        assert_eq!(report.table().lines().last(), Some("2 of 4 budgets hold"));
        let list = report.to_json();
        assert_eq!(
            (&list[0]["name"], &list[0]["value"], &list[0]["facts"]["cores"]),
            (&json!("machine"), &json!(2), &json!(2))
        );
        assert_eq!(
            (&list[1]["ratio"], &list[1]["budget"], &list[2]["holds"]),
            (&json!(0.3), &json!("ratio >= 0.25"), &json!(false))
        );
        assert_eq!(list.as_array().unwrap().len(), 6);
    }

    #[test]
    fn what_is_no_number_or_there_twice_is_refused() {
        assert!(checked(vec![Figure::new("a", f64::NAN, "ms")]).is_err());
        assert!(checked(vec![Figure::new("a", 1.0, "ms"), Figure::new("a", 2.0, "ms")]).is_err());
        assert!(checked(vec![Figure::new("a", 1.0, "ms").beside(0.0)]).is_ok());
    }
}
