//! Leadership: an advisory lock says who may try, a term that the stores verify says who may write.

use sqlx::PgConnection;

/// A leader says every half second that it lives; one that is silent for so long stands still, and
/// Postgres frees its lock. Above the longest wait for a connection of the pool.
const SILENCE_MAX_MS: u32 = 5_000;

/// Tries to become the leader of `name` on this connection, for as long as the connection lives.
/// Answers the new term.
pub(crate) async fn acquire(db: &mut PgConnection, name: &str) -> sqlx::Result<Option<i64>> {
    let locked: bool =
        sqlx::query_scalar("select pg_try_advisory_lock(hashtext($1), 7301)").bind(name).fetch_one(&mut *db).await?;
    if !locked {
        return Ok(None);
    }
    sqlx::query("select set_config('idle_session_timeout', $1, false)")
        .bind(SILENCE_MAX_MS.to_string())
        .execute(&mut *db)
        .await?;
    let term = sqlx::query_scalar(
        "insert into leader_terms (name, term) values ($1, 1)
         on conflict (name) do update set term = leader_terms.term + 1 returning term",
    )
    .bind(name)
    .fetch_one(db)
    .await?;
    Ok(Some(term))
}

/// Whether this connection still leads: it answers, and nobody took a later term.
pub(crate) async fn still_leads(db: &mut PgConnection, name: &str, term: i64) -> sqlx::Result<bool> {
    let current: i64 =
        sqlx::query_scalar("select term from leader_terms where name = $1").bind(name).fetch_one(db).await?;
    Ok(current == term)
}
