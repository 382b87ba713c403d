//! Server functions of payouts.

use crate::error::AppError;
use domain::PayoutId;
use domain::organizer::payouts::{PayoutDesk, PayoutForm};
use leptos::prelude::*;

/// What is owed, and a page of payouts.
#[server(endpoint = "organizer-payouts")]
pub async fn organizer_payouts(
    /// Where the page before ended.
    before: Option<String>,
) -> Result<PayoutDesk, AppError> {
    use crate::context;
    let before = match before.as_deref().filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => Some(
            text.parse::<PayoutId>()
                .map_err(|_| AppError::new(domain::Code::InvalidInput, "before: the id of a payout is expected"))?,
        ),
    };
    Ok(context::backend()?.payout_desk(&context::session()?, before).await?)
}

/// Notes that an amount was transferred; answers the payout.
#[server(endpoint = "organizer-payout-record")]
pub async fn organizer_payout_record(
    /// What the form says.
    form: PayoutForm,
) -> Result<PayoutId, AppError> {
    use crate::context;
    let recorded = context::backend()?.record_payout(&context::session()?, &form).await;
    let id = context::keep_typed(recorded, || OrganizerPayoutRecord { form })?;
    context::redirect_form(super::PAGE);
    Ok(id)
}

/// Reverses a payout.
#[server(endpoint = "organizer-payout-reverse")]
pub async fn organizer_payout_reverse(
    /// Which payout.
    id: PayoutId,
    /// Why.
    reason: String,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.reverse_payout(&context::session()?, id, &reason).await?;
    context::redirect_form(super::PAGE);
    Ok(())
}
