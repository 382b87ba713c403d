//! Refunds that end at once, later, or otherwise than they began.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_refunds_never_exceed_the_capture() {
    let folder = Folder::new();
    let psp = Arc::new(Provider::start(&folder, None).await);
    let id = psp.captured("order").await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (psp, id) = (Arc::clone(&psp), id.clone());
        calls.spawn(async move {
            psp.post("/v1/refunds", &format!("re:{number}"), json!({"payment": id, "amount": 900})).await
        });
    }
    let answers = calls.join_all().await;
    assert_eq!(answers.iter().filter(|(status, _)| *status == 200).count(), 11);
    let refused = answers.iter().filter(|(_, body)| body["error"]["code"] == "refund_exceeds_captured").count();
    assert_eq!(refused, 9);
    assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["amount_refunded"], 9900);

    psp.switches(json!({"refund_fail": true})).await;
    let (status, refund) = psp.post("/v1/refunds", "", json!({"payment": id})).await;
    assert_eq!((status, &refund["status"], &refund["amount"]), (200, &json!("failed"), &json!(100)));
    assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["amount_refunded"], 9900);
    Arc::into_inner(psp).unwrap().running.stop().await;
}

#[tokio::test]
async fn a_pending_refund_holds_its_money_until_it_ends() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.captured("order").await;
    psp.switches(json!({"refund_pending": true, "refund_settle_ms": 60_000})).await;
    let (status, first) = psp.post("/v1/refunds", "", json!({"payment": id, "amount": 4_000})).await;
    assert_eq!((status, &first["status"], &first["settled_ms"]), (200, &json!("pending"), &Value::Null));
    let (_, second) = psp.post("/v1/refunds", "", json!({"payment": id, "amount": 6_000})).await;
    let (status, error) = psp.post("/v1/refunds", "", json!({"payment": id, "amount": 1})).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("refund_exceeds_captured")));
    assert_eq!(sums(&psp, &id).await, (0, 10_000));

    let settle = async |refund: &Value, outcome: &str| {
        let path = format!("/control/refunds/{}/settle", refund["id"].as_str().unwrap());
        psp.control(&path, json!({"outcome": outcome})).await
    };
    assert_eq!(settle(&first, "succeeded").await.1["status"], "succeeded");
    let (_, failed) = settle(&second, "failed").await;
    assert_eq!((&failed["status"], &failed["failure_reason"]), (&json!("failed"), &json!("declined_by_bank")));
    assert_eq!(sums(&psp, &id).await, (4_000, 0));
    assert_eq!(settle(&first, "succeeded").await.1["error"]["code"], "refund_unexpected_state");
    assert_eq!(settle(&second, "lost").await.1["error"]["param"], "outcome");
    assert_eq!(settle(&json!({"id": "re_none"}), "failed").await.0, 404);

    // Left alone, it ends by itself.
    psp.switches(json!({"refund_pending": true, "refund_settle_ms": 10})).await;
    let (_, third) = psp.post("/v1/refunds", "", json!({"payment": id})).await;
    assert_eq!((&third["status"], &third["amount"]), (&json!("pending"), &json!(6_000)));
    merchant.expect("refund.created", 3).await;
    merchant.expect("refund.updated", 2).await;
    merchant.expect("refund.failed", 1).await;
    assert_eq!(sums(&psp, &id).await, (10_000, 0));
    psp.running.stop().await;
}

#[tokio::test]
async fn a_refund_may_fail_after_it_succeeded() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.captured("order").await;
    psp.switches(json!({"refund_fail_late": true, "refund_settle_ms": 10})).await;
    let (_, refund) = psp.post("/v1/refunds", "", json!({"payment": id})).await;
    assert_eq!(refund["status"], "succeeded");
    merchant.expect("refund.succeeded", 1).await;
    merchant.expect("refund.failed", 1).await;
    let refund = psp.get(&format!("/v1/refunds/{}", refund["id"].as_str().unwrap())).await;
    assert_eq!((&refund["status"], &refund["failure_reason"]), (&json!("failed"), &json!("returned_by_bank")));
    assert_eq!(sums(&psp, &id).await, (0, 0));

    // All three: pending, then succeeded, then failed; and the money can be given back once more.
    psp.switches(json!({"refund_pending": true, "refund_fail_late": true, "refund_settle_ms": 10})).await;
    assert_eq!(psp.post("/v1/refunds", "", json!({"payment": id})).await.1["status"], "pending");
    merchant.expect("refund.updated", 1).await;
    merchant.expect("refund.failed", 2).await;
    psp.switches(json!({})).await;
    assert_eq!(psp.post("/v1/refunds", "", json!({"payment": id})).await.1["status"], "succeeded");
    assert_eq!(sums(&psp, &id).await, (10_000, 0));
    psp.running.stop().await;
}

#[tokio::test]
async fn a_refund_made_by_hand_is_found_by_the_merchant() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.captured("order").await;
    let (status, refund) = psp.control("/control/refunds", json!({"payment": id, "amount": 2_500})).await;
    assert_eq!((status, &refund["origin"], &refund["reference"]), (200, &json!("provider"), &json!("")));
    assert_eq!(psp.get(&format!("/v1/refunds?payment={id}")).await["data"], json!([refund]));
    merchant.expect("refund.succeeded", 1).await;
    let (_, asked) = psp.post("/v1/refunds", "", json!({"payment": id, "amount": 2_500})).await;
    assert_eq!(asked["origin"], "api");
    assert_eq!(sums(&psp, &id).await, (5_000, 0));
    assert_eq!(psp.control("/control/refunds", json!({"payment": "pay_none"})).await.0, 404);
    psp.running.stop().await;
}

/// What went back of a payment, and what is on its way.
async fn sums(psp: &Provider, id: &str) -> (i64, i64) {
    let payment = psp.get(&format!("/v1/payments/{id}")).await;
    (payment["amount_refunded"].as_i64().unwrap(), payment["amount_refund_pending"].as_i64().unwrap())
}
