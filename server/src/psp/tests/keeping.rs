//! What a process keeps for the next one.

use super::*;

#[tokio::test]
async fn a_restart_keeps_payments_keys_switches_and_deliveries() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    // Nobody listens on the discard port, so that every delivery of the first process fails.
    let psp = Provider::start(&folder, Some("http://127.0.0.1:9/hook")).await;
    let id = psp.create("order").await;
    psp.pay(&id, GOOD_CARD).await;
    let captured = psp.post(&format!("/v1/payments/{id}/capture"), "cap", json!({})).await;
    psp.switches(json!({"api_delay_ms": 1})).await;
    psp.running.stop().await;

    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["status"], "captured");
    assert_eq!(psp.post(&format!("/v1/payments/{id}/capture"), "cap", json!({})).await, captured);
    assert_eq!(psp.get_as(STAFF_KEY, "/control/switches").await["api_delay_ms"], 1);
    merchant.expect("payment.authorized", 1).await;
    merchant.expect("payment.captured", 1).await;
    psp.running.stop().await;
}

#[tokio::test]
async fn a_killed_provider_has_kept_all_that_it_answered() {
    let (folder, image) = (Folder::new(), Folder::new());
    let psp = Provider::start(&folder, None).await;
    psp.switches(json!({"refund_pending": true, "refund_settle_ms": 60_000, "seed": 7})).await;
    let payment = psp.captured("order").await;
    let refund = psp.post("/v1/refunds", "re:1", json!({"payment": payment, "amount": 4_000})).await;
    let (_, dispute) = psp.control("/control/disputes", json!({"payment": payment, "amount": 1_000})).await;
    let paths = [
        format!("/v1/payments/{payment}"),
        format!("/v1/refunds?payment={payment}"),
        format!("/v1/disputes/{}", dispute["id"].as_str().unwrap()),
        "/v1/events".to_owned(),
    ];
    let mut before = Vec::new();
    for path in &paths {
        before.push(psp.get(path).await);
    }
    // A kill leaves the file as it is, with nothing closed; so is a copy of the file of a process at work.
    std::fs::create_dir_all(&image.0).unwrap();
    std::fs::copy(folder.0.join("psp.redb"), image.0.join("psp.redb")).unwrap();
    psp.running.stop().await;

    let psp = Provider::start(&image, None).await;
    for (path, before) in paths.iter().zip(&before) {
        assert_eq!(&psp.get(path).await, before, "{path}");
    }
    let again = psp.post("/v1/refunds", "re:1", json!({"payment": payment, "amount": 4_000})).await;
    assert_eq!((&again, again.1["status"].as_str()), (&refund, Some("pending")));
    let refund = again.1["id"].as_str().unwrap();
    let (status, settled) =
        psp.control(&format!("/control/refunds/{refund}/settle"), json!({"outcome": "succeeded"})).await;
    assert_eq!((status, &settled["status"]), (200, &json!("succeeded")));
    assert_eq!(psp.get_as(STAFF_KEY, "/control/switches").await["seed"], 7);
    psp.running.stop().await;
}
