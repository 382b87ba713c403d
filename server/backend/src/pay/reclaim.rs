//! Money that came late takes its seats once more, where nobody else has them.
//!
//! Redis goes first, as with any hold: one script takes all seats of the closed order, or none. Their hold is in a
//! state in which nobody gives it back, pays for it or takes it over, and it has a time of its own. Then one
//! transaction claims the seats and makes the order paid; in it the script is asked once more whether the seats
//! still stand, which prolongs their time. Between both the order writer must have written the entry of the
//! script: the claims of holds that gave way are freed by it, and whoever had the seats before is written before.
//!
//! Interrupted before the commit, the attempt is still open, or has ended with a question noted, so that the schedule
//! comes to it again, and goes on with the seats. Where it does not, the sweeper ends the hold after its time. Whatever says no, the money goes
//! back (`settle.rs`).

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result, refuse};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::orders::{self, OrderRow};
use crate::postgres::{batches, grants, ledger, prices, reclaims, refunds};
use crate::redis::{ReclaimAnswer, ReclaimCall};
use crate::refunds::asking::{balance, lines};
use crate::work::AFTER_SALE_MS;
use domain::ledger::Event;
use domain::live::LogPosition;
use domain::order::{OrderEvent, OrderFacts, transition};
use domain::{Code, Money};
use sqlx::PgConnection;
use std::time::{Duration, Instant};

/// How long after the end of its hold an order may have its seats again: a fan whose money comes later than that has
/// made other plans.
const WITHIN_MS: i64 = 24 * 3_600_000;
/// How long seats that were taken wait for Postgres: longer than any statement stands still there.
const LEASE_MS: i64 = 60_000;
/// So long after the last request for the seats nothing is committed any more: their statements together may take
/// longer than the seats wait. The other half is for the commit.
const COMMIT_WITHIN: Duration = Duration::from_millis(LEASE_MS.unsigned_abs() / 2);
/// How long after the end of its hold an order waits for seats of which nothing can be said, before its money goes
/// back: after an outage fans are not to wait for either.
const UNDECIDED_MS: i64 = 120_000;

/// What came of a try.
enum Outcome {
    Reclaimed,
    /// The seats are not to be had.
    Refused(&'static str),
    /// Nobody can say so now.
    Undecided(&'static str),
}

impl Outcome {
    /// One word for a metric.
    fn word(&self) -> &'static str {
        match self {
            Self::Reclaimed => "reclaimed",
            Self::Refused(_) => "refused",
            Self::Undecided(_) => "undecided",
        }
    }
}

/// Seats that wait for Postgres, as the try that asked last was told.
struct Taken {
    /// The entry of the log by which they were taken.
    entry: LogPosition,
    /// With it this try alone may give them up.
    fence: i64,
    /// When it asked, at the latest: from then on their time runs.
    asked: Instant,
}

/// How seats were taken by a request of that instant, or why they were not.
fn taken_by(answer: &ReclaimAnswer, asked: Instant) -> std::result::Result<Taken, Outcome> {
    Err(match answer {
        ReclaimAnswer::Took { entry, fence } => return Ok(Taken { entry: *entry, fence: *fence, asked }),
        ReclaimAnswer::Rebuilding => Outcome::Undecided("the seats are being rebuilt"),
        ReclaimAnswer::Gone => Outcome::Undecided("the seats were not kept long enough"),
        ReclaimAnswer::Standing => Outcome::Undecided("the hold of before has not ended"),
        ReclaimAnswer::OtherAttempt => Outcome::Undecided("another payment of the order takes its seats"),
        ReclaimAnswer::Returned => Outcome::Refused("the order gave its seats back"),
        ReclaimAnswer::Limit => Outcome::Refused("the account has as many seats as it may have"),
        ReclaimAnswer::Taken => Outcome::Refused("a seat is another order's"),
        ReclaimAnswer::NotForSale => Outcome::Refused("a seat is not for sale to this account"),
    })
}

impl Backend {
    /// Tries to make a closed order paid by the money that was captured for it; `false` when the money must go back,
    /// or somebody else settles its attempt.
    ///
    /// # Errors
    /// Outages; `unavailable` when it can't be decided yet, for a while. The schedule calls again.
    pub(super) async fn reclaim(&self, order: &OrderRow, attempt: &AttemptRow) -> Result<bool> {
        let outcome = match self.try_reclaim(order, attempt).await {
            Err(Error::Redis(_)) => Outcome::Undecided("the seats can't be reached"),
            outcome => outcome?,
        };
        metrics::counter!("stararena_reclaims_total", "outcome" => outcome.word()).increment(1);
        match outcome {
            Outcome::Reclaimed => Ok(true),
            Outcome::Undecided(why) if self.now() < order.expires.plus(UNDECIDED_MS) => {
                refuse(Code::Unavailable, format!("late money waits for its seats: {why}"))
            }
            Outcome::Refused(why) | Outcome::Undecided(why) => {
                tracing::info!(order = %order.id, attempt = %attempt.id, why, "late money goes back");
                Ok(false)
            }
        }
    }

    async fn try_reclaim(&self, order: &OrderRow, attempt: &AttemptRow) -> Result<Outcome> {
        let sale = self.reload_sale(order.performance).await?;
        if let Some(why) = self.is_over(&sale, order, attempt).await? {
            return Ok(Outcome::Refused(why));
        }
        let Some(chosen) = reclaims::chosen(&self.pg, order.id).await?.filter(|chosen| !chosen.seats.is_empty()) else {
            return Ok(Outcome::Refused("the order has no seats"));
        };
        let allocations = grants::numbers(&self.pg, order.account, order.performance).await?;
        let call = ReclaimCall {
            hold: order.id,
            account: order.account,
            attempt: attempt.number,
            seats: &chosen.seats,
            allocations: &allocations,
            price_version: chosen.price_version,
            created: chosen.created,
            lease_ms: LEASE_MS,
        };
        let asked = Instant::now();
        let mut taken = match taken_by(&self.take_seats_again(&sale, &call).await?, asked) {
            Ok(taken) => taken,
            Err(outcome) => return Ok(outcome),
        };
        self.fault("reclaim-taken");
        // After a fault nobody knows whether it was committed: then the seats stay until their time.
        let outcome = self.sell_again(&sale, order, attempt, (&call, &mut taken)).await?;
        if !matches!(outcome, Outcome::Reclaimed) {
            self.give_seats_up(&sale, order, attempt, taken.fence).await?;
        }
        Ok(outcome)
    }

    /// Why an order can't have its seats again whoever has them now; none where it can.
    async fn is_over(&self, sale: &Sale, order: &OrderRow, attempt: &AttemptRow) -> Result<Option<&'static str>> {
        let now = self.now();
        Ok(if attempt.amount_minor != order.total_minor || attempt.currency != order.currency {
            Some("it is not what the order comes to")
        } else if now >= sale.row.starts {
            Some("the performance has begun")
        } else if now >= sale.row.closes.plus(AFTER_SALE_MS) {
            Some("the sale is long over")
        } else if now >= order.expires.plus(WITHIN_MS) {
            Some("the order ended long ago")
        } else if batches::is_cancelled(&self.pg, order.performance).await? {
            Some("the performance was cancelled")
        } else if reclaims::given_up(&self.pg, order.id).await? {
            Some("its fan gave the seats back")
        } else {
            None
        })
    }

    async fn take_seats_again(&self, sale: &Sale, call: &ReclaimCall<'_>) -> Result<ReclaimAnswer> {
        let answer = self.seats.reclaim(&sale.keys, sale.row.epoch, call, true).await?;
        if answer != ReclaimAnswer::Standing {
            return Ok(answer);
        }
        // The order has closed, and Redis was not told yet.
        self.seats.finish(&sale.keys, sale.row.epoch, call.hold).await?;
        self.seats.reclaim(&sale.keys, sale.row.epoch, call, true).await
    }

    /// Claims the seats that were taken in Redis, and makes their order paid.
    async fn sell_again(
        &self,
        sale: &Sale,
        order: &OrderRow,
        attempt: &AttemptRow,
        (call, taken): (&ReclaimCall<'_>, &mut Taken),
    ) -> Result<Outcome> {
        if !self.is_written(sale, taken.entry).await? {
            return Ok(Outcome::Undecided("the log of the sale is not written"));
        }
        let mut tx = self.pg.begin().await?;
        let outcome = self.decide(&mut tx, sale, order, attempt, (call, &mut *taken)).await?;
        if !matches!(outcome, Outcome::Reclaimed) {
            tx.rollback().await?;
            return Ok(outcome);
        }
        if taken.asked.elapsed() > COMMIT_WITHIN {
            // The seats may be another fan's before it is committed.
            tx.rollback().await?;
            return Ok(Outcome::Undecided("the books took too long"));
        }
        self.fault("before-reclaim-commit");
        tx.commit().await?;
        self.fault("reclaim-committed");
        Ok(outcome)
    }

    /// What [`Self::sell_again`] commits; nothing of it may stay where the seats are not reclaimed.
    async fn decide(
        &self,
        db: &mut PgConnection,
        sale: &Sale,
        order: &OrderRow,
        attempt: &AttemptRow,
        (call, taken): (&ReclaimCall<'_>, &mut Taken),
    ) -> Result<Outcome> {
        // Both stores under one epoch, as when a payment begins.
        let Some(epoch) = prices::hold_epoch(&mut *db, order.performance).await? else {
            return Ok(Outcome::Refused("the performance is gone"));
        };
        // The row is held: whoever cancels the performance comes before this, or finds the order paid.
        if batches::is_cancelled(&mut *db, order.performance).await? {
            return Ok(Outcome::Refused("the performance was cancelled"));
        }
        if !attempts::hold_uncaptured(&mut *db, attempt.id).await? {
            return Ok(Outcome::Refused("somebody else has settled the payment"));
        }
        if !orders::hold_unchanged(&mut *db, order).await? {
            return Ok(Outcome::Refused("the order has moved on"));
        }
        // From here on nobody ends the seats before the commit: their time begins anew.
        let asked = Instant::now();
        match taken_by(&self.seats.reclaim(&sale.keys, epoch, call, false).await?, asked) {
            Ok(still) => *taken = still,
            Err(outcome) => return Ok(outcome),
        }
        if !reclaims::claim(&mut *db, order.performance, order.id).await? {
            return Ok(Outcome::Refused("a seat is claimed by another order"));
        }
        if !self.book_reclaimed(db, order, attempt).await? {
            return Ok(Outcome::Refused("some of the money is gone already"));
        }
        Ok(Outcome::Reclaimed)
    }

    /// Money and order as if the money had come in time; `false` where not all of it is there.
    async fn book_reclaimed(&self, db: &mut PgConnection, order: &OrderRow, attempt: &AttemptRow) -> Result<bool> {
        if balance(db, attempt).await?.left_minor() != attempt.amount_minor {
            return Ok(false);
        }
        let (now, currency) = (self.now(), attempt.currency);
        let (attempt_id, order_id, minor) = (attempt.id, order.id, attempt.amount_minor);
        let amount = Money::new(minor, currency);
        ledger::post(&mut *db, &Event::LateMoney { attempt: attempt_id, order: order_id, amount }, now).await?;
        let lines = lines(db, order_id).await?;
        let shares = refunds::shares_of(lines.iter().map(|line| (line.kind, line.amounts)), minor);
        let event = Event::LateMoneyReclaimed { attempt: attempt_id, order: order_id, currency, shares };
        ledger::post(&mut *db, &event, now).await?;
        let facts = OrderFacts { status: order.status, expires: order.expires };
        let step = transition(facts, OrderEvent::Reclaimed, now)?;
        let done = attempts::set_captured(&mut *db, attempt_id, now).await?
            && orders::apply(&mut *db, order, step, OrderEvent::Reclaimed, None, now).await?
            && reclaims::revive(&mut *db, order_id).await?;
        if done { Ok(true) } else { Err(Error::Broken(format!("order {order_id} changed while it was locked"))) }
    }

    /// Frees seats that were taken and are not paid. Not where the payment is settled: then whoever settled it has
    /// them, or they end by themselves. The lock of the attempt keeps other tries away while the request is
    /// answered; the fence keeps the request from what they take, should it arrive after that.
    async fn give_seats_up(&self, sale: &Sale, order: &OrderRow, attempt: &AttemptRow, fence: i64) -> Result<()> {
        let mut tx = self.pg.begin().await?;
        if attempts::hold_uncaptured(&mut *tx, attempt.id).await? {
            self.fault("before-give-up");
            self.seats.give_up(&sale.keys, sale.row.epoch, order.id, fence).await?;
            self.fault("after-give-up");
        }
        tx.rollback().await?;
        Ok(())
    }
}
