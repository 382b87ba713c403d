//! The organizer's pages: plans, events, prices, the on-sale desk, orders, refunds, members.
//!
//! What the member's role doesn't allow isn't offered; the use-cases refuse it in any case.

mod desk;
mod disputes;
mod documents;
mod fees;
mod frame;
mod members;
mod money;
mod payouts;
mod plans;
mod reconciliation;
mod refunds;
mod sales;
mod search;
mod settings;

pub use desk::DeskPage;
pub use disputes::DisputesPage;
pub use documents::DetailsPage;
pub use fees::FeesPage;
pub use members::{AuditPage, JoinPage, MembersPage};
pub use money::MoneyPage;
pub use payouts::PayoutsPage;
pub use plans::{ImportPage, PlanPage, PlansPage};
pub use reconciliation::ReconciliationPage;
pub use refunds::{OrderRefundPage, RefundsPage, TermsPage};
pub use sales::{AllocationsPage, DraftPage, EventPage, EventsPage, PricesPage, ReplanPage};
pub use search::{OrderPage, OrdersPage};
pub use settings::{SettingsPage, WebhookPage};
