//! Choosing seats: the live map on a canvas, and the list that does the same without script.
//!
//! Owns the two pages, their server functions and everything drawn on the map. Geometry, the
//! published map's format and the live reducer are `domain`'s; holding is decided by the server.

pub mod api;
pub mod basket;
pub mod board;
pub mod browser_only;
pub mod canvas;
pub mod chart;
pub mod gesture;
pub mod house;
mod key;
pub mod legend;
pub mod list;
pub mod model;
pub mod page;
pub mod paths;
pub mod render;
pub mod room;
pub mod socket;
pub mod stamps;
pub mod theme;
pub mod words;
pub mod zones;

pub use list::SeatListPage;
pub use page::SeatMapPage;
