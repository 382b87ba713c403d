//! Which provider a payment goes through: an organization chooses one, and an attempt keeps the one that it
//! was made with.

use crate::backend::Backend;
use crate::error::{Error, Result, not_found, refuse};
use crate::organizer::Member;
use crate::payment::{PaymentProvider, ProviderError};
use crate::postgres::attempts;
use crate::postgres::orders::OrderRow;
use domain::Code;
use serde_json::json;
use std::sync::Arc;

impl Backend {
    /// The payment provider of that name, if it is configured here.
    pub fn provider(&self, name: &str) -> Option<Arc<dyn PaymentProvider>> {
        self.providers.get(name).cloned()
    }

    /// The provider of something that was made before. Where it is configured no more, what is under way waits
    /// as it does for a provider that is away, and the alarm rings.
    pub(crate) fn provider_named(&self, name: &str) -> Result<&dyn PaymentProvider> {
        match self.providers.get(name) {
            Some(provider) => Ok(provider.as_ref()),
            None => {
                metrics::counter!("stararena_provider_missing_total", "provider" => name.to_owned()).increment(1);
                let what = format!("the payment provider `{name}` is not configured here");
                Err(Error::Provider(ProviderError::Unreachable(what.into())))
            }
        }
    }

    /// The provider for a new attempt of an order, by name: the organization's choice, once it is known that
    /// the amount can be charged there.
    pub(crate) async fn provider_for(&self, row: &OrderRow) -> Result<&'static str> {
        let Some(name) = attempts::provider_of(&self.pg, row.performance).await? else {
            return not_found("performance");
        };
        let provider = self.provider_named(&name)?;
        match provider.chargeable(row.total_minor, row.currency) {
            Ok(()) => Ok(provider.name()),
            Err(why) => refuse(Code::InvalidInput, format!("amount: {why}")),
        }
    }

    /// Chooses the provider through which an organization is paid from now on. Payments under way, and all
    /// that comes after them, stay with the one that they were made with.
    ///
    /// # Errors
    /// `invalid_input` when no such provider is configured here; `not_found`.
    pub async fn choose_provider(&self, member: &Member, name: &str) -> Result<()> {
        let Some(provider) = self.providers.get(name) else {
            let all = self.providers.names();
            return refuse(
                Code::InvalidInput,
                format!("provider: `{name}` is not configured here, one of {all} is expected"),
            );
        };
        let organization = member.organization;
        let mut tx = self.pg.begin().await?;
        if !attempts::set_provider(&mut *tx, organization, provider.name()).await? {
            return not_found("organization");
        }
        let (subject, detail) = (format!("organization {organization}"), json!({ "provider": provider.name() }));
        self.record(&mut *tx, member, "organization.provider", &subject, &detail).await?;
        Ok(tx.commit().await?)
    }
}
