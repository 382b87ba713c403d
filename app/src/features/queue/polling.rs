//! The page's own activity in the browser: taking a place, polling, entering. One loop, so that no
//! two of them can contradict each other; it ends with the page.

use super::{
    Guest, call,
    requests::{self, Failed, Trouble},
    state::{Again, Pending, State, Wish},
    tries::{Bell, JITTER, Tries},
};
use crate::alive::Alive;
use crate::browser;
use crate::error::AppError;
use domain::{
    Code, PerformanceId,
    queue::{Phase, QueueStatus, Standing, Supply},
};
use leptos::{prelude::*, task::spawn_local};

/// The first poll after the opening comes within this time, spread over everybody who waits.
const OPENING_SPREAD_MS: f64 = 3_000.0;
/// Whoever waits for the registration takes a place within this time after it opens. All places have the
/// same chance: nobody loses by coming later.
const REGISTRATION_SPREAD_MS: f64 = 5_000.0;
/// Bounds of the wait between two polls, whatever the server says.
const POLL_MIN_MS: f64 = 500.0;
const POLL_MAX_MS: f64 = 60_000.0;
/// Bounds of one sleep of the loop.
const SLEEP_MIN_MS: f64 = 50.0;
/// How long a refused entry waits when the server doesn't say.
const ENTER_AGAIN_MS: u32 = 2_000;
/// How long after a refusal that only the reader can change.
const REFUSED_AGAIN_MS: f64 = 60_000.0;

/// Starts the loop in the browser; the server runs no effects.
pub(super) fn start(state: State) {
    let alive = Alive::until_cleanup();
    Effect::new(move |_| {
        let (alive, bell) = (alive.clone(), Bell::default());
        listen(state, &bell);
        spawn_local(async move {
            Watch::new(state, alive, bell).run().await;
        });
    });
}

/// Rings when a look is worthwhile: a button was pressed, the page is seen again or comes back out of the
/// browser's memory, or the network is there again.
fn listen(state: State, bell: &Bell) {
    let (pressed, shown, back, online) = (bell.clone(), bell.clone(), bell.clone(), bell.clone());
    Effect::new(move |_| {
        if state.wish.get().is_some() {
            pressed.ring();
        }
    });
    let handles = [
        window_event_listener_untyped("visibilitychange", move |_| {
            if !document().hidden() {
                shown.ring();
            }
        }),
        window_event_listener_untyped("pageshow", move |event| {
            // The first showing of a page is no return.
            if js_sys::Reflect::get(&event, &"persisted".into()).is_ok_and(|kept| kept.is_truthy()) {
                back.ring();
            }
        }),
        window_event_listener_untyped("online", move |_| online.ring()),
        window_event_listener_untyped("offline", move |_| state.trouble.set(Some(Trouble::Device))),
    ];
    on_cleanup(move || {
        for handle in handles {
            handle.remove();
        }
    });
}

fn map_path(performance: PerformanceId) -> String {
    format!("/performances/{performance}/seats")
}

fn nonce_key(performance: PerformanceId) -> String {
    format!("sa-nonce-{}", performance.simple())
}

struct Watch {
    state: State,
    alive: Alive,
    bell: Bell,
    performance: PerformanceId,
    poll: Tries,
    join: Tries,
    enter: Tries,
    /// How long after its opening this page registers: nothing, unless it waited for the opening.
    registers_after_ms: f64,
    /// A place whose ticket the browser lost is asked for once more, and only once.
    asked_anew: bool,
    /// The reader asked for a place, and wants to know why there is none.
    wants_place: bool,
    /// The reader wants to go in although nothing may be left.
    wants_in: bool,
}

impl Watch {
    fn new(state: State, alive: Alive, bell: Bell) -> Self {
        let early = state.status.with_untracked(|status| status.phase == Phase::Announced);
        Self {
            performance: state.id(),
            poll: Tries::default(),
            join: Tries::default(),
            enter: Tries::default(),
            registers_after_ms: if early { REGISTRATION_SPREAD_MS * browser::spread() } else { 0.0 },
            asked_anew: false,
            wants_place: false,
            wants_in: false,
            state,
            alive,
            bell,
        }
    }

    async fn run(mut self) {
        while self.alive.get() {
            if self.poll.is_due(browser::monotonic_ms()) {
                self.look().await;
            }
            if self.alive.get() && self.state.guest == Guest::Ready {
                self.take_place().await;
                if self.alive.get() && self.go_in().await {
                    return;
                }
            }
            if !self.alive.get() {
                return;
            }
            if self.bell.wait(whole(self.sleep_ms())).await && self.alive.get() {
                self.rung();
            }
        }
    }

    /// Everything that may be tried is tried now.
    fn rung(&mut self) {
        let now = browser::monotonic_ms();
        for tries in [&mut self.poll, &mut self.join, &mut self.enter] {
            tries.sooner(now);
        }
        match self.state.wish.get_untracked() {
            Some(Wish::Join) => (self.join, self.wants_place) = (Tries::default(), true),
            Some(Wish::Enter) => (self.enter, self.wants_in) = (Tries::default(), true),
            None => {}
        }
        self.state.wish.set(None);
        if self.state.guest != Guest::Ready {
            // Somebody may have signed in, or confirmed the address, in another tab.
            self.state.visitor.changed();
        }
    }

    fn standing(&self) -> Option<Standing> {
        let arrival = self.state.arrival.get_untracked()?;
        Some(self.state.status.with_untracked(|status| status.standing(arrival)))
    }

    /// How long nothing has to be done.
    fn sleep_ms(&self) -> f64 {
        let now = browser::monotonic_ms();
        let mut sleep = self.poll.left_ms(now);
        if self.state.guest == Guest::Ready {
            if let Some(opens) = self.registration_ms() {
                sleep = sleep.min(self.join.left_ms(now).max(opens));
            }
            if self.may_go_in() {
                sleep = sleep.min(self.enter.left_ms(now));
            }
        }
        sleep.clamp(SLEEP_MIN_MS, POLL_MAX_MS)
    }

    /// How long until a place can be taken; `None` where there is one, or can't be.
    fn registration_ms(&self) -> Option<f64> {
        if self.state.arrival.get_untracked().is_some() {
            return None;
        }
        let now = self.state.clock.exact();
        self.state.status.with_untracked(|status| match status.phase {
            Phase::Ended => None,
            // In a lottery, too: nobody registers later, but another device may have taken the place.
            Phase::Open | Phase::Paused => Some(0.0),
            // The phase comes with the poll, the moment by the clock: whichever is first.
            phase @ (Phase::Announced | Phase::Lobby) => match now {
                Some(now) => Some(whole_ms(now.until(status.registers_at.min(status.opens_at))) + self.late_ms(status)),
                None if phase == Phase::Lobby => Some(0.0),
                None => None,
            },
        })
    }

    /// What is left of the time by which this page comes after the opening of the registration.
    fn late_ms(&self, status: &QueueStatus) -> f64 {
        let past = self.state.clock.exact().map_or(0, |now| status.registers_at.until(now));
        (self.registers_after_ms - whole_ms(past)).max(0.0)
    }

    fn may_go_in(&self) -> bool {
        // In a house that is sold out there is nothing to go in for, but by one's own wish.
        (self.wants_in || self.state.status.with_untracked(|status| status.supply != Supply::SoldOut))
            && matches!(self.standing(), Some(Standing::Turn { .. }))
    }

    /// How long until the next poll: as the server says, but at the opening everybody comes within a few
    /// seconds and not all at once.
    fn poll_ms(&self) -> f64 {
        let arrival = self.state.arrival.get_untracked();
        let (refresh_ms, phase, next) = self.state.status.with_untracked(|status| {
            let next = if status.phase == Phase::Announced { status.registers_at } else { status.opens_at };
            (status.refresh_ms_of(arrival), status.phase, next)
        });
        let usual = (f64::from(refresh_ms) * (1.0 + JITTER * browser::spread())).clamp(POLL_MIN_MS, POLL_MAX_MS);
        let left = self.state.clock.exact().map(|now| whole_ms(now.until(next)));
        match (phase, left) {
            (Phase::Announced | Phase::Lobby, Some(left)) if left > 0.0 && left < usual => {
                // The larger the crowd, the longer the time over which it comes.
                left + OPENING_SPREAD_MS.max(f64::from(refresh_ms)) * browser::spread()
            }
            _ => usual,
        }
    }

    /// Polls once.
    async fn look(&mut self) {
        let sent_ms = browser::monotonic_ms();
        let answer = requests::status(self.performance).await;
        if !self.alive.get() {
            return;
        }
        let now_ms = browser::monotonic_ms();
        match answer {
            Ok(status) => {
                self.state.clock.observe(status.now, sent_ms, now_ms);
                // An answer from a cache may be older than what is shown: time doesn't run backwards.
                if self.state.status.with_untracked(|shown| shown.now <= status.now) {
                    self.state.status.set(status);
                }
                if let Some(now) = self.state.clock.exact() {
                    self.state.heard.set(now);
                }
                self.state.trouble.set(None);
                let wait_ms = self.poll_ms();
                self.poll.succeeded(now_ms + wait_ms);
            }
            Err(failed) => {
                self.poll.failed(now_ms, failed.told_ms, browser::spread());
                self.state.trouble.set(Some(failed.trouble));
            }
        }
    }

    /// Takes a place once there can be one.
    async fn take_place(&mut self) {
        let open = self.registration_ms().is_some_and(|left| left <= 0.0);
        if !open || !self.join.is_due(browser::monotonic_ms()) {
            return;
        }
        let answer = requests::join(self.performance).await;
        if !self.alive.get() {
            return;
        }
        match answer {
            Ok(joined) => {
                self.state.again.set(None);
                self.state.refusal.set(None);
                self.state.arrival.set(Some(joined.arrival));
            }
            Err(failed) => self.no_place(failed),
        }
    }

    fn no_place(&mut self, failed: Failed) {
        let now = browser::monotonic_ms();
        let wanted = std::mem::take(&mut self.wants_place);
        match failed.refusal {
            // The two clocks differ by a moment: the page was early.
            Some(error) if error.code() == Code::QueueClosed && self.is_before_opening() => {
                self.join.failed(now, failed.told_ms, browser::spread());
            }
            // Asked for a place that this account never took: the page says already that it's too late.
            Some(error) if error.code() == Code::QueueClosed && self.state.is_lottery_untracked() => {
                self.join.never_again();
                if wanted {
                    self.needs_reader(error);
                }
            }
            Some(error) if !passes(error.code()) => {
                match error.code() {
                    Code::AccountTooNew => self.join.never_again(),
                    _ => self.join.wait(now, REFUSED_AGAIN_MS, browser::spread()),
                }
                self.needs_reader(error);
            }
            _ => {
                self.join.failed(now, failed.told_ms, browser::spread());
                self.again(Pending::Join, self.join.left_ms(now));
            }
        }
    }

    fn is_before_opening(&self) -> bool {
        self.state.status.with_untracked(|status| matches!(status.phase, Phase::Announced | Phase::Lobby))
    }

    /// Enters when it is the turn: whether the page is being left for the map.
    async fn go_in(&mut self) -> bool {
        if !self.may_go_in() || !self.enter.is_due(browser::monotonic_ms()) {
            return false;
        }
        let key = nonce_key(self.performance);
        let nonce = browser::kept_for_tab(&key, browser::random_uuid);
        let answer = requests::enter(self.performance, &nonce).await;
        if !self.alive.get() {
            return true;
        }
        match answer {
            Ok(()) => {
                browser::forget_for_tab(&key);
                self.state.again.set(None);
                call::heard(self.state.call.get_untracked()).await;
                browser::go_to(&map_path(self.performance));
                return true;
            }
            Err(Failed { refusal: Some(error), told_ms, .. }) => self.not_in(error, told_ms),
            Err(failed) => self.retry_door(failed.told_ms),
        }
        false
    }

    fn not_in(&mut self, error: AppError, told_ms: Option<u32>) {
        let now = browser::monotonic_ms();
        let soon_ms = f64::from(told_ms.unwrap_or(ENTER_AGAIN_MS));
        match error.code() {
            Code::Full => {
                self.enter.wait(now, soon_ms, browser::spread());
                self.again(Pending::Full, self.enter.left_ms(now));
            }
            // Part of waiting: the page shows the same by the status.
            Code::NotYourTurn | Code::Paused => {
                self.enter.wait(now, soon_ms, browser::spread());
                self.state.again.set(None);
            }
            Code::PassInvalid if !self.asked_anew => {
                // The account has its place still: asked for, it comes with a fresh ticket.
                self.asked_anew = true;
                self.join = Tries::default();
                self.enter.wait(now, soon_ms, browser::spread());
                self.state.arrival.set(None);
            }
            code if passes(code) => self.retry_door(told_ms),
            _ => {
                self.enter.wait(now, REFUSED_AGAIN_MS, browser::spread());
                self.needs_reader(error);
            }
        }
    }

    fn retry_door(&mut self, told_ms: Option<u32>) {
        let now = browser::monotonic_ms();
        self.enter.failed(now, told_ms, browser::spread());
        self.again(Pending::Enter, self.enter.left_ms(now));
    }

    /// Says what is tried again, and when.
    fn again(&self, what: Pending, left_ms: f64) {
        let now = self.state.clock.exact().unwrap_or_else(|| self.state.heard.get_untracked());
        self.state.again.set(Some(Again { what, at: now.plus(i64::from(whole(left_ms))) }));
        self.state.refusal.set(None);
    }

    /// Shows a refusal that only the reader can change.
    fn needs_reader(&self, error: AppError) {
        self.state.again.set(None);
        let signed_out = error.code() == Code::SignInRequired;
        self.state.refusal.set(Some(error));
        if signed_out {
            // The sign-in ended meanwhile: the page begins anew with what has to be done first.
            self.state.visitor.changed();
        }
    }
}

/// Whether a refusal passes by itself: the same call may succeed a moment later.
fn passes(code: Code) -> bool {
    matches!(
        code,
        Code::TooManyRequests | Code::Overloaded | Code::Unavailable | Code::Full | Code::Internal | Code::Paused
    )
}

/// Milliseconds for a timer.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped into the range of the type")]
fn whole(ms: f64) -> u32 {
    ms.clamp(0.0, f64::from(u32::MAX)) as u32
}

/// Milliseconds of a difference: none for what is past, and nobody needs the last digit when it is years.
fn whole_ms(ms: i64) -> f64 {
    f64::from(u32::try_from(ms.max(0)).unwrap_or(u32::MAX))
}
