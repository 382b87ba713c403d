//! Typed identifiers: one macro, so that an account can never be passed for an order.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

macro_rules! typed_ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// The id as 32 hexadecimal digits, the form used in Redis keys and members.
            pub fn simple(self) -> String {
                self.0.simple().to_string()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    )+};
}

typed_ids! {
    /// A person who can sign in: a fan or a member of an organization.
    AccountId,
    /// One sign-in of an account on one device.
    SessionId,
    /// A promoter: owns plans, events and performances.
    OrganizationId,
    /// A published version of a venue layout.
    PlanId,
    /// What is played: carries one or more performances.
    EventId,
    /// One evening with its own seats, queue and sale.
    PerformanceId,
    /// An order, and the hold from which it was made: both carry the same id.
    OrderId,
    /// One try to pay an order at a provider.
    AttemptId,
    /// One way of money back to a fan.
    RefundId,
    /// A payment that its payer calls into question at the bank.
    DisputeId,
    /// Money that was transferred to an organization.
    PayoutId,
    /// Something that a provider's day and our records tell differently.
    DifferenceId,
    /// The right of entry to one seat of one performance.
    TicketId,
    /// An invoice or a credit note.
    DocumentId,
    /// A venue file between upload and acceptance.
    ImportId,
    /// Seats of one performance that are kept for somebody.
    AllocationId,
    /// A code that opens an allocation.
    AllocationCodeId,
    /// An address of an organization's own system that is told of events.
    EndpointId,
}

/// The dense number of a seat within its plan, from 0: the index of its byte in Redis, of its two
/// bits in a snapshot and of its columns in the static map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeatNo(pub u32);

impl fmt::Display for SeatNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Parses a comma-separated list of seat numbers, the form in which forms and scripts carry them.
///
/// # Errors
/// Returns the first part that is not a number from 0 to 2³²−1.
pub fn parse_seats(text: &str) -> Result<Vec<SeatNo>, String> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().map(SeatNo).map_err(|_| part.to_owned()))
        .collect()
}

/// The comma-separated form that [`parse_seats`] reads.
pub fn join_seats(seats: &[SeatNo]) -> String {
    seats.iter().map(|s| s.0.to_string()).collect::<Vec<_>>().join(",")
}
