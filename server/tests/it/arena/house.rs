//! A house at the size of a test: few seats for sale, looked at in both stores while fans compete for
//! them, and at the end every seat accounted for.

use super::shop::written;
use super::{Arena, Fan, SOON};
use domain::PerformanceId;
use domain::hold::{Held, SeatState};
use sqlx::PgPool;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Pause between two looks into both stores.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Seats of one sale as Redis has them at one instant: bytes, counts by account, owners.
type Counted = (Vec<u8>, HashMap<String, String>, HashMap<u32, String>);

/// Looks into both stores until it is told to stop.
pub(crate) struct Sampler {
    stop: Arc<AtomicBool>,
    task: JoinHandle<usize>,
}

impl Sampler {
    /// Ends it, fails with what it found, or answers how many looks found nothing.
    pub(crate) async fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap()
    }
}

impl Arena {
    /// Leaves the first `open` seats on sale and takes all others off it.
    pub(crate) async fn keep_open(&self, open: u32) {
        let total = u32::try_from(self.backend.seat_bytes(self.performance).await.unwrap().len()).unwrap();
        let owner = self.backend.command_line(super::ORGANIZATION).await.unwrap();
        let others: Vec<u32> = (open..total).collect();
        let others = super::seats(&others);
        self.backend.block_for(&owner, self.performance, &others, Some("closed for this evening")).await.unwrap();
        eventually!(SOON, "only the open seats are on sale", self.seat(open).await == SeatState::Blocked as u8);
        assert_eq!(self.seat(open - 1).await, SeatState::Available as u8);
    }

    /// Begins to look: held + pending + sold ≤ capacity, and each account within its limit, in either store.
    pub(crate) async fn sampler(&self, capacity: usize, limit: usize) -> Sampler {
        let stop: Arc<AtomicBool> = Arc::default();
        // A look that waits on a busy machine is no fault.
        let patient = redis::AsyncConnectionConfig::new().set_response_timeout(None);
        let client = redis::Client::open(self.settings["REDIS_URL"].as_str()).unwrap();
        let redis = client.get_multiplexed_async_connection_with_config(&patient).await.unwrap();
        let (stopped, pg, id) = (Arc::clone(&stop), self.pg.clone(), self.performance);
        let task = tokio::spawn(async move {
            let mut looks = 0;
            while !stopped.load(Ordering::Relaxed) {
                look_into_redis(redis.clone(), id, capacity, limit).await;
                look_into_postgres(&pg, id, capacity, limit).await;
                looks += 1;
                tokio::time::sleep(LOOK_EVERY).await;
            }
            looks
        });
        Sampler { stop, task }
    }

    /// Once all holds have ended: every seat on sale is sold to a paid order, or can be held.
    pub(crate) async fn assert_every_seat_is_sold_or_holdable(&self, open: u32, limit: usize) {
        let open_orders = "select count(*) from orders where performance_id = $1 and status in ('pending_payment', 'payment_processing')";
        eventually!(4 * SOON, "all open orders are over", self.count(open_orders).await == 0);
        let bytes = async || self.backend.seat_bytes(self.performance).await.unwrap_or_default();
        eventually!(2 * SOON, "no seat is held", {
            let bytes = bytes().await;
            !bytes.is_empty() && bytes.iter().all(|byte| SeatState::from_byte(*byte) != SeatState::Held)
        });
        let bytes = bytes().await;
        let sold: Vec<i32> = sqlx::query_scalar(
            "select i.seat_no from order_items i join orders o on o.id = i.order_id
             where o.performance_id = $1 and o.status = 'fulfilled' order by 1",
        )
        .bind(self.performance.0)
        .fetch_all(&self.pg)
        .await
        .unwrap();
        let state = |seat: u32| SeatState::from_byte(bytes[seat as usize]);
        let shown: Vec<i32> =
            (0..open).filter(|seat| state(*seat) == SeatState::Sold).map(|seat| i32::try_from(seat).unwrap()).collect();
        assert_eq!(shown, sold, "sold seats of the map are those of paid orders");
        let unsold: Vec<u32> = (0..open).filter(|seat| state(*seat) != SeatState::Sold).collect();
        let fans = self.inside(unsold.len().div_ceil(limit)).await;
        let mut given = Vec::new();
        for (fan, list) in fans.iter().zip(unsold.chunks(limit)) {
            let held: Held = self.hold(fan, &written(list), "the-proof").await.ok();
            given.push((fan, held));
        }
        for (fan, held) in given {
            let () = self.call(Some(fan), "hold-release", &[("order", &held.order.to_string())]).await.ok();
        }
    }

    /// The one open hold of a fan, as the server shows it.
    pub(crate) async fn my_hold(&self, fan: &Fan) -> Option<Held> {
        self.call(Some(fan), "my-hold", &[("performance", &self.performance.to_string())]).await.ok()
    }
}

async fn look_into_redis(
    mut redis: redis::aio::MultiplexedConnection,
    id: PerformanceId,
    capacity: usize,
    limit: usize,
) {
    let key = |name: &str| format!("sa:1:{{p{}}}:{name}", id.simple());
    let (bytes, held_by, owner): Counted = redis::pipe()
        .atomic()
        .get(key("seats"))
        .hgetall(key("held_by"))
        .hgetall(key("owner"))
        .query_async(&mut redis)
        .await
        .unwrap();
    let taken =
        bytes.iter().filter(|byte| matches!(SeatState::from_byte(**byte), SeatState::Held | SeatState::Sold)).count();
    assert!(taken <= capacity, "{taken} seats are taken of {capacity}");
    assert_eq!(owner.len(), taken, "owners and taken seats");
    let counts = held_by.iter().map(|(account, text)| (account, text.split(':').next().unwrap().parse().unwrap()));
    let counts: Vec<(&String, usize)> = counts.collect();
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<usize>(), taken, "what accounts have, and taken seats");
    for (account, count) in counts {
        assert!(count <= limit, "account {account} has {count} seats, {limit} are allowed");
    }
}

async fn look_into_postgres(pg: &PgPool, id: PerformanceId, capacity: usize, limit: usize) {
    let (claims, most, doubled): (i64, i64, i64) = sqlx::query_as(
        "with owned as (
            select o.account_id, i.seat_no from orders o join order_items i on i.order_id = o.id
            where o.performance_id = $1 and o.status in ('pending_payment', 'payment_processing', 'paid', 'fulfilled'))
         select (select count(*) from seat_claims where performance_id = $1),
                (select coalesce(max(n), 0) from (select count(*) as n from owned group by account_id) a),
                (select count(*) from (select 1 from owned group by seat_no having count(*) > 1) d)",
    )
    .bind(id.0)
    .fetch_one(pg)
    .await
    .unwrap();
    assert!(usize::try_from(claims).unwrap() <= capacity, "{claims} seats are claimed of {capacity}");
    assert!(usize::try_from(most).unwrap() <= limit, "an account has {most} seats in orders, {limit} are allowed");
    assert_eq!(doubled, 0, "seats of two open or paid orders");
}
