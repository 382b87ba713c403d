//! Until when fans may change the names on their tickets: a term of a published performance.

use crate::backend::Backend;
use crate::catalog::{Sale, zoned};
use crate::error::{Result, refuse};
use crate::postgres::{detached, tickets};
use domain::account::Session;
use domain::organizer::Action;
use domain::organizer::sales::NameTerms;
use domain::{Code, PerformanceId};
use serde_json::json;
use std::sync::Arc;

/// Milliseconds of the unit of the form.
const HOUR_MS: i64 = 3_600_000;
/// The earliest cut-off before the start, in hours: a year.
const HOURS_MAX: i64 = 365 * 24;

impl Backend {
    /// Until when names can be changed.
    pub(super) async fn names_of(&self, sale: &Sale) -> Result<NameTerms> {
        let before_ms = tickets::name_cutoff(&self.pg, sale.id()).await?;
        Ok(NameTerms {
            hours: before_ms.map(|ms| ms / HOUR_MS),
            until: zoned(sale.row.starts.plus(-before_ms.unwrap_or(0)), &sale.row.time_zone)?,
        })
    }

    /// Sets how many hours before the start names are fixed; none: until the start. Names that are on tickets
    /// stay.
    ///
    /// # Errors
    /// `forbidden`; `not_found`; `invalid_input`; `wrong_state` when somebody else has changed it meanwhile.
    pub async fn set_name_terms(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        from: &str,
        hours: &str,
    ) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        self.own_performance(&member, id).await?;
        let (from, to) = (parse_hours(from)?, parse_hours(hours)?);
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let ms = |hours: Option<i64>| hours.map(|hours| hours * HOUR_MS);
            if !tickets::set_name_cutoff(&mut *tx, id, ms(from), ms(to)).await? {
                return refuse(Code::WrongState, "hours: somebody else has changed it; look again");
            }
            let detail = json!({ "from_hours": from, "hours": to });
            this.record(&mut *tx, &member, "performance.names", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }
}

fn parse_hours(text: &str) -> Result<Option<i64>> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse::<i64>() {
        Ok(hours) if (0..=HOURS_MAX).contains(&hours) => Ok(Some(hours)),
        _ => refuse(Code::InvalidInput, format!("hours: a number from 0 to {HOURS_MAX}, or nothing, is expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_hours;

    #[test]
    fn hours_are_whole_and_within_a_year() {
        assert_eq!(parse_hours(" 48 ").unwrap(), Some(48));
        assert_eq!(parse_hours("").unwrap(), None);
        for text in ["-1", "8761", "1.5", "soon"] {
            assert!(parse_hours(text).is_err(), "{text}");
        }
    }
}
