//! Deliveries to the merchant.

use super::super::chance::Chance;
use super::super::ledger::event_seq;
use super::*;

#[tokio::test]
async fn webhooks_are_retried_copied_dropped_and_flushed() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    merchant.seen.failures_left.store(3, Ordering::Release);
    let id = psp.create("order").await;
    psp.pay(&id, GOOD_CARD).await;
    merchant.expect("payment.authorized", 1).await;
    assert_eq!(merchant.seen.failures_left.load(Ordering::Acquire), 0);

    psp.switches(json!({"webhook_copies": 3, "webhook_shuffle": true, "webhook_delay_ms": 20})).await;
    psp.post(&format!("/v1/payments/{id}/capture"), "", json!({})).await;
    eventually(|| async { merchant.seen.deliveries.lock().unwrap().len() == 4 }).await;

    psp.switches(json!({"webhooks": "drop"})).await;
    psp.post("/v1/refunds", "", json!({"payment": id, "amount": 1})).await;
    psp.post("/v1/refunds", "", json!({"payment": id, "amount": 2})).await;
    let events = psp.get("/v1/events").await;
    assert_eq!((events["data"].as_array().unwrap().len(), merchant.count("refund.succeeded")), (4, 0));
    let event = json!({"event": events["data"][2]["id"]});
    assert_eq!(psp.control("/control/redeliver", event).await.0, 200);
    merchant.expect("refund.succeeded", 1).await;
    eventually(|| async {
        psp.control("/control/flush", json!({})).await;
        merchant.count("refund.succeeded") == 2
    })
    .await;
    assert_eq!(psp.control("/control/redeliver", json!({"event": "evt_none"})).await.0, 404);
    psp.running.stop().await;
}

#[tokio::test]
async fn a_share_of_webhooks_is_lost_as_the_seed_says_until_they_are_asked_for() {
    const EVENTS: u64 = 12;
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    psp.switches(json!({"webhook_drop_permille": 500, "seed": 7})).await;
    for number in 0..EVENTS {
        let id = psp.create(&format!("order-{number}")).await;
        psp.control(&format!("/control/payments/{id}/succeed"), json!({})).await;
    }
    let chance = Chance::new(7);
    let kept: Vec<u64> = (1..=EVENTS).filter(|seq| !chance.hits("webhook_drop", *seq, 500)).collect();
    assert!(!kept.is_empty() && kept.len() < 12, "{kept:?}");
    let arrived = || {
        let events = merchant.events();
        events.keys().map(|id| event_seq(id).unwrap()).collect::<Vec<u64>>()
    };
    eventually(|| async { arrived() == kept }).await;
    eventually(|| async {
        psp.control("/control/flush", json!({})).await;
        arrived() == (1..=EVENTS).collect::<Vec<u64>>()
    })
    .await;
    psp.running.stop().await;
}
