//! Venue plans: upload, check, choices, acceptance, list, export.

mod accept;
pub mod api;
mod findings;
mod import;
mod list;
mod options;
mod outline;
mod plan;
mod said;

pub use import::ImportPage;
pub use list::PlansPage;
pub use plan::PlanPage;
pub(super) use said::SaidInFull;
