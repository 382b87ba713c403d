//! Where an order and its tries to pay stand, in words: the same for its owner and for who helps.

use crate::i18n::{Locale, td_string};
use domain::order::{AttemptStatus, OrderStatus};

/// The status in the reader's language.
pub fn status_text(lang: Locale, status: OrderStatus) -> &'static str {
    match status {
        OrderStatus::PendingPayment => td_string!(lang, orders.status_pending),
        OrderStatus::PaymentProcessing => td_string!(lang, orders.status_processing),
        OrderStatus::Paid => td_string!(lang, orders.status_paid),
        OrderStatus::Fulfilled => td_string!(lang, orders.status_fulfilled),
        OrderStatus::Refunded => td_string!(lang, orders.status_refunded),
        OrderStatus::Closed => td_string!(lang, orders.status_closed),
        OrderStatus::Refused => td_string!(lang, orders.status_refused),
    }
}

/// Where a try to pay stands.
pub fn attempt_text(lang: Locale, status: AttemptStatus) -> &'static str {
    match status {
        AttemptStatus::Created => td_string!(lang, search.attempt_created),
        AttemptStatus::Open => td_string!(lang, search.attempt_open),
        AttemptStatus::Authorized => td_string!(lang, search.attempt_authorized),
        AttemptStatus::Captured => td_string!(lang, search.attempt_captured),
        AttemptStatus::Canceled => td_string!(lang, search.attempt_canceled),
        AttemptStatus::Refunded => td_string!(lang, search.attempt_refunded),
    }
}
