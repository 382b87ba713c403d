//! Switches, and calls whose answers are late, lost or wrong.

use super::*;
use std::time::Instant;

async fn change(psp: &Provider, body: Value) -> (u16, Value) {
    answered(psp.client.patch(psp.url("/control/switches")).bearer_auth(STAFF_KEY).json(&body)).await
}

#[tokio::test]
async fn switches_combine_are_listed_and_are_reset_by_one_call() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let defaults = psp.get_as(STAFF_KEY, "/control/switches").await;
    assert_eq!(change(&psp, json!({"refund_pending": true, "webhooks": "drop"})).await.0, 200);
    let (_, all) = change(&psp, json!({"seed": 7, "fee_fixed_minor": 25})).await;
    assert_eq!((&all["refund_pending"], &all["webhooks"]), (&json!(true), &json!("drop")));
    for (wrong, param) in [
        (json!({"fail_permille": 1001}), "fail_permille"),
        (json!({"webhook_copies": 0}), "webhook_copies"),
        (json!({"answer_delay_ms": 60_001}), "answer_delay_ms"),
        (json!({"webhooks": "lose"}), "webhooks"),
        (json!({"refund_fail": "yes"}), "refund_fail"),
        (json!({"nothing": 1}), "nothing"),
    ] {
        let (status, error) = change(&psp, wrong).await;
        assert_eq!((status, &error["error"]["param"]), (400, &json!(param)), "{error}");
    }
    assert_eq!(psp.get_as(STAFF_KEY, "/control/switches").await, all, "a refused change changes nothing");
    let reset = psp.client.delete(psp.url("/control/switches")).bearer_auth(STAFF_KEY);
    assert_eq!(answered(reset).await, (200, defaults.clone()));
    assert_eq!(psp.get_as(STAFF_KEY, "/control/switches").await, defaults);
    psp.running.stop().await;
}

#[tokio::test]
async fn a_seed_decides_which_calls_fail() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let run = async |seed: u64| {
        psp.switches(json!({"seed": seed, "fail_permille": 500})).await;
        let mut statuses = Vec::new();
        for _ in 0..40 {
            let call = psp.client.get(psp.url("/v1/payments?reference=x")).bearer_auth(KEY);
            statuses.push(answered(call).await.0);
        }
        statuses
    };
    let first = run(7).await;
    assert!(first.contains(&200) && first.contains(&500), "{first:?}");
    assert_eq!(run(7).await, first);
    assert_ne!(run(8).await, first);
    psp.running.stop().await;
}

#[tokio::test]
async fn work_is_done_although_its_answer_is_late_or_never_comes() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let id = psp.create("order").await;
    psp.pay(&id, GOOD_CARD).await;
    let capture = format!("/v1/payments/{id}/capture");
    psp.switches(json!({"silent_after_commit_permille": 1000})).await;
    let call = psp.client.post(psp.url(&capture)).bearer_auth(KEY).header("Idempotency-Key", "cap:1").json(&json!({}));
    let unanswered = call.timeout(Duration::from_millis(300)).send().await.unwrap_err();
    assert!(unanswered.is_timeout(), "{unanswered}");
    eventually(|| async { psp.get(&format!("/v1/payments/{id}")).await["status"] == "captured" }).await;
    psp.switches(json!({"answer_delay_ms": 100, "api_delay_ms": 100})).await;
    let (status, payment) = psp.post(&capture, "cap:1", json!({})).await;
    assert_eq!((status, &payment["amount_captured"]), (200, &json!(10_000)), "the first call's answer");
    let started = Instant::now();
    assert_eq!(psp.post("/v1/refunds", "re:1", json!({"payment": id})).await.0, 200);
    assert!(started.elapsed() >= Duration::from_millis(200), "{:?}", started.elapsed());
    psp.running.stop().await;
}
