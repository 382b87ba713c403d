//! What fans may give back, and who must agree: set by those who answer for the money.

use super::cancelling::batch_view;
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Result, refuse};
use crate::postgres::{batches, detached, terms as rows};
use domain::account::Session;
use domain::organizer::Action;
use domain::refund::ApprovalRule;
use domain::refund::policy::RefundPolicy;
use domain::refund::view::PerformanceTerms;
use domain::{Code, Money, PerformanceId};
use serde_json::json;
use std::sync::Arc;

impl Backend {
    /// Sets who must agree to refunds of the organization, from now on.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `invalid_input` names the amount.
    pub async fn set_approval_rule(&self, session: &Session, rule: ApprovalRule) -> Result<()> {
        let member = self.member(session, Action::EditTerms).await?;
        if rule.automatic_to_minor < 0 {
            return refuse(Code::InvalidInput, "automatic_to_minor: 0 or more is expected");
        }
        if rule.four_eyes_from_minor.is_some_and(|minor| minor < 0) {
            return refuse(Code::InvalidInput, "four_eyes_from_minor: 0 or more is expected");
        }
        let mut tx = self.pg.begin().await?;
        rows::set_rule(&mut *tx, member.organization, rule).await?;
        let subject = format!("organization {}", member.organization);
        self.record(&mut *tx, &member, "organization.approval", &subject, &json!(rule)).await?;
        Ok(tx.commit().await?)
    }

    /// The terms of a performance, and what became of it.
    ///
    /// # Errors
    /// `not_found` for another organization's performance; `forbidden`.
    pub async fn performance_terms(
        self: &Arc<Self>,
        session: &Session,
        performance: PerformanceId,
    ) -> Result<PerformanceTerms> {
        let member = self.member(session, Action::ReadMoney).await?;
        self.own_performance(&member, performance).await?;
        let sale = self.sale(performance).await?;
        let policy = rows::policy(&self.pg, performance).await?;
        let (paid_orders, paid_minor) = batches::paid(&self.pg, performance).await?;
        let batch = batches::one(&self.pg, performance).await?;
        Ok(PerformanceTerms {
            performance,
            artist: sale.row.artist.clone(),
            event: sale.row.title.clone(),
            starts: zoned(sale.row.starts, &sale.row.time_zone)?,
            policy: policy.policy,
            resells: policy.resells,
            version: policy.version,
            paid_orders: u32::try_from(paid_orders).unwrap_or(u32::MAX),
            paid: Money::new(paid_minor, sale.row.currency),
            batch: batch.map(|row| batch_view(&row, sale.row.currency)),
        })
    }

    /// Sets what fans may give back of a performance from now on, and whether those seats are sold again.
    /// `version` is the one that was seen; 0 where nothing was ever set.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `invalid_input` names the field; `wrong_state` when somebody changed it
    /// meanwhile.
    pub async fn set_refund_policy(
        self: &Arc<Self>,
        session: &Session,
        performance: PerformanceId,
        version: i32,
        policy: &RefundPolicy,
        resells: bool,
    ) -> Result<()> {
        let member = self.member(session, Action::EditTerms).await?;
        self.own_performance(&member, performance).await?;
        policy.check()?;
        let (this, policy) = (Arc::clone(self), policy.clone());
        detached(async move {
            let mut tx = this.pg.begin().await?;
            if !rows::set_policy(&mut *tx, performance, version, &policy, resells, this.now()).await? {
                return refuse(Code::WrongState, "somebody changed these terms meanwhile: look at them again");
            }
            let (subject, detail) =
                (format!("performance {performance}"), json!({ "policy": policy, "resells": resells }));
            this.record(&mut *tx, &member, "performance.terms", &subject, &detail).await?;
            Ok(tx.commit().await?)
        })
        .await
    }
}
