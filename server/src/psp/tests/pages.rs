//! The hosted page, as somebody without JavaScript uses it.

use super::*;

#[tokio::test]
async fn a_declined_card_then_another() {
    let (folder, merchant) = (Folder::new(), Merchant::start().await);
    let psp = Provider::start(&folder, Some(&merchant.url)).await;
    let id = psp.create("order").await;
    let (status, page) = psp.pay(&id, DECLINED_CARD).await;
    assert!(status == 402 && page.contains("declined") && page.contains("role=\"alert\""), "{status} {page}");
    let payment = psp.get(&format!("/v1/payments/{id}")).await;
    assert_eq!(
        (&payment["status"], &payment["last_error"]["code"]),
        (&json!("requires_payment"), &json!("card_declined"))
    );
    assert_eq!(psp.pay(&id, "4242").await.0, 422, "an unreadable number is no attempt");

    // The bank asks to confirm; the payer says no, then yes.
    for (decision, expected) in [("reject", 402), ("approve", 303)] {
        assert_eq!(psp.pay(&id, CHALLENGED_CARD).await, (303, format!("/pay/{id}")));
        assert_eq!(psp.get(&format!("/v1/payments/{id}")).await["status"], "requires_action");
        let (status, _) = psp.submit(&format!("/pay/{id}/confirm"), &[("decision", decision)]).await;
        assert_eq!(status, expected, "{decision}");
    }
    let payment = psp.get(&format!("/v1/payments/{id}")).await;
    assert_eq!((&payment["status"], &payment["last_error"]), (&json!("authorized"), &Value::Null));
    merchant.expect("payment.declined", 2).await;
    merchant.expect("payment.authorized", 1).await;

    let other = psp.create("order").await;
    psp.switches(json!({"decline_all": true})).await;
    assert_eq!(psp.pay(&other, GOOD_CARD).await.0, 402);
    let (status, location) = psp.submit(&format!("/pay/{other}/leave"), &[]).await;
    assert!(status == 303 && location.ends_with(&other));
    psp.running.stop().await;
}

#[tokio::test]
async fn a_page_shows_the_currency_s_own_digits_and_lets_another_card_pay() {
    let folder = Folder::new();
    let psp = Provider::start(&folder, None).await;
    for (currency, amount, shown) in
        [("JPY", 5_000, "JPY 5\u{202f}000"), ("KWD", 1_235, "KWD 1.235"), ("EUR", 1_234, "EUR 12.34")]
    {
        let mut new = order(currency);
        (new["amount"], new["currency"]) = (json!(amount), json!(currency));
        let id = psp.post("/v1/payments", "", new).await.1["id"].as_str().unwrap().to_owned();
        let page = psp.client.get(psp.url(&format!("/pay/{id}"))).send().await.unwrap().text().await.unwrap();
        assert!(page.contains(&format!("<button class=\"primary\">Pay {shown}</button>")), "{page}");
        assert!(!page.contains("<script") && page.contains("autocomplete=\"cc-number\""), "{page}");

        let (status, page) = psp.pay(&id, EMPTY_CARD).await;
        assert!(status == 402 && page.contains("not enough money"), "{status} {page}");
        assert_eq!(psp.pay(&id, GOOD_CARD).await.0, 303, "another card pays");
        let (_, captured) = psp.post(&format!("/v1/payments/{id}/capture"), "", json!({})).await;
        assert_eq!((&captured["amount_captured"], &captured["currency"]), (&json!(amount), &json!(currency)));
    }
    psp.running.stop().await;
}
