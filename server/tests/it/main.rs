//! The program under test: real Postgres, real Redis, the real provider and the real binary. Each
//! test owns its stores, says in its name what must hold, and ends with the invariants checked in
//! both stores ([`arena::Arena::finish`]).

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

/// Looks again until a condition holds; fails with its words when that takes longer than the limit.
macro_rules! eventually {
    ($limit:expr, $what:expr, $check:expr) => {{
        let deadline = std::time::Instant::now() + $limit;
        while !$check {
            assert!(std::time::Instant::now() < deadline, "not within {:?}: {}", $limit, $what);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }};
}

mod accounts;
mod allocations;
mod arena;
mod auditing;
mod bench;
mod best;
mod circuit;
mod clocks;
mod cluster;
mod codes;
mod deliveries;
mod desk;
mod disputes;
mod door;
mod draw;
mod edge;
mod faults;
mod fees;
mod files;
mod healing;
mod holds;
mod idempotency;
mod invoices;
mod killing;
mod killing_money;
mod late_success;
mod live;
mod lottery;
mod nginx;
mod payments;
mod payouts;
mod people;
mod permutations;
mod plans;
mod pricing;
mod production;
mod purchase;
mod quarantine;
mod queue;
mod reclaim;
mod reconciliation;
mod refunds;
mod replan;
mod replan_page;
mod report;
mod roles;
mod scraping;
mod selling;
mod setbacks;
mod settings;
mod standing;
mod stock;
mod stored_answers;
mod storm;
mod stripe;
mod switches;
mod tickets;
mod timers;
mod trials_money;
mod trials_stock;
mod waiting;
