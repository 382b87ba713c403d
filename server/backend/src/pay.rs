//! From an order to its money: Pay, what the provider says, closing, giving back.
//!
//! Every decision is taken on the provider's object read again, under a condition on the order's
//! status and version, so that events may come late, twice, in any order, or never.

mod disputes;
mod ended;
mod events;
mod keys;
mod providers;
mod quarantine;
mod reclaim;
mod settle;
mod take_back;
mod view;

pub(crate) use view::charges_of;

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result, not_found, refuse};
use crate::holds::rebuilding;
use crate::payment::{NewPayment, ProviderPayment};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::orders::{self, OrderRow};
use crate::postgres::{batches, detached, prices};
use crate::redis::PayAnswer;
use domain::account::Session;
use domain::hold::hold_cap_ms;
use domain::order::{AttemptStatus, OrderEvent, OrderFacts, OrderStatus, PayStarted, transition};
use domain::{AccountId, AttemptId, Code, Millis, OrderId, Refusal};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long Pay waits for the order's row: the order writer is a fraction of a second behind.
const ROW_WAIT: Duration = Duration::from_secs(2);
/// How often it looks meanwhile.
const ROW_LOOK_EVERY: Duration = Duration::from_millis(20);
/// When an attempt is first asked about, should no event come.
const FIRST_QUERY_MS: i64 = 2_000;
/// Most attempts for one order: more cards than that are somebody's test.
const ATTEMPTS_MAX: i32 = 20;

impl Backend {
    /// Starts the payment, or goes on with the one that runs: however often Pay is pressed, one
    /// payment is open at the provider.
    ///
    /// # Errors
    /// `not_found`, `hold_closed`, `wrong_state`, `provider_unavailable`, `unavailable`.
    pub async fn pay(self: &Arc<Self>, session: &Session, order: OrderId) -> Result<PayStarted> {
        let (this, account) = (Arc::clone(self), session.account);
        detached(async move { this.pay_now(account, order).await }).await
    }

    async fn pay_now(self: &Arc<Self>, account: AccountId, order: OrderId) -> Result<PayStarted> {
        let row = self.written_order(account, order).await?;
        let attempt = match row.status {
            OrderStatus::PendingPayment => self.begin_attempt(&row).await?,
            OrderStatus::PaymentProcessing => match self.open_attempt_of(order).await? {
                Some(attempt) => attempt,
                None => {
                    return refuse(
                        Code::WrongState,
                        "the payment of this order is being decided; look again in a moment",
                    );
                }
            },
            OrderStatus::Closed | OrderStatus::Refused => {
                return refuse(Code::HoldClosed, "the time for these seats has ended");
            }
            _ => return refuse(Code::WrongState, "this order is paid already"),
        };
        if let Some(url) = &attempt.pay_url {
            return Ok(PayStarted { attempt: attempt.id, redirect_url: url.clone() });
        }
        let payment = self.open_at_provider(&row, &attempt).await?;
        Ok(PayStarted { attempt: attempt.id, redirect_url: payment.hosted_url })
    }

    /// The order's row, waited for as long as the writer may be behind.
    async fn written_order(self: &Arc<Self>, account: AccountId, order: OrderId) -> Result<OrderRow> {
        let started = Instant::now();
        loop {
            match orders::one(&self.pg, order).await? {
                Some(row) if row.account == account => return Ok(row),
                Some(_) => return not_found("order"),
                None if started.elapsed() >= ROW_WAIT => break,
                None if started.elapsed() < ROW_LOOK_EVERY && self.find_hold(account, order).await?.is_none() => {
                    return not_found("order");
                }
                None => tokio::time::sleep(ROW_LOOK_EVERY).await,
            }
        }
        Err(Error::Refused(
            Refusal::new(Code::Unavailable, "the order is being written; try again in a moment").retry_after_ms(1_000),
        ))
    }

    pub(crate) async fn open_attempt_of(&self, order: OrderId) -> Result<Option<AttemptRow>> {
        Ok(attempts::of_order(&self.pg, order).await?.into_iter().find(|attempt| attempt.status.is_open()))
    }

    /// Extends the hold first, then moves the order: a payment never starts for seats that are gone.
    async fn begin_attempt(self: &Arc<Self>, row: &OrderRow) -> Result<AttemptRow> {
        let attempt = self.claim_attempt(row).await?;
        self.fault("attempt-claimed");
        let sale = self.sale(row.performance).await?;
        let allowed = self.config.provider_deadline_ms + self.config.provider_grace_ms;
        let times = (allowed, self.hold_cap(&sale));
        // Both stores under one epoch: a rebuild comes before, and Redis refuses, or reads what is committed.
        let mut tx = self.pg.begin().await?;
        let Some(epoch) = prices::hold_epoch(&mut *tx, row.performance).await? else { return not_found("performance") };
        // The row is held: whoever cancels the performance comes before this, or finds the order being paid.
        if batches::is_cancelled(&mut *tx, row.performance).await? {
            tx.rollback().await?;
            attempts::cancel_unopened(&self.pg, attempt.id).await?;
            return refuse(Code::SaleClosed, "the performance was cancelled");
        }
        let until = match self.seats.pay(&sale.keys, epoch, row.id, row.account, attempt.number, times).await? {
            PayAnswer::Until(until) => until,
            PayAnswer::Rebuilding => return rebuilding(),
            PayAnswer::Sold => return refuse(Code::WrongState, "this order is paid already"),
            PayAnswer::OtherAttempt => {
                return refuse(Code::WrongState, "another payment of this order runs; look again in a moment");
            }
            PayAnswer::Gone => {
                tx.rollback().await?;
                attempts::cancel_unopened(&self.pg, attempt.id).await?;
                return refuse(Code::HoldClosed, "the time for these seats has ended");
            }
        };
        self.fault("hold-extended");
        // Redis's clock has just decided that the hold stands; ours may be off and decides nothing.
        let step = transition(OrderFacts { status: row.status, expires: until }, OrderEvent::Pay, until.plus(-1))?;
        // Whoever asked the provider meanwhile, and heard of no payment, may have ended this attempt.
        let open = attempts::hold_open(&mut *tx, attempt.id).await?;
        let moved = open && orders::apply(&mut tx, row, step, OrderEvent::Pay, Some(until), self.now()).await?;
        self.fault("before-begin-commit");
        tx.commit().await?;
        self.fault("payment-begun");
        if !open {
            // Redis is told so by whoever ended it, before this call or after.
            return refuse(Code::WrongState, "the payment of this order is being decided; look again in a moment");
        }
        if !moved {
            // Somebody else moved it meanwhile: the same attempt by another click, or its end.
            match orders::one(&self.pg, row.id).await? {
                Some(now) if now.status == OrderStatus::PaymentProcessing => {}
                _ => return refuse(Code::HoldClosed, "the time for these seats has ended"),
            }
        }
        Ok(attempts::one(&self.pg, attempt.id).await?.unwrap_or(attempt))
    }

    /// The one open attempt of an order: made now, or by a click that came before.
    async fn claim_attempt(&self, row: &OrderRow) -> Result<AttemptRow> {
        for _ in 0..3 {
            let known = attempts::of_order(&self.pg, row.id).await?;
            if let Some(open) = known.iter().find(|attempt| attempt.status.is_open()) {
                return Ok(open.clone());
            }
            let number = known.first().map_or(1, |attempt| attempt.number + 1);
            if number > ATTEMPTS_MAX {
                return refuse(Code::LimitExceeded, format!("an order takes at most {ATTEMPTS_MAX} payments"));
            }
            let provider = self.provider_for(row).await?;
            let now = self.now();
            let attempt = AttemptRow {
                id: AttemptId(uuid::Uuid::now_v7()),
                order: row.id,
                number,
                status: AttemptStatus::Created,
                provider: provider.to_owned(),
                provider_ref: None,
                pay_url: None,
                amount_minor: row.total_minor,
                currency: row.currency,
                last_error: None,
                deadline: self.seats.time_of(row.performance).await?.plus(self.config.provider_deadline_ms),
                queries: 0,
            };
            if attempts::insert(&self.pg, &attempt, now.plus(FIRST_QUERY_MS), now).await? {
                return Ok(attempt);
            }
        }
        refuse(Code::WrongState, "another payment of this order begins; look again in a moment")
    }

    /// Makes the payment known to the provider. In the first rounds the same attempt has the same key: a second
    /// call, after a lost reply or by the schedule, finds the payment of the first. Then the provider may have kept
    /// a fault under that key: the payment is looked for, and where there is none opened under a fresh key
    /// ([`keys::create`] says why a second page does no harm).
    pub(crate) async fn open_at_provider(&self, row: &OrderRow, attempt: &AttemptRow) -> Result<ProviderPayment> {
        let sale = self.sale(row.performance).await?;
        let provider = self.provider_named(&attempt.provider)?;
        let reference = attempt.id.to_string();
        let known = if keys::is_fresh(attempt) { provider.find(&reference).await? } else { None };
        self.fault("before-create");
        let payment = match known {
            Some(payment) => payment,
            None => {
                let new = NewPayment {
                    idempotency_key: keys::create(row.id, attempt),
                    reference,
                    amount_minor: attempt.amount_minor,
                    currency: attempt.currency,
                    description: format!("{} · {}", sale.row.artist, sale.row.title),
                    return_url: format!("{}/orders/{}", self.config.public_url, row.id),
                    expires: attempt.deadline,
                };
                provider.create(new).await?
            }
        };
        self.fault("after-create");
        if !attempts::set_open(&self.pg, attempt.id, &payment.id, &payment.hosted_url).await? {
            // Ended while the provider answered, or another round's payment is the attempt's: nobody is sent to one
            // that is asked about no more.
            self.fault("before-unused-cancel");
            let ended = provider.cancel(&payment.id, &keys::cancel_unused(attempt)).await;
            self.fault("after-unused-cancel");
            match ended {
                Err(e) if !e.is_final() => return Err(e.into()),
                // Paid meanwhile, or ended: both are decided.
                Ok(_) | Err(_) => {}
            }
            return refuse(Code::WrongState, "the payment of this order has ended; look again in a moment");
        }
        self.fault("payment-opened");
        Ok(payment)
    }

    /// The longest that a hold of a sale can live.
    pub(crate) fn hold_cap(&self, sale: &Sale) -> i64 {
        hold_cap_ms(sale.row.hold_ttl_ms, self.config.provider_deadline_ms, self.config.provider_grace_ms)
    }

    /// Cancels one's own order before it is paid; its seats go back to sale.
    ///
    /// # Errors
    /// `not_found`; `wrong_state` once it is paid; `provider_unavailable`.
    pub async fn cancel_order(self: &Arc<Self>, session: &Session, order: OrderId) -> Result<()> {
        let (this, session) = (Arc::clone(self), session.clone());
        detached(async move {
            let row = this.written_order(session.account, order).await?;
            if row.status == OrderStatus::PaymentProcessing {
                this.end_open_attempt(&row).await?;
            }
            let row = this.written_order(session.account, order).await?;
            match row.status {
                OrderStatus::PendingPayment => {}
                OrderStatus::Closed | OrderStatus::Refused => return Ok(()),
                _ => return refuse(Code::WrongState, "this order is paid: ask for a refund instead"),
            }
            this.release(&session, order).await?;
            this.step(&row, OrderEvent::Cancel, None).await?;
            this.wake.release.notify_one();
            Ok(())
        })
        .await
    }

    async fn end_open_attempt(self: &Arc<Self>, row: &OrderRow) -> Result<()> {
        let Some(attempt) = self.open_attempt_of(row.id).await? else { return Ok(()) };
        if let Some(id) = &attempt.provider_ref {
            let provider = self.provider_named(&attempt.provider)?;
            self.fault("before-fan-cancel");
            let ended = provider.cancel(id, &keys::cancel(&attempt)).await;
            self.fault("after-fan-cancel");
            match ended {
                Ok(_) => {}
                // A refusal means that it was captured or cancelled before: settling finds out which.
                Err(e) if e.is_final() => {}
                Err(e) => return Err(e.into()),
            }
        }
        self.settle(&attempt).await
    }

    /// Applies one step to an order as it was read; `false` when it has moved on meanwhile.
    pub(crate) async fn step(&self, row: &OrderRow, event: OrderEvent, expires: Option<Millis>) -> Result<bool> {
        let now = self.now();
        let step = transition(OrderFacts { status: row.status, expires: row.expires }, event, now)?;
        let mut tx = self.pg.begin().await?;
        let moved = orders::apply(&mut tx, row, step, event, expires, now).await?;
        self.fault("before-step-commit");
        tx.commit().await?;
        self.fault("step-committed");
        Ok(moved)
    }
}
