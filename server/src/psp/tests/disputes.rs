//! Disputes: opened and closed at the provider, read and heard of by the merchant.

use super::*;

#[tokio::test]
async fn a_dispute_withdraws_its_money_and_returns_it_when_it_is_won() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.captured("order").await;
    let open = async |body: Value| psp.control("/control/disputes", body).await;
    let (status, won) = open(json!({"payment": id, "amount": 4_000, "reason": "product_not_received"})).await;
    assert_eq!((status, &won["status"], &won["reference"]), (200, &json!("open"), &json!("order")), "{won}");
    let (status, error) = psp.post("/v1/refunds", "", json!({"payment": id, "amount": 6_001})).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("refund_exceeds_captured")));
    let (_, lost) = open(json!({"payment": id})).await;
    assert_eq!((&lost["amount"], &lost["reason"]), (&json!(6_000), &json!("fraudulent")), "all that is left");
    let (status, error) = open(json!({"payment": id, "amount": 1})).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("dispute_exceeds_captured")));
    merchant.expect("dispute.created", 2).await;

    let close = async |dispute: &Value, outcome: &str| {
        let path = format!("/control/disputes/{}/close", dispute["id"].as_str().unwrap());
        psp.control(&path, json!({"outcome": outcome})).await
    };
    let (_, won) = close(&won, "won").await;
    let (_, lost) = close(&lost, "lost").await;
    assert_eq!((&won["status"], &lost["status"]), (&json!("won"), &json!("lost")));
    merchant.expect("dispute.closed", 2).await;
    let (status, error) = close(&lost, "won").await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("dispute_unexpected_state")));
    assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["amount_disputed"], 6_000);
    let listed = psp.get(&format!("/v1/disputes?payment={id}")).await["data"].as_array().unwrap().clone();
    assert!(listed.len() == 2 && listed.contains(&won) && listed.contains(&lost), "{listed:?}");
    let one = psp.get(&format!("/v1/disputes/{}", won["id"].as_str().unwrap())).await;
    assert_eq!(one, won);
    assert_eq!(psp.post("/v1/refunds", "", json!({"payment": id})).await.1["amount"], 4_000, "won money is ours");
    psp.running.stop().await;
}

#[tokio::test]
async fn wrong_disputes_are_refused() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let open = psp.create("order").await;
    for (body, status, param) in [
        (json!({"payment": "pay_none"}), 404, json!("payment")),
        (json!({"payment": open}), 409, Value::Null),
        (json!({"amount": 1}), 400, json!("payment")),
        (json!({"payment": open, "reason": "boredom"}), 400, json!("reason")),
    ] {
        let (answered, error) = psp.control("/control/disputes", body).await;
        assert_eq!((answered, &error["error"]["param"]), (status, &param), "{error}");
    }
    let (status, _) = psp.control("/control/disputes/dp_none/close", json!({"outcome": "won"})).await;
    assert_eq!(status, 404);
    psp.running.stop().await;
}
