//! All input and output of StarArena: Postgres, Redis, payment providers and mail, and the
//! use-cases on top of them as methods of one [`Backend`].
//!
//! **Architecture invariants:** this crate names no web framework; only this crate writes SQL or
//! Redis keys; a decision that can be a function of values lives in `domain` and is called here.

mod accounts;
mod allocations;
mod audit;
mod backend;
mod beacon;
pub mod bench;
mod best;
mod catalog;
mod clock;
mod config;
mod documents;
pub mod embedded;
mod error;
mod holds;
mod idempotency;
mod live;
mod load;
mod mail;
mod organizer;
mod pay;
mod payment;
mod postgres;
mod pulse;
mod queue;
mod redis;
mod refunds;
mod seeding;
mod settlement;
#[cfg(test)]
mod simulation;
mod tickets;
mod webhooks;
mod work;

pub use self::redis::StoreFinding;
pub use accounts::{Client, SignedIn};
pub use audit::{Breach, Check, Finding, Scope, checks as audit_checks};
pub use backend::{Backend, FAULT_POINTS};
pub use beacon::use_tls;
pub use clock::{Clock, ManualClock, SystemClock};
pub use config::{
    BeaconSettings, Config, ConfigError, DeliverySettings, Environment, LiveSettings, PspSettings, QueueSettings,
    SmtpSettings, SmtpTls, StripeSettings, TicketKey,
};
pub use error::{Error, Result, chain};
pub use idempotency::{KeptAnswer, Keyed, Lease};
pub use live::{Feed, StatusText};
pub use load::Load;
pub use organizer::{Member, NewPerformance, OrderSearch, PICTURE_MAX_BYTES, PlanFile, SetAsideMoney, StoredPlan};
pub use payment::{
    DisputeState, NewPayment, Notice, PaymentProvider, ProviderDispute, ProviderError, ProviderPayment, ProviderRefund,
    ProviderState,
};
pub use queue::ArrivalList;
pub use seeding::{Demo, FanLogin};
pub use settlement::{DayMatched, MatchState, OpenDifference, day_text, read_day};
pub use tickets::{Examined, Papers, Revocations};
pub use webhooks::{
    EndpointId, EndpointStatus, NewEndpoint, WebhookAttempt, WebhookDelivery, WebhookEndpoint, WebhookEvent,
};
pub use work::{Reconciled, Setback, Workers};
