//! Holds: the lease on a set of seats that becomes an order.

use crate::ids::{AccountId, OrderId, PerformanceId, SeatNo};
use crate::money::Money;
use crate::refusal::{Code, Refusal};
use crate::time::Millis;
use crate::venue::best::Seating;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Most seats in one request, whatever the limit of the sale: bounds the work of one script.
pub const SEATS_PER_HOLD_MAX: usize = 20;
/// Longest idempotency key, in bytes.
pub const KEY_MAX_BYTES: usize = 64;

/// The state of one seat: the value of its byte in Redis and of its two bits in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum SeatState {
    /// Can be held.
    Available = 0,
    /// In somebody's hold.
    Held = 1,
    /// Sold.
    Sold = 2,
    /// Not for sale.
    Blocked = 3,
}

impl SeatState {
    /// The state of a byte; anything unknown counts as blocked, the safe side.
    pub fn from_byte(byte: u8) -> Self {
        match byte & 3 {
            0 => Self::Available,
            1 => Self::Held,
            2 => Self::Sold,
            _ => Self::Blocked,
        }
    }
}

/// Allocations of one performance at a time: their number has six bits of a seat's byte.
pub const ALLOCATIONS_MAX: u8 = 63;

/// A seat's byte in the hot state: its state in the low two bits, the number of the allocation that it
/// is kept in (0 for none) in the upper six.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeatByte(pub u8);

impl SeatByte {
    /// A seat in a state and an allocation (0 for none; numbers above [`ALLOCATIONS_MAX`] don't exist).
    pub fn new(state: SeatState, allocation: u8) -> Self {
        Self((allocation.min(ALLOCATIONS_MAX) << 2) | state as u8)
    }

    /// The state.
    pub fn state(self) -> SeatState {
        SeatState::from_byte(self.0)
    }

    /// The number of its allocation, 0 for none.
    pub fn allocation(self) -> u8 {
        self.0 >> 2
    }

    /// Whether anybody may hold it now.
    pub fn on_general_sale(self) -> bool {
        self.0 == SeatState::Available as u8
    }

    /// What everybody is shown: a seat that is kept for somebody looks like one that is not for sale.
    pub fn shown(self) -> SeatState {
        match self.state() {
            SeatState::Available if self.allocation() != 0 => SeatState::Blocked,
            state => state,
        }
    }
}

/// The id of a hold, and of its order: derived from account, performance and idempotency key, so
/// that the same request always means the same hold, on whichever process it arrives.
pub fn hold_id(account: AccountId, performance: PerformanceId, key: &str) -> OrderId {
    let mut hash = Sha256::new();
    hash.update(b"stararena hold 1");
    hash.update(account.0.as_bytes());
    hash.update(performance.0.as_bytes());
    hash.update(key.as_bytes());
    let bytes: [u8; 32] = hash.finalize().into();
    let mut id = [0u8; 16];
    id.copy_from_slice(&bytes[..16]);
    // RFC 9562, version 8: a UUID of the application's own making.
    OrderId(uuid::Builder::from_custom_bytes(id).into_uuid())
}

/// Places to be drawn from one standing area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AreaWish {
    /// The area: the number of its row object in the plan.
    pub area: u32,
    /// How many places.
    pub count: u32,
}

/// What a fan asks for: seats by number, and places of areas by count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldWish {
    /// Seats, in any order.
    pub seats: Vec<SeatNo>,
    /// Areas to draw from, in any order.
    pub areas: Vec<AreaWish>,
}

impl From<Vec<SeatNo>> for HoldWish {
    fn from(seats: Vec<SeatNo>) -> Self {
        Self { seats, areas: Vec::new() }
    }
}

/// Reads `area:count` parts, separated by commas.
///
/// # Errors
/// Returns the first part that is not of that form.
pub fn parse_areas(text: &str) -> Result<Vec<AreaWish>, String> {
    let wish = |part: &str| {
        let (area, count) = part.split_once(':')?;
        Some(AreaWish { area: area.trim().parse().ok()?, count: count.trim().parse().ok()? })
    };
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| wish(part).ok_or_else(|| part.to_owned()))
        .collect()
}

/// The comma-separated form that [`parse_areas`] reads.
pub fn join_areas(areas: &[AreaWish]) -> String {
    areas.iter().map(|wish| format!("{}:{}", wish.area, wish.count)).collect::<Vec<_>>().join(",")
}

/// The number fields of a form, by area: empty fields and zeros want nothing.
///
/// # Errors
/// Returns the first field that names no area or has no number.
pub fn typed_areas(fields: &BTreeMap<String, String>) -> Result<Vec<AreaWish>, String> {
    let mut areas = Vec::new();
    for (field, typed) in fields {
        let (area, typed) = (field.parse::<u32>().map_err(|_| field.clone())?, typed.trim());
        let count = if typed.is_empty() { 0 } else { typed.parse::<u32>().map_err(|_| field.clone())? };
        if count > 0 {
            areas.push(AreaWish { area, count });
        }
    }
    Ok(areas)
}

/// A checked request for seats: sorted, without repetition, within bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldRequest {
    /// The seats, ascending.
    pub seats: Vec<SeatNo>,
    /// The areas, ascending.
    pub areas: Vec<AreaWish>,
    /// The client's idempotency key.
    pub key: String,
}

/// Checks a client's idempotency key.
///
/// # Errors
/// `invalid_input`.
pub fn check_key(key: &str) -> Result<(), Refusal> {
    if key.is_empty() || key.len() > KEY_MAX_BYTES || !key.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Refusal::new(
            Code::InvalidInput,
            format!("key: 1 to {KEY_MAX_BYTES} printable ASCII characters are expected"),
        ));
    }
    Ok(())
}

impl HoldRequest {
    /// Checks seats, areas and key.
    ///
    /// # Errors
    /// `invalid_input` names the field; `limit_exceeded` when more places than `limit` are asked for.
    pub fn new(wish: impl Into<HoldWish>, key: &str, limit: u32) -> Result<Self, Refusal> {
        let invalid = |message: String| Err(Refusal::new(Code::InvalidInput, message));
        check_key(key)?;
        let HoldWish { mut seats, mut areas } = wish.into();
        seats.sort_unstable();
        areas.sort_unstable_by_key(|wish| wish.area);
        if seats.is_empty() && areas.is_empty() {
            return invalid("seats: at least one seat is expected".to_owned());
        }
        if let Some(pair) = seats.windows(2).find(|pair| pair[0] == pair[1]) {
            return invalid(format!("seats: seat {} is named twice", pair[0]));
        }
        if let Some(pair) = areas.windows(2).find(|pair| pair[0].area == pair[1].area) {
            return invalid(format!("areas: area {} is named twice", pair[0].area));
        }
        if let Some(wish) = areas.iter().find(|wish| wish.count == 0) {
            return invalid(format!("areas: at least one place is expected in area {}", wish.area));
        }
        let places = areas.iter().fold(seats.len() as u64, |sum, wish| sum + u64::from(wish.count));
        if places > SEATS_PER_HOLD_MAX as u64 || places > u64::from(limit) {
            return Err(over_limit(limit));
        }
        Ok(Self { seats, areas, key: key.to_owned() })
    }

    /// The wish in its normal form: a repeated call must have the same.
    pub fn wish(&self) -> String {
        let seats = crate::ids::join_seats(&self.seats);
        self.areas.iter().fold(seats, |text, wish| format!("{text}+{}x{}", wish.area, wish.count))
    }
}

/// The refusal of more seats than one account may have.
#[must_use]
pub fn over_limit(limit: u32) -> Refusal {
    Refusal::new(Code::LimitExceeded, format!("at most {limit} seats can be bought by one account"))
}

/// Where a hold stands in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldState {
    /// Leased; may be given back, taken over after its expiry, or paid.
    Held,
    /// A payment runs: ends only when its order does.
    Paying,
    /// Being ended by the sweeper: can't be paid any more.
    Closing,
    /// Sold.
    Sold,
    /// Ended; kept for a day, so that a repeated request is told so.
    Closed,
}

/// The answer to a hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Hold and order.
    pub order: OrderId,
    /// The seats.
    pub seats: Vec<SeatNo>,
    /// When the lease ends.
    pub expires: Millis,
    /// What the order will cost.
    pub total: Money,
}

/// The answer to a wish: the hold, and how its seats lie to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picked {
    /// The hold.
    pub held: Held,
    /// For the words that tell it.
    pub seating: Seating,
}

/// The longest a hold can live: its time, one deadline of the provider and the grace after it.
pub fn hold_cap_ms(hold_ttl_ms: i64, provider_deadline_ms: i64, grace_ms: i64) -> i64 {
    hold_ttl_ms.saturating_add(provider_deadline_ms).saturating_add(grace_ms)
}

/// A nil id for places where the stores need one and there is none (an ended list, a blocked seat).
pub const NO_ORDER: OrderId = OrderId(Uuid::nil());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_request_is_the_same_hold_and_any_other_is_not() {
        let (a, b) = (AccountId(Uuid::from_u128(1)), AccountId(Uuid::from_u128(2)));
        let (p, q) = (PerformanceId(Uuid::from_u128(3)), PerformanceId(Uuid::from_u128(4)));
        assert_eq!(hold_id(a, p, "k"), hold_id(a, p, "k"));
        for other in [hold_id(b, p, "k"), hold_id(a, q, "k"), hold_id(a, p, "l")] {
            assert_ne!(hold_id(a, p, "k"), other);
        }
    }

    #[test]
    fn forged_quantities_are_refused() {
        let seats = |list: &[u32]| list.iter().copied().map(SeatNo).collect::<Vec<_>>();
        assert_eq!(HoldRequest::new(seats(&[3, 1]), "k", 4).unwrap().seats, seats(&[1, 3]));
        assert_eq!(HoldRequest::new(seats(&[]), "k", 4).unwrap_err().code, Code::InvalidInput);
        assert_eq!(HoldRequest::new(seats(&[1, 1]), "k", 4).unwrap_err().code, Code::InvalidInput);
        assert_eq!(HoldRequest::new(seats(&[1, 2, 3]), "k", 2).unwrap_err().code, Code::LimitExceeded);
        assert_eq!(HoldRequest::new(seats(&[1]), "", 2).unwrap_err().code, Code::InvalidInput);
        assert_eq!(HoldRequest::new(seats(&[1]), "a b", 2).unwrap_err().code, Code::InvalidInput);
    }

    #[test]
    fn places_of_areas_count_as_seats_and_have_one_normal_form() {
        let wish = |areas: &[(u32, u32)]| HoldWish {
            seats: vec![SeatNo(7)],
            areas: areas.iter().map(|(area, count)| AreaWish { area: *area, count: *count }).collect(),
        };
        let a = HoldRequest::new(wish(&[(9, 1), (2, 2)]), "k", 4).unwrap();
        let b = HoldRequest::new(wish(&[(2, 2), (9, 1)]), "k", 4).unwrap();
        assert_eq!((a.wish(), a.wish()), (b.wish(), "7+2x2+9x1".to_owned()));
        assert_eq!(HoldRequest::new(wish(&[(2, 4)]), "k", 4).unwrap_err().code, Code::LimitExceeded);
        assert_eq!(
            HoldRequest::new(wish(&[(2, u32::MAX), (3, u32::MAX)]), "k", 4).unwrap_err().code,
            Code::LimitExceeded
        );
        assert_eq!(HoldRequest::new(wish(&[(2, 0)]), "k", 4).unwrap_err().code, Code::InvalidInput);
        assert_eq!(HoldRequest::new(wish(&[(2, 1), (2, 1)]), "k", 4).unwrap_err().code, Code::InvalidInput);
    }

    #[test]
    fn areas_are_read_as_they_are_written_and_anything_else_is_named() {
        let areas = vec![AreaWish { area: 12, count: 2 }, AreaWish { area: 3, count: 1 }];
        assert_eq!(join_areas(&areas), "12:2,3:1");
        assert_eq!(parse_areas("12:2, 3:1,"), Ok(areas));
        assert_eq!(parse_areas(""), Ok(Vec::new()));
        for wrong in ["12", "12:", ":2", "12:-1", "12:1.5", "x:1", "12:2:3"] {
            assert_eq!(parse_areas(&format!("1:1,{wrong}")), Err(wrong.to_owned()));
        }
        let field = |area: &str, count: &str| (area.to_owned(), count.to_owned());
        let typed = typed_areas(&[field("12", " 2 "), field("3", ""), field("4", "0")].into());
        assert_eq!(typed, Ok(vec![AreaWish { area: 12, count: 2 }]));
        for wrong in [field("x", "1"), field("12", "two"), field("12", "-1"), field("12", "99999999999")] {
            assert_eq!(typed_areas(&[wrong.clone()].into()), Err(wrong.0));
        }
    }

    #[test]
    fn a_byte_carries_state_and_allocation_and_shows_what_is_kept_as_not_for_sale() {
        for allocation in 0..=ALLOCATIONS_MAX {
            for state in [SeatState::Available, SeatState::Held, SeatState::Sold, SeatState::Blocked] {
                let byte = SeatByte::new(state, allocation);
                assert_eq!((byte.state(), byte.allocation()), (state, allocation));
                let kept = allocation != 0 && state == SeatState::Available;
                assert_eq!(byte.shown(), if kept { SeatState::Blocked } else { state });
                assert_eq!(byte.on_general_sale(), allocation == 0 && state == SeatState::Available);
            }
        }
    }

    #[test]
    fn the_cap_is_time_deadline_and_grace() {
        assert_eq!(hold_cap_ms(900_000, 600_000, 30_000), 1_530_000);
    }
}
