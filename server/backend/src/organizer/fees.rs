//! Fees and tax of an organization, one schedule for each currency. A performance takes over the one of
//! its currency when it is published, and keeps it.

use crate::backend::Backend;
use crate::error::{Result, refuse};
use crate::postgres::{detached, fees};
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::fees::{FeesEntry, FeesForm};
use domain::{Code, Currency};
use serde_json::json;
use std::sync::Arc;

impl Backend {
    /// The schedules of the organization, by currency.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn organizer_fees(&self, session: &Session) -> Result<Vec<FeesEntry>> {
        let member = self.member(session, Action::EditTerms).await?;
        let rows = fees::of_organization(&self.pg, member.organization).await?;
        Ok(rows.into_iter().map(|(schedule, version)| FeesEntry { version, schedule }).collect())
    }

    /// Saves the schedule of a currency, for performances that are published from now on. `version` is the
    /// one that the form began from, 0 for a currency without a schedule. Answers the currency.
    ///
    /// # Errors
    /// `invalid_input` names the field; `not_found`, `forbidden`; `wrong_state` when somebody else changed
    /// it meanwhile.
    pub async fn save_fees(self: &Arc<Self>, session: &Session, version: i32, form: &FeesForm) -> Result<Currency> {
        let member = self.member(session, Action::EditTerms).await?;
        let schedule = form.schedule()?;
        let this = Arc::clone(self);
        detached(async move {
            let (organization, now) = (member.organization, this.now());
            let mut tx = this.pg.begin().await?;
            let saved = if version == 0 {
                fees::add(&mut *tx, organization, &schedule, now).await?
            } else {
                fees::change(&mut *tx, organization, version, &schedule, now).await?
            };
            if !saved {
                return refuse(Code::WrongState, "version: somebody changed this meanwhile; look at it again");
            }
            let (subject, detail) = (format!("organization {organization}"), json!(schedule));
            this.record(&mut *tx, &member, "fees.edit", &subject, &detail).await?;
            tx.commit().await?;
            Ok(schedule.currency)
        })
        .await
    }
}
