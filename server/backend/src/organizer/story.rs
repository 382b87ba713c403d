//! One order told in full, as those need it who must explain it to a fan.

use super::members::audit_row;
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Result, not_found};
use crate::pay::charges_of;
use crate::postgres::story as rows;
use crate::postgres::{audit_log, detached, disputes, one_snapshot, orders};
use crate::refunds::order_item;
use domain::account::Session;
use domain::money::summary::Summary;
use domain::order::OrderItem;
use domain::organizer::Action;
use domain::organizer::search::{
    OrderStory, SetAside, StoryAttempt, StoryHead, StoryMail, StoryRefund, StoryStep, StoryTicket, StoryWebhook,
};
use domain::{Millis, Money, OrderId, OrganizationId, SeatNo, ZonedTime};
use serde_json::Value;
use sqlx::PgConnection;
use std::collections::HashMap;
use std::sync::Arc;

/// Most rows of one kind: more than any order has that nobody plays with.
const ROWS_MAX: i64 = 200;
/// Most webhooks: each carries its body.
const WEBHOOKS_MAX: usize = 60;
/// Most bytes of one body or one piece of evidence, indented.
const JSON_MAX_BYTES: usize = 8 * 1024;
/// What is shown of a ticket's code: these many characters of its beginning, and of its end.
const CODE_SHOWN_CHARS: (usize, usize) = (6, 4);

impl Backend {
    /// One order of the organization, with all that happened to it, as of one moment.
    ///
    /// # Errors
    /// `not_found`, also for another organization's order; `forbidden`.
    pub async fn order_story(self: &Arc<Self>, session: &Session, id: OrderId) -> Result<OrderStory> {
        let member = self.member(session, Action::ReadOrders).await?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            one_snapshot(&mut tx).await?;
            let story = tell(&mut tx, member.organization, id).await?;
            tx.commit().await?;
            Ok(story)
        })
        .await
    }
}

async fn tell(db: &mut PgConnection, organization: OrganizationId, id: OrderId) -> Result<OrderStory> {
    let Some(head) = rows::head(&mut *db, organization, id).await? else { return not_found("order") };
    let zone = head.time_zone.clone();
    let items: Vec<OrderItem> =
        orders::items(&mut *db, &[id.0]).await?.into_iter().map(|item| order_item(item, head.currency)).collect();
    let charges = charges_of(&mut *db, id, head.currency).await?;
    let attempts = rows::attempts(&mut *db, id).await?;
    let ids: Vec<String> = attempts.iter().map(|attempt| attempt.id.to_string()).collect();
    let told = rows::webhooks(&mut *db, &ids, i64::try_from(WEBHOOKS_MAX + 1).unwrap_or(i64::MAX)).await?;
    let refunds = rows::refunds(&mut *db, id, ROWS_MAX).await?;
    let issued = rows::tickets(&mut *db, id, ROWS_MAX).await?;
    let of_ticket = |ticket: &rows::TicketRow| {
        ["ticket-replaced", "ticket-received", "ticket-ended"].map(|kind| format!("{kind}:{}", ticket.id))
    };
    let mut keys = mail_keys(id, &ids, &refunds);
    keys.extend(issued.iter().flat_map(of_ticket));
    for (dispute, _) in disputes::of_order(&mut *db, id).await? {
        keys.extend(["frozen", "restored", "revoked"].map(|word| format!("dispute-{word}:{dispute}")));
    }
    let notes = audit_log::about(&mut *db, organization, &format!("order {id}"), ROWS_MAX).await?;
    Ok(OrderStory {
        steps: steps(rows::steps(&mut *db, id, ROWS_MAX).await?, &zone)?,
        tickets: tickets(issued, &items, &zone)?,
        set_aside: set_aside(rows::set_aside(&mut *db, id, ROWS_MAX).await?, &zone)?,
        mails: mails(rows::mails(&mut *db, &keys).await?, &zone)?,
        notes: notes.into_iter().map(|row| audit_row(row, &zone)).collect::<Result<_>>()?,
        attempts: attempts.into_iter().map(|row| attempt(row, &zone)).collect::<Result<_>>()?,
        webhooks_left_out: told.len() > WEBHOOKS_MAX,
        webhooks: told.into_iter().take(WEBHOOKS_MAX).map(|row| webhook(row, &zone)).collect::<Result<_>>()?,
        refunds: refunds.into_iter().map(|row| refund(row, &zone)).collect::<Result<_>>()?,
        head: story_head(head, charges)?,
        items,
    })
}

/// The keys of all mails about an order, its attempts and its refunds.
fn mail_keys(id: OrderId, attempts: &[String], refunds: &[rows::RefundRow]) -> Vec<String> {
    let of_refund = |refund: &rows::RefundRow| {
        ["refund-asked", "refund-decided", "refund-done"].map(|kind| format!("{kind}:{}", refund.id))
    };
    [format!("tickets:{id}"), format!("cancelled:{id}")]
        .into_iter()
        .chain(attempts.iter().map(|id| format!("refund:{id}")))
        .chain(refunds.iter().flat_map(of_refund))
        .collect()
}

fn at(time: Option<Millis>, zone: &str) -> Result<Option<ZonedTime>> {
    time.map(|time| zoned(time, zone)).transpose()
}

fn story_head(row: rows::HeadRow, charges: Option<Summary>) -> Result<StoryHead> {
    let zone = row.time_zone.as_str();
    Ok(StoryHead {
        id: row.id,
        status: row.status,
        role: row.role,
        performance: row.performance,
        starts: zoned(row.starts, zone)?,
        charges,
        total: Money::new(row.total_minor, row.currency),
        created: zoned(row.created, zone)?,
        expires: zoned(row.expires, zone)?,
        paid: at(row.paid, zone)?,
        confirmed: at(row.confirmed, zone)?,
        released: at(row.released, zone)?,
        email: row.email,
        artist: row.artist,
        event: row.event,
        venue: row.venue,
    })
}

fn steps(list: Vec<rows::StepRow>, zone: &str) -> Result<Vec<StoryStep>> {
    list.into_iter()
        .map(|row| Ok(StoryStep { event: row.event, from: row.from, to: row.to, at: zoned(row.at, zone)? }))
        .collect()
}

fn attempt(row: rows::AttemptRow, zone: &str) -> Result<StoryAttempt> {
    Ok(StoryAttempt {
        id: row.id,
        number: row.number,
        status: row.status,
        provider: row.provider,
        reference: row.reference,
        amount: Money::new(row.amount_minor, row.currency),
        last_error: row.last_error,
        queries: row.queries,
        created: zoned(row.created, zone)?,
        deadline: zoned(row.deadline, zone)?,
        next_query: at(row.status.is_open().then_some(row.next_query), zone)?,
    })
}

fn webhook(row: rows::WebhookRow, zone: &str) -> Result<StoryWebhook> {
    Ok(StoryWebhook {
        provider: row.provider,
        event: row.event,
        kind: row.body["type"].as_str().unwrap_or("?").chars().take(80).collect(),
        received: zoned(row.received, zone)?,
        applied: at(row.applied, zone)?,
        tries: row.tries,
        error: row.error,
        body: indented(&row.body),
    })
}

fn refund(row: rows::RefundRow, zone: &str) -> Result<StoryRefund> {
    Ok(StoryRefund {
        attempt: row.attempt,
        amount: Money::new(row.amount_minor, row.currency),
        reason: row.reason,
        status: row.status,
        reference: row.reference,
        tries: row.tries,
        created: zoned(row.created, zone)?,
    })
}

fn set_aside(list: Vec<rows::SetAsideRow>, zone: &str) -> Result<Vec<SetAside>> {
    list.into_iter()
        .map(|row| {
            Ok(SetAside {
                evidence: indented(&row.evidence),
                reference: row.reference,
                reason: row.reason,
                created: zoned(row.created, zone)?,
                resolved: at(row.resolved, zone)?,
            })
        })
        .collect()
}

fn tickets(list: Vec<rows::TicketRow>, items: &[OrderItem], zone: &str) -> Result<Vec<StoryTicket>> {
    let names: HashMap<SeatNo, &OrderItem> = items.iter().map(|item| (item.seat, item)).collect();
    list.into_iter()
        .map(|row| {
            let seat = names
                .get(&row.seat)
                .map(|item| (item.section.clone(), item.row.clone(), item.label.clone()))
                .unwrap_or_default();
            Ok(StoryTicket {
                id: row.id,
                seat,
                issue: row.issue,
                code: masked(&row.code),
                created: zoned(row.created, zone)?,
                revoked: at(row.revoked, zone)?,
                reason: row.reason,
                frozen: row.frozen,
                holder: row.holder,
            })
        })
        .collect()
}

fn mails(list: Vec<rows::MailRow>, zone: &str) -> Result<Vec<StoryMail>> {
    list.into_iter()
        .map(|row| {
            Ok(StoryMail {
                kind: row.dedupe.split(':').next().unwrap_or_default().to_owned(),
                to: row.to,
                subject: row.subject,
                tries: row.tries,
                created: zoned(row.created, zone)?,
                sent: at(row.sent, zone)?,
            })
        })
        .collect()
}

/// Beginning and end of a code: enough to compare with a picture, nothing to enter with.
fn masked(code: &str) -> String {
    let (first, last) = CODE_SHOWN_CHARS;
    match (code.get(..first), code.len().checked_sub(last).and_then(|start| code.get(start..))) {
        (Some(start), Some(end)) if code.len() > 4 * (first + last) => format!("{start}…{end}"),
        _ => "…".to_owned(),
    }
}

fn indented(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    if text.len() > JSON_MAX_BYTES {
        let end = (0..=JSON_MAX_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_never_shown_in_full_and_a_body_never_without_end() {
        let code = "ABCDEFGHIJ".repeat(16);
        assert_eq!(masked(&code), "ABCDEF…GHIJ");
        for short in ["", "ABC", &code[..40], "座位座位座位座位座位座位座位座位座位座位"] {
            assert_eq!(masked(short), "…", "{short}");
        }
        let body = indented(&serde_json::json!({ "x": "座".repeat(JSON_MAX_BYTES) }));
        assert!(body.len() <= JSON_MAX_BYTES + '…'.len_utf8() && body.ends_with('…'));
    }
}
