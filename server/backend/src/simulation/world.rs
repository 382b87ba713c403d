//! The world of the simulation: two stores, a payment provider, a clock, and actors that take turns.
//!
//! An actor is an asynchronous function, and each of its awaits is one call of a store, or a pause. The
//! scheduler wakes one actor at a time, by virtual time, so that everything between two calls is one
//! step, and any other actor may come between any two steps. A crash drops the actor with all that it
//! knows; it starts again from the stores. Everything follows from one seed.

use super::beliefs::Beliefs;
use super::model::redis::{At, Hot};
use super::model::{Wrong, postgres::Rows};
use super::provider::Provider;
use super::random::Random;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A call of a store that brought no answer: it may or may not have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost;

/// How a call may end for its caller.
pub(crate) type Reply<T> = Result<T, Lost>;

/// Which store a call goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Redis,
    Postgres,
    Provider,
}

/// What may go wrong in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    /// Replies lost; requests lost, late or doubled.
    pub(crate) network: bool,
    /// Actors lose their memory.
    pub(crate) crashes: bool,
    /// Redis emptied, or put back to an older state by another run of it.
    pub(crate) loss: bool,
    /// A store answers nobody for a while.
    pub(crate) outages: bool,
    /// Redis's clock jumps forward.
    pub(crate) clock: bool,
}

impl Faults {
    pub(crate) fn any(self) -> bool {
        self != Self::default()
    }
}

/// Everything that survives the crash of an actor.
pub(crate) struct Stores {
    pub(crate) hot: Hot,
    /// The run of Redis: another one after each loss.
    pub(crate) run: u64,
    /// How often Redis lost something.
    pub(crate) losses: u64,
    pub(crate) rows: Rows,
    /// Transactions that keep the epoch from being raised.
    pub(crate) epoch_locks: u32,
    pub(crate) provider: Provider,
    /// Redis's clock.
    pub(crate) clock: i64,
    pub(crate) random: Random,
    /// Corrections of the reconciler, and whether this state was corrected: seats, holds and counts are corrected
    /// one by one, so that they need not agree before the end.
    pub(crate) repairs: u64,
    pub(crate) half_mended: bool,
    /// Orders that did not get the seats that their holds had.
    pub(crate) refused: u64,
    ids: u128,
}

impl Stores {
    pub(crate) fn at(&self) -> At {
        At::new(self.clock)
    }

    /// A new id: of a hold or an attempt.
    pub(crate) fn id(&mut self) -> uuid::Uuid {
        self.ids += 1;
        uuid::Uuid::from_u128(self.ids)
    }
}

type Late = Box<dyn FnOnce(&mut Stores)>;

/// The stores with everything that happens to them.
pub(crate) struct World {
    pub(crate) stores: Stores,
    pub(crate) now: i64,
    pub(crate) random: Random,
    pub(crate) faults: Faults,
    /// Nothing goes wrong in this run.
    pub(crate) calm: bool,
    pub(crate) beliefs: Beliefs,
    /// No new business: everything runs to its end.
    pub(crate) closing: bool,
    pub(crate) trace: Option<VecDeque<String>>,
    trace_max: usize,
    pub(crate) current: String,
    pub(crate) step: u64,
    touched: bool,
    /// When the actor that runs wants to be woken.
    wake: i64,
    late: Vec<(i64, &'static str, Late)>,
    snapshots: VecDeque<Hot>,
    down: [i64; 3],
}

/// The last steps that are kept to be told, unless `STARARENA_STEPS` names another number.
const TRACE_MAX: usize = 250;
/// Older states that a failover may bring back.
const SNAPSHOTS_MAX: usize = 6;
/// How long a store may be away, in ms.
const OUTAGE_MAX_MS: i64 = 1_500;
/// How late a request may arrive after its caller gave up, in ms.
const LATE_MAX_MS: i64 = 4_000;

pub(crate) type Shared = Rc<RefCell<World>>;

impl World {
    pub(crate) fn new(seed: u64, faults: Faults, wrong: Option<Wrong>, rows: Rows) -> Self {
        let stores = Stores {
            hot: Hot { wrong, server: 1, ..Hot::default() },
            run: 1,
            losses: 0,
            rows: Rows { wrong, ..rows },
            epoch_locks: 0,
            provider: Provider::default(),
            clock: 1_000_000,
            random: Random::new(seed ^ 0xA5A5),
            repairs: 0,
            half_mended: false,
            refused: 0,
            ids: 1_000,
        };
        Self {
            stores,
            now: 0,
            random: Random::new(seed),
            faults,
            calm: !faults.any(),
            beliefs: Beliefs::default(),
            closing: false,
            trace: None,
            trace_max: std::env::var("STARARENA_STEPS").ok().and_then(|most| most.parse().ok()).unwrap_or(TRACE_MAX),
            current: String::new(),
            step: 0,
            touched: false,
            wake: 0,
            late: Vec::new(),
            snapshots: VecDeque::new(),
            down: [0; 3],
        }
    }

    pub(crate) fn say(&mut self, text: impl FnOnce(&Stores) -> String) {
        if let Some(trace) = &mut self.trace {
            if trace.len() >= self.trace_max {
                trace.pop_front();
            }
            let text = text(&self.stores);
            trace.push_back(format!("{:6} {:6} {:12} {text}", self.step, self.now, self.current));
        }
    }

    /// Whether the last step may have changed a store.
    pub(crate) fn was_touched(&mut self) -> bool {
        std::mem::take(&mut self.touched)
    }

    /// Whether nothing is on its way any more.
    pub(crate) fn nothing_late(&self) -> bool {
        self.late.is_empty()
    }

    fn is_down(&self, store: Store) -> bool {
        self.down[store as usize] > self.now
    }

    /// Executes one call, with what may happen to it on its way.
    fn execute<T: 'static>(
        &mut self,
        store: Store,
        what: &'static str,
        act: &Rc<dyn Fn(&mut Stores) -> T>,
    ) -> Reply<T> {
        if self.is_down(store) {
            self.say(|_| format!("{what}: the store is away"));
            return Err(Lost);
        }
        self.touched = true;
        if self.faults.network && self.random.one_in(30) {
            let later = self.now + self.random.between(1, LATE_MAX_MS);
            let again = Rc::clone(act);
            let late: Late = Box::new(move |stores| drop(again(stores)));
            return match self.random.below(4) {
                0 => {
                    self.say(|_| format!("{what}: request lost"));
                    Err(Lost)
                }
                1 => {
                    act(&mut self.stores);
                    self.say(|_| format!("{what}: done, reply lost"));
                    Err(Lost)
                }
                2 => {
                    self.say(|_| format!("{what}: request late, until {later}"));
                    self.late.push((later, what, late));
                    Err(Lost)
                }
                _ => {
                    self.say(|_| format!("{what}: done, and again at {later}"));
                    self.late.push((later, what, late));
                    Ok(act(&mut self.stores))
                }
            };
        }
        self.say(|_| what.to_owned());
        Ok(act(&mut self.stores))
    }

    /// Faults that come by themselves, between two steps.
    fn misfortune(&mut self) {
        self.current = "misfortune".to_owned();
        if self.faults.loss && self.random.one_in(40) {
            self.snapshots.push_back(self.stores.hot.clone());
            if self.snapshots.len() > SNAPSHOTS_MAX {
                self.snapshots.pop_front();
            }
        }
        if self.faults.loss && self.random.one_in(250) {
            let older = match self.snapshots.is_empty() || self.random.one_in(3) {
                true => None,
                false => {
                    self.snapshots.get(usize::try_from(self.random.below(SNAPSHOTS_MAX as u64)).unwrap_or(0)).cloned()
                }
            };
            self.lose(older);
        }
        if self.faults.outages && self.random.one_in(250) {
            let store = *self.random.pick(&[Store::Redis, Store::Postgres, Store::Provider]);
            self.down[store as usize] = self.now + self.random.between(50, OUTAGE_MAX_MS);
            self.say(|_| format!("{store:?} is away"));
        }
        if self.faults.clock && self.random.one_in(300) {
            let jump = self.random.between(1, 3_000);
            self.stores.clock += jump;
            self.say(|_| format!("Redis's clock jumps by {jump} ms"));
        }
    }

    /// Redis starts again with nothing, or with an older state.
    fn lose(&mut self, older: Option<Hot>) {
        let what = if older.is_some() { "goes back to an older state" } else { "is emptied" };
        self.say(|_| format!("Redis {what}"));
        let wrong = self.stores.hot.wrong;
        self.stores.hot = Hot { wrong, ..older.unwrap_or_default() };
        self.stores.hot.tainted = (true, true);
        self.stores.run += 1;
        self.stores.hot.server = self.stores.run;
        self.stores.losses += 1;
        // What comes back may be half corrected.
        self.stores.half_mended = self.stores.repairs > 0;
        self.touched = true;
    }

    /// Requests that arrive now, long after they were sent.
    fn arrivals(&mut self) {
        let now = self.now;
        while let Some(index) = self.late.iter().position(|(at, ..)| *at <= now) {
            let (_, what, act) = self.late.remove(index);
            self.current = "late".to_owned();
            self.say(|_| what.to_owned());
            act(&mut self.stores);
            self.touched = true;
        }
    }
}

/// An actor's way to the world, with what its process keeps in memory about the sale.
#[derive(Clone)]
pub(crate) struct Actor {
    pub(crate) world: Shared,
    /// The epoch of the sale as it was last read, and when.
    sale: Rc<Cell<Option<(i64, i64)>>>,
}

/// How long a sale that was read is used, in ms.
const SALE_FRESH_MS: i64 = 300;

impl Actor {
    pub(crate) fn new(world: &Shared) -> Self {
        Self { world: Rc::clone(world), sale: Rc::default() }
    }

    /// A line for those who read the steps of a run.
    pub(crate) fn tell(&self, text: impl FnOnce() -> String) {
        self.world.borrow_mut().say(|_| text());
    }

    /// One call of a store: it is sent, and some time later it is executed and answered.
    pub(crate) async fn call<T: 'static>(
        &self,
        store: Store,
        what: &'static str,
        act: impl Fn(&mut Stores) -> T + 'static,
    ) -> Reply<T> {
        let latency = {
            let mut world = self.world.borrow_mut();
            match world.random.below(40) {
                // Where nothing goes wrong nothing is that slow either.
                0 if world.faults.any() => world.random.between(100, 2_500),
                1..5 => world.random.between(10, 100),
                _ => world.random.between(0, 6),
            }
        };
        self.pause(latency).await;
        let act: Rc<dyn Fn(&mut Stores) -> T> = Rc::new(act);
        self.world.borrow_mut().execute(store, what, &act)
    }

    pub(crate) async fn redis<T: 'static>(
        &self,
        what: &'static str,
        act: impl Fn(&mut Hot, At) -> T + 'static,
    ) -> Reply<T> {
        self.call(Store::Redis, what, move |stores| {
            let at = stores.at();
            act(&mut stores.hot, at)
        })
        .await
    }

    pub(crate) async fn postgres<T: 'static>(
        &self,
        what: &'static str,
        act: impl Fn(&mut Rows) -> T + 'static,
    ) -> Reply<T> {
        self.call(Store::Postgres, what, move |stores| act(&mut stores.rows)).await
    }

    /// Waits for so many ms.
    pub(crate) async fn pause(&self, ms: i64) {
        {
            let mut world = self.world.borrow_mut();
            world.wake = world.now + ms;
        }
        Yield(false).await;
    }

    /// Waits for a time between the two.
    pub(crate) async fn idle(&self, least: i64, most: i64) {
        let ms = self.world.borrow_mut().random.between(least, most);
        self.pause(ms).await;
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.world.borrow().closing
    }

    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.world.borrow_mut().random.below(bound)
    }

    /// Redis's clock.
    pub(crate) async fn time(&self) -> Reply<i64> {
        self.redis("TIME", |_, at| at.now).await
    }

    /// The epoch of the sale, read again when it is not fresh.
    pub(crate) async fn sale(&self) -> Reply<i64> {
        let now = self.world.borrow().now;
        match self.sale.get() {
            Some((epoch, read)) if now - read < SALE_FRESH_MS => Ok(epoch),
            _ => self.reload_sale().await,
        }
    }

    /// Reads the epoch of the sale now.
    pub(crate) async fn reload_sale(&self) -> Reply<i64> {
        let epoch = self.postgres("read sale", |rows| rows.epoch).await?;
        self.sale.set(Some((epoch, self.world.borrow().now)));
        Ok(epoch)
    }
}

struct Yield(bool);

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

type Running = Pin<Box<dyn Future<Output = ()>>>;

/// One actor that can be started again.
pub(crate) struct Task {
    name: String,
    start: Box<dyn Fn(Actor) -> Running>,
    running: Option<Running>,
    wake: i64,
}

impl Task {
    pub(crate) fn new<F: Future<Output = ()> + 'static>(name: String, start: impl Fn(Actor) -> F + 'static) -> Self {
        Self { name, start: Box::new(move |actor| Box::pin(start(actor))), running: None, wake: 0 }
    }
}

/// Runs one step of whichever actor is due first; `false` when none is left.
pub(crate) fn step(world: &Shared, tasks: &mut Vec<Task>) -> bool {
    let Some(index) = (0..tasks.len()).min_by_key(|index| tasks[*index].wake) else { return false };
    {
        let mut world = world.borrow_mut();
        let later = tasks[index].wake.max(world.now);
        let passed = later - world.now;
        world.now = later;
        world.stores.clock += passed;
        world.step += 1;
        world.arrivals();
        world.misfortune();
        if world.faults.crashes && world.random.one_in(120) {
            let victim = usize::try_from(world.random.below(tasks.len() as u64)).unwrap_or(0);
            let asleep = world.random.between(0, 1_500);
            // Dropped when the world is free again: its open transaction ends then.
            let crashed = tasks[victim].running.take();
            tasks[victim].wake = world.now + asleep;
            world.current.clone_from(&tasks[victim].name);
            world.say(|_| "crashes".to_owned());
            drop(world);
            drop(crashed);
            return true;
        }
        world.current.clone_from(&tasks[index].name);
    }
    let task = &mut tasks[index];
    let running = task.running.get_or_insert_with(|| (task.start)(Actor::new(world)));
    match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(()) => {
            tasks.remove(index);
        }
        Poll::Pending => task.wake = world.borrow().wake,
    }
    true
}
