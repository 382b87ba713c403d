//! What an organizer does. Every use-case of a member begins with [`Backend::member`], which checks
//! role and organization, and ends with an audit row in the transaction of its change.

mod access;
mod allocations;
mod blocking;
mod desk;
mod disputes;
mod drafts;
mod events;
mod fees;
mod imports;
mod making;
mod members;
mod money;
mod names;
mod payouts;
mod pictures;
mod pricing;
mod publishing;
mod replanning;
mod search;
mod settings;
mod storing;
mod story;
mod venue_time;

pub use access::Member;
pub(crate) use desk::Desks;
pub use disputes::SetAsideMoney;
pub use imports::PlanFile;
pub use making::{NewPerformance, StoredPlan};
pub use pictures::PICTURE_MAX_BYTES;
pub(crate) use replanning::ticket_words;
pub use search::OrderSearch;
pub(crate) use storing::plan_of;
