//! The server function of the report.

use crate::error::AppError;
use domain::organizer::money::MoneyReport;
use leptos::prelude::*;

/// What the books say of the organization.
#[server(endpoint = "organizer-money")]
pub async fn organizer_money(
    /// Since when.
    period: Option<String>,
    /// Of this performance only.
    performance: Option<String>,
) -> Result<MoneyReport, AppError> {
    use crate::context;
    use domain::organizer::money::Period;
    let period = chosen("period", period, Period::parse)?.unwrap_or_default();
    let performance = chosen("performance", performance, |text| text.parse().ok())?;
    Ok(context::backend()?.money_report(&context::session()?, period, performance).await?)
}

/// A choice of a form: none where nothing was chosen.
#[cfg(feature = "ssr")]
fn chosen<T>(field: &str, text: Option<String>, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, AppError> {
    match text.as_deref().filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => read(text).map(Some).ok_or_else(|| {
            AppError::new(domain::Code::InvalidInput, format!("{field}: one of the form's choices is expected"))
        }),
    }
}
