//! Stripe, over its interface of forms and JSON, without a kit of theirs.
//!
//! The fan pays on Stripe's hosted page (a Checkout Session), whose payment (a PaymentIntent) is captured by
//! hand: authorise, look whether the order owns its seats, capture. The page is what an attempt is known by,
//! since the payment is made there only when the fan pays. Why it is done so is in `docs/adr/0030`.

mod amounts;
mod client;
mod events;
mod objects;
#[cfg(test)]
mod recorded;
mod settlement;

use self::client::{Client, Form, checked};
use self::objects::{Dispute, Expandable, Intent, List, Page, REFERENCE, REFUND_KEY, Refund, payment_of};
use super::{
    NewPayment, Notice, PaymentProvider, ProviderDispute, ProviderError, ProviderPayment, ProviderRefund,
    ProviderState, looked_up, signature,
};
use crate::config::StripeSettings;
use crate::error::Result;
use domain::settlement::ProviderLine;
use domain::{Currency, Millis};
use futures::future::BoxFuture;
use serde_json::Value;

/// A page can't end earlier than 30 minutes after it was made, as Stripe documents. It is ended by a call when
/// our own deadline is over; this is its end should nobody be there to call. The minute on top is for clocks
/// that differ, and for tries of one attempt that come later: all of them must state the same end.
const PAGE_LIFE_S: i64 = 31 * 60;
/// What the fan reads beside the amount; Stripe takes more, and cuts nothing itself.
const DESCRIPTION_MAX_CHARS: usize = 250;
/// Refunds of one payment that are looked through for ours: far more than an order has seats.
const REFUNDS_MAX: &str = "100";

type Answer<T> = std::result::Result<T, ProviderError>;

/// One account at Stripe.
pub(super) struct StripeProvider {
    client: Client,
    webhook_secrets: Vec<String>,
    live: bool,
}

/// What an attempt is at Stripe: its page, and its payment, once there is one. A payment that was made without
/// a page is known by itself.
struct Found {
    page: Option<Page>,
    intent: Option<Intent>,
}

impl Found {
    fn payment(&self) -> Answer<ProviderPayment> {
        match (&self.page, &self.intent) {
            (Some(page), intent) => payment_of(page, intent.as_ref()),
            (None, Some(intent)) => intent.payment(),
            (None, None) => Err(ProviderError::unreadable("neither a page nor a payment was told")),
        }
    }

    /// The payment there, or a refusal: nobody has paid.
    fn intent(&self) -> Answer<&Intent> {
        self.intent.as_ref().ok_or_else(|| ProviderError::Refused { code: "nobody has paid".to_owned() })
    }
}

fn field(name: impl Into<String>, value: impl Into<String>) -> (String, String) {
    (name.into(), value.into())
}

/// The fields of a new page. They are the same for each try of an attempt, or Stripe refuses the key.
fn page_form(new: &NewPayment) -> std::result::Result<Form, String> {
    let amount = amounts::to_stripe(new.amount_minor, new.currency)?;
    let description: String = new.description.chars().take(DESCRIPTION_MAX_CHARS).collect();
    let price = |name: &str| format!("line_items[0][price_data]{name}");
    Ok(vec![
        field("mode", "payment"),
        // Cards can be authorised first, and say at once whether they pay.
        field("payment_method_types[0]", "card"),
        field("line_items[0][quantity]", "1"),
        field(price("[currency]"), new.currency.code().to_ascii_lowercase()),
        field(price("[unit_amount]"), amount.to_string()),
        field(price("[product_data][name]"), description),
        field("payment_intent_data[capture_method]", "manual"),
        field(format!("payment_intent_data[metadata][{REFERENCE}]"), &new.reference),
        field(format!("metadata[{REFERENCE}]"), &new.reference),
        field("client_reference_id", &new.reference),
        // The price is the order's: no page converts it.
        field("adaptive_pricing[enabled]", "false"),
        field("success_url", &new.return_url),
        field("cancel_url", &new.return_url),
        field("expires_at", (new.expires.0.div_euclid(1_000) + PAGE_LIFE_S).to_string()),
    ])
}

impl StripeProvider {
    /// A client of the account that the settings name.
    pub(super) fn new(settings: &StripeSettings) -> Result<Self> {
        Ok(Self {
            client: Client::new(settings)?,
            webhook_secrets: settings.webhook_secrets.clone(),
            live: settings.is_live(),
        })
    }

    async fn read_intent(&self, id: &str) -> Answer<Intent> {
        self.client.get(&format!("/v1/payment_intents/{}", checked(id)?), &[]).await
    }

    async fn read(&self, id: &str) -> Answer<Found> {
        if id.starts_with("pi_") {
            return Ok(Found { page: None, intent: Some(self.read_intent(id).await?) });
        }
        let path = format!("/v1/checkout/sessions/{}", checked(id)?);
        let mut page: Page = self.client.get(&path, &[("expand[]", "payment_intent")]).await?;
        let intent = match page.payment_intent.take() {
            Some(Expandable::Object(intent)) => Some(*intent),
            Some(Expandable::Id(id)) => Some(self.read_intent(&id).await?),
            None => None,
        };
        Ok(Found { page: Some(page), intent })
    }

    /// Tells a payment to end in one way or the other.
    async fn order(&self, intent: &Intent, verb: &str, key: &str) -> Answer<Intent> {
        let path = format!("/v1/payment_intents/{}/{verb}", checked(&intent.id)?);
        self.client.post(&path, key, &Form::new()).await
    }

    async fn capture_it(&self, id: &str, key: &str) -> Answer<ProviderPayment> {
        let mut found = self.read(id).await?;
        found.intent = Some(self.order(found.intent()?, "capture", key).await?);
        found.payment()
    }

    /// While a page is open its payment can only be ended with it; once the fan has paid, only by itself.
    async fn cancel_it(&self, id: &str, key: &str) -> Answer<ProviderPayment> {
        let found = self.read(id).await?;
        let state = found.payment()?.state;
        if matches!(state, ProviderState::Captured | ProviderState::Canceled) {
            return found.payment();
        }
        match (&found.page, &found.intent) {
            (Some(page), _) if page.is_open() && state == ProviderState::Open => {
                // Under a key of its own: another call, should the fan pay at this very moment.
                let path = format!("/v1/checkout/sessions/{}/expire", checked(&page.id)?);
                let _ended: Page = self.client.post(&path, &format!("{key}:page"), &Form::new()).await?;
            }
            (_, Some(intent)) => {
                self.order(intent, "cancel", key).await?;
            }
            (_, None) => {}
        }
        self.read(id).await?.payment()
    }

    /// A payment and its refunds.
    async fn made(&self, payment: &str) -> Answer<(Found, List<Refund>)> {
        let found = self.read(payment).await?;
        let query = [("payment_intent", found.intent()?.id.as_str()), ("limit", REFUNDS_MAX)];
        let made = self.client.get("/v1/refunds", &query).await?;
        Ok((found, made))
    }

    /// Stripe forgets a key after a day. So the payment's refunds are looked through first: one of ours is
    /// never made a second time, however late we ask again.
    async fn refund_it(&self, payment: &str, amount_minor: i64, reference: &str, key: &str) -> Answer<ProviderRefund> {
        let (found, made) = looked_up(self.made(payment)).await?;
        if let Some(refund) = made.data.into_iter().find(|refund| refund.is_of(reference)) {
            return refund.of(found.intent).told();
        }
        let intent = found.intent()?;
        let amount = amounts::to_stripe(amount_minor, intent.currency)
            .map_err(|why| ProviderError::Refused { code: format!("amount: {why}") })?;
        let form = vec![
            field("payment_intent", &intent.id),
            field("amount", amount.to_string()),
            field(format!("metadata[{REFUND_KEY}]"), reference),
        ];
        let refund: Refund = self.client.post("/v1/refunds", key, &form).await?;
        refund.of(found.intent).told()
    }

    /// A refund with its payment, which names the attempt.
    async fn read_refund(&self, id: &str) -> Answer<ProviderRefund> {
        let path = format!("/v1/refunds/{}", checked(id)?);
        let refund: Refund = self.client.get(&path, &[("expand[]", "payment_intent")]).await?;
        let intent = match &refund.payment_intent {
            Some(Expandable::Id(id)) => Some(self.read_intent(id).await?),
            Some(Expandable::Object(_)) | None => None,
        };
        refund.of(intent).told()
    }
}

impl PaymentProvider for StripeProvider {
    fn name(&self) -> &'static str {
        "stripe"
    }

    /// Objects name no account: what our key reads is our account's, in the key's mode.
    fn merchant(&self) -> &str {
        objects::mode(self.live)
    }

    fn chargeable(&self, amount_minor: i64, currency: Currency) -> std::result::Result<(), String> {
        amounts::to_stripe(amount_minor, currency).map(|_| ())
    }

    fn signature_header(&self) -> &'static str {
        "stripe-signature"
    }

    fn verify(&self, header: &str, body: &[u8], now: Millis) -> bool {
        signature::fits(&self.webhook_secrets, header, body, now)
    }

    fn notice(&self, event: &Value) -> Notice {
        events::notice(event, self.live)
    }

    fn create(&self, new: NewPayment) -> BoxFuture<'_, Answer<ProviderPayment>> {
        Box::pin(async move {
            let form = page_form(&new).map_err(|why| ProviderError::Refused { code: format!("amount: {why}") })?;
            let page: Page = self.client.post("/v1/checkout/sessions", &new.idempotency_key, &form).await?;
            let payment = payment_of(&page, None)?;
            if payment.hosted_url.is_empty() {
                return Err(ProviderError::unreadable("a page without an address"));
            }
            Ok(payment)
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Answer<ProviderPayment>> {
        Box::pin(async move { self.read(id).await?.payment() })
    }

    /// Stripe has no list by reference that is up to date (its search lags by a minute or more), and needs
    /// none: asking for the same page again under the same key gives the first one. A page whose address nobody
    /// was told, as one under an older key, is paid by nobody and ends by itself.
    fn find<'a>(&'a self, _reference: &'a str) -> BoxFuture<'a, Answer<Option<ProviderPayment>>> {
        Box::pin(async { Ok(None) })
    }

    fn capture<'a>(&'a self, id: &'a str, key: &'a str) -> BoxFuture<'a, Answer<ProviderPayment>> {
        Box::pin(self.capture_it(id, key))
    }

    fn cancel<'a>(&'a self, id: &'a str, key: &'a str) -> BoxFuture<'a, Answer<ProviderPayment>> {
        Box::pin(self.cancel_it(id, key))
    }

    fn refund<'a>(
        &'a self,
        payment: &'a str,
        amount_minor: i64,
        reference: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Answer<ProviderRefund>> {
        Box::pin(self.refund_it(payment, amount_minor, reference, key))
    }

    fn get_refund<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Answer<ProviderRefund>> {
        Box::pin(self.read_refund(id))
    }

    fn get_dispute<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Answer<ProviderDispute>> {
        Box::pin(async move {
            let path = format!("/v1/disputes/{}", checked(id)?);
            let dispute: Dispute = self.client.get(&path, &[("expand[]", "payment_intent")]).await?;
            dispute.told()
        })
    }

    fn settlement(&self, from: Millis, to: Millis) -> BoxFuture<'_, Answer<Vec<ProviderLine>>> {
        Box::pin(settlement::read(&self.client, from, to))
    }
}

#[cfg(test)]
mod tests;
