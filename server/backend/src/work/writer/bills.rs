//! What new orders come to, where a performance has fees or taxes: the rules are `domain`'s, the prices
//! and the schedules those of the version that each hold was made with.

use super::Refused;
use crate::catalog::Sale;
use crate::postgres::fees;
use crate::postgres::log::{self as rows, Bills, NewOrders, PricedRow};
use domain::money::fees::{FeeSchedule, PricedSeat};
use domain::{Currency, Money};
use sqlx::PgConnection;
use std::collections::HashMap;
use uuid::Uuid;

/// The bills of new orders; none for a performance without a schedule, whose orders come to their prices.
pub(super) async fn of(
    db: &mut PgConnection,
    sale: &Sale,
    new: &NewOrders,
) -> std::result::Result<Option<Bills>, Refused> {
    // A performance has a schedule for every version of its prices, or for none: one tells of all.
    if sale.view.fees.is_none() {
        return Ok(None);
    }
    let mut versions = new.price_versions.clone();
    versions.sort_unstable();
    versions.dedup();
    let schedules = fees::of_versions(&mut *db, sale.id(), &versions).await?;
    let prices = rows::stated_prices(&mut *db, sale.id(), new).await?;
    bills(sale.row.currency, new, prices, &schedules).map(Some).map_err(Refused::Data)
}

fn bills(
    currency: Currency,
    new: &NewOrders,
    prices: Vec<PricedRow>,
    schedules: &HashMap<i32, FeeSchedule>,
) -> std::result::Result<Bills, String> {
    let mut seats: HashMap<Uuid, Vec<PricedSeat>> = HashMap::new();
    for PricedRow { order, seat, amount_minor } in prices {
        seats.entry(order).or_default().push(PricedSeat { seat, price: Money::new(amount_minor, currency) });
    }
    let mut all = Bills::default();
    for (order, version) in new.ids.iter().zip(&new.price_versions) {
        let Some(seats) = seats.remove(order) else {
            // No seat of it has a price: the writer refuses it as incomplete.
            all.totals.push(0);
            continue;
        };
        let schedule = schedules.get(version).copied().unwrap_or_else(|| FeeSchedule::none(currency));
        let bill = schedule.bill(&seats).map_err(|e| format!("order {order} has no bill: {e}"))?;
        for line in bill.lines() {
            all.lines.push(*order, line);
        }
        all.totals.push(bill.total().minor);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::SeatNo;
    use domain::money::fees::Rate;

    fn row(order: Uuid, seat: u32, amount_minor: i64) -> PricedRow {
        PricedRow { order, seat: SeatNo(seat), amount_minor }
    }

    #[test]
    fn each_order_is_billed_by_the_schedule_of_its_version() {
        let currency: Currency = "EUR".parse().unwrap();
        let [old, newer, unpriced] = [1_u128, 2, 3].map(Uuid::from_u128);
        let new = NewOrders { ids: vec![old, newer, unpriced], price_versions: vec![1, 2, 2], ..NewOrders::default() };
        let fees = |order_fixed_minor| FeeSchedule {
            service_rate: Rate::try_from(1_000).unwrap(),
            order_fixed_minor,
            ..FeeSchedule::none(currency)
        };
        let schedules = HashMap::from([(1, fees(0)), (2, fees(300))]);
        let prices = vec![row(newer, 4, 2_000), row(old, 1, 1_000), row(old, 2, 1_000)];
        let all = bills(currency, &new, prices, &schedules).unwrap();
        assert_eq!(all.totals, [2_200, 2_500, 0]);
    }

    #[test]
    fn a_seat_twice_in_one_order_is_refused() {
        let currency: Currency = "EUR".parse().unwrap();
        let order = Uuid::from_u128(1);
        let new = NewOrders { ids: vec![order], price_versions: vec![1], ..NewOrders::default() };
        let why = bills(currency, &new, vec![row(order, 1, 1), row(order, 1, 1)], &HashMap::new()).unwrap_err();
        assert!(why.contains(&order.to_string()), "{why}");
    }
}
