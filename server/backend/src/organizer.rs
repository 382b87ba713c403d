//! What an organizer does. Every use-case of a member begins with [`Backend::member`], which checks
//! role and organization, and ends with an audit row in the transaction of its change.

mod access;
mod blocking;
mod desk;
mod drafts;
mod events;
mod imports;
mod making;
mod members;
mod pricing;
mod search;

pub use access::Member;
pub use making::{NewEvent, NewPerformance, StoredPlan};
