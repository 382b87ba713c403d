//! What seats cost in one version of a performance's prices, with the fees and the tax that go with it.

use super::Sale;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::postgres::{catalog as rows, fees};
use domain::money::fees::{Bill, FeeSchedule, PricedSeat};
use domain::money::summary::Summary;
use domain::{Currency, Money, SeatNo};

/// The prices of one version. A hold keeps the version that it was made with, so that a change of
/// prices never changes what somebody was told.
pub(crate) struct Prices {
    zones: Vec<Option<Money>>,
    /// None where an order comes to its prices.
    fees: Option<FeeSchedule>,
}

impl Prices {
    /// The stated price of a seat.
    pub(crate) fn of(&self, sale: &Sale, seat: SeatNo) -> Option<Money> {
        *self.zones.get(sale.zone(seat)?)?
    }

    /// What an order of these seats comes to, fees and tax with it: what the order writer bills.
    pub(crate) fn total(&self, sale: &Sale, seats: &[SeatNo]) -> Result<Money> {
        let schedule = self.fees.unwrap_or_else(|| FeeSchedule::none(sale.row.currency));
        Ok(self.bill(sale, &schedule, seats)?.total())
    }

    /// What the total is made of; none where it is the prices of the seats alone.
    pub(crate) fn charges(&self, sale: &Sale, seats: &[SeatNo]) -> Result<Option<Summary>> {
        let Some(schedule) = &self.fees else { return Ok(None) };
        Ok(Some(Summary::of(schedule, &self.bill(sale, schedule, seats)?)))
    }

    fn bill(&self, sale: &Sale, schedule: &FeeSchedule, seats: &[SeatNo]) -> Result<Bill> {
        let priced = seats.iter().map(|seat| Some(PricedSeat { seat: *seat, price: self.of(sale, *seat)? }));
        let Some(priced) = priced.collect::<Option<Vec<_>>>() else {
            return Err(Error::Broken("a held seat has no price".to_owned()));
        };
        schedule.bill(&priced).map_err(|e| Error::Broken(format!("held seats have no bill: {e}")))
    }
}

/// The prices of a version by zone.
pub(super) fn by_zone(prices: &[(u8, i64)], zones: usize, currency: Currency) -> Vec<Option<Money>> {
    let mut list = vec![None; zones];
    for (zone, minor) in prices {
        if let Some(slot) = list.get_mut(usize::from(*zone)) {
            *slot = Some(Money::new(*minor, currency));
        }
    }
    list
}

impl Backend {
    /// The prices of one version, with its fees.
    pub(crate) async fn prices_of(&self, sale: &Sale, version: i32) -> Result<Prices> {
        if version == sale.row.price_version {
            let zones = sale.view.zones.iter().map(|zone| zone.price).collect();
            return Ok(Prices { zones, fees: sale.view.fees });
        }
        let prices = rows::prices(&self.pg, sale.id(), version).await?;
        Ok(Prices {
            zones: by_zone(&prices, sale.seats.categories.len(), sale.row.currency),
            fees: fees::of_version(&self.pg, sale.id(), version).await?,
        })
    }
}
