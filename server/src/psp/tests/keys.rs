//! Idempotency keys.

use super::*;
use std::collections::BTreeSet;

#[tokio::test]
async fn one_key_one_outcome() {
    let folder = Folder::new();
    let psp = Arc::new(Provider::start(&folder, None).await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let psp = Arc::clone(&psp);
        calls.spawn(async move { psp.post("/v1/payments", "pi:1", order("order")).await });
    }
    let answers = calls.join_all().await.into_iter().map(|(status, payment)| (status, payment.to_string()));
    let answers: BTreeSet<_> = answers.collect();
    assert_eq!(answers.len(), 1);
    let id = serde_json::from_str::<Value>(&answers.first().unwrap().1).unwrap()["id"].as_str().unwrap().to_owned();
    let (status, error) = psp.post("/v1/payments", "pi:1", order("other")).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("idempotency_mismatch")));

    // A stored refusal is answered again even when the call would succeed by now.
    let capture = format!("/v1/payments/{id}/capture");
    let refused = psp.post(&capture, "cap:1", json!({})).await;
    assert_eq!(refused.0, 409);
    psp.pay(&id, GOOD_CARD).await;
    assert_eq!(psp.post(&capture, "cap:1", json!({})).await, refused);

    // Work whose answer was lost is found again by its key; work that failed before is done.
    psp.switches(json!({"timeout_after_commit_permille": 1000})).await;
    assert_eq!(psp.post(&capture, "cap:2", json!({})).await.0, 504);
    psp.switches(json!({"fail_permille": 1000})).await;
    assert_eq!(psp.post("/v1/refunds", "re:1", json!({"payment": id})).await.0, 500);
    psp.switches(json!({})).await;
    let (status, payment) = psp.post(&capture, "cap:2", json!({})).await;
    assert_eq!((status, &payment["amount_refunded"]), (200, &json!(0)));
    assert_eq!(psp.post("/v1/refunds", "re:1", json!({"payment": id})).await.1["amount"], 10_000);
    Arc::into_inner(psp).unwrap().running.stop().await;
}

#[tokio::test]
async fn a_filed_failure_is_answered_again_and_another_key_does_the_work() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    psp.switches(json!({"fail_stored_permille": 1000})).await;
    let failed = psp.post("/v1/payments", "pi:1", order("order")).await;
    assert_eq!((failed.0, &failed.1["error"]["code"]), (500, &json!("provider_error")));
    psp.switches(json!({})).await;
    assert_eq!(psp.post("/v1/payments", "pi:1", order("order")).await, failed);
    assert_eq!(psp.get("/v1/payments?reference=order").await["data"], json!([]), "nothing was done");
    assert_eq!(psp.post("/v1/payments", "pi:2", order("order")).await.0, 200);
    psp.running.stop().await;
}
