//! The organizer's pages: plans, events, prices, the on-sale desk, orders, members.
//!
//! What the member's role doesn't allow isn't offered; the use-cases refuse it in any case.

mod desk;
mod frame;
mod members;
mod plans;
mod sales;
mod search;
mod settings;

pub use desk::DeskPage;
pub use members::{AuditPage, JoinPage, MembersPage};
pub use plans::{ImportPage, PlanPage, PlansPage};
pub use sales::{AllocationsPage, DraftPage, EventPage, EventsPage, PricesPage, ReplanPage};
pub use search::{OrderPage, OrdersPage};
pub use settings::{SettingsPage, WebhookPage};
