//! Jobs over rows, the sweeper, and the provider's own life: mirrors of `work/jobs.rs` and `work/sweeper.rs`.

use crate::redis::ShortAnswer;
use crate::simulation::actors::{fan, house, money};
use crate::simulation::model::Wrong;
use crate::simulation::model::postgres::{Order, RefundStatus, is_sold};
use crate::simulation::provider::There;
use crate::simulation::world::{Actor, Reply, Store};
use domain::order::{OrderEvent, OrderStatus};
use domain::{AttemptId, OrderId};

/// Holds in one look of the sweeper: few, so that the bound is met.
const SWEEP_MAX: usize = 3;

/// Runs a step for ever, with pauses of up to so many ms.
macro_rules! job {
    ($(#[$doc:meta])* $name:ident, $step:path, $most:literal) => {
        $(#[$doc])*
        pub(crate) async fn $name(me: Actor) {
            loop {
                me.idle(20, $most).await;
                // Interrupted; it goes on by itself.
                let _lost = $step(&me).await;
            }
        }
    };
}

job!(/// Ends what has run out.
    sweeper, sweep_once, 300);
job!(/// Marks paid seats sold.
    confirmer, confirm_step, 500);
job!(/// Ends the holds of orders that are over.
    releaser, release_step, 500);
job!(/// Tells Redis of seats that were given back.
    returner, return_step, 500);
job!(/// Closes orders whose payment took too long.
    overdue, overdue_step, 500);
job!(/// Asks about open attempts.
    query, query_step, 700);
job!(/// Issues tickets.
    issuer, issue_step, 400);
job!(/// Goes on where the end of a payment was interrupted.
    taker_back, take_back_step, 500);
job!(/// Gives money back.
    refunder, refund_step, 500);
job!(/// The provider ends what fans left open, and sometimes takes money late.
    provider, provider_step, 900);

async fn sweep_once(me: &Actor) -> Reply<()> {
    let epoch = me.sale().await?;
    let Some(due) = me.redis("sweep", move |hot, at| hot.sweep(at, epoch, SWEEP_MAX)).await? else { return Ok(()) };
    for hold in due {
        if close_order(me, hold).await? {
            me.redis("finish", move |hot, at| hot.finish(at, epoch, hold)).await?;
        }
    }
    Ok(())
}

/// Closes the order of a hold that ran out; whether the hold may end now.
pub(crate) async fn close_order(me: &Actor, id: OrderId) -> Reply<bool> {
    let Some(order) = fan::order(me, id).await? else { return Ok(true) };
    match order.status {
        OrderStatus::PendingPayment => {
            me.postgres("order expire", move |rows| rows.apply(id, &order, OrderEvent::Expire, None)).await
        }
        OrderStatus::Closed | OrderStatus::Refused | OrderStatus::Refunded => Ok(true),
        OrderStatus::PaymentProcessing | OrderStatus::Paid | OrderStatus::Fulfilled => Ok(false),
    }
}

async fn confirm_step(me: &Actor) -> Reply<()> {
    let due: Vec<OrderId> = me
        .postgres("unconfirmed", |rows| {
            let due = rows.orders.iter().filter(|(_, order)| is_sold(order.status) && !order.confirmed);
            due.map(|(id, _)| *id).collect()
        })
        .await?;
    let mut done = Vec::new();
    for id in due {
        let epoch = me.sale().await?;
        match me.redis("confirm", move |hot, at| hot.confirm(at, epoch, id)).await? {
            ShortAnswer::Done | ShortAnswer::Again => done.push(id),
            ShortAnswer::Rebuilding => {}
            ShortAnswer::No(..) => {
                if me.postgres("owns any", move |rows| rows.owns_any(id)).await? {
                    me.redis("distrust", |hot, _| hot.distrust()).await?;
                } else {
                    // All of its seats were given back before they were marked.
                    done.push(id);
                }
            }
        }
    }
    me.postgres("set confirmed", move |rows| {
        for id in &done {
            if let Some(order) = rows.orders.get_mut(id) {
                order.confirmed = true;
            }
        }
    })
    .await
}

async fn release_step(me: &Actor) -> Reply<()> {
    let due: Vec<(OrderId, OrderStatus)> = me
        .postgres("unreleased", |rows| {
            let over = |status| matches!(status, OrderStatus::Closed | OrderStatus::Refused | OrderStatus::Refunded);
            // Seats that were given back one by one go first: some of them don't go on sale again.
            let told = |order: &Order| order.returned.values().all(|told| *told);
            let due = rows.orders.iter().filter(|(_, order)| over(order.status) && !order.released && told(order));
            due.map(|(id, order)| (*id, order.status)).collect()
        })
        .await?;
    let mut done = Vec::new();
    for (id, status) in due {
        let epoch = me.sale().await?;
        let answer = if status == OrderStatus::Refunded {
            me.redis("unsell", move |hot, at| hot.unsell(at, epoch, id)).await?
        } else {
            me.redis("finish", move |hot, at| hot.finish(at, epoch, id)).await?
        };
        match answer {
            ShortAnswer::Done | ShortAnswer::Again => done.push(id),
            ShortAnswer::No(word, _) if word == "missing" => done.push(id),
            ShortAnswer::Rebuilding | ShortAnswer::No(..) => {}
        }
    }
    me.postgres("set released", move |rows| {
        for id in &done {
            // Not of an order that its late money has made paid meanwhile.
            if let Some(order) = rows.orders.get_mut(id).filter(|order| !order.status.owns_seats()) {
                order.released = true;
            }
        }
    })
    .await
}

async fn return_step(me: &Actor) -> Reply<()> {
    for id in me.postgres("due returns", |rows| rows.returns_due()).await? {
        return_seats(me, id).await?;
    }
    Ok(())
}

/// `Backend::return_seats`
async fn return_seats(me: &Actor, id: OrderId) -> Reply<()> {
    let (open, epoch) = house::begin(me).await?;
    let (back, off) = me.postgres("waiting seats", move |rows| rows.waiting(id)).await?;
    let told = [back.as_slice(), off.as_slice()].concat();
    let answer = me.redis("return seats", move |hot, at| hot.return_seats(at, epoch, id, &back, &off)).await?;
    // A rebuild after the last claim went: nothing is left of the hold.
    if !matches!(answer, ShortAnswer::Rebuilding) {
        me.postgres("set told", move |rows| rows.set_told(id, &told)).await?;
    }
    drop(open);
    Ok(())
}

async fn take_back_step(me: &Actor) -> Reply<()> {
    if me.world.borrow().stores.rows.wrong == Some(Wrong::NobodyGoesOn) {
        return Ok(());
    }
    for (id, attempt) in me.postgres("not taken back", |rows| rows.not_taken_back()).await? {
        money::take_back(me, id, &attempt).await?;
    }
    Ok(())
}

async fn overdue_step(me: &Actor) -> Reply<()> {
    let now = me.time().await?;
    let due: Vec<OrderId> = me
        .postgres("overdue", move |rows| {
            let late = rows
                .orders
                .iter()
                .filter(|(_, order)| order.status == OrderStatus::PaymentProcessing && order.expires <= now);
            late.map(|(id, _)| *id).collect()
        })
        .await?;
    for id in due {
        money::close_overdue(me, id, now).await?;
    }
    Ok(())
}

async fn query_step(me: &Actor) -> Reply<()> {
    let due: Vec<AttemptId> = me
        .postgres("due attempts", |rows| {
            rows.attempts.iter().filter(|(_, attempt)| attempt.status.is_open()).map(|(id, _)| *id).collect()
        })
        .await?;
    for id in due {
        // Each is asked about by itself.
        let _lost = money::settle(me, id).await;
    }
    Ok(())
}

async fn issue_step(me: &Actor) -> Reply<()> {
    me.postgres("issue", |rows| {
        let paid: Vec<OrderId> =
            rows.orders.iter().filter(|(_, order)| order.status == OrderStatus::Paid).map(|(id, _)| *id).collect();
        for id in paid {
            if let Some(read) = rows.orders.get(&id).cloned() {
                rows.apply(id, &read, OrderEvent::Issued, None);
            }
        }
    })
    .await
}

async fn refund_step(me: &Actor) -> Reply<()> {
    let due: Vec<(usize, AttemptId, i64)> = me
        .postgres("due refunds", |rows| {
            let open = rows.refunds.iter().enumerate().filter(|(_, one)| one.status == RefundStatus::Open);
            open.map(|(index, one)| (index, one.attempt, one.amount)).collect()
        })
        .await?;
    for (index, attempt, amount) in due {
        let succeeded = me
            .call(Store::Provider, "refund", move |stores| {
                let succeeds = !stores.random.one_in(6);
                stores.provider.refund(attempt, index, amount, succeeds)
            })
            .await?;
        me.postgres("finish refund", move |rows| rows.finish_refund(index, succeeded)).await?;
    }
    Ok(())
}

/// A payment that nobody ends is ended there after its time, or, rarely, its money comes late.
async fn provider_step(me: &Actor) -> Reply<()> {
    me.call(Store::Provider, "payments end", |stores| {
        let now = stores.clock;
        for payment in stores.provider.payments.values_mut() {
            if payment.state == There::Open && payment.expires <= now {
                payment.state =
                    if payment.visited && stores.random.one_in(4) { There::Captured } else { There::Canceled };
            }
        }
    })
    .await
}
