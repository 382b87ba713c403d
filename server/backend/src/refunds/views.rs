//! Refunds as pages show them.

use crate::catalog::zoned;
use crate::error::Result;
use crate::postgres::orders::ItemRow;
use crate::postgres::refunds::RefundRow;
use domain::order::OrderItem;
use domain::refund::RefundStatus;
use domain::refund::view::RefundView;
use domain::{Currency, Money, OrderId, SeatNo};
use std::collections::HashMap;

/// What seats of orders are called.
pub(super) struct SeatNames(HashMap<(OrderId, SeatNo), String>);

impl SeatNames {
    /// Section, row and seat as the venue names them: in words of no language.
    pub(super) fn of(items: &[ItemRow]) -> Self {
        let name = |item: &ItemRow| {
            let parts = [&item.section, &item.row, &item.label];
            parts.into_iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" · ")
        };
        Self(items.iter().map(|item| ((item.order, item.seat), name(item))).collect())
    }

    fn name(&self, order: OrderId, seat: SeatNo) -> String {
        self.0.get(&(order, seat)).cloned().unwrap_or_else(|| seat.to_string())
    }
}

/// A refund, with its times as people in a zone read them.
pub(super) fn refund_view(row: &RefundRow, names: &SeatNames, zone: &str) -> Result<RefundView> {
    Ok(RefundView {
        id: row.id,
        order: row.order,
        status: row.status,
        cause: row.cause,
        amount: row.amount,
        seats: row.seats.iter().map(|seat| names.name(row.order, *seat)).collect(),
        asked: zoned(row.created, zone)?,
        note: row.note.clone(),
        failure: match row.status {
            RefundStatus::Failed => Some(row.failure.clone().unwrap_or_default()),
            _ => None,
        },
    })
}

/// An item of an order.
pub(crate) fn order_item(item: ItemRow, currency: Currency) -> OrderItem {
    OrderItem {
        seat: item.seat,
        section: item.section,
        row: item.row,
        label: item.label,
        category: item.category,
        price: Money::new(item.amount_minor, currency),
        given_back: item.given_back,
    }
}
