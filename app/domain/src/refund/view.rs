//! Refunds as pages show them.

use super::policy::{RefundPolicy, Tier};
use super::{Approval, ApprovalRule, Cause, RefundStatus};
use crate::ids::{OrderId, PerformanceId, RefundId, SeatNo};
use crate::money::Money;
use crate::order::OrderItem;
use crate::time::{Millis, ZonedTime};
use serde::{Deserialize, Serialize};

/// A seat of an order, and what comes back for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnableSeat {
    /// The seat and its price.
    pub item: OrderItem,
    /// What comes back when this seat alone is given back now; none where it can't be.
    pub returns: Option<Money>,
    /// Whether it was given back, or is about to be.
    pub given_back: bool,
}

/// What a fan may give back of an order, and what became of what was given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundOffer {
    /// The order.
    pub order: OrderId,
    /// Its seats.
    pub seats: Vec<ReturnableSeat>,
    /// Until when seats can be given back, at the venue; none: never.
    pub until: Option<ZonedTime>,
    /// What is kept, by days left; empty: nothing is kept.
    pub tiers: Vec<Tier>,
    /// Whether the service fee of a ticket comes back with it.
    pub returns_service_fee: bool,
    /// Why nothing can be given back now; none while something can.
    pub refused: Option<Refused>,
    /// Refunds so far, the newest first.
    pub refunds: Vec<RefundView>,
}

/// Why nothing can be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// The performance's policy knows no giving back.
    Never,
    /// The time for it has ended.
    TooLate,
    /// The order is not paid, or all of it was given back.
    NothingLeft,
    /// The payment was disputed at the bank: the bank decides, or has decided for the fan.
    Disputed,
    /// The performance was cancelled: all that is left comes back by itself.
    Cancelled,
    /// The policy keeps all of the tickets by now.
    AllKept,
}

/// What a choice of seats comes to, before it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundQuote {
    /// The order.
    pub order: OrderId,
    /// The seats, ascending.
    pub seats: Vec<SeatNo>,
    /// What comes back.
    pub returns: Money,
    /// What of the prices and fees of these seats is kept.
    pub kept: Money,
    /// Who must agree.
    pub approval: Approval,
}

/// A refund.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundView {
    /// The refund.
    pub id: RefundId,
    /// Its order.
    pub order: OrderId,
    /// Where it stands.
    pub status: RefundStatus,
    /// Why money goes back.
    pub cause: Cause,
    /// How much.
    pub amount: Money,
    /// The seats that are given back by it, in words such as `Block A · Row 3 · Seat 7`.
    pub seats: Vec<String>,
    /// When it was asked for, at the venue.
    pub asked: ZonedTime,
    /// What was written beside it: by who asked, or who turned it down.
    pub note: String,
    /// Why it failed, as the provider says; none while it did not.
    pub failure: Option<String>,
}

/// A refund in the list of the staff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaffRefund {
    /// The refund.
    pub refund: RefundView,
    /// Address of the order's account.
    pub email: String,
    /// Who plays.
    pub artist: String,
    /// Name of the event.
    pub event: String,
    /// When the performance begins, at the venue.
    pub starts: ZonedTime,
    /// Address of who asked; none when the fan did, or a rule.
    pub asked_by: Option<String>,
    /// Whether whoever reads this may decide it.
    pub may_decide: bool,
    /// Whether it failed and can be tried again.
    pub may_retry: bool,
}

/// What the list of the staff is narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundFilter {
    /// Of this status only.
    pub status: Option<RefundStatus>,
    /// Of this performance only.
    pub performance: Option<PerformanceId>,
    /// Those asked for before this one only: the next page.
    pub before: Option<RefundId>,
}

/// A page of refunds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundList {
    /// Refunds, the newest first.
    pub refunds: Vec<StaffRefund>,
    /// Where the next page begins, when there is one.
    pub next: Option<RefundId>,
    /// How many wait for a decision, in all.
    pub waiting: u32,
    /// How many failed and were not tried again, in all.
    pub failed: u32,
    /// The organization's rule.
    pub rule: ApprovalRule,
}

/// The terms of a performance, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerformanceTerms {
    /// The performance.
    pub performance: PerformanceId,
    /// Who plays.
    pub artist: String,
    /// Name of the event: typed once more by who cancels.
    pub event: String,
    /// When it begins, at the venue.
    pub starts: ZonedTime,
    /// What fans may give back.
    pub policy: RefundPolicy,
    /// Whether seats that are given back are sold again.
    pub resells: bool,
    /// Version of the policy, for a change that must not overwrite another.
    pub version: i32,
    /// Orders with money that is not given back.
    pub paid_orders: u32,
    /// Their money.
    pub paid: Money,
    /// The batch, once it was cancelled.
    pub batch: Option<BatchView>,
}

/// How far a cancelled performance is refunded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchView {
    /// When it was cancelled.
    pub cancelled: Millis,
    /// Address of who cancelled it; none for the command line.
    pub by: Option<String>,
    /// Orders to be refunded; grows when money arrives later.
    pub orders: u32,
    /// Orders whose refund was reserved.
    pub reserved: u32,
    /// Refunds on their way.
    pub pending: u32,
    /// Refunds that succeeded.
    pub succeeded: u32,
    /// Refunds that failed and wait to be tried again.
    pub failed: u32,
    /// What went back.
    pub returned: Money,
    /// Whether nothing is left to do.
    pub done: bool,
}
