//! Parts that several pages share. A component here belongs to no feature and calls no use-case.

pub mod chrome;
pub mod countdown;
pub mod cover;
pub mod fees;
pub mod icon;
pub mod missing;
pub mod notice;
pub mod order_status;
pub mod phase;
pub mod raw_text;
pub mod refund;
pub mod seat_choice;
