//! One module a feature. Features never import each other: what two of them need is a component, or
//! belongs to `domain`.

pub mod account;
pub mod draw;
pub mod event;
pub mod home;
pub mod orders;
pub mod organizer;
pub mod queue;
pub mod seats;
