//! The rules of StarArena and the types that travel between browser, server and stores.
//!
//! Everything here is a function of its arguments: there is no I/O, no clock and no source of
//! randomness. `now`, ids and seeds come in as values, so that every rule can be tested by itself
//! and runs unchanged in the browser and on the server.
//!
//! **Architecture invariant:** this crate depends on no runtime, no store and no web framework.

pub mod account;
pub mod allocation;
pub mod catalog;
pub mod dispute;
pub mod document;
pub mod hold;
pub mod idempotency;
pub mod ids;
pub mod ledger;
pub mod live;
pub mod money;
pub mod order;
pub mod organizer;
pub mod queue;
pub mod refund;
pub mod refusal;
pub mod settlement;
pub mod ticket;
pub mod time;
pub mod token;
pub mod venue;

pub use ids::{
    AccountId, AllocationCodeId, AllocationId, AttemptId, DifferenceId, DisputeId, DocumentId, EndpointId, EventId,
    ImportId, OrderId, OrganizationId, PayoutId, PerformanceId, PlanId, RefundId, SeatNo, SessionId, TicketId,
};
pub use money::{Currency, Money};
pub use refusal::{Code, Refusal};
pub use time::{Millis, ZonedTime};
