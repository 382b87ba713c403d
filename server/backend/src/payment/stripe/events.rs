//! What an event of Stripe says. Kinds and objects that we don't follow say nothing: an account may serve
//! other programs too, and Stripe adds kinds as it likes.

use super::objects::{REFERENCE, mode};
use crate::payment::Notice;
use domain::Millis;
use serde_json::Value;

/// Reads an event; `live` says whether our key is for real money.
pub(super) fn notice(event: &Value, live: bool) -> Notice {
    if event["account"].is_string() {
        return Notice::Foreign { reason: "an event of another account" };
    }
    if event["livemode"].as_bool().is_some_and(|theirs| mode(theirs) != mode(live)) {
        return Notice::Foreign { reason: "an event of another mode" };
    }
    let object = &event["data"]["object"];
    let id = object["id"].as_str().unwrap_or_default().to_owned();
    match object["object"].as_str() {
        Some("checkout.session" | "payment_intent") => match object["metadata"][REFERENCE].as_str() {
            Some(reference) => Notice::Payment {
                reference: reference.to_owned(),
                told: event["created"].as_i64().and_then(|seconds| seconds.checked_mul(1_000)).map(Millis),
            },
            None => Notice::Nothing,
        },
        Some("refund") => Notice::Refund { id },
        Some("dispute") => Notice::Dispute { id },
        _ => Notice::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;
    use serde_json::json;

    fn event(kind: &str, object: Value) -> Value {
        let mut event = recorded::object("event");
        event["type"] = json!(kind);
        event["data"]["object"] = object;
        event
    }

    #[test]
    fn payments_are_known_by_our_name_on_the_page_and_on_the_payment() {
        let expected = Notice::Payment { reference: "attempt".to_owned(), told: Some(Millis(1_700_000_000_000)) };
        for (kind, object) in [
            ("checkout.session.completed", "checkout.session"),
            ("checkout.session.expired", "checkout.session"),
            ("payment_intent.amount_capturable_updated", "payment_intent"),
            ("payment_intent.payment_failed", "payment_intent"),
            ("payment_intent.some_day_new", "payment_intent"),
        ] {
            let ours = json!({ "id": "x_1", "object": object, "metadata": { "stararena_attempt": "attempt" } });
            assert_eq!(notice(&event(kind, ours), false), expected, "{kind}");
            let theirs = json!({ "id": "x_1", "object": object, "metadata": { "order": "7" } });
            assert_eq!(notice(&event(kind, theirs), false), Notice::Nothing, "another program's {kind}");
        }
    }

    #[test]
    fn refunds_and_disputes_are_known_by_their_id_and_the_rest_says_nothing() {
        let object = |kind: &str| json!({ "id": "id_1", "object": kind, "status": "failed" });
        assert_eq!(notice(&event("refund.failed", object("refund")), false), Notice::Refund { id: "id_1".to_owned() });
        assert_eq!(
            notice(&event("charge.refund.updated", object("refund")), false),
            Notice::Refund { id: "id_1".to_owned() }
        );
        assert_eq!(
            notice(&event("charge.dispute.created", object("dispute")), false),
            Notice::Dispute { id: "id_1".to_owned() }
        );
        for (kind, what) in [("charge.succeeded", "charge"), ("payout.paid", "payout"), ("new.thing", "new")] {
            assert_eq!(notice(&event(kind, object(what)), false), Notice::Nothing, "{kind}");
        }
        for odd in [json!({}), json!([]), json!({ "data": 7 }), json!({ "data": { "object": null } })] {
            assert_eq!(notice(&odd, false), Notice::Nothing, "{odd}");
        }
    }

    #[test]
    fn another_mode_and_another_account_are_not_ours() {
        let ours = json!({ "id": "pi_1", "object": "payment_intent", "metadata": { "stararena_attempt": "attempt" } });
        let plain = event("payment_intent.succeeded", ours);
        assert!(matches!(notice(&plain, true), Notice::Foreign { reason } if reason.contains("mode")));
        let mut connected = plain.clone();
        connected["account"] = json!("acct_2");
        assert!(matches!(notice(&connected, false), Notice::Foreign { reason } if reason.contains("account")));
        assert!(matches!(notice(&plain, false), Notice::Payment { .. }));
    }
}
