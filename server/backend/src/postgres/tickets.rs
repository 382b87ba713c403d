//! Tickets. Whoever changes one locks its order first: so every change sees what the one before it did, and a
//! refund never misses a ticket that takes another's place at the same moment.

use super::catalog::bad;
use super::{orders, transfers};
use crate::mail;
use crate::organizer::ticket_words;
use domain::order::{OrderStatus, TicketView};
use domain::ticket::change::{TicketFacts, Transfer, TransferState, Verdict};
use domain::venue::SeatLabel;
use domain::{AccountId, Millis, OrderId, PerformanceId, SeatNo, TicketId};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row as _};
use uuid::Uuid;

/// Tickets to be written, in columns.
#[derive(Debug, Default)]
pub(crate) struct NewTickets {
    pub(crate) ids: Vec<uuid::Uuid>,
    pub(crate) orders: Vec<uuid::Uuid>,
    pub(crate) performances: Vec<uuid::Uuid>,
    pub(crate) seats: Vec<i32>,
    pub(crate) codes: Vec<String>,
}

/// Writes tickets. A second valid ticket for a seat is an error of the database, never a ticket.
pub(crate) async fn insert(db: &mut PgConnection, new: &NewTickets, now: Millis) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "insert into tickets (id, order_id, performance_id, seat_no, code, created_ms)
         select id, order_id, performance_id, seat_no, code, $6
         from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::text[]) as t (id, order_id, performance_id, seat_no, code)",
    )
    .bind(&new.ids)
    .bind(&new.orders)
    .bind(&new.performances)
    .bind(&new.seats)
    .bind(&new.codes)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

fn seat(row: &PgRow) -> sqlx::Result<SeatNo> {
    Ok(SeatNo(u32::try_from(row.try_get::<i32, _>("seat_no")?).map_err(|e| bad("seat_no", e))?))
}

/// The offer of a ticket that nobody has answered yet.
#[derive(Clone, Debug)]
pub(crate) struct PendingRow {
    pub(crate) id: Uuid,
    pub(crate) recipient: String,
    pub(crate) expires: Millis,
}

/// A ticket with what decides about it and what is printed on it.
#[derive(Clone, Debug)]
pub(crate) struct TicketRow {
    pub(crate) id: TicketId,
    pub(crate) order: OrderId,
    pub(crate) performance: PerformanceId,
    pub(crate) seat: SeatNo,
    pub(crate) section: String,
    pub(crate) row: String,
    pub(crate) label: String,
    pub(crate) category: String,
    pub(crate) issue: u8,
    pub(crate) code: String,
    /// Who bought it.
    pub(crate) buyer: AccountId,
    /// Whose it is.
    pub(crate) holder: AccountId,
    pub(crate) holder_email: String,
    pub(crate) holder_lang: String,
    /// The name on it.
    pub(crate) name: Option<String>,
    pub(crate) status: OrderStatus,
    pub(crate) revoked: bool,
    pub(crate) revoked_reason: Option<String>,
    pub(crate) frozen: bool,
    pub(crate) pending: Option<PendingRow>,
    /// To whom its buyer gave it, where that is so.
    pub(crate) given_to: Option<String>,
    pub(crate) reissues: i64,
    pub(crate) offers: i64,
    pub(crate) starts: Millis,
    pub(crate) name_cutoff_before_ms: Option<i64>,
}

impl TicketRow {
    /// What the rules decide on.
    pub(crate) fn facts(&self) -> TicketFacts {
        TicketFacts {
            order: self.status,
            revoked: self.revoked,
            frozen: self.frozen,
            offered: self.pending.as_ref().map(|pending| pending.expires),
            issue: self.issue,
            reissues: self.reissues,
            offers: self.offers,
            starts: self.starts,
            name_cutoff_before_ms: self.name_cutoff_before_ms,
        }
    }

    /// What a door says about it.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::of(self.revoked, self.frozen, self.pending.is_some())
    }

    /// The seat in words.
    pub(crate) fn words(&self, lang: &str) -> String {
        ticket_words(&SeatLabel { section: &self.section, row: &self.row, seat: &self.label }, lang)
    }

    /// To whom it is on its way or went, as an account may know it: a buyer learns to whom it was given, not whom
    /// those gave it to.
    pub(crate) fn transfer_for(&self, reader: AccountId) -> Option<Transfer> {
        if self.holder != reader {
            let state = TransferState::Gone;
            return Some(Transfer { state, to: self.given_to.clone().unwrap_or_default(), until: self.starts });
        }
        let pending = self.pending.as_ref()?;
        Some(Transfer { state: TransferState::Offered, to: pending.recipient.clone(), until: pending.expires })
    }

    /// As the buyer's order shows it.
    fn view(&self) -> TicketView {
        let own = self.holder == self.buyer;
        TicketView {
            id: self.id,
            seat: self.seat,
            code: if own { self.code.clone() } else { String::new() },
            frozen: self.frozen,
            holder: self.name.clone().filter(|_| own),
            transfer: self.transfer_for(self.buyer),
        }
    }
}

/// A ticket, its order and seat, and its pending offer.
const TICKET: &str = "
    select t.*, o.account_id as buyer, o.status, p.starts_ms, p.name_cutoff_before_ms,
        h.id as holder, h.email as holder_email, h.lang as holder_lang,
        s.section, s.row_label, s.seat_label, coalesce(z.name, c.name, '') as category,
        x.id as pending, x.recipient, x.expires_ms as offer_expires_ms,
        (select given.recipient from ticket_transfers given join tickets old on old.id = given.ticket_id
            where old.order_id = t.order_id and old.seat_no = t.seat_no and given.from_account = o.account_id
                and given.state = 'accepted' order by given.ended_ms desc limit 1) as given_to,
        (select count(*) from tickets old
            where old.order_id = t.order_id and old.seat_no = t.seat_no and old.revoked_reason = 'reissue') as reissues,
        (select count(*) from ticket_transfers made join tickets old on old.id = made.ticket_id
            where old.order_id = t.order_id and old.seat_no = t.seat_no) as offers
    from tickets t join orders o on o.id = t.order_id join performances p on p.id = t.performance_id
    join accounts h on h.id = coalesce(t.holder_account, o.account_id)
    join plan_seats s on s.plan_id = p.plan_id and s.seat_no = t.seat_no
    left join order_items i on i.order_id = t.order_id and i.seat_no = t.seat_no
    left join performance_zones z on z.performance_id = p.id and z.zone = i.category
    left join plan_categories c on c.plan_id = p.plan_id and c.category = i.category
    left join ticket_transfers x on x.ticket_id = t.id and x.state = 'pending'";

fn ticket(row: &PgRow) -> sqlx::Result<TicketRow> {
    let pending = match row.try_get::<Option<Uuid>, _>("pending")? {
        Some(id) => Some(PendingRow {
            id,
            recipient: row.try_get("recipient")?,
            expires: Millis(row.try_get("offer_expires_ms")?),
        }),
        None => None,
    };
    Ok(TicketRow {
        id: TicketId(row.try_get("id")?),
        order: OrderId(row.try_get("order_id")?),
        performance: PerformanceId(row.try_get("performance_id")?),
        seat: seat(row)?,
        section: row.try_get("section")?,
        row: row.try_get("row_label")?,
        label: row.try_get("seat_label")?,
        category: row.try_get("category")?,
        issue: u8::try_from(row.try_get::<i16, _>("issue")?).map_err(|e| bad("issue", e))?,
        code: row.try_get("code")?,
        buyer: AccountId(row.try_get("buyer")?),
        holder: AccountId(row.try_get("holder")?),
        holder_email: row.try_get("holder_email")?,
        holder_lang: row.try_get("holder_lang")?,
        name: row.try_get("holder_name")?,
        status: orders::status(row, "status")?,
        revoked: row.try_get::<Option<i64>, _>("revoked_ms")?.is_some(),
        revoked_reason: row.try_get("revoked_reason")?,
        frozen: row.try_get::<Option<i64>, _>("frozen_ms")?.is_some(),
        pending,
        given_to: row.try_get("given_to")?,
        reissues: row.try_get("reissues")?,
        offers: row.try_get("offers")?,
        starts: Millis(row.try_get("starts_ms")?),
        name_cutoff_before_ms: row.try_get("name_cutoff_before_ms")?,
    })
}

/// The valid tickets of an order, by seat, as its buyer sees them.
pub(crate) async fn of_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<TicketView>> {
    Ok(rows_of_order(db, order).await?.iter().map(TicketRow::view).collect())
}

/// The valid tickets of an order, by seat.
pub(crate) async fn rows_of_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<TicketRow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "{TICKET} where t.order_id = $1 and t.revoked_ms is null order by t.seat_no"
    )))
    .bind(order.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(ticket)
    .collect()
}

/// The valid tickets that an account holds, whoever bought them: the next evening first, those that began
/// before an instant last.
pub(crate) async fn of_holder(
    db: impl PgExecutor<'_>,
    account: AccountId,
    over: Millis,
    most: i64,
) -> sqlx::Result<Vec<TicketRow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!(
        "{TICKET} where o.status = 'fulfilled' and t.id in (
            select id from tickets where holder_account = $1 and revoked_ms is null
            union all select bought.id from orders own join tickets bought on bought.order_id = own.id
            where own.account_id = $1 and bought.holder_account is null and bought.revoked_ms is null)
         order by p.starts_ms < $2, p.starts_ms, t.performance_id, t.seat_no limit $3"
    )))
    .bind(account.0)
    .bind(over.0)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(ticket)
    .collect()
}

/// One ticket, revoked or not.
pub(crate) async fn one(db: impl PgExecutor<'_>, id: TicketId) -> sqlx::Result<Option<TicketRow>> {
    sqlx::query(sqlx::AssertSqlSafe(format!("{TICKET} where t.id = $1")))
        .bind(id.0)
        .fetch_optional(db)
        .await?
        .as_ref()
        .map(ticket)
        .transpose()
}

/// The order that a ticket was bought with, and its performance: they never change.
pub(crate) async fn order_of(db: impl PgExecutor<'_>, id: TicketId) -> sqlx::Result<Option<(OrderId, PerformanceId)>> {
    let row =
        sqlx::query("select order_id, performance_id from tickets where id = $1").bind(id.0).fetch_optional(db).await?;
    row.map(|row| Ok((OrderId(row.try_get("order_id")?), PerformanceId(row.try_get("performance_id")?)))).transpose()
}

/// Makes other changes of the order's tickets wait until this transaction ends. Statements behind it see what
/// the changes before it did; rows that refer to the order are not held up.
pub(crate) async fn lock_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<()> {
    sqlx::query("select 1 from orders where id = $1 for no key update").bind(order.0).execute(db).await?;
    Ok(())
}

/// A ticket that takes another's place.
pub(crate) struct Replacement<'a> {
    pub(crate) id: TicketId,
    pub(crate) issue: u8,
    pub(crate) code: &'a str,
    pub(crate) holder: AccountId,
    pub(crate) name: Option<&'a str>,
    /// Why the old one ends.
    pub(crate) reason: &'a str,
}

/// Revokes a ticket as it was read and puts another in its place; `false` when it is not like that any more.
pub(crate) async fn replace(
    db: &mut PgConnection,
    old: &TicketRow,
    new: &Replacement<'_>,
    now: Millis,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update tickets set revoked_ms = $3, revoked_reason = $4, changes = changes + 1
         where id = $1 and issue = $2 and revoked_ms is null and frozen_ms is null",
    )
    .bind(old.id.0)
    .bind(i16::from(old.issue))
    .bind(now.0)
    .bind(new.reason)
    .execute(&mut *db)
    .await?;
    if done.rows_affected() != 1 {
        return Ok(false);
    }
    // A statement of its own: the index of valid tickets looks at both rows.
    let done = sqlx::query(
        "insert into tickets (id, order_id, performance_id, seat_no, issue, code, created_ms, holder_account, holder_name)
         select $2::uuid, order_id, performance_id, seat_no, $3::smallint, $4::text, $5::bigint, $6::uuid, $7::text
         from tickets where id = $1",
    )
    .bind(old.id.0)
    .bind(new.id.0)
    .bind(i16::from(new.issue))
    .bind(new.code)
    .bind(now.0)
    .bind(new.holder.0)
    .bind(new.name)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes that the door's answer about a valid ticket changed; `false` when it is not valid any more.
pub(crate) async fn touch(db: impl PgExecutor<'_>, id: TicketId) -> sqlx::Result<bool> {
    let done = sqlx::query("update tickets set changes = changes + 1 where id = $1 and revoked_ms is null")
        .bind(id.0)
        .execute(db)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Writes down what happened to a ticket of an order, among the order's own steps.
pub(crate) async fn note(db: impl PgExecutor<'_>, row: &TicketRow, event: &str, now: Millis) -> sqlx::Result<()> {
    sqlx::query("insert into order_audit (order_id, event, from_status, to_status, at_ms) values ($1, $2, $3, $3, $4)")
        .bind(row.order.0)
        .bind(event)
        .bind(row.status.as_str())
        .bind(now.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Revokes the valid tickets of some seats of an order; answers how many. Offers of them end, and whoever holds
/// one without having bought it is told by mail.
pub(crate) async fn revoke_seats(
    db: &mut PgConnection,
    order: OrderId,
    seats: &[SeatNo],
    reason: &str,
    now: Millis,
) -> sqlx::Result<u64> {
    let numbers = seats.iter().map(|seat| i32::try_from(seat.0).map_err(|e| bad("seat_no", e)));
    revoke(db, order, Some(numbers.collect::<sqlx::Result<Vec<i32>>>()?), reason, now).await
}

/// Revokes all valid tickets of an order, as [`revoke_seats`] does.
pub(crate) async fn revoke_order(
    db: &mut PgConnection,
    order: OrderId,
    reason: &str,
    now: Millis,
) -> sqlx::Result<u64> {
    revoke(db, order, None, reason, now).await
}

async fn revoke(
    db: &mut PgConnection,
    order: OrderId,
    seats: Option<Vec<i32>>,
    reason: &str,
    now: Millis,
) -> sqlx::Result<u64> {
    lock_order(&mut *db, order).await?;
    let revoked: Vec<Uuid> = sqlx::query_scalar(
        "update tickets set revoked_ms = $3, revoked_reason = $4, changes = changes + 1
         where order_id = $1 and ($2::integer[] is null or seat_no = any($2)) and revoked_ms is null returning id",
    )
    .bind(order.0)
    .bind(seats)
    .bind(now.0)
    .bind(reason)
    .fetch_all(&mut *db)
    .await?;
    transfers::end_of(&mut *db, &revoked, now).await?;
    tell_holders(db, &revoked, Told::Ended, now).await?;
    Ok(revoked.len() as u64)
}

/// What becomes of a ticket by its order, as who holds it without having bought it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Frozen,
    Restored,
    Ended,
}

/// Mails those who hold a ticket of somebody else's order. What happened to the order's payment is its buyer's.
async fn tell_holders(db: &mut PgConnection, tickets: &[Uuid], told: Told, now: Millis) -> sqlx::Result<()> {
    let held = sqlx::query(
        "select t.id, t.changes, a.email, a.lang, e.artist || ' – ' || e.title as event,
            s.section, s.row_label, s.seat_label
         from tickets t join orders o on o.id = t.order_id join accounts a on a.id = t.holder_account
         join performances p on p.id = t.performance_id join events e on e.id = p.event_id
         join plan_seats s on s.plan_id = p.plan_id and s.seat_no = t.seat_no
         where t.id = any($1) and t.holder_account <> o.account_id order by t.id",
    )
    .bind(tickets)
    .fetch_all(&mut *db)
    .await?;
    for row in &held {
        let (id, changes, lang): (Uuid, i32, String) =
            (row.try_get("id")?, row.try_get("changes")?, row.try_get("lang")?);
        let (section, line, label): (String, String, String) =
            (row.try_get("section")?, row.try_get("row_label")?, row.try_get("seat_label")?);
        let seat = ticket_words(&SeatLabel { section: &section, row: &line, seat: &label }, &lang);
        let (to, event): (String, String) = (row.try_get("email")?, row.try_get("event")?);
        // A ticket ends once; it may be frozen again.
        let (key, mail) = match told {
            Told::Frozen => (format!("ticket-frozen:{id}:{changes}"), mail::ticket_frozen(&to, &event, &seat, &lang)),
            Told::Restored => {
                (format!("ticket-restored:{id}:{changes}"), mail::ticket_restored(&to, &event, &seat, &lang))
            }
            Told::Ended => (format!("ticket-ended:{id}"), mail::ticket_ended(&to, &event, &seat, &lang)),
        };
        mail::enqueue_row(&mut *db, &key, &mail, now).await?;
    }
    Ok(())
}

/// Freezes the valid tickets of an order while its payment is disputed, or lets them go; answers how many changed.
/// Whoever holds one without having bought it is told by mail.
pub(crate) async fn set_frozen(db: &mut PgConnection, order: OrderId, frozen: bool, now: Millis) -> sqlx::Result<u64> {
    lock_order(&mut *db, order).await?;
    let changed: Vec<Uuid> = sqlx::query_scalar(
        "update tickets set frozen_ms = case when $2 then $3::bigint end, changes = changes + 1
         where order_id = $1 and revoked_ms is null and (frozen_ms is null) = $2 returning id",
    )
    .bind(order.0)
    .bind(frozen)
    .bind(now.0)
    .fetch_all(&mut *db)
    .await?;
    tell_holders(db, &changed, if frozen { Told::Frozen } else { Told::Restored }, now).await?;
    Ok(changed.len() as u64)
}

/// How long before the start of a performance names are fixed, in milliseconds; none: until the start.
pub(crate) async fn name_cutoff(db: impl PgExecutor<'_>, performance: PerformanceId) -> sqlx::Result<Option<i64>> {
    let found: Option<Option<i64>> = sqlx::query_scalar("select name_cutoff_before_ms from performances where id = $1")
        .bind(performance.0)
        .fetch_optional(db)
        .await?;
    Ok(found.flatten())
}

/// Sets it, where it is what was seen; `false` when somebody else has set it.
pub(crate) async fn set_name_cutoff(
    db: impl PgExecutor<'_>,
    performance: PerformanceId,
    from: Option<i64>,
    to: Option<i64>,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update performances set name_cutoff_before_ms = $3
         where id = $1 and name_cutoff_before_ms is not distinct from $2::bigint",
    )
    .bind(performance.0)
    .bind(from)
    .bind(to)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
