//! Server functions of fees and tax.

use crate::error::AppError;
use domain::organizer::fees::{FeesEntry, FeesForm};
use leptos::prelude::*;

/// The organization's schedules, by currency.
#[server(endpoint = "organizer-fees")]
pub async fn organizer_fees() -> Result<Vec<FeesEntry>, AppError> {
    use crate::context;
    Ok(context::backend()?.organizer_fees(&context::session()?).await?)
}

/// Saves the schedule of a currency; answers the currency.
#[server(endpoint = "organizer-fees-save")]
pub async fn fees_save(
    /// The version that the form began from; 0 for a currency without a schedule.
    version: i32,
    /// What the form says.
    form: FeesForm,
) -> Result<String, AppError> {
    use crate::context;
    let saved = context::backend()?.save_fees(&context::session()?, version, &form).await;
    let currency = context::keep_typed(saved, || FeesSave { version, form })?;
    context::redirect_form(&format!("/organizer/settings/fees?saved={currency}"));
    Ok(currency.code().to_owned())
}
