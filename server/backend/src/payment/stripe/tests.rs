//! The form of a new page, and what the settings make of an account.

use super::*;

fn new(amount_minor: i64, currency: &str) -> NewPayment {
    NewPayment {
        idempotency_key: "pi:order:1".to_owned(),
        reference: "3f2a9c01-7b44-8e10-9d2c-0123456789ab".to_owned(),
        amount_minor,
        currency: currency.parse().unwrap(),
        description: "Artist · Title".to_owned(),
        return_url: "https://tickets.example.org/orders/1".to_owned(),
        expires: Millis(1_700_000_600_500),
    }
}

fn value(form: &Form, name: &str) -> String {
    let values: Vec<&String> = form.iter().filter(|(found, _)| *found == name).map(|(_, value)| value).collect();
    assert_eq!(values.len(), 1, "{name}");
    values[0].clone()
}

#[test]
fn a_page_states_amount_names_and_an_end_that_every_try_repeats() {
    let payment = new(12_950, "EUR");
    let form = page_form(&payment).unwrap();
    assert_eq!(form, page_form(&payment.clone()).unwrap(), "the same attempt asks for the same");
    assert_eq!(value(&form, "line_items[0][price_data][unit_amount]"), "12950");
    assert_eq!(value(&form, "line_items[0][price_data][currency]"), "eur");
    assert_eq!(value(&form, "payment_intent_data[capture_method]"), "manual");
    for name in [
        format!("metadata[{REFERENCE}]"),
        format!("payment_intent_data[metadata][{REFERENCE}]"),
        "client_reference_id".to_owned(),
    ] {
        assert_eq!(value(&form, &name), payment.reference, "{name}");
    }
    let end: i64 = value(&form, "expires_at").parse().unwrap();
    assert!(end - 1_700_000_600 > 30 * 60, "more than the half hour that Stripe wants, from our own end on");
    assert_eq!(value(&form, "success_url"), payment.return_url);
    let encoded = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&form).finish();
    assert!(encoded.contains("product_data%5D%5Bname%5D=Artist+%C2%B7+Title"), "{encoded}");
}

#[test]
fn a_page_is_in_the_units_of_its_currency_or_refused() {
    let amount = |minor, currency| {
        page_form(&new(minor, currency)).map(|form| value(&form, "line_items[0][price_data][unit_amount]"))
    };
    assert_eq!(amount(5_000, "JPY").unwrap(), "5000");
    assert_eq!(amount(5_000, "ISK").unwrap(), "500000");
    assert_eq!(amount(1_230, "KWD").unwrap(), "1230");
    assert!(amount(1_235, "KWD").unwrap_err().contains("KWD 1.235"));
}

#[test]
fn long_titles_are_cut_between_characters() {
    let long = NewPayment { description: "界".repeat(400), ..new(100, "EUR") };
    let name = value(&page_form(&long).unwrap(), "line_items[0][price_data][product_data][name]");
    assert_eq!(name.chars().count(), DESCRIPTION_MAX_CHARS);
}

#[test]
fn an_account_is_of_one_mode_and_has_its_own_header_and_rules() {
    let provider = |key: &str| {
        let settings = StripeSettings {
            url: "https://api.stripe.example".to_owned(),
            api_key: key.to_owned(),
            webhook_secrets: vec!["whsec_1".to_owned()],
        };
        StripeProvider::new(&settings).unwrap()
    };
    let (test, live) = (provider("sk_test_1"), provider("rk_live_1"));
    assert_eq!((test.name(), test.merchant(), live.merchant()), ("stripe", "test", "live"));
    assert_eq!(test.signature_header(), "stripe-signature");
    assert!(test.chargeable(1_230, "KWD".parse().unwrap()).is_ok());
    assert!(test.chargeable(1_235, "KWD".parse().unwrap()).unwrap_err().contains("last digit"));
    assert!(!test.verify("t=1,v1=00", b"{}", Millis(1_000)));
}
