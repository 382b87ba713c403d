//! What fans may give back of a performance, and who must agree.

use domain::refund::ApprovalRule;
use domain::refund::policy::RefundPolicy;
use domain::{Millis, OrganizationId, PerformanceId};
use sqlx::types::Json;
use sqlx::{PgExecutor, Row as _};

/// What fans may give back of a performance.
#[derive(Clone, Debug)]
pub(crate) struct PolicyRow {
    pub(crate) policy: RefundPolicy,
    /// Whether seats that are given back are sold again.
    pub(crate) resells: bool,
    /// 0 where nothing was ever set.
    pub(crate) version: i32,
}

/// The policy of a performance; without one fans can give nothing back.
pub(crate) async fn policy(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<PolicyRow> {
    let row = sqlx::query("select policy, resells, version from refund_policies where performance_id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?;
    Ok(match row {
        Some(row) => PolicyRow {
            policy: row.try_get::<Json<RefundPolicy>, _>("policy")?.0,
            resells: row.try_get("resells")?,
            version: row.try_get("version")?,
        },
        None => PolicyRow { policy: RefundPolicy::default(), resells: true, version: 0 },
    })
}

/// Replaces the policy of that version by the next one; `false` when it moved on.
pub(crate) async fn set_policy(
    db: impl PgExecutor<'_>,
    id: PerformanceId,
    version: i32,
    policy: &RefundPolicy,
    resells: bool,
    now: Millis,
) -> sqlx::Result<bool> {
    let sql = if version == 0 {
        "insert into refund_policies (performance_id, policy, resells, version, changed_ms)
         values ($1, $3, $4, $2 + 1, $5) on conflict (performance_id) do nothing"
    } else {
        "update refund_policies set policy = $3, resells = $4, version = version + 1, changed_ms = $5
         where performance_id = $1 and version = $2"
    };
    let done =
        sqlx::query(sql).bind(id.0).bind(version).bind(Json(policy)).bind(resells).bind(now.0).execute(db).await?;
    Ok(done.rows_affected() == 1)
}

/// Whether seats that are given back are sold again: never once the performance was cancelled.
pub(crate) async fn resells(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "select p.cancelled_ms is null and coalesce(t.resells, true)
         from performances p left join refund_policies t on t.performance_id = p.id where p.id = $1",
    )
    .bind(id.0)
    .fetch_one(db)
    .await
}

/// Whose a performance is.
pub(crate) async fn organization(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Option<OrganizationId>> {
    let found: Option<uuid::Uuid> = sqlx::query_scalar(
        "select e.organization_id from performances p join events e on e.id = p.event_id where p.id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    Ok(found.map(OrganizationId))
}

/// The rule of an organization.
pub(crate) async fn rule(db: impl PgExecutor<'_>, id: OrganizationId) -> sqlx::Result<ApprovalRule> {
    let row = sqlx::query(
        "select automatic_to_minor, four_eyes_from_minor from organization_approval where organization_id = $1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?;
    row.map_or(Ok(ApprovalRule::default()), |row| {
        Ok(ApprovalRule {
            automatic_to_minor: row.try_get("automatic_to_minor")?,
            four_eyes_from_minor: row.try_get("four_eyes_from_minor")?,
        })
    })
}

/// Sets the rule of an organization.
pub(crate) async fn set_rule(db: impl PgExecutor<'_>, id: OrganizationId, rule: ApprovalRule) -> sqlx::Result<()> {
    sqlx::query(
        "insert into organization_approval (organization_id, automatic_to_minor, four_eyes_from_minor)
         values ($1, $2, $3)
         on conflict (organization_id) do update set automatic_to_minor = $2, four_eyes_from_minor = $3",
    )
    .bind(id.0)
    .bind(rule.automatic_to_minor)
    .bind(rule.four_eyes_from_minor)
    .execute(db)
    .await?;
    Ok(())
}
