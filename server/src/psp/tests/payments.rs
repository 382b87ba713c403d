//! Payments from their creation to their end, and calls that are refused.

use super::super::signature;
use super::*;

#[tokio::test]
async fn a_whole_life_with_signed_webhooks() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.create("order-1").await;

    let page = psp.client.get(psp.url(&format!("/pay/{id}"))).send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("form-action 'self' http://shop.test;"), "{policy}");
    let html = page.text().await.unwrap();
    assert!(html.contains("EUR 100.00") && html.contains("2 seats &lt;b&gt;") && !html.contains("<b>"));

    let (status, location) = psp.pay(&id, GOOD_CARD).await;
    assert_eq!((status, location), (303, format!("http://shop.test/orders/1?a=b&payment={id}")));
    assert_eq!(psp.pay(&id, GOOD_CARD).await.0, 303, "a second press leads to the same place");
    assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["status"], "authorized");
    let (status, payment) = psp.post(&format!("/v1/payments/{id}/capture"), "cap", json!({"amount": 9000})).await;
    assert_eq!((status, &payment["status"], &payment["amount_captured"]), (200, &json!("captured"), &json!(9000)));
    let (status, error) = psp.post(&format!("/v1/payments/{id}/cancel"), "", json!({})).await;
    assert_eq!((status, &error["error"]["status"]), (409, &json!("captured")));

    let (status, refund) =
        psp.post("/v1/refunds", "r1", json!({"payment": id, "amount": 4000, "reference": "x"})).await;
    assert_eq!((status, &refund["status"], &refund["merchant"]), (200, &json!("succeeded"), &json!("Shop <&>")));
    let refund_id = refund["id"].as_str().unwrap();
    assert_eq!(psp.get(&format!("/v1/refunds/{refund_id}")).await, refund);
    assert_eq!(psp.get(&format!("/v1/refunds?payment={id}")).await["data"], json!([refund]));
    let listed = psp.get("/v1/payments?reference=order-1").await;
    assert_eq!((&listed["data"][0]["amount_refunded"], listed["data"].as_array().unwrap().len()), (&json!(4000), 1));

    for kind in ["payment.authorized", "payment.captured", "refund.succeeded"] {
        merchant.expect(kind, 1).await;
    }
    for (header, body) in merchant.seen.deliveries.lock().unwrap().iter() {
        let unix_s = header.split(',').next().unwrap().strip_prefix("t=").unwrap().parse().unwrap();
        assert_eq!(header, &signature::sign("new,old", body, unix_s));
        assert!(header.contains(&signature::mac("old", body, unix_s)) && (now_ms() / 1000 - unix_s) < 60);
    }
    let events = psp.get("/v1/events?limit=2").await;
    assert_eq!((events["has_more"].as_bool(), events["data"].as_array().unwrap().len()), (Some(true), 2));
    let last = events["data"][1]["id"].as_str().unwrap();
    let rest = psp.get(&format!("/v1/events?after={last}")).await;
    assert_eq!(rest["data"].as_array().unwrap().len(), 1);
    assert_eq!(rest["data"][0], merchant.events()[rest["data"][0]["id"].as_str().unwrap()]);
    psp.running.stop().await;
}

#[tokio::test]
async fn ended_payments_take_no_money() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.create("order").await;
    psp.pay(&id, GOOD_CARD).await;
    let (status, payment) = psp.post(&format!("/v1/payments/{id}/cancel"), "", json!({})).await;
    assert_eq!((status, &payment["cancel_reason"]), (200, &json!("requested_by_merchant")));
    let (status, error) = psp.post(&format!("/v1/payments/{id}/capture"), "", json!({})).await;
    assert_eq!(
        (status, &error["error"]["code"], &error["error"]["status"]),
        (409, &json!("payment_unexpected_state"), &json!("canceled"))
    );
    let (status, page) = psp.pay(&id, GOOD_CARD).await;
    assert!(status == 410 && page.contains("was cancelled"));

    let mut soon = order("late");
    soon["expires_at_ms"] = json!(now_ms() + 300);
    let (_, payment) = psp.post("/v1/payments", "", soon).await;
    let late = payment["id"].as_str().unwrap();
    merchant.expect("payment.canceled", 2).await;
    assert_eq!(psp.get(&format!("/v1/payments/{late}")).await["cancel_reason"], "expired");
    let (status, page) = psp.pay(late, GOOD_CARD).await;
    assert!(status == 410 && page.contains("has expired"));
    assert_eq!(psp.pay("pay_unknown", GOOD_CARD).await.0, 404);
    psp.running.stop().await;
}

#[tokio::test]
async fn money_may_come_after_a_payment_has_expired() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    psp.switches(json!({"late_success": true, "late_success_ms": 20})).await;
    let mut soon = order("late");
    soon["expires_at_ms"] = json!(now_ms() + 300);
    let id = psp.post("/v1/payments", "", soon).await.1["id"].as_str().unwrap().to_owned();
    merchant.expect("payment.canceled", 1).await;
    merchant.expect("payment.authorized", 1).await;
    let payment = psp.get(&format!("/v1/payments/{id}")).await;
    assert_eq!((&payment["status"], &payment["cancel_reason"]), (&json!("authorized"), &Value::Null));
    let (status, payment) = psp.post(&format!("/v1/payments/{id}/capture"), "", json!({})).await;
    assert_eq!((status, &payment["amount_captured"]), (200, &json!(10_000)));

    // By hand: an open payment can be paid so, one that the merchant has ended can't.
    let open = psp.create("open").await;
    let (status, payment) = psp.control(&format!("/control/payments/{open}/succeed"), json!({})).await;
    assert_eq!((status, &payment["status"]), (200, &json!("authorized")));
    let ended = psp.create("ended").await;
    psp.post(&format!("/v1/payments/{ended}/cancel"), "", json!({})).await;
    let (status, error) = psp.control(&format!("/control/payments/{ended}/succeed"), json!({})).await;
    assert_eq!((status, &error["error"]["code"]), (409, &json!("payment_unexpected_state")));
    psp.running.stop().await;
}

#[tokio::test]
async fn bad_calls_are_refused() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    let call = psp.client.get(psp.url("/v1/payments/x")).bearer_auth("wrong").send().await.unwrap();
    assert_eq!(call.status(), 401);
    for (key, path) in [(KEY, "/control/switches"), (STAFF_KEY, "/v1/payments/x"), ("", "/control/switches")] {
        let call = psp.client.get(psp.url(path)).bearer_auth(key);
        assert_eq!(answered(call).await.0, 401, "{key} {path}");
    }
    assert_eq!(psp.client.get(psp.url("/healthz")).send().await.unwrap().status(), 200);
    let wrong = [
        ("amount", json!(0)),
        ("currency", json!("ABC")),
        ("reference", json!("")),
        ("return_url", json!("javascript:alert(1)")),
        ("expires_at_ms", json!(now_ms() - 1)),
    ];
    for (param, value) in wrong {
        let mut body = order("order");
        body[param] = value;
        let (status, error) = psp.post("/v1/payments", "", body).await;
        assert_eq!((status, &error["error"]["param"]), (400, &json!(param)), "{error}");
    }
    for (param, value) in [("amuont", json!(1)), ("amount", json!("much")), ("capture", json!("later"))] {
        let mut body = order("order");
        body[param] = value;
        let (status, error) = psp.post("/v1/payments", "", body).await;
        assert_eq!((status, &error["error"]["code"]), (400, &json!("invalid_request")), "{error}");
        assert_eq!(error["error"]["param"], param, "{error}");
    }
    for (path, param) in [
        ("/v1/events?limit=0", "limit"),
        ("/v1/events?limit=many", "limit"),
        ("/v1/events?since=1", "since"),
        ("/v1/payments", "reference"),
        ("/v1/disputes", "payment"),
        ("/v1/settlements/2026-02-30.csv", "day"),
    ] {
        let (status, error) = answered(psp.client.get(psp.url(path)).bearer_auth(KEY)).await;
        assert_eq!((status, &error["error"]["param"]), (400, &json!(param)), "{path}: {error}");
    }
    let (status, error) = answered(psp.client.delete(psp.url("/v1/events")).bearer_auth(KEY)).await;
    assert_eq!((status, &error["error"]["code"]), (405, &json!("method_not_allowed")));
    let (status, error) = psp.post("/v1/payments", &"k".repeat(256), order("order")).await;
    assert_eq!((status, &error["error"]["param"]), (400, &json!("Idempotency-Key")));
    let (status, _) = psp.post("/v1/payments", "", json!({"description": "x".repeat(70_000)})).await;
    assert_eq!(status, 413);
    let (status, error) = psp.post("/v1/payments/pay_none/capture", "", json!({})).await;
    assert_eq!((status, &error["error"]["code"]), (404, &json!("not_found")));
    psp.running.stop().await;
}
