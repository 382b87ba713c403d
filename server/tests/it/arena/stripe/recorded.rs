//! Objects as Stripe documents them: the same files that the adapter's own tests read. Each says where its facts were
//! read, of which version of the interface, and when.

use serde_json::Value;

const FILES: [(&str, &str); 5] = [
    ("balance_transaction", include_str!("../../../../backend/src/payment/stripe/recorded/balance_transaction.json")),
    ("charge", include_str!("../../../../backend/src/payment/stripe/recorded/charge.json")),
    ("checkout.session", include_str!("../../../../backend/src/payment/stripe/recorded/checkout_session.json")),
    ("dispute", include_str!("../../../../backend/src/payment/stripe/recorded/dispute.json")),
    ("event", include_str!("../../../../backend/src/payment/stripe/recorded/event.json")),
];

/// An object of a kind, to be changed by whoever needs another one.
pub(crate) fn object(kind: &str) -> Value {
    let (_, text) = FILES.iter().find(|(of, _)| *of == kind).expect("the kind is recorded");
    let mut file: Value = serde_json::from_str(text).unwrap();
    assert_eq!(file["object"]["object"], kind);
    file["object"].take()
}
