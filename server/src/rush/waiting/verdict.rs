//! The judgement over a crowd that waited: what fans were told must fit together, and fit what was
//! published about the draw.
//!
//! Pure. Where clocks leave a doubt, it is the server's benefit: a breach reported here is one.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::PerformanceId;
use domain::queue::QueueStatus;
use domain::queue::facts::{CheckOutcome, DrawFacts, ENTRY_BYTES, Randomness, entry};

use super::super::FanLogin;
use super::super::checks::{add, peak};
use super::super::journal::Visit;
use super::joins::Told;

/// How far the server's clock may be from where it was measured to be.
const CLOCK_DOUBT_US: u64 = 500_000;

/// All that the crowd knows.
pub(super) struct Evidence<'a> {
    pub(super) performance: PerformanceId,
    pub(super) fans: &'a [FanLogin],
    /// Every place that was told, also what was told twice.
    pub(super) told: &'a [Told],
    /// When the sale opened.
    pub(super) opening_us: u64,
    /// The first state with the draw, and the last one.
    pub(super) drawn: &'a QueueStatus,
    pub(super) last: &'a QueueStatus,
    pub(super) facts: &'a DrawFacts,
    pub(super) list: &'a [u8],
    pub(super) visits: &'a [Visit],
    /// Most shoppers behind the door; 0 when unknown.
    pub(super) max_shoppers: u32,
}

impl Evidence<'_> {
    /// Every breach, in sentences.
    pub(super) fn breaches(&self) -> Vec<String> {
        let mut found = Vec::new();
        add(&mut found, self.numbers());
        add(&mut found, self.sides_of_the_opening());
        add(&mut found, self.places());
        add(&mut found, self.facts());
        add(&mut found, self.entries());
        add(&mut found, self.crowding());
        found
    }

    fn name(&self, fan: usize) -> String {
        self.fans.get(fan).map_or_else(|| format!("fan {fan}"), |login| format!("account {}", login.account))
    }

    /// One number an account, one account a number.
    fn numbers(&self) -> Vec<String> {
        let (mut by_fan, mut by_number) = (BTreeMap::new(), HashMap::new());
        let mut found = Vec::new();
        for told in self.told {
            let first = *by_fan.entry(told.fan).or_insert(told.arrival);
            if first != told.arrival {
                found.push(format!("I6: {} was told arrival {first} and then {}", self.name(told.fan), told.arrival));
            }
            let owner = *by_number.entry(told.arrival).or_insert(told.fan);
            if owner != told.fan {
                let (one, other) = (self.name(owner), self.name(told.fan));
                found.push(format!("I6: arrival {} was given to {one} and to {other}", told.arrival));
            }
        }
        found
    }

    /// Whoever was told a place before the opening is in the lobby; whoever asked after it is not.
    fn sides_of_the_opening(&self) -> Vec<String> {
        let Some(lobby) = self.drawn.lobby else {
            return vec!["I6: the draw is out, and the size of the lobby is not".to_owned()];
        };
        let mut found = Vec::new();
        for told in self.told {
            if told.told_us + CLOCK_DOUBT_US < self.opening_us && told.arrival >= lobby {
                let (who, arrival) = (self.name(told.fan), told.arrival);
                found.push(format!("I6: {who} was in the lobby as arrival {arrival}, the lobby has {lobby} places"));
            }
            // A second press asks late for what was given early.
            if told.first && told.sent_us > self.opening_us + CLOCK_DOUBT_US && told.arrival < lobby {
                let (who, arrival) = (self.name(told.fan), told.arrival);
                found.push(format!("I6: {who} came after the opening and is arrival {arrival} of a lobby of {lobby}"));
            }
        }
        found
    }

    /// A place never gets worse, no two fans have one, and nobody who came late is before the lobby.
    fn places(&self) -> Vec<String> {
        let (Some(first), Some(last)) = (self.drawn.draw(), self.last.draw()) else {
            return vec!["I6: what was drawn can't be computed from the published state".to_owned()];
        };
        let lobby = self.drawn.lobby.unwrap_or(0);
        let (mut found, mut owners) = (Vec::new(), HashSet::new());
        for told in self.told.iter().filter(|told| told.first) {
            let (place, later) = (first.place(told.arrival), last.place(told.arrival));
            let who = self.name(told.fan);
            if later > place {
                found.push(format!("I6: the place of {who} got worse, from {place} to {later}"));
            }
            if (told.arrival < lobby) != (place < lobby) {
                found.push(format!("I6: {who}, arrival {}, has place {place}; the lobby is {lobby}", told.arrival));
            }
            if !owners.insert(place) {
                found.push(format!("I6: place {place} was drawn twice"));
            }
        }
        found
    }

    /// The published facts fit each other, the list, and the polled state.
    fn facts(&self) -> Vec<String> {
        let mut found = Vec::new();
        for check in self.facts.verify(Some(self.list)) {
            match check.outcome {
                CheckOutcome::Holds => {}
                CheckOutcome::Fails(why) => found.push(format!("I6: not true: {}: {why}", check.what)),
                // Without public randomness there is nothing to check; everything else is due with the draw.
                CheckOutcome::Skipped(_) if is_unnamed(&self.facts.randomness) && self.is_drawn() => {}
                CheckOutcome::Skipped(why) => found.push(format!("I6: not to be checked: {}: {why}", check.what)),
            }
        }
        if self.facts.draw().is_none() || self.facts.draw() != self.drawn.draw() {
            found.push("I6: the published facts make another draw than the polled state".to_owned());
        }
        if self.facts.performance != self.performance || self.facts.lobby != self.drawn.lobby {
            found.push("I6: the published facts are of another sale, or of another lobby".to_owned());
        }
        found
    }

    fn is_drawn(&self) -> bool {
        self.facts.seed.is_some() && self.facts.list.is_some() && self.facts.lobby.is_some()
    }

    /// Everybody in the lobby is in the list, at the own number; nobody who came later is.
    fn entries(&self) -> Vec<String> {
        let listed: HashSet<&[u8]> = self.list.chunks_exact(ENTRY_BYTES).collect();
        let mut found = Vec::new();
        for told in self.told.iter().filter(|told| told.first) {
            let Some(login) = self.fans.get(told.fan) else { continue };
            let own = entry(self.performance, login.account);
            let from = told.arrival as usize * ENTRY_BYTES;
            match self.list.get(from..from + ENTRY_BYTES) {
                Some(at) if at == own => {}
                Some(_) => found.push(format!(
                    "I6: the arrival list names another than {} at {}",
                    self.name(told.fan),
                    told.arrival
                )),
                None if listed.contains(own.as_slice()) => {
                    found.push(format!("I6: {} came after the lobby and is in its list", self.name(told.fan)));
                }
                None => {}
            }
        }
        found
    }

    /// I5: nobody enters while as many shoppers as allowed are inside.
    fn crowding(&self) -> Vec<String> {
        let inside = self.shoppers_peak();
        if self.max_shoppers > 0 && inside > u64::from(self.max_shoppers) {
            let allowed = self.max_shoppers;
            return vec![format!("I5: {inside} shoppers were inside at the same time, {allowed} are allowed")];
        }
        Vec::new()
    }

    /// Most shoppers who were surely inside at one moment.
    pub(super) fn shoppers_peak(&self) -> u64 {
        peak(self.visits.iter().map(|visit| (visit.from_us, visit.until_us, 1)))
    }
}

fn is_unnamed(randomness: &Randomness) -> bool {
    matches!(randomness, Randomness::None | Randomness::Silent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::queue::facts::{Commitment, list_digest};
    use domain::queue::{Drawn, Mode, Phase, Supply, commitment};
    use domain::{AccountId, Millis};
    use uuid::Uuid;

    const LOBBY: u32 = 6;
    const OPENING_US: u64 = 10_000_000;
    const SEED: [u8; 32] = [7; 32];

    fn performance() -> PerformanceId {
        PerformanceId(Uuid::from_u128(77))
    }

    /// Six fans of the lobby and two who came later, by arrival.
    fn fans() -> Vec<FanLogin> {
        (1..=8).map(|n| FanLogin { account: AccountId(Uuid::from_u128(n)), cookie: String::new() }).collect()
    }

    fn told() -> Vec<Told> {
        let at = |arrival: u32| if arrival < LOBBY { 1_000_000 } else { OPENING_US + 1_000_000 };
        (0..8)
            .map(|arrival| Told {
                fan: arrival as usize,
                arrival,
                ticket: String::new(),
                first: true,
                sent_us: at(arrival),
                told_us: at(arrival) + 5_000,
            })
            .collect()
    }

    fn list() -> Vec<u8> {
        fans()[..LOBBY as usize].iter().flat_map(|fan| entry(performance(), fan.account)).collect()
    }

    fn status() -> QueueStatus {
        let list = hex::encode(list_digest(&list()));
        QueueStatus {
            performance: performance(),
            mode: Mode::Queue,
            phase: Phase::Open,
            now: Millis(0),
            registers_at: Millis(0),
            opens_at: Millis(0),
            closes_at: Millis(i64::MAX),
            joined: 8,
            lobby: Some(LOBBY),
            commitment: hex::encode(commitment(&SEED)),
            beacon_due: None,
            drawn: Some(Drawn { seed: hex::encode(SEED), list, beacon: String::new() }),
            serving: 0,
            window: None,
            rate_per_min: 0,
            stock: 1,
            supply: Supply::OnSale,
            refresh_ms: 1_000,
        }
    }

    fn facts() -> DrawFacts {
        let status = status();
        let published =
            Commitment { commitment: status.commitment, opens: Millis(0), beacon: None, published: Millis(0) };
        DrawFacts {
            performance: performance(),
            mode: Mode::Queue,
            commitments: vec![published],
            lobby: Some(LOBBY),
            list: Some(hex::encode(list_digest(&list()))),
            list_published: Some(Millis(1)),
            randomness: Randomness::None,
            seed: Some(hex::encode(SEED)),
            revealed: Some(Millis(1)),
        }
    }

    /// What is found where something differs from an honest sale.
    fn found(change: impl FnOnce(&mut Vec<Told>, &mut QueueStatus, &mut DrawFacts, &mut Vec<u8>)) -> Vec<String> {
        let (fans, drawn) = (fans(), status());
        let (mut told, mut last, mut facts, mut list) = (told(), status(), facts(), list());
        change(&mut told, &mut last, &mut facts, &mut list);
        let (opening_us, max_shoppers) = (OPENING_US, 1);
        let visits = [Visit { from_us: 1, until_us: 5 }, Visit { from_us: 5, until_us: 9 }];
        let evidence = Evidence {
            performance: performance(),
            fans: &fans,
            told: &told,
            opening_us,
            drawn: &drawn,
            last: &last,
            facts: &facts,
            list: &list,
            visits: &visits,
            max_shoppers,
        };
        evidence.breaches()
    }

    fn tells(found: &[String], words: &str) -> bool {
        found.iter().any(|what| what.contains(words))
    }

    #[test]
    fn an_honest_sale_has_no_breach() {
        assert_eq!(found(|_, _, _, _| {}), Vec::<String>::new());
        let again = |told: &mut Vec<Told>| {
            let second = Told { first: false, sent_us: OPENING_US * 2, ..told[2].clone() };
            told.push(second);
        };
        assert_eq!(found(|told, _, _, _| again(told)), Vec::<String>::new());
    }

    #[test]
    fn numbers_that_move_or_are_given_twice_are_found() {
        let moved = found(|told, _, _, _| told.push(Told { first: false, arrival: 9, ..told[2].clone() }));
        assert!(tells(&moved, "was told arrival 2 and then 9"), "{moved:?}");
        let twice = found(|told, _, _, _| told[3].arrival = 2);
        assert!(tells(&twice, "arrival 2 was given to"), "{twice:?}");
    }

    #[test]
    fn who_comes_late_is_behind_the_lobby() {
        let early = found(|told, _, _, _| told[1].sent_us = OPENING_US + 2_000_000);
        assert!(tells(&early, "came after the opening and is arrival 1"), "{early:?}");
        let shut_out = found(|told, _, _, _| told[7].told_us = 1_000);
        assert!(tells(&shut_out, "was in the lobby as arrival 7"), "{shut_out:?}");
    }

    #[test]
    fn facts_that_do_not_fit_are_found() {
        let other = found(|_, _, facts, _| facts.seed = Some(hex::encode([8; 32])));
        assert!(tells(&other, "is the one that was committed to"), "{other:?}");
        let shorter = found(|_, _, _, list| list.truncate(32));
        assert!(tells(&shorter, "the arrival list has the published digest"), "{shorter:?}");
        let exchanged = found(|told, _, _, _| {
            let first = told[0].arrival;
            told[0].arrival = std::mem::replace(&mut told[1].arrival, first);
        });
        assert!(tells(&exchanged, "the arrival list names another"), "{exchanged:?}");
        let hidden = found(|_, _, facts, _| facts.seed = None);
        assert!(tells(&hidden, "not to be checked"), "{hidden:?}");
    }
}
