//! What providers settled, line by line, and a provider's day with all of its sides.

use super::catalog::{bad, currency};
use super::orders::status;
use super::settled_payouts::payouts;
use domain::dispute::DisputeStatus;
use domain::order::AttemptStatus;
use domain::refund::RefundStatus;
use domain::settlement::schedule::{DAY_MS, EDGE_MS};
use domain::settlement::{Day, Movement, OurAttempt, OurDispute, OurOrder, OurRefund, ProviderLine};
use domain::{AttemptId, DisputeId, Millis, Money, OrderId, RefundId, SeatNo};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgExecutor, Row as _};
use std::collections::{BTreeSet, HashMap};
use uuid::Uuid;

/// Lines in one statement.
const STORED_AT_ONCE: usize = 2_000;

/// Keeps lines as a provider tells them now. What is kept already is corrected, and never taken away.
pub(crate) async fn keep(
    db: &mut PgConnection,
    provider: &str,
    lines: &[ProviderLine],
    now: Millis,
) -> sqlx::Result<()> {
    let mut sorted: Vec<&ProviderLine> = lines.iter().collect();
    sorted.sort();
    let mut copies: HashMap<String, i16> = HashMap::new();
    let mut rows: Vec<(String, i16, &ProviderLine)> = Vec::with_capacity(sorted.len());
    for line in sorted {
        let copy = copies.entry(line.key()).or_insert(-1);
        *copy = copy.saturating_add(1);
        rows.push((line.key(), *copy, line));
    }
    // In one order, so that two runs at once wait for each other instead of standing still.
    rows.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
    for chunk in rows.chunks(STORED_AT_ONCE) {
        keep_some(&mut *db, provider, chunk, now).await?;
    }
    Ok(())
}

async fn keep_some(
    db: &mut PgConnection,
    provider: &str,
    rows: &[(String, i16, &ProviderLine)],
    now: Millis,
) -> sqlx::Result<()> {
    let text = |of: fn(&ProviderLine) -> &str| rows.iter().map(|(.., line)| of(line).to_owned()).collect::<Vec<_>>();
    let number = |of: fn(&ProviderLine) -> i64| rows.iter().map(|(.., line)| of(line)).collect::<Vec<_>>();
    sqlx::query(
        "insert into settlement_lines (provider, key, copy, movement, subject, payment, reference, currency,
            gross_minor, fee_minor, net_minor, at_ms, read_ms)
         select $1, key, copy, movement, subject, payment, reference, currency, gross_minor, fee_minor, net_minor, at_ms, $2
         from unnest($3::text[], $4::smallint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
            $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[])
            as l (key, copy, movement, subject, payment, reference, currency, gross_minor, fee_minor, net_minor, at_ms)
         on conflict (provider, key, copy) do update set payment = excluded.payment, reference = excluded.reference,
            currency = excluded.currency, gross_minor = excluded.gross_minor, fee_minor = excluded.fee_minor,
            net_minor = excluded.net_minor, at_ms = excluded.at_ms, read_ms = excluded.read_ms
         where (settlement_lines.payment, settlement_lines.reference, settlement_lines.currency,
                settlement_lines.gross_minor, settlement_lines.fee_minor, settlement_lines.net_minor, settlement_lines.at_ms)
            is distinct from (excluded.payment, excluded.reference, excluded.currency,
                excluded.gross_minor, excluded.fee_minor, excluded.net_minor, excluded.at_ms)",
    )
    .bind(provider)
    .bind(now.0)
    .bind(rows.iter().map(|(key, ..)| key.clone()).collect::<Vec<_>>())
    .bind(rows.iter().map(|(_, copy, _)| *copy).collect::<Vec<_>>())
    .bind(text(|line| line.movement.as_str()))
    .bind(text(|line| line.id.as_str()))
    .bind(text(|line| line.payment.as_str()))
    .bind(text(|line| line.reference.as_str()))
    .bind(text(|line| line.currency.code()))
    .bind(number(|line| line.gross_minor))
    .bind(number(|line| line.fee_minor))
    .bind(number(|line| line.net_minor))
    .bind(number(|line| line.at.0))
    .execute(db)
    .await?;
    Ok(())
}

/// Notes the orders of lines of an interval, where they are known by now.
pub(crate) async fn name_orders(db: impl PgExecutor<'_>, provider: &str, from: Millis, to: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "update settlement_lines s set order_id = a.order_id from attempts a
         where s.provider = $1 and s.at_ms >= $2 and s.at_ms < $3 and s.order_id is null
            and a.provider = s.provider and a.provider_ref = s.payment",
    )
    .bind(provider)
    .bind(from.0)
    .bind(to.0)
    .execute(db)
    .await?;
    Ok(())
}

fn line(row: &PgRow) -> sqlx::Result<ProviderLine> {
    let movement: String = row.try_get("movement")?;
    Ok(ProviderLine {
        movement: Movement::parse(&movement)
            .ok_or_else(|| bad("movement", format!("`{movement}` is no movement of money")))?,
        id: row.try_get("subject")?,
        payment: row.try_get("payment")?,
        reference: row.try_get("reference")?,
        currency: currency(row, "currency")?,
        gross_minor: row.try_get("gross_minor")?,
        fee_minor: row.try_get("fee_minor")?,
        net_minor: row.try_get("net_minor")?,
        at: Millis(row.try_get("at_ms")?),
    })
}

/// A provider's day, which begins at `from`, with the records and lines around it that may belong to it. To be
/// read in one snapshot.
pub(crate) async fn day(db: &mut PgConnection, provider: &str, from: Millis, as_of: Millis) -> sqlx::Result<Day> {
    let to = from.plus(DAY_MS);
    let around = (from.plus(-EDGE_MS), to.plus(EDGE_MS));
    let mut lines = lines_between(&mut *db, provider, around).await?;
    let order_ids = orders_of_day(&mut *db, provider, from, to).await?;
    let attempts = attempts(&mut *db, provider, around, &order_ids, &lines).await?;
    // A charge may be older than what became of it here.
    let known: BTreeSet<(String, i16)> = lines.iter().map(|(line, copy)| (line.key(), *copy)).collect();
    let older = lines_of(&mut *db, provider, &attempts).await?;
    lines.extend(older.into_iter().filter(|(line, copy)| !known.contains(&(line.key(), *copy))));
    let lines: Vec<ProviderLine> = lines.into_iter().map(|(line, _)| line).collect();
    let ids: Vec<Uuid> = attempts.iter().map(|attempt| attempt.attempt.0).collect();
    Ok(Day {
        from,
        to,
        as_of,
        refunds: refunds(&mut *db, provider, &ids, &lines).await?,
        disputes: disputes(&mut *db, &ids).await?,
        orders: orders(&mut *db, &order_ids).await?,
        payouts: payouts(&mut *db, provider, around, &lines).await?,
        fees_posted: fees_posted(&mut *db, provider, &lines).await?,
        attempts,
        lines,
    })
}

fn numbered(rows: &[PgRow]) -> sqlx::Result<Vec<(ProviderLine, i16)>> {
    rows.iter().map(|row| Ok((line(row)?, row.try_get("copy")?))).collect()
}

async fn lines_between(
    db: impl PgExecutor<'_>,
    provider: &str,
    (from, to): (Millis, Millis),
) -> sqlx::Result<Vec<(ProviderLine, i16)>> {
    let rows = sqlx::query("select * from settlement_lines where provider = $1 and at_ms >= $2 and at_ms < $3")
        .bind(provider)
        .bind(from.0)
        .bind(to.0)
        .fetch_all(db)
        .await?;
    numbered(&rows)
}

/// The lines of attempts, however old.
async fn lines_of(
    db: impl PgExecutor<'_>,
    provider: &str,
    attempts: &[OurAttempt],
) -> sqlx::Result<Vec<(ProviderLine, i16)>> {
    let payments: Vec<&str> = attempts.iter().filter_map(|attempt| attempt.payment.as_deref()).collect();
    let references: Vec<String> = attempts.iter().map(|attempt| attempt.attempt.to_string()).collect();
    let rows = sqlx::query(
        "select * from settlement_lines where provider = $1 and payment = any($2)
         union select * from settlement_lines where provider = $1 and reference = any($3)",
    )
    .bind(provider)
    .bind(payments)
    .bind(references)
    .fetch_all(db)
    .await?;
    numbered(&rows)
}

/// Orders that were paid or changed on a day, of those whose money is at this provider: that of the attempt
/// which was captured, else of the last one.
async fn orders_of_day(db: impl PgExecutor<'_>, provider: &str, from: Millis, to: Millis) -> sqlx::Result<Vec<Uuid>> {
    sqlx::query_scalar(
        "select d.id from (
            select id from orders where paid_ms >= $2 and paid_ms < $3
            union select order_id from order_audit where at_ms >= $2 and at_ms < $3) d
         cross join lateral (
            select provider from attempts where order_id = d.id
            order by (status in ('captured', 'refunded')) desc, number desc limit 1) a
         where a.provider = $1",
    )
    .bind(provider)
    .bind(from.0)
    .bind(to.0)
    .fetch_all(db)
    .await
}

async fn attempts(
    db: impl PgExecutor<'_>,
    provider: &str,
    (from, to): (Millis, Millis),
    orders: &[Uuid],
    lines: &[(ProviderLine, i16)],
) -> sqlx::Result<Vec<OurAttempt>> {
    let payments: Vec<&str> = lines.iter().map(|(line, _)| line.payment.as_str()).collect();
    let references: Vec<Uuid> = lines.iter().filter_map(|(line, _)| line.reference.parse().ok()).collect();
    sqlx::query(
        "with wanted as (
            select id from attempts where order_id = any($4)
            union select id from attempts where provider = $1 and provider_ref = any($5)
            union select unnest($6::uuid[])
            union select substr(source, 9)::uuid from ledger_entries
               where at_ms >= $2 and at_ms < $3 and source like 'capture:%'
            union select r.attempt_id from ledger_entries l join refunds r on r.id::text = substr(l.source, 8)
               where l.at_ms >= $2 and l.at_ms < $3 and l.source like 'refund:%'
            union select attempt_id from disputes where opened_ms >= $2 and opened_ms < $3)
         select a.id, a.order_id, a.provider_ref, a.amount_minor, a.currency, a.status,
            (select min(l.at_ms) from ledger_entries l where l.source = 'capture:' || a.id) as captured_ms
         from wanted w join attempts a on a.id = w.id where a.provider = $1",
    )
    .bind(provider)
    .bind(from.0)
    .bind(to.0)
    .bind(orders)
    .bind(payments)
    .bind(references)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let status: String = row.try_get("status")?;
        Ok(OurAttempt {
            attempt: AttemptId(row.try_get("id")?),
            order: OrderId(row.try_get("order_id")?),
            payment: row.try_get("provider_ref")?,
            amount: Money::new(row.try_get("amount_minor")?, currency(row, "currency")?),
            status: AttemptStatus::parse(&status)
                .ok_or_else(|| bad("status", format!("`{status}` is no status of an attempt")))?,
            captured: row.try_get::<Option<i64>, _>("captured_ms")?.map(Millis),
        })
    })
    .collect()
}

/// The refunds of attempts, and of money that was set aside and given back.
async fn refunds(
    db: impl PgExecutor<'_>,
    provider: &str,
    attempts: &[Uuid],
    lines: &[ProviderLine],
) -> sqlx::Result<Vec<OurRefund>> {
    let away = lines.iter().filter(|line| matches!(line.movement, Movement::Refund | Movement::RefundFailure));
    let ids: Vec<&str> = away.map(|line| line.id.as_str()).collect();
    sqlx::query(
        "select r.id, r.attempt_id, r.provider_ref, r.amount_minor, r.currency, r.status,
            coalesce((select max(l.at_ms) from ledger_entries l where l.source = 'refund:' || r.id), r.created_ms) as at_ms
         from refunds r where r.attempt_id = any($2)
         union all
         select q.refund_id, coalesce((q.evidence ->> 'attempt')::uuid, q.refund_id), q.refund_ref, q.amount_minor, q.currency,
            case when q.resolution = 'returned' then 'succeeded' else 'submitted' end, coalesce(q.resolved_ms, q.created_ms)
         from payment_quarantine q
         where q.provider = $1 and q.refund_ref = any($3) and q.refund_id is not null and q.amount_minor is not null
            and not exists (select 1 from refunds r where r.provider_ref = q.refund_ref and r.attempt_id = any($2))
         union all
         -- What went and came back: its row has another refund next.
         select f.refund_id, coalesce((q.evidence ->> 'attempt')::uuid, f.refund_id), f.provider_ref, f.amount_minor,
            f.currency, 'failed', f.failed_ms
         from quarantine_refunds_failed f join payment_quarantine q on q.id = f.quarantine_id
         where f.provider = $1 and f.provider_ref = any($3)",
    )
    .bind(provider)
    .bind(attempts)
    .bind(ids)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let status: String = row.try_get("status")?;
        Ok(OurRefund {
            refund: RefundId(row.try_get("id")?),
            attempt: AttemptId(row.try_get("attempt_id")?),
            provider_ref: row.try_get("provider_ref")?,
            amount: Money::new(row.try_get("amount_minor")?, currency(row, "currency")?),
            status: RefundStatus::parse(&status)
                .ok_or_else(|| bad("status", format!("`{status}` is no status of a refund")))?,
            at: Millis(row.try_get("at_ms")?),
        })
    })
    .collect()
}

async fn disputes(db: impl PgExecutor<'_>, attempts: &[Uuid]) -> sqlx::Result<Vec<OurDispute>> {
    sqlx::query(
        "select id, provider_ref, attempt_id, amount_minor, currency, status, opened_ms from disputes
         where attempt_id = any($1)",
    )
    .bind(attempts)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let status: String = row.try_get("status")?;
        Ok(OurDispute {
            dispute: DisputeId(row.try_get("id")?),
            provider_ref: row.try_get("provider_ref")?,
            attempt: AttemptId(row.try_get("attempt_id")?),
            amount: Money::new(row.try_get("amount_minor")?, currency(row, "currency")?),
            status: DisputeStatus::parse(&status)
                .ok_or_else(|| bad("status", format!("`{status}` is no status of a dispute")))?,
            opened: Millis(row.try_get("opened_ms")?),
        })
    })
    .collect()
}

fn seats(row: &PgRow, column: &str) -> sqlx::Result<BTreeSet<SeatNo>> {
    let seats: Vec<i32> = row.try_get(column)?;
    seats.into_iter().map(|seat| u32::try_from(seat).map(SeatNo).map_err(|e| bad(column, e))).collect()
}

/// Orders with the seats that they claim and the valid tickets of each. The tickets of a lost dispute are
/// revoked while its seats may stay empty: nothing is expected of those.
async fn orders(db: impl PgExecutor<'_>, ids: &[Uuid]) -> sqlx::Result<Vec<OurOrder>> {
    sqlx::query(
        "select o.id, o.status, o.total_minor, o.paid_ms,
            array(select c.seat_no from seat_claims c where c.order_id = o.id) as claimed,
            array(select t.seat_no from tickets t where t.order_id = o.id and t.revoked_ms is null) as ticketed,
            exists (select 1 from disputes d join attempts a on a.id = d.attempt_id
                    where a.order_id = o.id and d.status = 'lost') as lost
         from orders o where o.id = any($1)",
    )
    .bind(ids)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let tickets = seats(row, "ticketed")?;
        let lost: bool = row.try_get("lost")?;
        Ok(OurOrder {
            order: OrderId(row.try_get("id")?),
            status: status(row, "status")?,
            total_minor: row.try_get("total_minor")?,
            paid: row.try_get::<Option<i64>, _>("paid_ms")?.map(Millis),
            seats: if lost { tickets.clone() } else { seats(row, "claimed")? },
            tickets,
        })
    })
    .collect()
}

/// Keys of lines whose fees are in the ledger.
async fn fees_posted(
    db: impl PgExecutor<'_>,
    provider: &str,
    lines: &[ProviderLine],
) -> sqlx::Result<BTreeSet<String>> {
    let prefix = format!("provider-fee:{provider}:");
    let wanted = lines.iter().filter(|line| line.fee_minor != 0);
    let sources: Vec<String> = wanted.map(|line| format!("{prefix}{}", line.key())).collect();
    let posted: Vec<String> = sqlx::query_scalar("select distinct source from ledger_entries where source = any($1)")
        .bind(sources)
        .fetch_all(db)
        .await?;
    Ok(posted.iter().filter_map(|source| source.strip_prefix(&prefix)).map(str::to_owned).collect())
}

/// Makes a refund due now that waits for its turn.
pub(crate) async fn hurry_refund(db: impl PgExecutor<'_>, id: RefundId, now: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "update refunds set due_ms = $2
         where id = $1 and status in ('approved', 'submitted') and coalesce(due_ms, next_try_ms) > $2",
    )
    .bind(id.0)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}
