//! The hosted pages as HTML: no script, no inline style, phone first.

use super::currency;
use super::payment::{CancelReason, Payment, Status};

/// The cards that this page knows, with what each does.
const TEST_CARDS: [(&str, &str, &str); 4] = [
    ("4242 4242 4242 4242", "4242", "pays"),
    ("4000 0000 0000 3220", "3220", "asks to confirm first"),
    ("4000 0000 0000 0002", "0002", "is declined"),
    ("4000 0000 0000 9995", "9995", "has too little money"),
];

/// The merchant's address with the payment's id added.
pub(super) fn return_address(payment: &Payment) -> String {
    match reqwest::Url::parse(&payment.return_url) {
        Ok(mut url) => {
            url.query_pairs_mut().append_pair("payment", &payment.id);
            url.into()
        }
        Err(_) => payment.return_url.clone(),
    }
}

/// The card form, with why the last try failed.
pub(super) fn form(payment: &Payment, error: Option<&str>) -> String {
    let id = &payment.id;
    let amount = currency::format(payment.amount, &payment.currency);
    let (alert, invalid) = match error {
        Some(error) => (
            format!(
                "<p class=\"alert\" id=\"error\" role=\"alert\"><strong>Not paid.</strong> {} No money was taken; \
                 you can try another card.</p>",
                escape(error)
            ),
            " aria-invalid=\"true\" aria-describedby=\"error\"",
        ),
        None => (String::new(), ""),
    };
    let hints: String = TEST_CARDS
        .iter()
        .map(|(number, last4, effect)| {
            format!(
                "<li><form method=\"post\" action=\"/pay/{id}\"><input type=\"hidden\" name=\"card\" value=\"{number}\">\
                 <span class=\"number\">{number}</span><span class=\"effect\">{effect}</span>\
                 <button class=\"small\" aria-label=\"Use the test card ending in {last4}\">Use</button></form></li>"
            )
        })
        .collect();
    let body = format!(
        r#"{summary}{alert}
<form class="card" method="post" action="/pay/{id}" autocomplete="on">
<label for="card">Card number</label>
<input id="card" name="card" inputmode="numeric" autocomplete="cc-number" placeholder="1234 1234 1234 1234" maxlength="23" required{invalid}>
<div class="pair">
<div><label for="expiry">Expiry</label><input id="expiry" name="expiry" inputmode="numeric" autocomplete="cc-exp" placeholder="MM / YY" maxlength="7"></div>
<div><label for="cvc">Security code</label><input id="cvc" name="cvc" inputmode="numeric" autocomplete="cc-csc" placeholder="CVC" maxlength="4"></div>
</div>
<button class="primary">Pay {amount}</button>
</form>
<form class="leave" method="post" action="/pay/{id}/leave"><button class="quiet">Cancel and return</button></form>
<p class="note">Please pay before {deadline} UTC. This page closes then.</p>
<details><summary>Test cards</summary>
<p>Sandbox: no money moves. Expiry and security code may be anything.</p>
<ul>{hints}</ul></details>"#,
        summary = summary(payment),
        deadline = time_of_day(payment.expires_at_ms),
    );
    document(&format!("Pay {amount}"), &body)
}

/// The bank's confirmation step.
pub(super) fn confirm(payment: &Payment) -> String {
    let id = &payment.id;
    let last4 = escape(payment.card_last4.as_deref().unwrap_or_default());
    let body = format!(
        r#"{summary}
<section class="step"><h2>Confirm with your bank</h2>
<p>Your bank asks whether it is you who pays with the card ending in {last4}.</p>
<form method="post" action="/pay/{id}/confirm">
<button class="primary" name="decision" value="approve">Confirm payment</button>
<button class="quiet" name="decision" value="reject">It is not me</button>
</form></section>
<form class="leave" method="post" action="/pay/{id}/leave"><button class="quiet">Cancel and return</button></form>"#,
        summary = summary(payment),
    );
    document("Confirm your payment", &body)
}

/// What someone sees who comes back after paying.
pub(super) fn paid(payment: &Payment) -> String {
    let body = format!(
        "{}<section class=\"step\"><h2>Payment received</h2><p>Nothing more to do here.</p>{}</section>",
        summary(payment),
        back(payment)
    );
    document("Payment received", &body)
}

/// What someone sees who comes too late.
pub(super) fn over(payment: &Payment) -> String {
    let (title, text) = match (payment.status, payment.cancel_reason) {
        (Status::Canceled, Some(CancelReason::RequestedByMerchant)) => {
            ("This payment was cancelled", "The merchant has ended it. No money was taken.")
        }
        _ => ("This payment has expired", "The time to pay is over. No money was taken."),
    };
    let body =
        format!("{}<section class=\"step\"><h2>{title}</h2><p>{text}</p>{}</section>", summary(payment), back(payment));
    document(title, &body)
}

/// For an id that nobody made.
pub(super) fn unknown() -> String {
    let text = "<section class=\"step\"><h1>No such payment</h1><p>Please go back to the shop and press Pay again.</p></section>";
    document("No such payment", text)
}

/// For the provider's own failures.
pub(super) fn outage() -> String {
    let text = "<section class=\"step\"><h1>We can't answer right now</h1><p>Nothing was lost. Please reload this page in a moment.</p></section>";
    document("We can't answer right now", text)
}

fn back(payment: &Payment) -> String {
    let (address, merchant) = (escape(&return_address(payment)), escape(&payment.merchant));
    format!("<p><a class=\"primary\" href=\"{address}\">Return to {merchant}</a></p>")
}

fn summary(payment: &Payment) -> String {
    let description = match payment.description.as_str() {
        "" => String::new(),
        text => format!("<p class=\"description\">{}</p>", escape(text)),
    };
    format!(
        "<section class=\"summary\"><p class=\"merchant\">{}</p><h1 class=\"amount\">{}</h1>{description}\
         <p class=\"reference\">Reference <span>{}</span></p></section>",
        escape(&payment.merchant),
        currency::format(payment.amount, &payment.currency),
        escape(&payment.reference),
    )
}

fn document(title: &str, body: &str) -> String {
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>{title} · StarPay</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header><span class="brand">StarPay</span><span class="mode">Sandbox</span></header>
<main>{body}</main>
<footer>Card data goes to StarPay alone, never to the merchant.</footer>
</body>
</html>
"#,
        title = escape(title),
    )
}

/// `HH:MM` of a time, in UTC.
fn time_of_day(at_ms: i64) -> String {
    let minutes = at_ms.div_euclid(60_000).rem_euclid(24 * 60);
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escape("<b a='1' c=\"2\">&"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;");
        assert_eq!(time_of_day(1_700_000_000_000), "22:13");
    }
}
