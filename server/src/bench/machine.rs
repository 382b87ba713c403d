//! Where a run took place: without it a figure means nothing.

use super::BenchConfig;
use backend::bench::Versions;
use serde_json::{Value, json};
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// The facts of this machine and this program.
pub(super) fn facts(config: &BenchConfig, versions: Option<&Versions>) -> Value {
    json!({
        "cores": std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        "processor": processor(),
        "kernel": fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()),
        "postgres": versions.map(|versions| versions.postgres.clone()),
        "redis": versions.map(|versions| versions.redis.clone()),
        "version": env!("CARGO_PKG_VERSION"),
        "commit": config.commit,
        "build": if cfg!(debug_assertions) { "debug" } else { "release" },
        "quick": config.quick,
        "seconds": config.seconds,
        "date": date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())),
    })
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The day of a time in seconds since 1970, in UTC: years of 400 at a time have whole weeks and days
/// (the algorithm known as "civil from days").
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_named_as_calendars_do() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(951_782_400), "2000-02-29");
        assert_eq!(date(1_796_083_199), "2026-11-30");
        assert_eq!(date(1_796_083_200), "2026-12-01");
    }
}
