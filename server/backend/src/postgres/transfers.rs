//! Offers of tickets to other accounts: each is answered once, or ends.

use super::setbacks::LeftOut;
use domain::{AccountId, Millis, TicketId};
use sqlx::{PgExecutor, Row as _};
use uuid::Uuid;

/// An offer to be written.
pub(crate) struct NewTransfer<'a> {
    pub(crate) id: Uuid,
    pub(crate) ticket: TicketId,
    pub(crate) from: AccountId,
    pub(crate) recipient: &'a str,
    /// Digest of what the link carries.
    pub(crate) digest: &'a [u8],
    pub(crate) expires: Millis,
}

/// Writes an offer; `false` when the ticket is offered already.
pub(crate) async fn insert(db: impl PgExecutor<'_>, new: &NewTransfer<'_>, now: Millis) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "insert into ticket_transfers (id, ticket_id, from_account, recipient, token_digest, created_ms, expires_ms)
         values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing",
    )
    .bind(new.id)
    .bind(new.ticket.0)
    .bind(new.from.0)
    .bind(new.recipient)
    .bind(new.digest)
    .bind(now.0)
    .bind(new.expires.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// An offer that waits for its answer.
pub(crate) struct OfferRow {
    pub(crate) id: Uuid,
    pub(crate) ticket: TicketId,
    pub(crate) recipient: String,
    /// Address of who offers.
    pub(crate) from: String,
    pub(crate) expires: Millis,
}

/// The offer behind a link, while it waits for its answer and its time is not over.
pub(crate) async fn by_link(db: impl PgExecutor<'_>, digest: &[u8], now: Millis) -> sqlx::Result<Option<OfferRow>> {
    let row = sqlx::query(
        "select x.id, x.ticket_id, x.recipient, x.expires_ms, a.email
         from ticket_transfers x join accounts a on a.id = x.from_account
         where x.token_digest = $1 and x.state = 'pending' and x.expires_ms > $2",
    )
    .bind(digest)
    .bind(now.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(OfferRow {
            id: row.try_get("id")?,
            ticket: TicketId(row.try_get("ticket_id")?),
            recipient: row.try_get("recipient")?,
            from: row.try_get("email")?,
            expires: Millis(row.try_get("expires_ms")?),
        })
    })
    .transpose()
}

/// How an offer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The recipient has this ticket now.
    Accepted(TicketId),
    Declined,
    TakenBack,
    Expired,
    /// The ticket itself ended.
    Void,
}

impl Ended {
    /// The text form, as stored.
    fn as_str(self) -> &'static str {
        match self {
            Self::Accepted(_) => "accepted",
            Self::Declined => "declined",
            Self::TakenBack => "taken_back",
            Self::Expired => "expired",
            Self::Void => "ended",
        }
    }
}

/// Ends an offer; `false` when it was answered or ended before.
pub(crate) async fn finish(db: impl PgExecutor<'_>, id: Uuid, ended: Ended, now: Millis) -> sqlx::Result<bool> {
    let accepted_as = match ended {
        Ended::Accepted(ticket) => Some(ticket.0),
        _ => None,
    };
    let done = sqlx::query(
        "update ticket_transfers set state = $2, ended_ms = $3, accepted_as = $4 where id = $1 and state = 'pending'",
    )
    .bind(id)
    .bind(ended.as_str())
    .bind(now.0)
    .bind(accepted_as)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends the offers of tickets that have ended themselves; answers how many.
pub(crate) async fn end_of(db: impl PgExecutor<'_>, tickets: &[Uuid], now: Millis) -> sqlx::Result<u64> {
    let done = sqlx::query(
        "update ticket_transfers set state = $3, ended_ms = $2 where ticket_id = any($1) and state = 'pending'",
    )
    .bind(tickets)
    .bind(now.0)
    .bind(Ended::Void.as_str())
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Offers whose time is over, with their tickets, the oldest first.
pub(crate) async fn due(db: impl PgExecutor<'_>, out: &LeftOut, most: i64) -> sqlx::Result<Vec<(Uuid, TicketId)>> {
    sqlx::query(
        "select id, ticket_id from ticket_transfers where state = 'pending' and expires_ms <= $1
            and not exists (select 1 from setbacks b
                where b.job = $3 and b.subject = ticket_transfers.id and b.next_try_ms > $1)
         order by expires_ms limit $2",
    )
    .bind(out.now.0)
    .bind(most)
    .bind(out.job.as_str())
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((row.try_get("id")?, TicketId(row.try_get("ticket_id")?))))
    .collect()
}
