//! A policy as a calendar: until when how much of a ticket is kept.

use super::policy::{DAY_MS, Tier};
use crate::money::fees::Rate;
use crate::time::Millis;

/// A stretch of time before the start, and what is kept of a ticket that is given back in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Where it ends; the next one begins behind it.
    pub until: Millis,
    /// What of the ticket's gross is kept.
    pub kept: Rate,
}

/// The stages of a policy in their order. `ends`: when giving back ends, which is where the last stage
/// does. Says the same as [`super::policy::RefundPolicy::kept`], in a form that can be read ahead.
#[must_use]
pub fn stages(tiers: &[Tier], ends: Millis, starts: Millis) -> Vec<Stage> {
    let mut stages = Vec::with_capacity(tiers.len() + 1);
    for tier in tiers {
        let until = starts.plus(i64::from(tier.days_left).saturating_mul(DAY_MS).saturating_neg());
        if until >= ends {
            stages.push(Stage { until: ends, kept: tier.kept });
            return stages;
        }
        stages.push(Stage { until, kept: tier.kept });
    }
    let kept = if tiers.is_empty() { Rate::NONE } else { Rate::WHOLE };
    stages.push(Stage { until: ends, kept });
    stages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refund::policy::RefundPolicy;
    use proptest::prelude::*;

    const STARTS: Millis = Millis(1_800_000_000_000);

    fn tier(days_left: u32, basis_points: u32) -> Tier {
        Tier { days_left, kept: Rate::try_from(basis_points).unwrap() }
    }

    #[test]
    fn stages_end_with_their_tiers_and_the_last_with_giving_back() {
        let ends = STARTS.plus(-2 * DAY_MS);
        let at = |days: i64| STARTS.plus(-days * DAY_MS);
        assert_eq!(stages(&[], ends, STARTS), [Stage { until: ends, kept: Rate::NONE }]);
        assert_eq!(
            stages(&[tier(30, 1_000), tier(7, 5_000)], ends, STARTS),
            [
                Stage { until: at(30), kept: tier(0, 1_000).kept },
                Stage { until: at(7), kept: tier(0, 5_000).kept },
                Stage { until: ends, kept: Rate::WHOLE },
            ]
        );
        assert_eq!(
            stages(&[tier(7, 0), tier(1, 5_000), tier(0, 9_000)], ends, STARTS),
            [Stage { until: at(7), kept: Rate::NONE }, Stage { until: ends, kept: tier(0, 5_000).kept }],
            "what begins when giving back has ended is no stage"
        );
    }

    proptest! {
        /// The calendar and the rule never say different things.
        #[test]
        fn a_stage_keeps_what_the_policy_keeps(
            days in prop::collection::btree_set(0_u32..40, 0..6),
            ends_before_start_ms in 0_i64..20 * DAY_MS,
            before_ms in 1_i64..60 * DAY_MS,
        ) {
            let tiers: Vec<Tier> = days.iter().rev().zip(0..).map(|(days, at)| tier(*days, at * 1_500)).collect();
            let ends = STARTS.plus(-ends_before_start_ms);
            let now = ends.plus(-before_ms);
            let policy = RefundPolicy {
                ends_before_start_ms: Some(ends_before_start_ms),
                tiers: tiers.clone(),
                ..RefundPolicy::default()
            };
            let stage = stages(&tiers, ends, STARTS).into_iter().find(|stage| now <= stage.until).unwrap();
            prop_assert_eq!(stage.kept, policy.kept(now, STARTS).unwrap());
        }
    }
}
