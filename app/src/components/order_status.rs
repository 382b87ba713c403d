//! Where an order stands, in words: the same for its owner and for who helps.

use crate::i18n::{Locale, td_string};
use domain::order::OrderStatus;

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
