//! Objects as Stripe documents them, for tests. Each file says where its facts were read, of which version of the
//! interface, and when; see `recorded/README.md`.

use serde_json::Value;

const FILES: [(&str, &str); 7] = [
    ("balance_transaction", include_str!("recorded/balance_transaction.json")),
    ("charge", include_str!("recorded/charge.json")),
    ("checkout.session", include_str!("recorded/checkout_session.json")),
    ("dispute", include_str!("recorded/dispute.json")),
    ("event", include_str!("recorded/event.json")),
    ("payment_intent", include_str!("recorded/payment_intent.json")),
    ("refund", include_str!("recorded/refund.json")),
];

/// An object of a kind, to be changed by whoever needs another one.
pub(super) fn object(kind: &str) -> Value {
    let (_, text) = FILES.iter().find(|(of, _)| *of == kind).unwrap();
    let mut file: Value = serde_json::from_str(text).unwrap();
    file["object"].take()
}

#[test]
fn every_file_says_where_and_when_its_facts_were_read() {
    for (kind, text) in FILES {
        let file: Value = serde_json::from_str(text).unwrap();
        let said = |name: &str| file[name].as_str().unwrap_or_default().to_owned();
        assert!(said("documentation").starts_with("https://docs.stripe.com/"), "{kind}");
        assert!(!said("api_version").is_empty(), "{kind}");
        assert!(said("read").parse::<jiff::civil::Date>().is_ok(), "{kind}: a day such as 2026-01-31");
        assert!(file["facts"].as_array().is_some_and(|facts| !facts.is_empty()), "{kind}");
        assert_eq!(file["object"]["object"], kind, "its name is that of the object");
    }
}
