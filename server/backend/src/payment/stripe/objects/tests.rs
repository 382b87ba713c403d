//! Objects in the shape that Stripe documents, with what we read of them.

use super::super::recorded;
use super::*;
use serde_json::json;

const ATTEMPT: &str = "3f2a9c01-7b44-8e10-9d2c-0123456789ab";

fn intent(status: &str) -> Value {
    let mut intent = recorded::object("payment_intent");
    intent["metadata"] = json!({ "stararena_attempt": ATTEMPT });
    intent["status"] = json!(status);
    intent
}

fn page(status: &str, payment_intent: Value) -> Value {
    let mut page = recorded::object("checkout.session");
    page["metadata"] = json!({ "stararena_attempt": ATTEMPT });
    page["payment_intent"] = payment_intent;
    page["status"] = json!(status);
    if status != "open" {
        page["url"] = Value::Null;
    }
    page
}

/// What we make of an answer with its payment expanded.
fn told(answer: Value) -> Result<ProviderPayment, ProviderError> {
    let page: Page = serde_json::from_value(answer).unwrap();
    let made = match &page.payment_intent {
        Some(Expandable::Object(intent)) => Some(intent.as_ref()),
        Some(Expandable::Id(_)) | None => None,
    };
    payment_of(&page, made)
}

#[test]
fn a_new_page_waits_for_the_fan_and_tells_where() {
    let payment = told(page("open", Value::Null)).unwrap();
    assert_eq!(payment.state, ProviderState::Open);
    assert_eq!(
        (payment.id.as_str(), payment.reference.as_str(), payment.merchant.as_str()),
        ("cs_test_a1", ATTEMPT, "test")
    );
    assert_eq!((payment.amount_minor, payment.currency.code()), (25_900, "EUR"));
    assert_eq!(payment.hosted_url, "https://checkout.stripe.com/c/pay/cs_test_a1");
}

#[test]
fn each_status_of_a_payment_has_one_meaning() {
    for (status, state) in [
        ("requires_payment_method", ProviderState::Open),
        ("requires_confirmation", ProviderState::Open),
        ("requires_action", ProviderState::Open),
        ("processing", ProviderState::Open),
        ("requires_capture", ProviderState::Authorized),
        ("succeeded", ProviderState::Captured),
        ("canceled", ProviderState::Canceled),
    ] {
        let mut answer = intent(status);
        if status == "succeeded" {
            answer["amount_received"] = json!(25_900);
        }
        let alone: Intent = serde_json::from_value(answer.clone()).unwrap();
        assert_eq!(alone.payment().unwrap().state, state, "{status}");
        let on_its_page = told(page("complete", answer)).unwrap();
        assert_eq!((on_its_page.state, on_its_page.id.as_str()), (state, "cs_test_a1"), "{status}");
    }
    let unknown: Intent = serde_json::from_value(intent("requires_magic")).unwrap();
    assert!(matches!(unknown.payment(), Err(ProviderError::Unreachable(_))), "asked again, nothing is decided");
}

#[test]
fn the_money_decides_over_the_page_and_the_page_over_a_payment_without_money() {
    assert_eq!(told(page("open", intent("requires_capture"))).unwrap().state, ProviderState::Authorized);
    assert_eq!(told(page("expired", intent("requires_capture"))).unwrap().state, ProviderState::Authorized);
    assert_eq!(told(page("open", intent("canceled"))).unwrap().state, ProviderState::Open, "another can be made");
    assert_eq!(told(page("open", intent("requires_action"))).unwrap().state, ProviderState::Open);
    for nothing in [Value::Null, intent("requires_payment_method"), json!("pi_3Nx")] {
        assert_eq!(told(page("expired", nothing)).unwrap().state, ProviderState::Canceled);
    }
    assert!(told(page("complete", Value::Null)).is_err(), "complete means that somebody paid");
    assert!(told(page("new_word", Value::Null)).is_err());
}

#[test]
fn a_declined_card_is_told_by_the_banks_reason_until_another_pays() {
    let mut answer = intent("requires_payment_method");
    answer["last_payment_error"] =
        json!({ "type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds", "message": "x" });
    assert_eq!(told(page("open", answer.clone())).unwrap().last_error.as_deref(), Some("insufficient_funds"));
    answer["last_payment_error"] = json!({ "type": "card_error", "code": "expired_card" });
    assert_eq!(told(page("open", answer.clone())).unwrap().last_error.as_deref(), Some("expired_card"));
    answer["status"] = json!("requires_capture");
    assert_eq!(told(page("complete", answer)).unwrap().last_error, None);
}

#[test]
fn amounts_currencies_modes_and_accounts_are_those_of_the_payment() {
    let mut part = intent("succeeded");
    part["amount_received"] = json!(900);
    assert_eq!(told(page("complete", part)).unwrap().amount_minor, 900, "a part that was captured by hand shows");
    let mut krona = intent("requires_capture");
    krona["currency"] = json!("isk");
    krona["amount"] = json!(500_000);
    assert_eq!(told(page("complete", krona.clone())).unwrap().amount_minor, 5_000);
    krona["amount"] = json!(500_050);
    assert!(told(page("complete", krona)).is_err(), "no whole krona");
    let mut live = intent("requires_capture");
    live["livemode"] = json!(true);
    assert_eq!(told(page("complete", live)).unwrap().merchant, "live");
    let mut connected = intent("requires_capture");
    connected["on_behalf_of"] = json!("acct_2");
    assert!(told(page("complete", connected)).unwrap().merchant.contains("acct_2"));
    let mut nameless = intent("requires_capture");
    nameless["metadata"] = json!({});
    assert_eq!(told(page("complete", nameless)).unwrap().reference, "");
}

#[test]
fn what_is_not_needed_may_be_missing() {
    let small = json!({ "id": "pi_1", "status": "requires_capture", "amount": 5, "currency": "usd" });
    let intent: Intent = serde_json::from_value(small).unwrap();
    assert_eq!(intent.payment().unwrap().amount_minor, 5);
    let page: Page = serde_json::from_value(json!({ "id": "cs_1", "status": "open", "new_field": [1, 2] })).unwrap();
    assert!(payment_of(&page, None).is_err(), "but no amount is made up");
}

#[test]
fn a_refund_has_ended_only_when_stripe_says_so() {
    for (status, succeeded) in [
        (json!("succeeded"), Some(true)),
        (json!("failed"), Some(false)),
        (json!("canceled"), Some(false)),
        (json!("pending"), None),
        (json!("requires_action"), None),
        (Value::Null, None),
    ] {
        let mut answer = recorded::object("refund");
        answer["metadata"] = json!({ "stararena_refund": "refund:1" });
        answer["status"] = status;
        let refund: Refund = serde_json::from_value(answer).unwrap();
        assert!(refund.is_of("refund:1") && !refund.is_of("refund:2"));
        let told = refund.told().unwrap();
        assert_eq!((told.id.as_str(), told.succeeded, told.key.as_deref()), ("re_1", succeeded, Some("refund:1")));
        assert_eq!(told.amount, Some(domain::Money::new(1_000, "EUR".parse().unwrap())));
        assert_eq!(told.payment.as_deref(), Some("pi_1"));
        assert_eq!(told.reference, None, "a payment that is not told with it names nothing");
    }
    let by_hand: List<Refund> =
        serde_json::from_value(json!({ "object": "list", "data": [{ "id": "re_2", "status": "succeeded" }] })).unwrap();
    assert!(!by_hand.data[0].is_of("refund:1"), "a refund that was made by hand has no key of ours");
}

#[test]
fn a_dispute_tells_its_payment_and_where_it_stands() {
    for (status, state) in [
        ("warning_needs_response", DisputeState::Open),
        ("warning_under_review", DisputeState::Open),
        ("warning_closed", DisputeState::Won),
        ("needs_response", DisputeState::Open),
        ("under_review", DisputeState::Open),
        ("won", DisputeState::Won),
        ("lost", DisputeState::Lost),
        ("prevented", DisputeState::Won),
    ] {
        let dispute = |payment: Value| -> Dispute {
            let mut answer = recorded::object("dispute");
            answer["payment_intent"] = payment;
            answer["status"] = json!(status);
            serde_json::from_value(answer).unwrap()
        };
        let told = dispute(intent("succeeded")).told().unwrap();
        assert_eq!((told.state, told.reference.as_deref(), told.amount_minor), (state, Some(ATTEMPT), 25_900));
        assert_eq!((told.reason.as_str(), told.currency.code()), ("fraudulent", "EUR"));
        let takes_money = !status.starts_with("warning_") && status != "prevented";
        assert_eq!((told.withdrawn, told.opened.0), (takes_money, 1_700_000_000_000), "{status}");
        assert_eq!(dispute(json!("pi_1")).told().unwrap().reference, None);
        assert_eq!(dispute(Value::Null).told().unwrap().reference, None);
    }
}
