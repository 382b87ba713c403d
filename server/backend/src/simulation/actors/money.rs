//! What a provider's object means for our attempt and order: the mirror of `pay/settle.rs`.

use crate::redis::PayAnswer;
use crate::simulation::actors::fan::order;
use crate::simulation::actors::{jobs, late};
use crate::simulation::model::Wrong;
use crate::simulation::model::postgres::{Attempt, Order};
use crate::simulation::provider::There;
use crate::simulation::sale::{AFTER_FAILURE_MS, CAP_MS, GRACE_MS};
use crate::simulation::world::{Actor, Lost, Reply, Store, Stores};
use domain::order::{AttemptStatus, OrderEvent, OrderStatus};
use domain::{AttemptId, OrderId};

/// One call about a payment, of which the provider may have nothing to say for a while.
async fn ask<T: 'static>(
    me: &Actor,
    what: &'static str,
    attempt: AttemptId,
    act: impl Fn(&mut Stores) -> T + 'static,
) -> Reply<T> {
    me.call(Store::Provider, what, move |stores| {
        if stores.provider.is_silent(attempt, stores.clock) { Err(Lost) } else { Ok(act(stores)) }
    })
    .await?
}

/// `Backend::open_at_provider`
pub(crate) async fn open_at_provider(me: &Actor, attempt: AttemptId) -> Reply<There> {
    let state = ask(me, "create payment", attempt, move |stores| {
        let (amount, deadline) =
            stores.rows.attempts.get(&attempt).map_or((0, 0), |attempt| (attempt.amount, attempt.deadline));
        stores.provider.create(attempt, amount, deadline, stores.clock)
    })
    .await?;
    if !me.postgres("set open", move |rows| rows.set_open(attempt)).await? {
        cancel_at_provider(me, attempt).await?;
        return Ok(There::Canceled);
    }
    Ok(state)
}

/// Cancels a payment there, where it is not captured.
pub(crate) async fn cancel_at_provider(me: &Actor, attempt: AttemptId) -> Reply<Option<There>> {
    let from = [There::Open, There::Authorized];
    ask(me, "cancel payment", attempt, move |stores| stores.provider.shift(attempt, &from, There::Canceled)).await
}

/// `Backend::settle`
pub(crate) async fn settle(me: &Actor, id: AttemptId) -> Reply<()> {
    let found = me.postgres("read attempt", move |rows| rows.attempts.get(&id).cloned()).await?;
    let Some(attempt) = found.filter(|attempt| attempt.status.is_open()) else { return Ok(()) };
    let Some(row) = order(me, attempt.order).await? else { return Ok(()) };
    let there = payment_of(me, id, &attempt, &row).await?;
    me.tell(|| format!("payment {} is {there:?}, its order {:?}", id.0.as_u128(), row.status));
    match there {
        None | Some(There::Canceled) => attempt_canceled(me, id, &attempt, &row).await,
        Some(There::Captured) => captured(me, id, attempt.order).await,
        Some(There::Open) => {
            let ends = row.expires.min(attempt.deadline + GRACE_MS);
            if row.status == OrderStatus::PaymentProcessing && me.time().await? < ends {
                return Ok(());
            }
            cancel_there(me, id, &attempt, &row).await
        }
        Some(There::Authorized) => {
            let order = attempt.order;
            if !me.postgres("owns all seats", move |rows| rows.owns_all_seats(order)).await? {
                return cancel_there(me, id, &attempt, &row).await;
            }
            let from = [There::Authorized];
            match ask(me, "capture", id, move |stores| stores.provider.shift(id, &from, There::Captured)).await? {
                Some(There::Captured) => captured(me, id, order).await,
                Some(There::Canceled) => attempt_canceled(me, id, &attempt, &row).await,
                _ => Ok(()),
            }
        }
    }
}

/// Where the payment stands; none when there is none and there will be none.
async fn payment_of(me: &Actor, id: AttemptId, attempt: &Attempt, row: &Order) -> Reply<Option<There>> {
    let found = ask(me, "find payment", id, move |stores| stores.provider.find(id)).await?;
    if found.is_some() {
        if !attempt.known_there {
            me.postgres("set open", move |rows| rows.set_open(id)).await?;
        }
        return Ok(found);
    }
    if row.status == OrderStatus::PaymentProcessing && me.time().await? < attempt.deadline {
        return open_at_provider(me, id).await.map(Some);
    }
    Ok(None)
}

async fn cancel_there(me: &Actor, id: AttemptId, attempt: &Attempt, row: &Order) -> Reply<()> {
    match cancel_at_provider(me, id).await? {
        Some(There::Canceled) => attempt_canceled(me, id, attempt, row).await,
        Some(There::Captured) => captured(me, id, attempt.order).await,
        _ => Ok(()),
    }
}

/// `Backend::captured`
async fn captured(me: &Actor, id: AttemptId, order_id: OrderId) -> Reply<()> {
    let mut seats_are_gone = false;
    for _ in 0..5 {
        let Some(row) = order(me, order_id).await? else { return Ok(()) };
        if row.status == OrderStatus::Closed && !seats_are_gone {
            if late::reclaim(me, id, &row).await? {
                return Ok(());
            }
            // It may have moved meanwhile.
            seats_are_gone = true;
            continue;
        }
        match me.postgres("captured", move |rows| rows.captured(id, &row)).await? {
            None | Some(true) => return Ok(()),
            Some(false) => {}
        }
    }
    Ok(())
}

async fn attempt_canceled(me: &Actor, id: AttemptId, attempt: &Attempt, row: &Order) -> Reply<()> {
    let redis_first = me.world.borrow().stores.rows.wrong == Some(Wrong::RedisFirst);
    let next = match row.status {
        OrderStatus::PaymentProcessing if me.time().await? >= row.expires => Some(OrderEvent::ProviderCancelled),
        OrderStatus::PaymentProcessing => Some(OrderEvent::AttemptFailed),
        _ => None,
    };
    if redis_first && next == Some(OrderEvent::AttemptFailed) {
        unpay(me, attempt).await?;
    }
    let read = row.clone();
    if me.postgres("attempt canceled", move |rows| rows.canceled(id, &read, next)).await? == Some(true) {
        take_back(me, id, attempt).await?;
    }
    Ok(())
}

/// `Backend::take_back`
pub(crate) async fn take_back(me: &Actor, id: AttemptId, attempt: &Attempt) -> Reply<bool> {
    let order_id = attempt.order;
    let Some(row) = order(me, order_id).await? else { return Ok(false) };
    if row.status == OrderStatus::PendingPayment {
        match unpay(me, attempt).await? {
            PayAnswer::Until(until) => {
                me.postgres("set expires", move |rows| rows.set_expires(order_id, &row, until.0)).await?;
            }
            PayAnswer::Rebuilding => return Ok(false),
            PayAnswer::Gone => {
                jobs::close_order(me, order_id).await?;
            }
            PayAnswer::Sold | PayAnswer::OtherAttempt => {}
        }
    }
    me.postgres("taken back", move |rows| rows.set_taken_back(id)).await?;
    Ok(true)
}

/// `Backend::take_last_back`
pub(crate) async fn take_last_back(me: &Actor, order: OrderId) -> Reply<bool> {
    let last = me
        .postgres("last attempt", move |rows| {
            let own = rows.attempts.iter().filter(|(_, one)| one.order == order);
            own.max_by_key(|(_, one)| one.number).map(|(id, one)| (*id, one.clone()))
        })
        .await?;
    match last {
        Some((id, last)) if last.status == AttemptStatus::Canceled => take_back(me, id, &last).await,
        _ => Ok(false),
    }
}

async fn unpay(me: &Actor, attempt: &Attempt) -> Reply<PayAnswer> {
    let (epoch, order, number) = (me.sale().await?, attempt.order, attempt.number);
    me.redis("unpay", move |hot, at| hot.unpay(at, epoch, order, number, (AFTER_FAILURE_MS, CAP_MS))).await
}

/// `Backend::close_overdue`
pub(crate) async fn close_overdue(me: &Actor, id: OrderId, now: i64) -> Reply<()> {
    if let Some((attempt, _)) = me.postgres("open attempt", move |rows| rows.open_attempt(id)).await? {
        // Where the provider can't be asked, the order closes all the same.
        let _lost = settle(me, attempt).await;
    }
    if let Some(row) = order(me, id).await?
        && row.status == OrderStatus::PaymentProcessing
        && now >= row.expires
    {
        me.postgres("order overdue", move |rows| rows.apply(id, &row, OrderEvent::ProviderCancelled, None)).await?;
    }
    Ok(())
}
