//! Server functions of refunds, for the staff: thin adapters to the use-cases.

use crate::error::AppError;
use domain::organizer::search::PerformanceChoice;
use domain::refund::typed::TermsForm;
use domain::refund::view::{BatchView, PerformanceTerms, RefundList, RefundOffer, RefundView};
use domain::{OrderId, PerformanceId, RefundId};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

/// A page of refunds with what it can be narrowed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefundDesk {
    /// The refunds.
    pub list: RefundList,
    /// The organization's performances, for the filter.
    pub performances: Vec<PerformanceChoice>,
}

/// Refunds of the organization.
#[server(endpoint = "organizer-refunds")]
pub async fn organizer_refunds(
    /// Of this status only.
    status: Option<String>,
    /// Of this performance only.
    performance: Option<String>,
    /// Where the page before ended.
    before: Option<String>,
) -> Result<RefundDesk, AppError> {
    use crate::context;
    use domain::refund::RefundStatus;
    use domain::refund::view::RefundFilter;
    let filter = RefundFilter {
        status: chosen("status", status, RefundStatus::parse)?,
        performance: chosen("performance", performance, |text| text.parse().ok())?,
        before: chosen("before", before, |text| text.parse().ok())?,
    };
    let (backend, session) = (context::backend()?, context::session()?);
    let list = backend.refund_list(&session, &filter).await?;
    let mut performances = Vec::new();
    for event in backend.organizer_events(&session).await? {
        for line in event.performances {
            if let (Some(starts), Some(_)) = (line.starts, line.phase) {
                let (artist, event) = (event.artist.clone(), event.title.clone());
                performances.push(PerformanceChoice { id: line.id, artist, event, starts });
            }
        }
    }
    Ok(RefundDesk { list, performances })
}

/// Agrees to a refund, or turns it down.
#[server(endpoint = "organizer-refund-decide")]
pub async fn organizer_refund_decide(
    /// Which refund.
    refund: RefundId,
    /// `approve` or `reject`.
    answer: String,
    /// What is to be kept with it.
    note: Option<String>,
    /// The list to return to.
    next: Option<String>,
) -> Result<(), AppError> {
    use crate::context;
    let approve = match answer.as_str() {
        "approve" => true,
        "reject" => false,
        _ => return Err(AppError::new(domain::Code::InvalidInput, "answer: approve or reject is expected")),
    };
    let note = note.unwrap_or_default();
    context::backend()?.decide_refund(&context::session()?, refund, approve, note.trim()).await?;
    context::redirect_form(&list_of(next.as_deref()));
    Ok(())
}

/// Tries a refund that failed again.
#[server(endpoint = "organizer-refund-retry")]
pub async fn organizer_refund_retry(
    /// Which refund.
    refund: RefundId,
    /// The list to return to.
    next: Option<String>,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.retry_refund(&context::session()?, refund).await?;
    context::redirect_form(&list_of(next.as_deref()));
    Ok(())
}

/// Sets who has to agree to refunds.
#[server(endpoint = "organizer-refund-rule")]
pub async fn organizer_refund_rule(
    /// Up to which amount nobody has to.
    automatic: String,
    /// From which amount on it is another one than who asked; empty: never.
    four_eyes: String,
    /// The currency of both amounts; empty: they are minor units.
    currency: String,
) -> Result<(), AppError> {
    use crate::context;
    let set = set_rule(&automatic, &four_eyes, &currency).await;
    context::keep_typed(set, || OrganizerRefundRule { automatic, four_eyes, currency })?;
    context::redirect_form(&format!("{LIST}?saved=1"));
    Ok(())
}

#[cfg(feature = "ssr")]
async fn set_rule(automatic: &str, four_eyes: &str, currency: &str) -> Result<(), AppError> {
    use crate::context;
    let currency = chosen("currency", Some(currency.to_owned()), |text| text.parse().ok())?;
    let rule = domain::refund::typed::typed_rule(automatic, four_eyes, currency)?;
    Ok(context::backend()?.set_approval_rule(&context::session()?, rule).await?)
}

/// What is left of an order to give back, whatever the policy says.
#[server(endpoint = "organizer-order-refund-offer")]
pub async fn organizer_order_refund_offer(
    /// The order.
    order: String,
) -> Result<RefundOffer, AppError> {
    use crate::context;
    let session = context::session()?;
    let order = order.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such order"))?;
    Ok(context::backend()?.staff_refund_offer(&session, order).await?)
}

/// Asks for a refund in a fan's place.
#[server(endpoint = "organizer-order-refund")]
pub async fn organizer_order_refund(
    /// The order.
    order: OrderId,
    /// Numbers of the seats, between commas.
    seats: String,
    /// Why.
    note: String,
) -> Result<RefundView, AppError> {
    use crate::context;
    let invalid = |message: String| AppError::new(domain::Code::InvalidInput, message);
    let seats =
        domain::ids::parse_seats(&seats).map_err(|part| invalid(format!("seats: `{part}` is no number of a seat")))?;
    let note = note.trim();
    if note.is_empty() {
        return Err(invalid("note: why is expected".to_owned()));
    }
    let refund = context::backend()?.staff_refund(&context::session()?, order, &seats, note).await?;
    context::redirect_form(&format!("{}?asked=1", page_of_order(&order.to_string())));
    Ok(refund)
}

/// The terms of a performance.
#[server(endpoint = "organizer-terms")]
pub async fn organizer_terms(
    /// Which performance.
    id: String,
) -> Result<PerformanceTerms, AppError> {
    use crate::context;
    let session = context::session()?;
    let id = id.parse().map_err(|_| AppError::new(domain::Code::NotFound, "there is no such performance"))?;
    Ok(context::backend()?.performance_terms(&session, id).await?)
}

/// Sets what fans may give back.
#[server(endpoint = "organizer-terms-save")]
pub async fn organizer_terms_save(
    /// Which performance.
    id: PerformanceId,
    /// The version that the form began from.
    version: i32,
    /// What the form says.
    form: TermsForm,
) -> Result<(), AppError> {
    use crate::context;
    let saved = save_terms(id, version, &form).await;
    context::keep_typed(saved, || OrganizerTermsSave { id, version, form })?;
    context::redirect_form(&format!("{}?saved=1", page_of(&id.to_string())));
    Ok(())
}

#[cfg(feature = "ssr")]
async fn save_terms(id: PerformanceId, version: i32, form: &TermsForm) -> Result<(), AppError> {
    use crate::context;
    let policy = form.policy()?;
    let resells = form.resells.is_some();
    Ok(context::backend()?.set_refund_policy(&context::session()?, id, version, &policy, resells).await?)
}

/// Cancels a performance: all of its orders get their money back.
#[server(endpoint = "organizer-performance-cancel")]
pub async fn organizer_performance_cancel(
    /// Which performance.
    id: PerformanceId,
    /// The event's name, typed once more.
    typed: String,
) -> Result<BatchView, AppError> {
    use crate::context;
    let batch = context::backend()?.cancel_performance(&context::session()?, id, &typed).await?;
    context::redirect_form(&page_of(&id.to_string()));
    Ok(batch)
}

/// How far a cancelled performance is refunded. Changes nothing.
#[server(endpoint = "organizer-refund-batch")]
pub async fn organizer_refund_batch(
    /// Which performance.
    id: PerformanceId,
) -> Result<Option<BatchView>, AppError> {
    use crate::context;
    Ok(context::backend()?.refund_batch(&context::session()?, id).await?)
}

/// Tries the failed refunds of a cancelled performance again.
#[server(endpoint = "organizer-refund-batch-retry")]
pub async fn organizer_refund_batch_retry(
    /// Which performance.
    id: PerformanceId,
) -> Result<BatchView, AppError> {
    use crate::context;
    let batch = context::backend()?.retry_batch(&context::session()?, id).await?;
    context::redirect_form(&page_of(&id.to_string()));
    Ok(batch)
}

/// The address of the list.
pub(super) const LIST: &str = "/organizer/money/refunds";

/// The address of an order's page of refunds.
pub(super) fn page_of_order(order: &str) -> String {
    format!("/organizer/orders/{order}/refund")
}

/// The address of a performance's terms.
pub(super) fn page_of(performance: &str) -> String {
    format!("/organizer/performances/{performance}/refunds")
}

/// The list that a form came from, else the whole one.
#[cfg(feature = "ssr")]
fn list_of(next: Option<&str>) -> String {
    next.filter(|next| next.starts_with(LIST))
        .map_or_else(|| LIST.to_owned(), |next| crate::route::local_path(Some(next)))
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
