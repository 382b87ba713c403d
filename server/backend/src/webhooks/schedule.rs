//! When a delivery that failed is tried again, and when an endpoint is believed to be gone.

use domain::Millis;

const S: i64 = 1_000;
const MIN: i64 = 60 * S;
const H: i64 = 60 * MIN;

/// Pauses after the first failed try, the second and so on: the example of the Standard Webhooks specification,
/// ten tries in three days and a quarter.
const PAUSES_MS: [i64; 9] = [5 * S, 5 * MIN, 30 * MIN, 2 * H, 5 * H, 10 * H, 14 * H, 20 * H, 24 * H];
/// An endpoint that has done nothing but fail for this long is disabled: no delivery is left to be tried by then.
const FAILING_MAX_MS: i64 = 72 * H;
/// Longest pause that an answer may ask for.
const ASKED_MAX_MS: i64 = 24 * H;
/// Pauses are longer by up to this share of theirs, in percent, so that what failed together is not tried together.
const SPREAD_PERCENT: i64 = 10;

/// HTTP status of an endpoint that wants nothing any more (RFC 9110, 15.5.11).
const GONE: u16 = 410;

/// How long to wait after `failed` tries, the first of them being 1; none when that was the last. `asked_s` is
/// what the answer asked for (`Retry-After`), `id` spreads deliveries.
pub(super) fn pause_ms(failed: i32, asked_s: Option<i64>, id: i64) -> Option<i64> {
    let step = usize::try_from(failed.max(1) - 1).ok()?;
    let pause = *PAUSES_MS.get(step)?;
    let asked = asked_s.unwrap_or(0).clamp(0, ASKED_MAX_MS / S) * S;
    Some(pause.max(asked) + pause * SPREAD_PERCENT / 100 * id.rem_euclid(100) / 100)
}

/// Whether an endpoint is disabled after a failure, and why.
pub(super) fn ends(status: Option<u16>, failing_since: Millis, now: Millis) -> Option<&'static str> {
    if status == Some(GONE) {
        Some("it answered 410 Gone")
    } else if failing_since.until(now) >= FAILING_MAX_MS {
        Some("every try failed for three days")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_tries_take_three_days_and_a_quarter() {
        let pauses: Vec<i64> = (1..=9).map(|failed| pause_ms(failed, None, 0).unwrap()).collect();
        assert_eq!(pauses[..3], [5_000, 300_000, 1_800_000]);
        // 75:35:05, as the specification has it.
        assert_eq!(pauses.iter().sum::<i64>(), ((75 * 60 + 35) * 60 + 5) * 1_000);
        assert_eq!(pause_ms(10, None, 0), None, "the tenth try was the last");
        let last_try: i64 = pauses.iter().sum();
        assert!(last_try >= FAILING_MAX_MS, "an endpoint that took nothing at all is disabled by then");
    }

    #[test]
    fn pauses_are_spread_by_a_tenth_at_most_and_follow_what_was_asked() {
        for id in [0, 1, 57, 99, 100, i64::MAX, -3] {
            let pause = pause_ms(2, None, id).unwrap();
            assert!((300_000..330_000).contains(&pause), "{id}: {pause}");
        }
        assert_eq!(pause_ms(1, Some(60), 0), Some(60_000));
        assert_eq!(pause_ms(2, Some(60), 0), Some(300_000));
        assert_eq!(pause_ms(1, Some(i64::MAX), 0), Some(24 * H));
        assert_eq!(pause_ms(1, Some(-5), 0), Some(5_000));
    }

    #[test]
    fn an_endpoint_ends_when_it_says_so_or_after_three_days() {
        let since = Millis(1_000_000);
        assert!(ends(Some(410), since, since).is_some());
        assert_eq!(ends(Some(500), since, since.plus(72 * H - 1)), None);
        assert!(ends(None, since, since.plus(72 * H)).is_some());
    }
}
