//! Money on its way back: asked for by fans and staff, decided by rules and people, sent by a job.
//!
//! The amount is reserved in the transaction that asks, under a lock of its attempt ([`asking`]); the provider is
//! called afterwards, under the refund's own key ([`calling`]), as often as it takes ([`settling`]). With the approval the seats
//! are taken back in Postgres: tickets, items, claims; Redis is told by a job ([`returning`]). Locks are taken in
//! one order, attempt before order, so that no two of these steps wait for each other.

pub(crate) mod asking;
mod calling;
mod cancelling;
mod fan;
mod importing;
mod returning;
mod settling;
mod staff;
mod terms;
mod views;

pub(crate) use asking::NewRefund;
pub(crate) use views::order_item;

/// Longest note beside a refund, in characters.
const NOTE_MAX_CHARS: usize = 500;
