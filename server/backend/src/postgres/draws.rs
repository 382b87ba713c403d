//! What is published about a draw: commitments, the digest of the arrival list, and the draw itself.

use domain::queue::Mode;
use domain::queue::facts::{BeaconRound, Commitment, DrawFacts, Randomness};
use domain::{Millis, PerformanceId};
use sqlx::postgres::PgRow;
use sqlx::{PgExecutor, Row as _};

/// Publishes what a scheduled opening commits to, behind what was published before. Rescheduling keeps the seed.
pub(crate) async fn commit(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    opens: Millis,
    round: Option<&BeaconRound>,
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into draw_commitments (performance_id, number, commitment, opens_ms, beacon_chain, beacon_round,
            beacon_due_ms, published_ms)
         select id, (select coalesce(max(number) + 1, 0) from draw_commitments where performance_id = $1),
            draw_commitment, $2, $3, $4, $5, $6
         from performances where id = $1",
    )
    .bind(id.0)
    .bind(opens.0)
    .bind(round.map(|round| round.chain.as_str()))
    .bind(round.and_then(|round| i64::try_from(round.round).ok()))
    .bind(round.map(|round| round.due.0))
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// Notes the digest of the frozen list, once; what stands.
pub(crate) async fn publish_list(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    lobby: i64,
    digest: &[u8; 32],
    now: Millis,
) -> sqlx::Result<()> {
    sqlx::query(
        "update queue_state set list_digest = $3, list_published_ms = $4
         where performance_id = $1 and lobby = $2 and list_digest is null",
    )
    .bind(id.0)
    .bind(lobby)
    .bind(digest.as_slice())
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(())
}

/// What is needed to make a draw, and whether it was made.
pub(crate) struct PendingDraw {
    pub(crate) lobby: Option<i64>,
    pub(crate) list_digest: Option<Vec<u8>>,
    pub(crate) round: Option<BeaconRound>,
    pub(crate) made: bool,
}

/// The state of a draw.
pub(crate) async fn pending(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<PendingDraw>> {
    let row = sqlx::query(
        "select q.lobby, q.list_digest, c.beacon_chain, c.beacon_round, c.beacon_due_ms,
            exists (select 1 from draws d where d.performance_id = q.performance_id) as made
         from queue_state q
         left join lateral (select * from draw_commitments where performance_id = q.performance_id
            order by number desc limit 1) c on true
         where q.performance_id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(PendingDraw {
            lobby: row.try_get("lobby")?,
            list_digest: row.try_get("list_digest")?,
            round: round(&row)?,
            made: row.try_get("made")?,
        })
    })
    .transpose()
}

fn round(row: &PgRow) -> sqlx::Result<Option<BeaconRound>> {
    let chain: Option<String> = row.try_get("beacon_chain")?;
    let number: Option<i64> = row.try_get("beacon_round")?;
    let due: Option<i64> = row.try_get("beacon_due_ms")?;
    Ok(chain.zip(number).zip(due).map(|((chain, round), due)| BeaconRound {
        chain,
        round: u64::try_from(round).unwrap_or(0),
        due: Millis(due),
    }))
}

/// How a draw was made with regard to the public randomness.
pub(crate) enum BeaconOutcome<'a> {
    /// The round that was named came.
    Used { randomness: &'a [u8], signature: &'a [u8] },
    /// None was named.
    None,
    /// It stayed silent for longer than the sale could wait.
    Silent,
}

/// Makes a draw, exactly once: with it the seed is revealed. Only over the list whose digest is published.
pub(crate) async fn reveal(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    outcome: &BeaconOutcome<'_>,
    now: Millis,
) -> sqlx::Result<bool> {
    let (word, randomness, signature) = match outcome {
        BeaconOutcome::Used { randomness, signature } => ("used", Some(*randomness), Some(*signature)),
        BeaconOutcome::None => ("none", None, None),
        BeaconOutcome::Silent => ("silent", None, None),
    };
    let done = sqlx::query(
        "insert into draws (performance_id, lobby, list_digest, beacon, randomness, signature, revealed_ms)
         select performance_id, lobby, list_digest, $2, $3, $4, $5 from queue_state
         where performance_id = $1 and lobby is not null and list_digest is not null
         on conflict (performance_id) do nothing",
    )
    .bind(id.0)
    .bind(word)
    .bind(randomness)
    .bind(signature)
    .bind(now.0)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Everything that is published about a draw; none where there is no such performance.
pub(crate) async fn facts(db: &sqlx::PgPool, id: PerformanceId) -> sqlx::Result<Option<DrawFacts>> {
    let row = sqlx::query(
        "select p.mode, q.lobby, q.list_digest, q.list_published_ms, d.beacon, d.randomness, d.signature, d.revealed_ms,
            case when d.performance_id is not null then p.draw_seed end as seed
         from performances p
         left join queue_state q on q.performance_id = p.id
         left join draws d on d.performance_id = p.id
         where p.id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let commitments = commitments(db, id).await?;
    let text = |column: &str| -> sqlx::Result<Option<String>> {
        Ok(row.try_get::<Option<Vec<u8>>, _>(column)?.map(hex::encode))
    };
    let randomness = match row.try_get::<Option<String>, _>("beacon")?.as_deref() {
        Some("used") => Randomness::Used {
            randomness: text("randomness")?.unwrap_or_default(),
            signature: text("signature")?.unwrap_or_default(),
        },
        Some("silent") => Randomness::Silent,
        Some(_) => Randomness::None,
        None if commitments.last().is_some_and(|last| last.beacon.is_some()) => Randomness::Awaited,
        None => Randomness::None,
    };
    Ok(Some(DrawFacts {
        performance: id,
        mode: Mode::parse(row.try_get("mode")?).unwrap_or_default(),
        commitments,
        lobby: row.try_get::<Option<i64>, _>("lobby")?.and_then(|lobby| u32::try_from(lobby).ok()),
        list: text("list_digest")?,
        list_published: row.try_get::<Option<i64>, _>("list_published_ms")?.map(Millis),
        randomness,
        seed: text("seed")?,
        revealed: row.try_get::<Option<i64>, _>("revealed_ms")?.map(Millis),
    }))
}

async fn commitments(db: &sqlx::PgPool, id: PerformanceId) -> sqlx::Result<Vec<Commitment>> {
    sqlx::query(
        "select commitment, opens_ms, beacon_chain, beacon_round, beacon_due_ms, published_ms
         from draw_commitments where performance_id = $1 order by number",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        Ok(Commitment {
            commitment: hex::encode(row.try_get::<Vec<u8>, _>("commitment")?),
            opens: Millis(row.try_get("opens_ms")?),
            beacon: round(row)?,
            published: Millis(row.try_get("published_ms")?),
        })
    })
    .collect()
}
