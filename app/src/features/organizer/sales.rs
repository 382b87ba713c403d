//! Events, performances in the making, and prices.

mod allocations;
mod allocations_api;
mod api;
mod draft;
mod event;
mod events;
mod names;
mod prices;
mod prices_api;
mod published;
mod replan;
mod replan_api;

pub use allocations::AllocationsPage;
pub use draft::DraftPage;
pub use event::EventPage;
pub use events::EventsPage;
pub use prices::PricesPage;
pub use replan::ReplanPage;
