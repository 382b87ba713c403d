//! What the checklist tells of drafts that lack something.

use super::*;
use crate::ids::{PlanId, SeatNo};
use crate::organizer::draft::{Blocked, Zone};
use crate::venue::import::House;
use uuid::Uuid;

const NOW: Millis = Millis(1_000_000);

fn facts() -> PlanFacts {
    PlanFacts {
        categories: vec!["Floor".into(), "Tier".into()],
        seat_categories: vec![0, 0, 1, 1, 1],
        house: House::default(),
    }
}

fn ready() -> Draft {
    let mut draft = Draft {
        starts: Some(NOW.plus(10_000)),
        opens: Some(NOW.plus(1_000)),
        closes: Some(NOW.plus(10_000)),
        currency: "EUR".parse().ok(),
        ..Draft::default()
    };
    draft.choose_plan(PlanId(Uuid::nil()), &facts());
    for zone in &mut draft.zones {
        zone.price_minor = Some(4_500);
    }
    draft
}

fn found(draft: &Draft, item: Item) -> (State, Detail) {
    let check = draft.checklist(Some(&facts()), NOW).into_iter().find(|check| check.item == item).unwrap();
    (check.state, check.detail)
}

#[test]
fn a_complete_draft_lacks_nothing() {
    let checks = ready().checklist(Some(&facts()), NOW);
    assert!(checks.iter().all(|check| check.state == State::Ok), "{checks:?}");
    assert_eq!(missing(&checks), "");
}

#[test]
fn a_new_draft_is_told_all_that_it_lacks_at_once() {
    let sentence = missing(&Draft::default().checklist(None, NOW));
    for item in ["plan", "starts", "opens", "closes", "currency", "prices"] {
        assert!(sentence.contains(&format!("{item}: not set")), "{item}: {sentence}");
    }
}

#[test]
fn times_that_contradict_each_other_are_refused_and_unlikely_ones_told() {
    use State::{Missing, Warning};
    let with = |starts: i64, opens: i64, closes: i64| Draft {
        starts: Some(NOW.plus(starts)),
        opens: Some(NOW.plus(opens)),
        closes: Some(NOW.plus(closes)),
        ..ready()
    };
    assert_eq!(found(&with(9, 5, 5), Item::Closes), (Missing, Detail::ClosesBeforeOpening));
    assert_eq!(found(&with(9, 5, 4), Item::Closes), (Missing, Detail::ClosesBeforeOpening));
    assert_eq!(found(&with(9, 5, 10), Item::Closes), (Warning, Detail::ClosesAfterStart));
    assert_eq!(found(&with(9, -9, -5), Item::Closes), (Missing, Detail::Past));
    assert_eq!(found(&with(0, 5, 9), Item::Starts), (Missing, Detail::Past));
    assert_eq!(found(&with(9, 0, 9), Item::Opens), (Warning, Detail::OpensAtOnce));
    assert_eq!(found(&with(9, 9, 12), Item::Opens), (Warning, Detail::OpensAfterStart));
}

#[test]
fn registration_and_cut_off_lie_before_the_opening_and_are_listed_only_when_chosen() {
    let listed = |draft: &Draft, item| draft.checklist(Some(&facts()), NOW).iter().any(|check| check.item == item);
    for item in [Item::Registers, Item::AccountCutoff, Item::Window] {
        assert!(!listed(&ready(), item), "{item:?} was left open");
    }
    let at = |ms: i64| Some(NOW.plus(ms));
    let registers = |ms| found(&Draft { registers: at(ms), ..ready() }, Item::Registers);
    assert_eq!(registers(-5), (State::Ok, Detail::Fine));
    assert_eq!(registers(999), (State::Ok, Detail::Fine));
    assert_eq!(registers(1_000), (State::Missing, Detail::RegistersAtOpening));
    let cutoff = |ms| found(&Draft { account_cutoff: at(ms), ..ready() }, Item::AccountCutoff);
    assert_eq!(cutoff(1_000), (State::Ok, Detail::Fine));
    assert_eq!(cutoff(1_001), (State::Missing, Detail::CutoffAfterOpening));
}

#[test]
fn a_lottery_opens_later_and_sells_for_one_window_at_least() {
    let lottery =
        |opens: i64, window_ms| Draft { mode: Mode::Lottery, opens: Some(NOW.plus(opens)), window_ms, ..ready() };
    assert_eq!(found(&lottery(1_000, 9_000), Item::Window), (State::Ok, Detail::Fine));
    assert_eq!(found(&lottery(1_000, 9_001), Item::Window), (State::Missing, Detail::NoWholeWindow));
    assert_eq!(found(&lottery(0, 1_000), Item::Opens), (State::Missing, Detail::NobodyRegisters));
    let queue = Draft { window_ms: 9_001, ..ready() };
    assert_eq!(missing(&queue.checklist(Some(&facts()), NOW)), "", "a queue has no windows");
}

#[test]
fn every_seat_for_sale_has_a_price_and_those_without_are_counted_by_zone() {
    let mut draft = ready();
    draft.zones[1].price_minor = None;
    draft.zones.push(Zone { name: "Front".into(), color: None, price_minor: None, seats: vec![SeatNo(0)] });
    let lacking = Detail::Unpriced(vec![("Tier".into(), 3), ("Front".into(), 1)]);
    assert_eq!(lacking.to_string(), "seats for sale without a price: Tier (3), Front (1)");
    assert_eq!(found(&draft, Item::Prices), (State::Missing, lacking));
    // What is blocked is not for sale, and needs no price.
    draft.blocked.push(Blocked { reason: "press".into(), seats: [0, 2, 3, 4].map(SeatNo).to_vec() });
    assert_eq!(found(&draft, Item::Prices), (State::Ok, Detail::Fine));
    draft.blocked.push(Blocked { reason: "rain".into(), seats: vec![SeatNo(1)] });
    assert_eq!(found(&draft, Item::Prices), (State::Missing, Detail::NothingForSale));
    for price in [0, -1, PRICE_MAX_MINOR + 1] {
        let mut draft = ready();
        draft.zones[0].price_minor = Some(price);
        assert_eq!(found(&draft, Item::Prices).1, Detail::PriceOutOfRange("Floor".into()));
    }
}

#[test]
fn zones_and_blocks_stay_within_the_plan() {
    let front = |seats: &[u32]| Zone {
        name: "Front".into(),
        color: None,
        price_minor: Some(1),
        seats: seats.iter().copied().map(SeatNo).collect(),
    };
    let with = |zones: &[Zone]| {
        let mut draft = ready();
        draft.zones.extend_from_slice(zones);
        found(&draft, Item::Zones).1
    };
    assert_eq!(with(&[front(&[0]), front(&[1])]), Detail::Fine);
    assert_eq!(with(&[front(&[0]), front(&[0, 1])]), Detail::SeatsTwice(1));
    assert_eq!(with(&[front(&[5])]), Detail::SeatsOutside(1));
    let mut draft = ready();
    draft.zones.pop();
    assert_eq!(found(&draft, Item::Zones).1, Detail::ZonesUnfit);
}

#[test]
fn numbers_have_their_ranges_and_the_currency_is_a_real_one() {
    let checks = [
        (Item::SeatLimit, Draft { seat_limit: 0, ..ready() }),
        (Item::SeatLimit, Draft { seat_limit: 21, ..ready() }),
        (Item::HoldTime, Draft { hold_ttl_ms: 999, ..ready() }),
        (Item::HoldTime, Draft { hold_ttl_ms: HOLD_TTL_MAX_MS + 1, ..ready() }),
        (Item::Window, Draft { window_ms: WINDOW_MIN_MS - 1, ..ready() }),
        (Item::Window, Draft { window_ms: WINDOW_MAX_MS + 1, ..ready() }),
        (Item::Shoppers, Draft { shoppers_max: 0, ..ready() }),
        (Item::Release, Draft { release_per_min: 0, ..ready() }),
        (Item::Currency, Draft { currency: "XAU".parse().ok(), ..ready() }),
    ];
    for (item, draft) in checks {
        assert_eq!(found(&draft, item).0, State::Missing, "{item:?}");
    }
}
