//! What stands still: found by one query for each kind, poked, remembered since when, and told to people.

use domain::Millis;
use domain::settlement::stuck::StuckKind;
use sqlx::PgExecutor;

/// What of a kind stands still since before an instant, each a row with its `subject`. `$1` is that instant.
fn query(kind: StuckKind) -> &'static str {
    match kind {
        StuckKind::Attempt => {
            "select id::text as subject from attempts
             where status in ('created', 'open', 'authorized') and deadline_ms < $1 order by deadline_ms limit $2"
        }
        StuckKind::Issue => {
            "select id::text as subject from orders where status = 'paid' and paid_ms < $1 order by paid_ms limit $2"
        }
        StuckKind::Refund => {
            "select id::text as subject from refunds
             where status in ('approved', 'submitted') and tries > 0 and coalesce(decided_ms, created_ms) < $1
             order by coalesce(decided_ms, created_ms) limit $2"
        }
        StuckKind::Inbox => {
            "select provider || ' ' || event_id as subject from payment_inbox
             where applied_ms is null and received_ms < $1 order by received_ms limit $2"
        }
        StuckKind::Outbox => {
            "select kind || ' ' || id as subject from outbox
             where done_ms is null and next_try_ms < $1 order by next_try_ms limit $2"
        }
        StuckKind::Quarantine => {
            "select id::text as subject from payment_quarantine
             where resolved_ms is null and created_ms < $1 order by created_ms limit $2"
        }
    }
}

/// What stands still since before an instant, the oldest first.
pub(crate) async fn find(
    db: impl PgExecutor<'_>,
    kind: StuckKind,
    before: Millis,
    most: i64,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(query(kind)).bind(before.0).bind(most).fetch_all(db).await
}

/// Makes the next look at it due now, where it is looked at by a schedule. What somebody has in hand is left.
pub(crate) async fn poke(
    db: impl PgExecutor<'_>,
    kind: StuckKind,
    subjects: &[String],
    now: Millis,
) -> sqlx::Result<u64> {
    let sql = match kind {
        StuckKind::Attempt => {
            "with held as (select id from attempts where id = any($1::text[]::uuid[]) and next_query_ms > $2
                           and status in ('created', 'open', 'authorized') for update skip locked)
             update attempts a set next_query_ms = $2 from held where a.id = held.id"
        }
        StuckKind::Refund => {
            "with held as (select id from refunds where id = any($1::text[]::uuid[]) and coalesce(due_ms, next_try_ms) > $2
                           and status in ('approved', 'submitted') for update skip locked)
             update refunds r set due_ms = $2 from held where r.id = held.id"
        }
        StuckKind::Inbox => {
            "with held as (select provider, event_id from payment_inbox where provider || ' ' || event_id = any($1)
                           and applied_ms is null and next_try_ms > $2 for update skip locked)
             update payment_inbox i set next_try_ms = $2 from held where i.provider = held.provider and i.event_id = held.event_id"
        }
        // The outbox has no schedule that could be ahead, a bad order is tried again within a minute; money that is set aside has its own hour.
        StuckKind::Issue | StuckKind::Outbox | StuckKind::Quarantine => return Ok(0),
    };
    Ok(sqlx::query(sql).bind(subjects).bind(now.0).execute(db).await?.rows_affected())
}

/// Remembers since when what is found of a kind is found.
pub(crate) async fn remember(
    db: impl PgExecutor<'_>,
    kind: StuckKind,
    subjects: &[String],
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into stuck_money (kind, subject, first_seen_ms, last_seen_ms)
         select $1, subject, $3, $3 from unnest($2::text[]) as s (subject)
         on conflict (kind, subject) do update set last_seen_ms = $3",
    )
    .bind(kind.as_str())
    .bind(subjects)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Forgets what is not found any more.
pub(crate) async fn forget(db: impl PgExecutor<'_>, kind: StuckKind, subjects: &[String]) -> sqlx::Result<()> {
    sqlx::query("delete from stuck_money where kind = $1 and subject <> all($2)")
        .bind(kind.as_str())
        .bind(subjects)
        .execute(db)
        .await?;
    Ok(())
}

/// Puts before operators what has been found since before an instant. `home` stands for a provider where none has
/// to do with it.
pub(crate) async fn tell(
    db: impl PgExecutor<'_>,
    before: Millis,
    now: Millis,
    day: Millis,
    home: &str,
) -> sqlx::Result<()> {
    sqlx::query(
        "with told as (
            select m.kind, m.subject, m.first_seen_ms,
               case m.kind when 'inbox' then split_part(m.subject, ' ', 1)
                  when 'quarantine' then (select q.provider from payment_quarantine q where q.id = m.subject::bigint) end as provider,
               case m.kind when 'attempt' then m.subject::uuid
                  when 'refund' then (select r.attempt_id from refunds r where r.id = m.subject::uuid)
                  when 'quarantine' then (
                     select case when q.evidence ->> 'attempt' ~ '^[0-9a-f-]{36}$' then (q.evidence ->> 'attempt')::uuid end
                     from payment_quarantine q where q.id = m.subject::bigint) end as attempt_id,
               case when m.kind = 'issue' then m.subject::uuid end as order_id
            from stuck_money m where m.first_seen_ms <= $1)
         insert into differences (id, provider, key, kind, owner, repair, evidence, day_ms, first_seen_ms, last_seen_ms,
            order_id, organization_id)
         select gen_random_uuid(), coalesce(t.provider, a.provider, $4), 'stuck_' || t.kind || ':' || t.subject, 'stuck_' || t.kind, 'operator',
            case when t.kind in ('outbox', 'quarantine') then 'ask_staff' when t.kind = 'issue' then 'issue' else 'query_again' end,
            jsonb_build_object('ours', null, 'theirs', '[]'::jsonb), $3, t.first_seen_ms, $2, o.id, e.organization_id
         from told t left join attempts a on a.id = t.attempt_id
         left join orders o on o.id = coalesce(t.order_id, a.order_id)
         left join performances p on p.id = o.performance_id left join events e on e.id = p.event_id
         on conflict (provider, key) do update set last_seen_ms = $2,
            status = case when differences.status = 'settled' then 'settled' else 'open' end",
    )
    .bind(before.0)
    .bind(now.0)
    .bind(day.0)
    .bind(home)
    .execute(db)
    .await?;
    Ok(())
}

/// What moves again needs nobody any more.
pub(crate) async fn untell(db: impl PgExecutor<'_>, now: Millis) -> sqlx::Result<()> {
    sqlx::query(
        "update differences d set status = 'repaired', decided_ms = $1 where d.status = 'open' and starts_with(d.kind, 'stuck_')
            and not exists (select 1 from stuck_money m where 'stuck_' || m.kind || ':' || m.subject = d.key)",
    )
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}
