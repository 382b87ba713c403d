//! What a search text means, by its form: an order, an address, a ticket, or a ticket's code.

use crate::ids::{OrderId, TicketId};
use crate::ticket::TicketCode;
use crate::time::Millis;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// Longest search text: twice the longest ticket code, with room for spaces.
pub const TEXT_MAX_BYTES: usize = 400;
/// Fewest digits of an order's id: with less, half of an address looks like one.
pub const ID_PREFIX_MIN_DIGITS: usize = 8;
/// Fewest characters of an address: with less, everybody is found.
pub const EMAIL_PREFIX_MIN_CHARS: usize = 3;
/// Digits of a whole id.
const ID_DIGITS: usize = 32;

/// What a text may mean. All of them are looked for; a text of eight hexadecimal digits may begin an
/// order's id and an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// First and last id of a range of orders.
    pub orders: Option<(OrderId, OrderId)>,
    /// Beginning of an address, in lower case as addresses are stored.
    pub email: Option<String>,
    /// A ticket.
    pub ticket: Option<TicketId>,
}

impl Wanted {
    /// Reads a search text. A code's signature is not verified: the code only says where to look.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.is_empty() || text.len() > TEXT_MAX_BYTES {
            return Self::default();
        }
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        if let Some(code) = TicketCode::read(&compact.to_ascii_uppercase()) {
            return Self { ticket: Some(code.ticket), ..Self::default() };
        }
        let (orders, ticket) = ids(text);
        Self { orders, ticket, email: email(text) }
    }

    /// Whether the text has no form that is searched for.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The range of orders that begin so; for a whole id also the ticket of that id.
fn ids(text: &str) -> (Option<(OrderId, OrderId)>, Option<TicketId>) {
    let digits: String = text.trim_start_matches('#').chars().filter(|c| *c != '-').collect();
    if !(ID_PREFIX_MIN_DIGITS..=ID_DIGITS).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return (None, None);
    }
    let filled = |fill: char| {
        let rest = ID_DIGITS - digits.len();
        Uuid::parse_str(&format!("{digits}{}", fill.to_string().repeat(rest))).ok()
    };
    let orders = filled('0').zip(filled('f')).map(|(first, last)| (OrderId(first), OrderId(last)));
    let ticket = orders.filter(|(first, last)| first == last).map(|(id, _)| TicketId(id.0));
    (orders, ticket)
}

fn email(text: &str) -> Option<String> {
    let fits = text.chars().count() >= EMAIL_PREFIX_MIN_CHARS
        && text.len() <= crate::account::EMAIL_MAX_BYTES
        && text.matches('@').count() <= 1
        && !text.chars().any(|c| c.is_whitespace() || c.is_control());
    fits.then(|| text.to_lowercase())
}

/// Where a page of orders ended: the next one begins after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// When the last order was made.
    pub created: Millis,
    /// The last order.
    pub id: OrderId,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.created.0, self.id.simple())
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (created, id) = text.split_once('.').ok_or(())?;
        Ok(Self { created: Millis(created.parse().map_err(|_| ())?), id: id.parse().map_err(|_| ())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{PerformanceId, SeatNo};
    use ed25519_dalek::SigningKey;
    use proptest::prelude::*;

    const ID: &str = "3f2a9c01-7b44-8e10-9d2c-0123456789ab";

    fn order(text: &str) -> OrderId {
        text.parse().unwrap()
    }

    #[test]
    fn a_whole_id_may_be_an_order_or_a_ticket_in_any_spelling() {
        for text in [ID, &ID.to_uppercase(), &ID.replace('-', ""), &format!("  {ID}\n"), &format!("#{ID}")] {
            let wanted = Wanted::parse(text);
            assert_eq!(wanted.orders, Some((order(ID), order(ID))), "{text}");
            assert_eq!(wanted.ticket, Some(TicketId(order(ID).0)), "{text}");
        }
    }

    #[test]
    fn eight_digits_or_more_begin_an_order_and_less_do_not() {
        let range =
            Some((order("3f2a9c01-0000-0000-0000-000000000000"), order("3f2a9c01-ffff-ffff-ffff-ffffffffffff")));
        assert_eq!(Wanted::parse("3f2a9c01").orders, range);
        assert_eq!(Wanted::parse("3F2A9C01-").orders, range);
        let longer = Wanted::parse("3f2a9c01-7b4").orders.unwrap();
        assert_eq!(longer.0, order("3f2a9c01-7b40-0000-0000-000000000000"));
        assert_eq!(Wanted::parse("3f2a9c01").ticket, None);
        assert_eq!(Wanted::parse("3f2a9c0").orders, None);
        assert_eq!(Wanted::parse(&"a".repeat(33)).orders, None);
        assert_eq!(Wanted::parse("3f2a9c01x").orders, None);
    }

    #[test]
    fn addresses_are_found_by_their_beginning_in_any_case() {
        assert_eq!(Wanted::parse(" Ana@Example.ORG ").email.as_deref(), Some("ana@example.org"));
        assert_eq!(Wanted::parse("ana").email.as_deref(), Some("ana"));
        assert_eq!(Wanted::parse("deadbeef").email.as_deref(), Some("deadbeef"), "both forms are looked for");
        for text in ["an", "a b c", "a@b@c", "", "  ", "ana\u{0}"] {
            assert!(Wanted::parse(text).is_nothing(), "{text:?}");
        }
    }

    #[test]
    fn a_tickets_code_leads_to_its_ticket_and_to_nothing_else() {
        let ticket = TicketId(Uuid::from_u128(9));
        let code =
            TicketCode { key_id: 1, performance: PerformanceId(Uuid::from_u128(7)), ticket, seat: SeatNo(3), issue: 0 };
        let text = code.sign(&SigningKey::from_bytes(&[3; 32]));
        let spaced = format!("{} {}", &text[..40], &text[40..]).to_lowercase();
        for text in [text.as_str(), &spaced] {
            assert_eq!(Wanted::parse(text), Wanted { ticket: Some(ticket), ..Wanted::default() });
        }
        assert_eq!(Wanted::parse(&text[..text.len() - 2]).ticket, None);
    }

    #[test]
    fn a_cursor_survives_its_address() {
        let cursor = Cursor { created: Millis(1_796_497_200_123), id: order(ID) };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for bad in ["", ".", "1", "1.x", "x.3f2a9c017b448e109d2c0123456789ab", "99999999999999999999.3f2a"] {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "\\PC{0,500}") {
            let wanted = Wanted::parse(&text);
            prop_assert!(wanted.email.is_none_or(|email| email.chars().count() >= 1));
        }
    }
}
