//! Telling Redis of seats that were given back.

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::postgres::{prices, returns};
use crate::redis::ShortAnswer;
use crate::work::AFTER_SALE_MS;
use domain::{OrderId, PerformanceId, SeatNo};

impl Backend {
    /// Frees the seats of an order that were given back, or leaves them off sale. Whether Redis knows now.
    ///
    /// The epoch is held while Redis is told: a rebuild comes before, and Redis refuses, or reads what is
    /// committed, where the claims are gone already. What is repeated changes nothing: a seat that its hold does
    /// not own is left alone.
    ///
    /// # Errors
    /// Outages: the job calls again.
    pub(crate) async fn return_seats(&self, order: OrderId, performance: PerformanceId) -> Result<bool> {
        let sale = self.sale(performance).await?;
        let mut tx = self.pg.begin().await?;
        let Some(epoch) = prices::hold_epoch(&mut *tx, performance).await? else { return Ok(false) };
        let waiting = returns::waiting(&mut *tx, order).await?;
        let (mut back, mut off): (Vec<SeatNo>, Vec<SeatNo>) = (Vec::new(), Vec::new());
        for (seat, is_off) in waiting {
            // A seat without a price is off sale, whatever is said about it.
            if is_off || sale.price(seat).is_none() { off.push(seat) } else { back.push(seat) }
        }
        self.fault("before-return");
        match self.seats.return_seats(&sale.keys, epoch, order, &back, &off).await? {
            ShortAnswer::Done | ShortAnswer::Again => {}
            // A rebuild after the last claim went: nothing is left of the hold.
            ShortAnswer::No(word, _) if word == "missing" => {}
            // Long after the sale its state is built no more, and nobody holds its seats.
            ShortAnswer::Rebuilding if sale.row.closes.plus(AFTER_SALE_MS) <= self.now() => {}
            ShortAnswer::Rebuilding => return Ok(false),
            ShortAnswer::No(word, _) => return Err(Error::Broken(format!("return_seats.lua answered {word}"))),
        }
        self.fault("after-return");
        returns::set_released(&mut *tx, order, &[back, off].concat(), self.now()).await?;
        tx.commit().await?;
        self.fault("returned");
        Ok(true)
    }
}
