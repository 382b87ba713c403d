//! A fan with a browser, and the server's use-cases that it calls: enter, hold, release, pay, cancel.

use crate::redis::{AreaDraw, HoldAnswer, PayAnswer, ShortAnswer};
use crate::simulation::actors::{house, money};
use crate::simulation::beliefs::Told;
use crate::simulation::model::hold::Ask;
use crate::simulation::model::postgres::{Attempt, Order, Rows};
use crate::simulation::provider::There;
use crate::simulation::sale::{
    ALLOCATION, ALLOWED_MS, AREA, CAP_MS, DEADLINE_MS, LAG_MAX_MS, SEATS, SILENCE_MAX_MS, VISIT_MS,
};
use crate::simulation::world::{Actor, Reply, Store};
use domain::order::{AttemptStatus, OrderEvent, OrderStatus};
use domain::{AccountId, AttemptId, OrderId};

/// How often a fan's browser repeats a request whose reply did not come.
const TRIES: usize = 3;

/// Comes, takes seats, pays or not, comes again.
pub(crate) async fn fan(me: Actor, account: AccountId) {
    while !me.is_closing() {
        me.idle(20, 600).await;
        // An outage sends the fan back to the start.
        let _lost = visit(&me, account).await;
    }
}

async fn visit(me: &Actor, account: AccountId) -> Reply<()> {
    let nonce = me.below(1 << 20);
    let epoch = me.sale().await?;
    let entered = me.redis("enter", move |hot, at| hot.enter(at, epoch, account, nonce, VISIT_MS)).await?;
    if entered.is_err() {
        return Ok(());
    }
    for _ in 0..1 + me.below(3) {
        let Some((hold, seats)) = choose(me, account, nonce).await? else { continue };
        let _ = seats;
        me.idle(0, 900).await;
        match me.below(8) {
            0 | 1 => give_back(me, account, hold).await?,
            2 => {}
            3 => {
                pay(me, account, hold).await?;
                me.idle(0, 400).await;
                cancel(me, account, hold).await?;
            }
            _ => buy(me, account, hold).await?,
        }
    }
    if me.below(4) == 0 {
        let epoch = me.sale().await?;
        me.redis("leave", move |hot, at| hot.leave(at, epoch, account)).await?;
    }
    Ok(())
}

/// Asks for seats until they are held, or the fan thinks of others.
async fn choose(me: &Actor, account: AccountId, nonce: u64) -> Reply<Option<(OrderId, Vec<u32>)>> {
    let ask = {
        let mut world = me.world.borrow_mut();
        let hold = OrderId(world.stores.id());
        let random = &mut world.random;
        let mut seats: Vec<u32> =
            (0..random.below(4)).map(|_| u32::try_from(random.below(SEATS)).unwrap_or(0)).collect();
        seats.sort_unstable();
        seats.dedup();
        let draw = AreaDraw {
            count: 1 + u32::try_from(random.below(2)).unwrap_or(0),
            start: u32::try_from(random.below(9)).unwrap_or(0),
            ranges: AREA.to_vec(),
        };
        let areas = if seats.is_empty() || random.one_in(5) { vec![draw] } else { Vec::new() };
        let allocations = if random.one_in(4) { vec![ALLOCATION] } else { Vec::new() };
        Ask { hold, account, nonce, wish: random.next(), seats, areas, allocations, lag_max_ms: LAG_MAX_MS }
    };
    for _ in 0..TRIES {
        match hold(me, &ask).await {
            Ok((HoldAnswer::Held { seats, expires, .. }, told)) => {
                let seats: Vec<u32> = seats.into_iter().map(|seat| seat.0).collect();
                me.world.borrow_mut().beliefs.held(ask.hold, account, seats.clone(), expires.0, told);
                return Ok(Some((ask.hold, seats)));
            }
            Ok((HoldAnswer::HoldOpen(Some(open)), _)) => {
                // Lost sight of it: give it back, or go on to pay it.
                if me.below(2) == 0 {
                    give_back(me, account, open).await?;
                } else {
                    buy(me, account, open).await?;
                }
                return Ok(None);
            }
            Ok(_) => return Ok(None),
            Err(_) => me.idle(1, 200).await,
        }
    }
    Ok(None)
}

/// `Backend::hold_call`
async fn hold(me: &Actor, ask: &Ask) -> Reply<(HoldAnswer, Told)> {
    let epoch = me.sale().await?;
    let (answer, told) = hold_script(me, epoch, ask).await?;
    match answer {
        HoldAnswer::Rebuilding => {
            let epoch = me.reload_sale().await?;
            hold_script(me, epoch, ask).await
        }
        HoldAnswer::HoldOpen(Some(open)) => {
            let paid = order(me, open)
                .await?
                .is_some_and(|order| matches!(order.status, OrderStatus::Paid | OrderStatus::Fulfilled));
            if !paid {
                return Ok((answer, told));
            }
            me.redis("confirm", move |hot, at| hot.confirm(at, epoch, open)).await?;
            hold_script(me, epoch, ask).await
        }
        answer => Ok((answer, told)),
    }
}

async fn hold_script(me: &Actor, epoch: i64, ask: &Ask) -> Reply<(HoldAnswer, Told)> {
    let ask = ask.clone();
    me.call(Store::Redis, "hold", move |stores| {
        let at = stores.at();
        let answer = stores.hot.hold(at, epoch, &ask);
        (answer, Told::by(stores))
    })
    .await
}

pub(crate) async fn order(me: &Actor, id: OrderId) -> Reply<Option<Order>> {
    me.postgres("read order", move |rows| rows.orders.get(&id).cloned()).await
}

/// `Backend::release`
async fn give_back(me: &Actor, account: AccountId, hold: OrderId) -> Reply<()> {
    // Whatever becomes of the request: from now on the fan relies on nothing, unless it is refused.
    let epoch = me.sale().await?;
    me.world.borrow_mut().beliefs.ended(hold);
    release(me, epoch, account, hold).await?;
    Ok(())
}

async fn release(me: &Actor, epoch: i64, account: AccountId, hold: OrderId) -> Reply<ShortAnswer> {
    let answer = me.redis("release", move |hot, at| hot.release(at, epoch, hold, account)).await?;
    match answer {
        ShortAnswer::No(word, _) if word == "paying" && money::take_last_back(me, hold).await? => {
            me.redis("release", move |hot, at| hot.release(at, epoch, hold, account)).await
        }
        answer => Ok(answer),
    }
}

/// Pays, at the provider, and looks what came of it.
async fn buy(me: &Actor, account: AccountId, hold: OrderId) -> Reply<()> {
    let Some(attempt) = pay(me, account, hold).await? else { return Ok(()) };
    me.idle(0, 1_200).await;
    at_the_provider(me, attempt).await?;
    for _ in 0..6 {
        me.idle(50, 400).await;
        match order(me, hold).await?.map(|order| order.status) {
            Some(OrderStatus::Paid | OrderStatus::Fulfilled) => {
                me.world.borrow_mut().beliefs.paid(hold);
                break;
            }
            Some(OrderStatus::Closed | OrderStatus::Refused | OrderStatus::Refunded) => {
                me.world.borrow_mut().beliefs.ended(hold);
                break;
            }
            _ => {}
        }
    }
    Ok(())
}

/// What the fan does on the provider's page.
async fn at_the_provider(me: &Actor, attempt: AttemptId) -> Reply<()> {
    let to = match me.below(8) {
        0 => return Ok(()),
        1 => There::Canceled,
        2 | 3 => There::Captured,
        _ => There::Authorized,
    };
    // Of half of the money that it takes at once the provider says nothing for a while: no event, no answer.
    let is_silent = to == There::Captured && me.below(2) == 0;
    let silence = if is_silent { i64::try_from(me.below(SILENCE_MAX_MS)).unwrap_or(0) } else { 0 };
    me.call(Store::Provider, "fan pays there", move |stores| {
        let now = stores.clock;
        stores.provider.visit(attempt, to, now);
        stores.provider.fall_silent(attempt, now + silence);
    })
    .await?;
    me.tell(|| format!("payment {} is {to:?} now, silent for {silence} ms", attempt.0.as_u128()));
    // The provider's event, or the fan's coming back: both make us look.
    if me.below(3) != 0 {
        money::settle(me, attempt).await?;
    }
    Ok(())
}

/// The order's row, waited for a little.
async fn written_order(me: &Actor, account: AccountId, hold: OrderId) -> Reply<Option<Order>> {
    for _ in 0..8 {
        match order(me, hold).await? {
            Some(order) => return Ok((order.account == account).then_some(order)),
            None => me.pause(50).await,
        }
    }
    Ok(None)
}

/// `Backend::pay`
async fn pay(me: &Actor, account: AccountId, hold: OrderId) -> Reply<Option<AttemptId>> {
    let Some(row) = written_order(me, account, hold).await? else { return Ok(None) };
    let (attempt, until) = match row.status {
        OrderStatus::PendingPayment => match begin_attempt(me, hold, &row).await? {
            Some(begun) => begun,
            None => return Ok(None),
        },
        OrderStatus::PaymentProcessing => {
            match me.postgres("open attempt", move |rows| rows.open_attempt(hold)).await? {
                Some((attempt, _)) => (attempt, row.expires),
                None => return Ok(None),
            }
        }
        _ => {
            me.world.borrow_mut().beliefs.ended(hold);
            return Ok(None);
        }
    };
    money::open_at_provider(me, attempt).await?;
    me.world.borrow_mut().beliefs.paying(hold, attempt, until);
    Ok(Some(attempt))
}

/// `Backend::begin_attempt`
async fn begin_attempt(me: &Actor, hold: OrderId, row: &Order) -> Reply<Option<(AttemptId, i64)>> {
    let Some((id, number)) = claim_attempt(me, hold, row).await? else { return Ok(None) };
    let (open, epoch) = house::begin(me).await?;
    let account = row.account;
    let times = (ALLOWED_MS, CAP_MS);
    let answer = me.redis("pay", move |hot, at| hot.pay(at, epoch, hold, account, number, times)).await?;
    let until = match answer {
        PayAnswer::Until(until) => until.0,
        PayAnswer::Gone => {
            drop(open);
            me.postgres("cancel attempt", move |rows| rows.cancel_unopened(id)).await?;
            me.world.borrow_mut().beliefs.ended(hold);
            return Ok(None);
        }
        PayAnswer::Rebuilding | PayAnswer::Sold | PayAnswer::OtherAttempt => return Ok(None),
    };
    let read = row.clone();
    let begin = move |rows: &mut Rows| {
        // One that arrives late has had its lock until then.
        if rows.epoch == epoch { rows.begin(hold, &read, id, until) } else { (false, false) }
    };
    let (begun, moved) = me.postgres("order pay", begin).await?;
    drop(open);
    if !begun || (!moved && order(me, hold).await?.is_none_or(|order| order.status != OrderStatus::PaymentProcessing)) {
        return Ok(None);
    }
    Ok(Some((id, until)))
}

/// `Backend::claim_attempt`: the one open attempt, with its number.
async fn claim_attempt(me: &Actor, hold: OrderId, row: &Order) -> Reply<Option<(AttemptId, i32)>> {
    for _ in 0..3 {
        let known = me
            .postgres("attempts", move |rows| {
                let number = rows.attempts.values().filter(|one| one.order == hold).map(|one| one.number).max();
                (rows.open_attempt(hold), number.unwrap_or(0))
            })
            .await?;
        if let Some((id, open)) = known.0 {
            return Ok(Some((id, open.number)));
        }
        let id = AttemptId(me.world.borrow_mut().stores.id());
        let deadline = me.time().await? + DEADLINE_MS;
        let amount = row.total();
        let (order, number, status) = (hold, known.1 + 1, AttemptStatus::Created);
        let new = Attempt { order, number, status, known_there: false, taken_back: false, deadline, amount };
        if me.postgres("insert attempt", move |rows| rows.insert_attempt(id, new.clone())).await? {
            return Ok(Some((id, number)));
        }
    }
    Ok(None)
}

/// `Backend::cancel_order`
async fn cancel(me: &Actor, account: AccountId, hold: OrderId) -> Reply<()> {
    let Some(row) = written_order(me, account, hold).await? else { return Ok(()) };
    me.world.borrow_mut().beliefs.ended(hold);
    if row.status == OrderStatus::PaymentProcessing
        && let Some((attempt, known)) = me.postgres("open attempt", move |rows| rows.open_attempt(hold)).await?
    {
        if known.known_there {
            money::cancel_at_provider(me, attempt).await?;
        }
        money::settle(me, attempt).await?;
    }
    let Some(row) = order(me, hold).await? else { return Ok(()) };
    if row.status != OrderStatus::PendingPayment {
        return Ok(());
    }
    let epoch = me.sale().await?;
    let answer = release(me, epoch, account, hold).await?;
    if matches!(answer, ShortAnswer::Done | ShortAnswer::Again) {
        me.postgres("order cancel", move |rows| rows.apply(hold, &row, OrderEvent::Cancel, None)).await?;
    }
    Ok(())
}
