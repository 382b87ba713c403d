//! A request to give seats up that arrives late, played by hand: random runs meet the few moments in which it could
//! do harm too rarely to prove anything by it.

use crate::redis::ReclaimAnswer;
use crate::simulation::checks;
use crate::simulation::model::Wrong;
use crate::simulation::model::postgres::{Attempt, Order};
use crate::simulation::model::reclaim::Again;
use crate::simulation::model::redis::At;
use crate::simulation::sale::{self, RECLAIM_LEASE_MS};
use crate::simulation::world::{Faults, World};
use domain::live::LogPosition;
use domain::order::{AttemptStatus, OrderStatus};
use domain::{AttemptId, OrderId};
use std::collections::{BTreeMap, BTreeSet};

/// When the request of the first try arrives, in the second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrives {
    BeforeConfirming,
    BeforeCommit,
    AfterCommit,
}

/// One closed order whose money is late, and nobody beside it.
struct Play {
    world: World,
    ask: Again,
    attempt: AttemptId,
    epoch: i64,
}

impl Play {
    fn begin(wrong: Option<Wrong>) -> Self {
        let mut world = World::new(1, Faults::default(), wrong, sale::rows());
        let stores = &mut world.stores;
        let (hold, attempt) = (OrderId(stores.id()), AttemptId(stores.id()));
        let order = Order {
            account: sale::account(0),
            status: OrderStatus::Closed,
            version: 2,
            price_version: 1,
            created: stores.clock - 5_000,
            expires: stores.clock - 1_000,
            paid: false,
            confirmed: false,
            released: true,
            items: BTreeSet::from([0, 1]),
            returned: BTreeMap::new(),
        };
        let paying = Attempt {
            order: hold,
            number: 1,
            status: AttemptStatus::Open,
            known_there: true,
            taken_back: false,
            deadline: stores.clock - 2_000,
            amount: order.total(),
        };
        stores.rows.orders.insert(hold, order);
        stores.rows.attempts.insert(attempt, paying);
        let epoch = stores.rows.raise_epoch(stores.rows.epoch).unwrap();
        stores.rows.start_epoch(epoch);
        let (at, state) = (stores.at(), stores.rows.build(stores.clock, stores.run));
        stores.hot.stage(epoch, state);
        assert_eq!(stores.hot.swap(at, epoch, stores.rows.seat_count, LogPosition::default()), "ok");
        let ask = stores.rows.chosen(attempt, Vec::new(), RECLAIM_LEASE_MS).unwrap();
        Self { world, ask, attempt, epoch }
    }

    /// A moment later.
    fn later(&mut self) -> At {
        self.world.stores.clock += 10;
        self.world.stores.at()
    }

    /// Asks for the seats; the fence, where they were taken.
    fn reclaim(&mut self, anew: bool) -> Option<i64> {
        let at = self.later();
        match self.world.stores.hot.reclaim(at, self.epoch, &self.ask, anew) {
            ReclaimAnswer::Took { fence, .. } => Some(fence),
            _ => None,
        }
    }

    /// Claims the seats and makes the order paid.
    fn commit(&mut self) -> bool {
        self.later();
        let rows = &mut self.world.stores.rows;
        let read = rows.orders[&self.ask.hold].clone();
        rows.reclaim(self.attempt, &read)
    }

    /// The request of the try with this fence arrives, if it is its moment.
    fn arrives(&mut self, now: bool, fence: i64) {
        if now {
            let at = self.later();
            self.world.stores.hot.finish_by(at, self.epoch, self.ask.hold, Some(fence));
        }
    }

    fn check(&self) -> Result<(), String> {
        checks::after_step(&self.world).map_or(Ok(()), Err)
    }
}

/// Whether the order is paid in the end; or what the checks say.
fn play(arrives: Arrives, wrong: Option<Wrong>) -> Result<bool, String> {
    let mut play = Play::begin(wrong);
    // The log is not written in time: the first try gives its seats up, and nobody knows where its request is.
    let first = play.reclaim(true).unwrap();
    play.check()?;
    // The schedule comes again, and goes on with them.
    play.reclaim(true).unwrap();
    play.arrives(arrives == Arrives::BeforeConfirming, first);
    play.check()?;
    let stands = play.reclaim(false).is_some();
    play.arrives(arrives == Arrives::BeforeCommit, first);
    play.check()?;
    let paid = stands && play.commit();
    play.check()?;
    play.arrives(arrives == Arrives::AfterCommit, first);
    play.check()?;
    Ok(paid)
}

#[test]
fn a_late_request_to_give_up_ends_nothing_of_a_later_try() {
    for arrives in [Arrives::BeforeConfirming, Arrives::BeforeCommit, Arrives::AfterCommit] {
        assert_eq!(play(arrives, None), Ok(true), "{arrives:?}");
    }
    for arrives in [Arrives::BeforeCommit, Arrives::AfterCommit] {
        let caught = play(arrives, Some(Wrong::GiveUpUnfenced));
        assert!(caught.as_ref().is_err_and(|why| why.contains("is not its own in Redis")), "{arrives:?}: {caught:?}");
    }
}
