//! Parts of an amount: rounded once by a stated rule, or split so that the parts sum to the amount.

/// `part` of `whole` of an amount, in minor units, rounded half up by magnitude: half a unit goes away
/// from zero, so that a charge and its refund round alike. `None` when `whole` is 0 or the result leaves
/// the range.
#[must_use]
pub fn share(amount_minor: i64, part: u64, whole: u64) -> Option<i64> {
    if whole == 0 {
        return None;
    }
    // Below 2⁶⁴ · 2⁶³ + 2⁶³: inside of 128 bits.
    let product = u128::from(amount_minor.unsigned_abs()) * u128::from(part);
    signed((product + u128::from(whole / 2)) / u128::from(whole), amount_minor)
}

/// Splits an amount in proportion to weights by largest remainder (Hamilton's method): each part is
/// rounded down by magnitude, then one minor unit more goes to the parts that lost most, the first of
/// equals first. The parts always sum to the amount. Weights that are all 0 count as equal.
///
/// `None` when there is nobody to give an amount to.
#[must_use]
pub fn split(amount_minor: i64, weights: &[u64]) -> Option<Vec<i64>> {
    if weights.is_empty() {
        return (amount_minor == 0).then(Vec::new);
    }
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return split(amount_minor, &vec![1_u64; weights.len()]);
    }
    let amount = u128::from(amount_minor.unsigned_abs());
    let mut parts: Vec<u128> = weights.iter().map(|weight| amount * u128::from(*weight) / sum).collect();
    let mut by_loss: Vec<usize> = (0..weights.len()).collect();
    by_loss.sort_by_key(|at| std::cmp::Reverse(amount * u128::from(weights[*at]) % sum));
    // Less than one unit was lost by each part, so fewer units are left than there are parts.
    let left = usize::try_from(amount - parts.iter().sum::<u128>()).ok()?;
    for at in by_loss.into_iter().take(left) {
        parts[at] += 1;
    }
    parts.into_iter().map(|part| signed(part, amount_minor)).collect()
}

/// A magnitude with the sign of `like`.
fn signed(magnitude: u128, like: i64) -> Option<i64> {
    let magnitude = i128::try_from(magnitude).ok()?;
    i64::try_from(if like < 0 { -magnitude } else { magnitude }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_a_unit_goes_away_from_zero() {
        for (amount, part, whole, result) in
            [(1, 1, 2, 1), (-1, 1, 2, -1), (5, 1, 10, 1), (4, 1, 10, 0), (14, 1, 3, 5), (100, 19, 119, 16)]
        {
            assert_eq!(share(amount, part, whole), Some(result), "{part}/{whole} of {amount}");
        }
        assert_eq!(share(7, 1, 0), None);
        assert_eq!(share(i64::MAX, 1, 1), Some(i64::MAX));
        assert_eq!(share(i64::MIN, 1, 1), Some(i64::MIN));
        assert_eq!(share(i64::MAX, 2, 1), None);
    }

    #[test]
    fn what_is_left_goes_to_those_who_lost_most() {
        assert_eq!(split(100, &[1, 1, 1]), Some(vec![34, 33, 33]));
        assert_eq!(split(-100, &[1, 1, 1]), Some(vec![-34, -33, -33]));
        assert_eq!(split(10, &[1, 5, 1]), Some(vec![2, 7, 1]));
        assert_eq!(split(2, &[0, 0, 0]), Some(vec![1, 1, 0]));
        assert_eq!(split(0, &[]), Some(Vec::new()));
        assert_eq!(split(1, &[]), None);
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_amount_and_none_is_a_unit_off(
            amount in any::<i64>(),
            weights in prop::collection::vec(any::<u64>(), 1..12),
        ) {
            let parts = split(amount, &weights).unwrap();
            prop_assert_eq!(parts.iter().map(|part| i128::from(*part)).sum::<i128>(), i128::from(amount));
            let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
            for (part, weight) in parts.iter().zip(&weights) {
                let exact = u128::from(amount.unsigned_abs()) * u128::from(*weight);
                let found = u128::from(part.unsigned_abs()) * sum.max(1);
                prop_assert!(sum == 0 || found.abs_diff(exact) < sum, "{part} of weight {weight}");
            }
        }
    }
}
