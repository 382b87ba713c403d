//! Choosing seats: the live map on a canvas, and the list that does the same without script.
//!
//! Owns the two pages, their server functions, the choice and the basket. The canvas itself is
//! [`crate::seatmap`]'s, geometry and the live reducer are `domain`'s; holding is decided by the server.

pub mod api;
pub mod basket;
pub mod canvas;
pub mod kept;
pub mod kept_api;
mod key;
pub mod list;
pub mod model;
pub mod newer;
pub mod page;
pub mod pick;
pub mod room;
pub mod words;

pub use list::SeatListPage;
pub use page::SeatMapPage;
