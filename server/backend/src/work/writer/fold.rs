//! Log entries as values, and what a batch of them comes to. Pure: it knows no store.
//!
//! An entry that does not say what its kind must say is malformed: it is set aside with its evidence,
//! never guessed at.

use crate::postgres::log as rows;
use crate::redis::LogEntry;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// What one entry does to the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Seats became an order.
    Hold { id: Uuid, account: Uuid, seats: Vec<i32>, price_version: i32, created: i64, expires: i64 },
    /// A visit began.
    Enter { account: Uuid, nonce: String, entered: i64, expires: i64 },
    /// A visit ended.
    Left { account: Uuid },
    /// Nothing but the holds that it ended.
    None,
}

/// The reason of an entry by which an account gave its hold back.
const GIVEN_BACK: &str = "cancel";

/// One entry, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Understood {
    /// Holds that ended, in order.
    pub(super) ended: Vec<Uuid>,
    /// They ended by the will of their account.
    pub(super) given_back: bool,
    pub(super) effect: Effect,
}

/// Reads an entry strictly.
///
/// # Errors
/// Names the field that is missing or can't be read.
pub(super) fn understand(entry: &LogEntry) -> Result<Understood, String> {
    let wrong = |name: &str| format!("field `{name}` is missing or can't be read");
    let id = |name: &str| Uuid::parse_str(entry.field(name)).map_err(|_| wrong(name));
    let number = |name: &str| entry.field(name).parse::<i64>().map_err(|_| wrong(name));
    let effect = match entry.field("t") {
        "hold" => {
            let seats: Result<Vec<i32>, _> = entry.field("s").split(',').map(str::parse::<i32>).collect();
            let seats = seats.ok().filter(|seats| seats.iter().all(|seat| *seat >= 0)).ok_or_else(|| wrong("s"))?;
            Effect::Hold {
                id: id("h")?,
                account: id("a")?,
                seats,
                price_version: entry.field("v").parse().map_err(|_| wrong("v"))?,
                created: number("c")?,
                expires: number("x")?,
            }
        }
        "enter" if entry.field("n").is_empty() => return Err(wrong("n")),
        "enter" => Effect::Enter {
            account: id("a")?,
            nonce: entry.field("n").to_owned(),
            entered: number("c")?,
            expires: number("x")?,
        },
        "sold" | "leave" => Effect::Left { account: id("a")? },
        "end" | "block" | "allocate" | "mend" | "rebuilt" => Effect::None,
        other => return Err(format!("`{other}` is no kind of entry")),
    };
    let ended = ended(entry).ok_or_else(|| wrong("e"))?;
    Ok(Understood { ended, given_back: gives_back(entry), effect })
}

/// The holds that an entry ended; none when the list can't be read.
pub(super) fn ended(entry: &LogEntry) -> Option<Vec<Uuid>> {
    entry.field("e").split(',').filter(|id| !id.is_empty()).map(|id| Uuid::parse_str(id).ok()).collect()
}

/// Whether the holds that an entry ended were given back by their account.
pub(super) fn gives_back(entry: &LogEntry) -> bool {
    entry.field("t") == "end" && entry.field("r") == GIVEN_BACK
}

/// What a batch of entries comes to.
#[derive(Debug, Default)]
pub(super) struct Folded {
    pub(super) ended: Vec<Uuid>,
    /// Those of them that their accounts gave back.
    pub(super) given_back: Vec<Uuid>,
    pub(super) orders: rows::NewOrders,
    pub(super) entered: HashMap<Uuid, (String, i64, i64)>,
    pub(super) left: HashSet<Uuid>,
}

/// Folds entries in their order: a hold that ended within the batch never claims its seats.
pub(super) fn fold(entries: impl IntoIterator<Item = Understood>) -> Folded {
    let mut folded = Folded::default();
    let mut index: HashMap<Uuid, usize> = HashMap::new();
    for entry in entries {
        for ended in entry.ended {
            folded.ended.push(ended);
            if entry.given_back {
                folded.given_back.push(ended);
            }
            if let Some(at) = index.get(&ended) {
                folded.orders.open[*at] = false;
            }
        }
        match entry.effect {
            Effect::Hold { id, account, seats, price_version, created, expires } => {
                index.insert(id, folded.orders.ids.len());
                let orders = &mut folded.orders;
                orders.ids.push(id);
                orders.accounts.push(account);
                orders.open.push(true);
                orders.price_versions.push(price_version);
                orders.created.push(created);
                orders.expires.push(expires);
                orders.item_orders.extend(std::iter::repeat_n(id, seats.len()));
                orders.item_seats.extend(seats);
            }
            Effect::Enter { account, nonce, entered, expires } => {
                folded.left.remove(&account);
                folded.entered.insert(account, (nonce, entered, expires));
            }
            Effect::Left { account } => {
                folded.left.insert(account);
            }
            Effect::None => {}
        }
    }
    folded.ended.sort_unstable();
    folded.ended.dedup();
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(fields: &[(&str, &str)]) -> LogEntry {
        LogEntry::new("1-0", fields)
    }

    const HOLD: &str = "00000000000000000000000000000001";
    const OTHER: &str = "00000000000000000000000000000002";
    const ACCOUNT: &str = "00000000000000000000000000000009";

    fn hold<'a>(id: &'a str, ends: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![("t", "hold"), ("h", id), ("a", ACCOUNT), ("s", "3,4"), ("v", "1"), ("c", "5"), ("x", "9"), ("e", ends)]
    }

    #[test]
    fn a_seat_that_is_released_and_held_again_within_a_batch_is_claimed_once() {
        let entries = [hold(HOLD, ""), vec![("t", "end"), ("h", HOLD), ("e", HOLD)], hold(OTHER, "")];
        let folded = fold(entries.iter().map(|fields| understand(&entry(fields)).unwrap()));
        assert_eq!(folded.orders.open, [false, true]);
        assert_eq!(folded.orders.item_seats, [3, 4, 3, 4]);
        assert_eq!(folded.ended, [Uuid::parse_str(HOLD).unwrap()]);
    }

    #[test]
    fn only_what_an_account_gave_back_is_told_as_that() {
        let end = |id, reason| vec![("t", "end"), ("h", id), ("e", id), ("r", reason)];
        let entries = [end(HOLD, "cancel"), end(OTHER, "closed"), end(OTHER, "refund")];
        let folded = fold(entries.iter().map(|fields| understand(&entry(fields)).unwrap()));
        assert_eq!(folded.given_back, [Uuid::parse_str(HOLD).unwrap()]);
        assert_eq!(folded.ended.len(), 2);
    }

    #[test]
    fn an_entry_that_does_not_say_what_it_must_is_not_guessed_at() {
        assert!(understand(&entry(&hold(HOLD, OTHER))).is_ok());
        for name in ["h", "a", "s", "v", "c", "x"] {
            for bad in ["", "nonsense", "3,,4", "-1"] {
                let mut fields = hold(HOLD, "");
                fields.iter_mut().filter(|(field, _)| *field == name).for_each(|(_, value)| *value = bad);
                // Instants may be negative; nothing else may.
                let fine = bad == "-1" && matches!(name, "c" | "x" | "v");
                assert_eq!(understand(&entry(&fields)).is_ok(), fine, "{name} = {bad:?}");
            }
        }
        assert!(understand(&entry(&[("t", "end"), ("e", "nonsense")])).is_err());
        assert!(understand(&entry(&[("t", "surprise"), ("e", "")])).is_err());
        assert!(understand(&entry(&[("t", "enter"), ("a", ACCOUNT), ("c", "1"), ("x", "2")])).is_err());
        assert!(understand(&entry(&[])).is_err());
    }
}
