//! What the waiting page knows, and which part of it is shown for that.

use super::{
    Guest,
    api::{RoomView, Waited},
    call::Call,
    requests::Trouble,
};
use crate::clock::{ServerClock, use_clock};
use crate::error::AppError;
use crate::session::{Visitor, use_visitor};
use domain::{
    Millis, PerformanceId,
    queue::{Mode, Phase, QueueStatus, Standing, Supply},
};
use leptos::prelude::*;

/// What the page knows; learnt from the server-rendered data, then from polling.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) performance: StoredValue<Waited>,
    pub(super) status: RwSignal<QueueStatus>,
    pub(super) arrival: RwSignal<Option<u32>>,
    /// How many were ahead when this tab first saw a place in the line: where its progress begins.
    pub(super) first_ahead: RwSignal<Option<u32>>,
    /// What keeps the page from StarArena: it says so, and goes on trying.
    pub(super) trouble: RwSignal<Option<Trouble>>,
    /// When StarArena was last heard, by its own clock.
    pub(super) heard: RwSignal<Millis>,
    /// What is tried again by itself, and when.
    pub(super) again: RwSignal<Option<Again>>,
    /// A refusal that needs the reader.
    pub(super) refusal: RwSignal<Option<AppError>>,
    /// Whether the fan wants to be called.
    pub(super) call: RwSignal<Call>,
    /// What the reader pressed, until it is done.
    pub(super) wish: RwSignal<Option<Wish>>,
    pub(super) clock: ServerClock,
    pub(super) visitor: Visitor,
    pub(super) guest: Guest,
}

/// Something that did not go through, and is tried again without the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Again {
    /// What.
    pub(super) what: Pending,
    /// When, by the server's clock.
    pub(super) at: Millis,
}

/// What a button asks for. The page does the same by itself, when it sees fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// A place.
    Join,
    /// To go in.
    Enter,
}

/// What is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// Taking a place.
    Join,
    /// Going in: as many as may be are inside.
    Full,
    /// Going in: no answer, or too much at once.
    Enter,
}

/// Which part of the page is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Signing in comes first.
    SignIn,
    /// Places can't be taken yet.
    Announced,
    /// A place can be taken.
    Join,
    /// Nobody registers for this lottery any more.
    Closed,
    /// The place is taken, the draw is to come.
    Lobby,
    /// In the line.
    Waiting,
    /// In the line, and no seat is left.
    SoldOut,
    /// May go in.
    Turn,
    /// The window of the lottery is over.
    Passed,
    /// The sale is over.
    Ended,
}

impl Stage {
    /// For style sheets and tests.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SignIn => "sign-in",
            Self::Announced => "announced",
            Self::Join => "join",
            Self::Closed => "closed",
            Self::Lobby => "lobby",
            Self::Waiting => "waiting",
            Self::SoldOut => "sold-out",
            Self::Turn => "turn",
            Self::Passed => "passed",
            Self::Ended => "ended",
        }
    }
}

impl State {
    /// What the server rendered.
    pub(super) fn new(view: RoomView) -> Self {
        let guest = Guest::of(&view);
        Self {
            heard: RwSignal::new(view.status.now),
            performance: StoredValue::new(view.performance),
            status: RwSignal::new(view.status),
            arrival: RwSignal::new(view.arrival),
            first_ahead: RwSignal::new(None),
            trouble: RwSignal::new(None),
            again: RwSignal::new(None),
            refusal: RwSignal::new(view.refused),
            call: RwSignal::new(Call::Unknown),
            wish: RwSignal::new(None),
            clock: use_clock(),
            visitor: use_visitor(),
            guest,
        }
    }

    /// The performance.
    pub(super) fn id(self) -> PerformanceId {
        self.performance.with_value(|view| view.id)
    }

    /// Where this visitor stands; `None` without a place.
    pub(super) fn standing(self) -> Option<Standing> {
        let arrival = self.arrival.get()?;
        Some(self.status.with(|status| status.standing(arrival)))
    }

    /// How many are ahead, once there is a line.
    pub(super) fn ahead(self) -> Option<u32> {
        match self.standing() {
            Some(Standing::Waiting { ahead, .. }) => Some(ahead),
            _ => None,
        }
    }

    /// Whether this is a lottery.
    pub(super) fn is_lottery(self) -> bool {
        self.status.with(|status| status.mode == Mode::Lottery)
    }

    /// The same, for work in the background.
    pub(super) fn is_lottery_untracked(self) -> bool {
        self.status.with_untracked(|status| status.mode == Mode::Lottery)
    }

    /// The part of the page to show.
    pub(super) fn stage(self) -> Stage {
        let standing = self.standing();
        self.status.with(|status| stage(status, self.guest, standing))
    }
}

/// The part of the page for a status, a visitor and a standing.
fn stage(status: &QueueStatus, guest: Guest, standing: Option<Standing>) -> Stage {
    let sold_out = status.supply == Supply::SoldOut && matches!(status.phase, Phase::Open | Phase::Paused);
    match standing {
        _ if status.phase == Phase::Ended => Stage::Ended,
        _ if guest != Guest::Ready => Stage::SignIn,
        None if status.phase == Phase::Announced => Stage::Announced,
        None if status.mode == Mode::Lottery && status.phase != Phase::Lobby => Stage::Closed,
        None => Stage::Join,
        Some(Standing::Ended) => Stage::Ended,
        Some(Standing::Passed { .. }) => Stage::Passed,
        Some(Standing::Lobby { .. }) => Stage::Lobby,
        Some(_) if sold_out => Stage::SoldOut,
        Some(Standing::Waiting { .. }) => Stage::Waiting,
        Some(Standing::Turn { .. }) => Stage::Turn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::queue::Drawn;

    fn open() -> QueueStatus {
        QueueStatus {
            performance: "01890000-0000-7000-8000-000000000001".parse().unwrap(),
            mode: Mode::Queue,
            phase: Phase::Open,
            now: Millis(20),
            registers_at: Millis(0),
            opens_at: Millis(10),
            closes_at: Millis(1_000),
            joined: 4,
            lobby: Some(0),
            commitment: String::new(),
            beacon_due: None,
            drawn: Some(Drawn { seed: "07".repeat(32), list: "08".repeat(32), beacon: String::new() }),
            serving: 2,
            window: None,
            rate_per_min: 60,
            stock: 9,
            supply: Supply::OnSale,
            refresh_ms: 1_000,
        }
    }

    fn shown(status: &QueueStatus, arrival: Option<u32>) -> Stage {
        stage(status, Guest::Ready, arrival.map(|arrival| status.standing(arrival)))
    }

    #[test]
    fn the_line_leads_from_a_place_to_the_door() {
        let status = open();
        assert_eq!(shown(&status, None), Stage::Join);
        assert_eq!(shown(&status, Some(1)), Stage::Turn);
        assert_eq!(shown(&status, Some(2)), Stage::Waiting);
        let lobby = QueueStatus { phase: Phase::Lobby, lobby: None, drawn: None, ..open() };
        assert_eq!((shown(&lobby, None), shown(&lobby, Some(2))), (Stage::Join, Stage::Lobby));
        let announced = QueueStatus { phase: Phase::Announced, ..lobby };
        assert_eq!(shown(&announced, None), Stage::Announced);
        assert_eq!(shown(&QueueStatus { phase: Phase::Ended, ..open() }, Some(1)), Stage::Ended);
        assert_eq!(stage(&status, Guest::SignedOut, None), Stage::SignIn);
    }

    #[test]
    fn a_sold_out_house_is_told_to_all_who_wait_and_to_nobody_in_the_lobby() {
        let status = QueueStatus { supply: Supply::SoldOut, stock: 0, ..open() };
        assert_eq!((shown(&status, Some(1)), shown(&status, Some(3))), (Stage::SoldOut, Stage::SoldOut));
        // Seats that are being put in place are none yet.
        let lobby = QueueStatus { phase: Phase::Lobby, lobby: None, drawn: None, ..status };
        assert_eq!(shown(&lobby, Some(1)), Stage::Lobby);
    }

    #[test]
    fn a_lottery_registers_nobody_after_its_opening() {
        let lottery = QueueStatus { mode: Mode::Lottery, ..open() };
        assert_eq!(shown(&lottery, None), Stage::Closed);
        let window = domain::queue::Window { number: 2, from: 1, opened: Millis(15), closes: Millis(90) };
        let second = QueueStatus { window: Some(window), ..lottery };
        assert_eq!(
            (shown(&second, Some(0)), shown(&second, Some(1)), shown(&second, Some(2))),
            (Stage::Passed, Stage::Turn, Stage::Waiting)
        );
    }
}
