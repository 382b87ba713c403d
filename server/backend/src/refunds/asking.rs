//! What of an order can go back, and the reservation of it.

use crate::backend::Backend;
use crate::error::{Error, Result, refuse};
use crate::postgres::attempts::{self, AttemptRow};
use crate::postgres::refunds::{self as rows, Change, RefundInsert, RefundRow};
use crate::postgres::{catalog, disputes, ledger, lines as billed, orders, returns, terms, tickets};
use domain::ledger::Event;
use domain::money::fees::{Amounts, Line};
use domain::order::AttemptStatus;
use domain::refund::policy::{self, OrderLine, Part, RefundableOrder};
use domain::refund::{Approval, Cause, RefundBalance, RefundEvent, RefundOrigin, RefundStatus, transition};
use domain::{AccountId, AttemptId, Code, Millis, Money, OrderId, RefundId, SeatNo};
use sqlx::PgConnection;

/// A refund to be reserved.
pub(crate) struct NewRefund<'a> {
    pub(crate) order: OrderId,
    /// The payment whose money goes back.
    pub(crate) attempt: AttemptId,
    pub(crate) amount: Money,
    pub(crate) cause: Cause,
    /// What of which line comes back; none for late money, which has no lines.
    pub(crate) parts: &'a [Part],
    /// The seats that are given back with it.
    pub(crate) seats: &'a [SeatNo],
    /// The fan's account, or a member's; none for a rule.
    pub(crate) asked_by: Option<AccountId>,
    /// Who must agree: when nobody must, it is approved at once.
    pub(crate) approval: Approval,
    pub(crate) note: &'a str,
    /// When it is submitted at the earliest, once it is approved.
    pub(crate) due: Millis,
}

/// The lines of an order as they were billed.
pub(crate) async fn lines(db: &mut PgConnection, order: OrderId) -> Result<Vec<Line>> {
    Ok(billed::of_orders(db, &[order.0]).await?.remove(&order).unwrap_or_default())
}

/// The money of an attempt: what went back, is to go back, and is disputed. It locks nothing. Whoever takes of the
/// money has locked the attempt before; whoever looks has one snapshot.
pub(crate) async fn balance(db: &mut PgConnection, attempt: &AttemptRow) -> Result<RefundBalance> {
    let refunds = rows::of_attempt(&mut *db, attempt.id).await?;
    balance_with(db, attempt, &refunds).await
}

/// [`balance`] with the attempt's refunds, where they were read before.
async fn balance_with(db: &mut PgConnection, attempt: &AttemptRow, refunds: &[RefundRow]) -> Result<RefundBalance> {
    let disputed = disputes::disputed_minor(&mut *db, attempt.id).await?;
    RefundBalance::of(attempt.amount_minor, disputed, refunds.iter().map(|row| (row.status, row.amount.minor)))
        .ok_or_else(|| Error::Broken(format!("the refunds of attempt {} are too large", attempt.id)))
}

/// An order with its lines, what of each went back, and the balance of its captured payment, for who takes of the
/// money: attempt and order are locked until the transaction ends. None where the order has no captured payment
/// of its own.
///
/// # Errors
/// Outages.
pub(crate) async fn refundable(db: &mut PgConnection, order: OrderId) -> Result<Option<(RefundableOrder, AttemptRow)>> {
    let Some(attempt) = attempts::lock_sale(&mut *db, order).await? else { return Ok(None) };
    if orders::lock(&mut *db, order).await?.is_none() {
        return Ok(None);
    }
    Ok(Some((put_together(db, order, &attempt).await?, attempt)))
}

/// [`refundable`] for who only looks: it waits for nobody and nobody waits for it. The transaction is one snapshot,
/// and nothing is decided by the answer.
///
/// # Errors
/// Outages.
pub(super) async fn refundable_seen(
    db: &mut PgConnection,
    order: OrderId,
) -> Result<Option<(RefundableOrder, AttemptRow)>> {
    let Some(attempt) = attempts::sale(&mut *db, order).await? else { return Ok(None) };
    Ok(Some((put_together(db, order, &attempt).await?, attempt)))
}

/// Puts together what of an order can go back, from rows as this transaction sees them.
async fn put_together(db: &mut PgConnection, order: OrderId, attempt: &AttemptRow) -> Result<RefundableOrder> {
    let refunds = rows::of_attempt(&mut *db, attempt.id).await?;
    let balance = balance_with(db, attempt, &refunds).await?;
    let back = returns::of_order(&mut *db, order).await?;
    // What failed or was rejected is with us; what waits is as good as gone.
    let live: Vec<&RefundRow> =
        refunds.iter().filter(|row| row.status.is_pending() || row.status == RefundStatus::Succeeded).collect();
    let with_line = |line: Line| -> Result<OrderLine> {
        let parts = live.iter().flat_map(|row| &row.parts);
        let parts = parts.filter(|part| part.kind == line.kind && part.seat == line.seat);
        let returned = Amounts::sum(parts.map(|part| part.amounts))
            .ok_or_else(|| Error::Broken(format!("the refunds of order {order} are too large")))?;
        let given_back =
            line.seat.is_some_and(|seat| back.contains(&seat) || live.iter().any(|row| row.seats.contains(&seat)));
        Ok(OrderLine { line, returned, given_back })
    };
    let lines = lines(db, order).await?.into_iter().map(with_line).collect::<Result<_>>()?;
    Ok(RefundableOrder { order, currency: attempt.currency, lines, balance })
}

/// The parts of a refund that failed, for another try: their net and tax are cut anew, by what lives now. None where
/// the lines of its order have less left. Its attempt is locked; the order is, too, until the transaction ends.
pub(super) async fn parts_again(db: &mut PgConnection, row: &RefundRow) -> Result<Option<Vec<Part>>> {
    if row.parts.is_empty() {
        // Nothing of it is of a line, as with late money: no other attempt is to be locked for it.
        return Ok(Some(Vec::new()));
    }
    match refundable(&mut *db, row.order).await? {
        Some((found, sold)) if sold.id == row.attempt => Ok(policy::parts_again(&found, &row.parts)),
        _ => Ok(Some(row.parts.clone())),
    }
}

impl Backend {
    /// Reserves a refund in the caller's transaction: amount, postings, and, when nobody must agree, the seats
    /// that go with it. The job submits it.
    ///
    /// # Errors
    /// `limit_exceeded` for more than is left of the payment, `wrong_state` where nothing was captured, `invalid_input`
    /// for an amount that the provider can't give back: nothing was written then.
    pub(crate) async fn reserve_refund(&self, db: &mut PgConnection, new: &NewRefund<'_>) -> Result<RefundId> {
        let Some(attempt) = attempts::lock(&mut *db, new.attempt).await? else {
            return Err(Error::Broken(format!("there is no attempt {}", new.attempt)));
        };
        if attempt.order != new.order || attempt.currency != new.amount.currency {
            return Err(Error::Broken(format!("attempt {} does not fit its refund", attempt.id)));
        }
        if !matches!(attempt.status, AttemptStatus::Captured | AttemptStatus::Refunded) {
            return refuse(Code::WrongState, "no money of this payment was captured");
        }
        balance(db, &attempt).await?.reserve(new.amount.minor)?;
        // What the provider would never take must not be reserved, nor seats be taken for it. One that is configured
        // no more is waited for.
        if let Some(provider) = self.provider(&attempt.provider)
            && let Err(why) = provider.chargeable(new.amount.minor, new.amount.currency)
        {
            return refuse(Code::InvalidInput, format!("amount: the provider can't give it back: {why}"));
        }
        self.write_refund(db, new, RefundOrigin::Ours).await
    }

    /// [`Self::reserve_refund`] for money of which it is known already that it went: whatever is left.
    pub(super) async fn write_refund(
        &self,
        db: &mut PgConnection,
        new: &NewRefund<'_>,
        made: RefundOrigin,
    ) -> Result<RefundId> {
        let (id, now) = (RefundId(uuid::Uuid::now_v7()), self.now());
        let insert = RefundInsert {
            id,
            order: new.order,
            attempt: new.attempt,
            amount: new.amount,
            cause: new.cause,
            origin: made,
            note: new.note,
            asked_by: new.asked_by,
            parts: new.parts,
            seats: new.seats,
            late: ledger::is_late(&mut *db, new.attempt).await?,
            created: now,
        };
        rows::insert(&mut *db, &insert).await?;
        let Some(row) = rows::one(&mut *db, id).await? else {
            return Err(Error::Broken(format!("refund {id} was written and is not there")));
        };
        let (currency, origin) = (row.amount.currency, row.booked_from());
        let event = Event::RefundReserved { refund: id, order: row.order, currency, origin };
        ledger::post(db, &event, now).await?;
        if new.approval == Approval::Automatic {
            self.approve_refund(db, &row, None, new.due).await?;
        }
        Ok(id)
    }

    /// Agrees to a refund: it may be sent from now on, and its seats are taken back. Its attempt is locked.
    ///
    /// # Errors
    /// `wrong_state` when it waits for nobody.
    pub(super) async fn approve_refund(
        &self,
        db: &mut PgConnection,
        row: &RefundRow,
        by: Option<AccountId>,
        due: Millis,
    ) -> Result<()> {
        let step = transition(row.status, RefundEvent::Approve)?;
        let change = Change { approved_by: by, due: Some(due), ..Change::default() };
        if !rows::step(&mut *db, row.id, step, change, self.now()).await? {
            return refuse(Code::WrongState, "somebody else decided about this refund meanwhile");
        }
        self.take_seats(db, row.order, &row.seats, Some(row.id)).await
    }

    /// Takes seats back from an order, each once: its ticket, its item, its claim. Redis is told by a job.
    pub(super) async fn take_seats(
        &self,
        db: &mut PgConnection,
        order: OrderId,
        seats: &[SeatNo],
        refund: Option<RefundId>,
    ) -> Result<()> {
        if seats.is_empty() {
            return Ok(());
        }
        // Issuing locks the order too: no ticket is made for a seat that goes back at this moment.
        let Some(row) = orders::lock(&mut *db, order).await? else {
            return Err(Error::Broken(format!("there is no order {order}")));
        };
        let now = self.now();
        let taken = returns::take(&mut *db, order, seats, refund, now).await?;
        if taken.is_empty() {
            return Ok(());
        }
        tickets::revoke_seats(&mut *db, order, &taken, "refund", now).await?;
        if !terms::resells(&mut *db, row.performance).await? {
            catalog::insert_blocked(&mut *db, row.performance, &rows::numbers(&taken), "returned").await?;
        }
        Ok(())
    }

    /// Wakes those who go on with what was decided.
    pub(super) fn wake_refunds(&self) {
        self.wake.query.notify_one();
        self.wake.release.notify_one();
        self.wake.outbox.notify_one();
    }
}
