//! The judgement over all journals: what fans were told must never contradict the invariants.
//!
//! Pure. Every check errs on the side of the server (times are cut short by whatever is in doubt), so
//! that a breach reported here is one. What only the stores can show is the server's own audit.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::hold::SeatState;
use domain::order::OrderStatus;
use domain::ticket::TicketCode;
use domain::{AccountId, PerformanceId};
use ed25519_dalek::VerifyingKey;

use super::journal::{Claim, Journal};

/// Most breaches of one kind that are spelled out; the rest is counted.
const SPELLED_OUT_MAX: usize = 20;

/// The facts against which journals are judged.
pub(super) struct Rules {
    pub(super) performance: PerformanceId,
    /// Seats of the performance.
    pub(super) seats: u32,
    /// Most shoppers behind the door; 0 when unknown.
    pub(super) max_shoppers: u32,
    /// Most seats of one account.
    pub(super) limit: u32,
    /// Stores were made to fail: leases may be lost then, but never doubled.
    pub(super) store_faults: bool,
    /// When the journals were closed.
    pub(super) now_us: u64,
    /// With it, the codes on tickets are verified as a door device does.
    pub(super) verify_key: Option<VerifyingKey>,
}

/// One fan's journal under its account.
pub(super) type Entry<'a> = (AccountId, &'a Journal);

/// Every breach, in sentences.
pub(super) fn breaches(rules: &Rules, entries: &[Entry<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for (account, journal) in entries {
        add(&mut found, journal.breaches.iter().map(|what| format!("account {account}: {what}")).collect());
    }
    add(&mut found, arrivals(entries));
    add(&mut found, double_owners(entries));
    add(&mut found, crowding(rules, entries));
    add(&mut found, quantities(rules, entries));
    add(&mut found, lost_orders(rules, entries));
    add(&mut found, tickets(rules, entries));
    found
}

/// Adds what was found, the first of it spelled out.
pub(super) fn add(found: &mut Vec<String>, mut more: Vec<String>) {
    let rest = more.len().saturating_sub(SPELLED_OUT_MAX);
    more.truncate(SPELLED_OUT_MAX);
    found.append(&mut more);
    if rest > 0 {
        found.push(format!("… and {rest} more of this kind"));
    }
}

/// I6: one place per account, and no place given twice.
fn arrivals(entries: &[Entry<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    let mut by_account: BTreeMap<AccountId, u32> = BTreeMap::new();
    let mut by_arrival: HashMap<u32, AccountId> = HashMap::new();
    for (account, journal) in entries {
        for arrival in &journal.arrivals {
            let first = *by_account.entry(*account).or_insert(*arrival);
            if first != *arrival {
                found.push(format!("I6: account {account} was told arrival {first} and then {arrival}"));
            }
            let owner = *by_arrival.entry(*arrival).or_insert(*account);
            if owner != *account {
                found.push(format!("I6: arrival {arrival} was given to {owner} and to {account}"));
            }
        }
    }
    found
}

/// I1: no two fans are told at the same time that they own one seat.
fn double_owners(entries: &[Entry<'_>]) -> Vec<String> {
    let mut by_seat: BTreeMap<u32, Vec<(u64, u64, AccountId, &Claim)>> = BTreeMap::new();
    for (account, journal) in entries {
        for claim in &journal.claims {
            for seat in &claim.seats {
                by_seat.entry(seat.0).or_default().push((claim.told_us, claim.owned_until_us(), *account, claim));
            }
        }
    }
    let mut found = Vec::new();
    for (seat, mut spans) in by_seat {
        spans.sort_unstable_by_key(|(from_us, ..)| *from_us);
        let mut longest: Option<(u64, AccountId, &Claim)> = None;
        for (from_us, until_us, account, claim) in spans {
            if let Some((end_us, owner, first)) = longest
                && from_us < end_us
                && from_us < until_us
                && first.order != claim.order
            {
                found.push(format!(
                    "I1: seat {seat} was told to {owner} (order {}) and at the same time to {account} (order {})",
                    first.order, claim.order
                ));
            }
            if longest.is_none_or(|(end_us, ..)| until_us > end_us) {
                longest = Some((until_us, account, claim));
            }
        }
    }
    found
}

/// The most spans that are open at one moment. A span that ends where another begins frees its place first.
pub(super) fn peak(spans: impl IntoIterator<Item = (u64, u64, u32)>) -> u64 {
    let mut steps: Vec<(u64, bool, u32)> = Vec::new();
    for (from_us, until_us, weight) in spans.into_iter().filter(|(from_us, until_us, _)| from_us < until_us) {
        steps.push((from_us, true, weight));
        steps.push((until_us, false, weight));
    }
    steps.sort_unstable();
    let (mut open, mut most) = (0u64, 0u64);
    for (_, begins, weight) in steps {
        open = if begins { open + u64::from(weight) } else { open.saturating_sub(u64::from(weight)) };
        most = most.max(open);
    }
    most
}

/// I5: nobody enters while as many shoppers as allowed are inside.
fn crowding(rules: &Rules, entries: &[Entry<'_>]) -> Vec<String> {
    let inside = peak(entries.iter().flat_map(|(_, journal)| &journal.visits).map(|v| (v.from_us, v.until_us, 1)));
    if rules.max_shoppers > 0 && inside > u64::from(rules.max_shoppers) {
        return vec![format!("I5: {inside} shoppers were inside at the same time, {} are allowed", rules.max_shoppers)];
    }
    Vec::new()
}

/// I4 and the limits, seen from outside: never more seats than there are, nor than one account may have.
fn quantities(rules: &Rules, entries: &[Entry<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    let span =
        |claim: &Claim| (claim.told_us, claim.owned_until_us(), u32::try_from(claim.seats.len()).unwrap_or(u32::MAX));
    let all = peak(entries.iter().flat_map(|(_, journal)| &journal.claims).map(span));
    if all > u64::from(rules.seats) {
        found.push(format!("I4: {all} seats were held or sold at the same time, there are {}", rules.seats));
    }
    for (account, journal) in entries {
        let own = peak(journal.claims.iter().map(span));
        if own > u64::from(rules.limit) {
            found.push(format!(
                "limit: account {account} had {own} seats at the same time, {} are allowed",
                rules.limit
            ));
        }
        for seat in journal.claims.iter().flat_map(|claim| &claim.seats).filter(|seat| seat.0 >= rules.seats) {
            found.push(format!("account {account} was given seat {seat}, which does not exist"));
        }
    }
    found
}

/// I1 and I2: an accepted hold stays until it is given back or runs out, and money becomes tickets.
fn lost_orders(rules: &Rules, entries: &[Entry<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for (account, journal) in entries {
        for claim in &journal.claims {
            if let Some(how) = lost_lease(rules, claim) {
                found.push(format!(
                    "I1: the hold of account {account} was accepted, and later {how} (order {})",
                    claim.order
                ));
            }
            if let Some(charged_us) = claim.charged_us
                && !matches!(
                    claim.status,
                    Some((
                        OrderStatus::Fulfilled | OrderStatus::Refunded | OrderStatus::Closed | OrderStatus::Refused,
                        _
                    ))
                )
            {
                let waited_s = rules.now_us.saturating_sub(charged_us) / 1_000_000;
                let status = claim.status.map_or("never read", |(status, _)| status.as_str());
                found.push(format!(
                    "I2: order {} of account {account} was paid {waited_s} s ago and has neither tickets nor a refund ({status})",
                    claim.order
                ));
            }
        }
    }
    found
}

fn lost_lease(rules: &Rules, claim: &Claim) -> Option<&'static str> {
    if rules.store_faults || claim.given_back_us.is_some() {
        return None;
    }
    match claim.status {
        Some((OrderStatus::Refused, _)) => Some("refused"),
        Some((OrderStatus::Closed, seen_us)) if seen_us < claim.expires_us => Some("closed before its time"),
        _ if claim.missing && rules.now_us < claim.expires_us => Some("not found"),
        _ => None,
    }
}

/// A ticket per seat, each with a code of its own that the door accepts.
fn tickets(rules: &Rules, entries: &[Entry<'_>]) -> Vec<String> {
    let (mut found, mut codes) = (Vec::new(), HashSet::new());
    for (account, journal) in entries {
        for claim in journal.claims.iter().filter(|claim| matches!(claim.status, Some((OrderStatus::Fulfilled, _)))) {
            let mut ticketed: Vec<_> = claim.tickets.iter().map(|ticket| ticket.seat).collect();
            let mut seats = claim.seats.clone();
            ticketed.sort_unstable();
            seats.sort_unstable();
            if ticketed != seats {
                found.push(format!("order {} of account {account} has other tickets than seats", claim.order));
            }
            for ticket in &claim.tickets {
                if !codes.insert(ticket.code.as_str()) {
                    found.push(format!("ticket {} of account {account} carries the code of another", ticket.id));
                }
                let Some(key) = &rules.verify_key else { continue };
                match TicketCode::verify(&ticket.code, rules.performance, key) {
                    Ok(code) if code.ticket == ticket.id && code.seat == ticket.seat => {}
                    Ok(_) => found.push(format!("the code of ticket {} names another ticket or seat", ticket.id)),
                    Err(why) => found.push(format!("the code of ticket {} is refused at the door: {why}", ticket.id)),
                }
            }
        }
    }
    found
}

/// I4, seen from outside: the seats with tickets that a map does not show as sold.
pub(super) fn unsold(states: &[SeatState], entries: &[Entry<'_>]) -> Vec<String> {
    let fulfilled = |claim: &&Claim| matches!(claim.status, Some((OrderStatus::Fulfilled, _)));
    let mut found = Vec::new();
    for claim in entries.iter().flat_map(|(_, journal)| &journal.claims).filter(fulfilled) {
        for seat in &claim.seats {
            let state = states.get(seat.0 as usize);
            if state != Some(&SeatState::Sold) {
                found
                    .push(format!("I4: seat {seat} has a ticket (order {}), and the map shows {state:?}", claim.order));
            }
        }
    }
    let mut short = Vec::new();
    add(&mut short, found);
    short
}

#[cfg(test)]
mod tests {
    use super::super::journal::Visit;
    use super::*;
    use domain::order::TicketView;
    use domain::{OrderId, SeatNo, TicketId};
    use ed25519_dalek::SigningKey;
    use uuid::Uuid;

    fn rules() -> Rules {
        Rules {
            performance: PerformanceId(Uuid::from_u128(1)),
            seats: 100,
            max_shoppers: 2,
            limit: 4,
            store_faults: false,
            now_us: 5_000,
            verify_key: None,
        }
    }

    fn account(n: u128) -> AccountId {
        AccountId(Uuid::from_u128(n))
    }

    fn claim(order: u128, seats: &[u32], told_us: u64, expires_us: u64) -> Claim {
        let seats = seats.iter().copied().map(SeatNo).collect();
        Claim::new(OrderId(Uuid::from_u128(order)), seats, told_us.saturating_sub(1), told_us, expires_us)
    }

    fn judge(rules: &Rules, claims: Vec<Vec<Claim>>) -> Vec<String> {
        let journals: Vec<Journal> =
            claims.into_iter().map(|claims| Journal { claims, ..Journal::default() }).collect();
        let entries: Vec<Entry<'_>> = journals.iter().enumerate().map(|(i, j)| (account(i as u128), j)).collect();
        breaches(rules, &entries)
    }

    #[test]
    fn two_owners_at_one_time_are_a_breach() {
        let found = judge(&rules(), vec![vec![claim(1, &[7, 8], 10, 100)], vec![claim(2, &[8, 9], 99, 200)]]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("I1: seat 8 "), "{found:?}");
    }

    #[test]
    fn a_seat_sold_to_two_is_a_breach_however_far_apart() {
        let sold = |order, told_us| {
            let mut claim = claim(order, &[7], told_us, told_us + 50);
            claim.note(OrderStatus::Paid, told_us + 1);
            claim
        };
        let found = judge(&rules(), vec![vec![sold(1, 10)], vec![sold(2, 4_000)]]);
        assert!(found.iter().any(|what| what.starts_with("I1: seat 7 ")), "{found:?}");
    }

    #[test]
    fn one_owner_after_the_other_is_no_breach() {
        let back = Claim { given_back_us: Some(50), ..claim(1, &[7], 10, 100) };
        let found = judge(&rules(), vec![vec![back], vec![claim(2, &[7], 51, 200)], vec![claim(3, &[7], 200, 300)]]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn a_short_second_owner_under_a_long_first_is_found() {
        let found = judge(
            &rules(),
            vec![vec![claim(1, &[7], 10, 1_000)], vec![claim(2, &[7], 20, 30)], vec![claim(3, &[7], 500, 600)]],
        );
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn an_accepted_hold_may_not_be_lost_before_its_time() {
        let lost = |status, seen_us| {
            let mut claim = claim(1, &[7], 10, 9_000);
            claim.note(status, seen_us);
            claim
        };
        assert_eq!(judge(&rules(), vec![vec![lost(OrderStatus::Refused, 500)]]).len(), 1);
        assert_eq!(judge(&rules(), vec![vec![lost(OrderStatus::Closed, 500)]]).len(), 1);
        assert_eq!(judge(&rules(), vec![vec![lost(OrderStatus::Closed, 9_001)]]).len(), 0);
        assert_eq!(judge(&rules(), vec![vec![Claim { missing: true, ..claim(1, &[7], 10, 9_000) }]]).len(), 1);
        let faulty = Rules { store_faults: true, ..rules() };
        assert_eq!(judge(&faulty, vec![vec![lost(OrderStatus::Refused, 500)]]).len(), 0);
    }

    #[test]
    fn money_without_tickets_is_a_breach() {
        let mut paid = Claim { charged_us: Some(1_000), ..claim(1, &[7], 10, 9_000) };
        paid.note(OrderStatus::Paid, 2_000);
        let found = judge(&rules(), vec![vec![paid]]);
        assert!(found.len() == 1 && found[0].starts_with("I2: "), "{found:?}");
    }

    #[test]
    fn crowds_limits_and_strange_seats_are_breaches() {
        let visit = |from_us, until_us| Journal { visits: vec![Visit { from_us, until_us }], ..Journal::default() };
        let (a, b, c, d) = (visit(0, 10), visit(5, 20), visit(10, 30), visit(9, 12));
        let judge_visits = |list: &[&Journal]| {
            let entries: Vec<Entry<'_>> = list.iter().enumerate().map(|(i, j)| (account(i as u128), *j)).collect();
            breaches(&rules(), &entries)
        };
        assert_eq!(judge_visits(&[&a, &b, &c]), Vec::<String>::new());
        assert!(judge_visits(&[&a, &b, &d])[0].starts_with("I5: 3 "));
        assert!(judge(&rules(), vec![vec![claim(1, &[1, 2, 3, 4, 5], 1, 100)]])[0].starts_with("limit: "));
        assert_eq!(judge(&rules(), vec![vec![claim(1, &[100], 1, 100)]]).len(), 1);
    }

    #[test]
    fn arrivals_are_stable_and_unique() {
        let told = |list: &[u32]| Journal { arrivals: list.to_vec(), ..Journal::default() };
        let (a, b, c) = (told(&[1, 1]), told(&[2]), told(&[2, 3]));
        assert!(arrivals(&[(account(1), &a), (account(2), &b)]).is_empty());
        assert_eq!(arrivals(&[(account(1), &b), (account(2), &c)]).len(), 2);
    }

    #[test]
    fn tickets_fit_their_seats_and_pass_the_door() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let rules = Rules { verify_key: Some(key.verifying_key()), ..rules() };
        let ticket = |seat: u32, performance| {
            let (id, seat) = (TicketId(Uuid::from_u128(u128::from(seat))), SeatNo(seat));
            let code = TicketCode { key_id: 0, performance, ticket: id, seat, issue: 0 }.sign(&key);
            TicketView { id, seat, code, frozen: false, holder: None, transfer: None }
        };
        let sold = |tickets: Vec<TicketView>| {
            let mut claim = Claim { tickets, ..claim(1, &[7, 8], 10, 100) };
            claim.note(OrderStatus::Fulfilled, 20);
            vec![vec![claim]]
        };
        let here = rules.performance;
        assert_eq!(judge(&rules, sold(vec![ticket(8, here), ticket(7, here)])), Vec::<String>::new());
        assert_eq!(judge(&rules, sold(vec![ticket(8, here)])).len(), 1);
        let elsewhere = PerformanceId(Uuid::from_u128(2));
        assert_eq!(judge(&rules, sold(vec![ticket(8, here), ticket(7, elsewhere)])).len(), 1);
        let twice = vec![ticket(7, here), TicketView { seat: SeatNo(8), ..ticket(7, here) }];
        assert_eq!(judge(&rules, sold(twice)).len(), 2);
    }

    #[test]
    fn a_seat_with_a_ticket_is_sold_on_the_map() {
        let mut sold = claim(1, &[0, 1], 10, 100);
        sold.note(OrderStatus::Fulfilled, 20);
        let journal = Journal { claims: vec![sold, claim(2, &[2], 10, 100)], ..Journal::default() };
        let entries = [(account(1), &journal)];
        assert!(unsold(&[SeatState::Sold, SeatState::Sold, SeatState::Held], &entries).is_empty());
        assert_eq!(unsold(&[SeatState::Sold, SeatState::Held], &entries).len(), 1);
    }
}
