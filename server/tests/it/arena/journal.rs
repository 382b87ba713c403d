//! What fans were told, and the judgement over it: from outside, without a look into any store but for
//! the rows that must be there.

use super::{Arena, SOON};
use domain::OrderId;
use domain::hold::Held;
use domain::order::PayStarted;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Seats that a fan was told it owns, and for how long.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) fan: usize,
    pub(crate) order: OrderId,
    pub(crate) seats: Vec<u32>,
    /// When the answer was there, in microseconds since 1970.
    pub(crate) from_us: i64,
    /// When the lease ends, or the fan began to end it; without end for what was bought.
    pub(crate) until_us: i64,
    /// The payment whose card was accepted.
    pub(crate) charged: Option<PayStarted>,
}

impl Told {
    pub(crate) fn new(fan: usize, held: &Held, now_us: i64) -> Self {
        Self {
            fan,
            order: held.order,
            seats: held.seats.iter().map(|seat| seat.0).collect(),
            from_us: now_us,
            until_us: held.expires.0 * 1_000,
            charged: None,
        }
    }

    /// Whether the tickets were seen.
    pub(crate) fn is_bought(&self) -> bool {
        self.until_us == i64::MAX
    }
}

/// What fans wrote down.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub(crate) told: Vec<Told>,
    /// Holds that had run out before an answer about them came through.
    pub(crate) unheard: HashSet<OrderId>,
    /// How often which answer came other than a success.
    pub(crate) outcomes: BTreeMap<String, u64>,
}

impl Journal {
    /// Adds another fan's.
    pub(crate) fn add(&mut self, other: Self) {
        self.told.extend(other.told);
        self.unheard.extend(other.unheard);
        for (word, count) in other.outcomes {
            *self.outcomes.entry(word).or_default() += count;
        }
    }

    /// How often an answer came.
    pub(crate) fn count(&self, outcome: &str) -> u64 {
        self.outcomes.get(outcome).copied().unwrap_or(0)
    }

    /// No two fans were told at the same time that they own one seat. `lost` says which holds went
    /// with a store before they were written.
    pub(crate) fn assert_no_seat_told_twice(&self, lost: &HashSet<OrderId>) {
        let mut by_seat: HashMap<u32, Vec<&Told>> = HashMap::new();
        for told in self.told.iter().filter(|told| told.from_us < told.until_us && !lost.contains(&told.order)) {
            for seat in &told.seats {
                by_seat.entry(*seat).or_default().push(told);
            }
        }
        for (seat, mut list) in by_seat {
            list.sort_by_key(|told| told.from_us);
            for pair in list.windows(2) {
                assert!(
                    pair[0].until_us <= pair[1].from_us,
                    "seat {seat} was told to fan {} and to fan {} at once:\n{:?}\n{:?}",
                    pair[0].fan,
                    pair[1].fan,
                    pair[0],
                    pair[1]
                );
            }
        }
    }

    /// Holds that no row speaks of: lost with Redis before they were written.
    pub(crate) async fn unwritten(&self, arena: &Arena) -> HashSet<OrderId> {
        let rows: Vec<uuid::Uuid> = sqlx::query_scalar("select id from orders").fetch_all(&arena.pg).await.unwrap();
        let rows: HashSet<OrderId> = rows.into_iter().map(OrderId).collect();
        self.told.iter().map(|told| told.order).filter(|order| !rows.contains(order)).collect()
    }

    /// Every order that a fan was told of has its one row with just these seats, and there are no rows
    /// besides: no gap, no double.
    pub(crate) async fn assert_written_once_each(&self, arena: &Arena) {
        let heard: Vec<uuid::Uuid> = self.told.iter().map(|told| told.order.0).collect();
        let written = async || -> i64 {
            let sql = "select count(*) from orders where id = any($1)";
            sqlx::query_scalar(sql).bind(&heard).fetch_one(&arena.pg).await.unwrap()
        };
        // The last holds are written a moment after they were told.
        let wanted = heard.iter().collect::<HashSet<_>>().len();
        eventually!(SOON, "every order that was told of is written", written().await == i64::try_from(wanted).unwrap());
        let rows: Vec<(uuid::Uuid, Vec<i32>)> = sqlx::query_as(
            "select o.id, array_agg(i.seat_no order by i.seat_no) from orders o join order_items i on i.order_id = o.id
             where o.performance_id = $1 group by o.id",
        )
        .bind(arena.performance.0)
        .fetch_all(&arena.pg)
        .await
        .unwrap();
        let rows: BTreeMap<OrderId, Vec<i32>> = rows.into_iter().map(|(id, seats)| (OrderId(id), seats)).collect();
        let told: BTreeMap<OrderId, Vec<i32>> = self
            .told
            .iter()
            .map(|told| (told.order, told.seats.iter().map(|seat| i32::try_from(*seat).unwrap()).collect()))
            .collect();
        for (order, seats) in &told {
            assert_eq!(rows.get(order), Some(seats), "the row of order {order}");
        }
        let besides: Vec<&OrderId> =
            rows.keys().filter(|id| !told.contains_key(id) && !self.unheard.contains(id)).collect();
        assert!(besides.is_empty(), "rows that nobody was told of: {besides:?}");
    }

    /// Every card that the provider accepted came to tickets, or to money that was not taken or went back.
    pub(crate) async fn assert_no_payment_lost(&self, arena: &Arena) {
        for told in &self.told {
            let Some(started) = &told.charged else {
                assert!(!told.is_bought());
                continue;
            };
            let fair = async || {
                let payment = arena.provider().payments(started).await.remove(0);
                let kept = payment["amount_refunded"].as_i64() != payment["amount"].as_i64();
                match (arena.status(told.order).await.as_deref(), payment["status"].as_str()) {
                    (Some("fulfilled"), Some("captured")) => kept,
                    (Some("closed" | "refused"), Some("canceled")) => true,
                    (Some("closed" | "refused"), Some(_)) => !kept,
                    _ => false,
                }
            };
            eventually!(4 * SOON, format!("the money of order {} and its tickets agree", told.order), fair().await);
            if told.is_bought() {
                assert_eq!(arena.status(told.order).await.as_deref(), Some("fulfilled"), "what was shown stays");
            }
        }
    }
}
