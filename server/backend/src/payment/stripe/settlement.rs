//! Stripe's balance transactions as lines of a settlement.
//!
//! Each names its source (charge, refund, dispute), and that its payment. An attempt is known here by its hosted
//! page, so pages are looked up by payment; what was paid without our name on it is another program's and is
//! passed over. Payouts, and those that came back, are the account's as a whole; topups, transfers, reserves and other
//! movements of the balance are no part of the match.
//!
//! Where Stripe converts currencies, the balance moves in another one than the fan paid in. Then the line has
//! the source's own amount, and the fee, which is of the balance, is a line by itself.

use super::client::{Client, checked};
use super::objects::{Intent, List, REFERENCE};
use super::{Answer, amounts};
use crate::payment::ProviderError;
use domain::settlement::{Movement, ProviderLine};
use domain::{Currency, Millis};
use futures::{StreamExt as _, TryStreamExt as _};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};

/// Most that one call answers, as Stripe documents.
const PAGE_SIZE: &str = "100";
/// Most calls for one interval: half a million movements in a day are another program's fault.
const PAGES_MAX: usize = 5_000;
/// Look-ups of pages at once: far below the hundred calls a second that an account has.
const LOOKUPS_AT_ONCE: usize = 8;

#[derive(Deserialize)]
struct Page {
    data: Vec<Transaction>,
    #[serde(default)]
    has_more: bool,
}

/// A movement of the account's balance.
#[derive(Deserialize)]
struct Transaction {
    id: String,
    amount: i64,
    fee: i64,
    net: i64,
    currency: Currency,
    /// In seconds.
    created: i64,
    #[serde(rename = "type")]
    kind: String,
    /// Tells disputes and failed refunds among adjustments.
    reporting_category: Option<String>,
    exchange_rate: Option<Value>,
    #[serde(default, deserialize_with = "expanded")]
    source: Option<Box<Moved>>,
}

/// What moved the balance, where it was sent whole; of anything else its id says nothing to us.
fn expanded<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Box<Moved>>, D::Error> {
    let found = Option::<Value>::deserialize(source)?.filter(Value::is_object);
    found.map(serde_json::from_value).transpose().map_err(D::Error::custom)
}

/// A charge, a refund, a dispute or a payout. Others have an id at least.
#[derive(Deserialize)]
struct Moved {
    id: Option<String>,
    amount: Option<i64>,
    amount_captured: Option<i64>,
    currency: Option<Currency>,
    payment_intent: Option<Value>,
}

impl Moved {
    /// The id of the payment, which may come as an object.
    fn intent(&self) -> Option<String> {
        match self.payment_intent.as_ref()? {
            Value::String(id) => Some(id.clone()),
            object => object["id"].as_str().map(str::to_owned),
        }
    }
}

/// A hosted page, as far as it names a payment.
#[derive(Deserialize)]
struct Session {
    id: String,
    metadata: Option<HashMap<String, Value>>,
}

/// What we know a payment by: the id of its page, and our reference.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    payment: String,
    reference: String,
}

/// The lines from an instant on and before another one.
pub(super) async fn read(client: &Client, from: Millis, to: Millis) -> Answer<Vec<ProviderLine>> {
    let transactions = transactions(client, from, to).await?;
    let intents: BTreeSet<String> = transactions.iter().filter_map(|one| one.moved()?.intent()).collect();
    let known: HashMap<String, Known> = futures::stream::iter(intents)
        .map(|intent| async move { Ok::<_, ProviderError>(known(client, &intent).await?.map(|known| (intent, known))) })
        .buffer_unordered(LOOKUPS_AT_ONCE)
        .try_filter_map(|pair| async move { Ok(pair) })
        .try_collect()
        .await?;
    let mut lines = Vec::new();
    for transaction in &transactions {
        lines.extend(transaction.lines(&known)?);
    }
    lines.retain(|line| from <= line.at && line.at < to);
    Ok(lines)
}

/// All movements of the balance in an interval, from page to page.
async fn transactions(client: &Client, from: Millis, to: Millis) -> Answer<Vec<Transaction>> {
    let begin = from.0.div_euclid(1_000).to_string();
    // The interval's end is not in it, and may be within a second.
    let end = (to.0 + 999).div_euclid(1_000).to_string();
    let mut found: Vec<Transaction> = Vec::new();
    for _ in 0..PAGES_MAX {
        let after = found.last().map(|last| last.id.clone());
        let mut query = vec![
            ("created[gte]", begin.as_str()),
            ("created[lt]", end.as_str()),
            ("limit", PAGE_SIZE),
            ("expand[]", "data.source"),
        ];
        if let Some(after) = &after {
            query.push(("starting_after", after.as_str()));
        }
        let page: Page = client.get("/v1/balance_transactions", &query).await?;
        let last = !page.has_more || page.data.is_empty();
        found.extend(page.data);
        if last {
            return Ok(found);
        }
    }
    Err(ProviderError::unreadable(format!("more than {PAGES_MAX} pages of movements")))
}

/// What a payment is known by here; none where it is not ours.
async fn known(client: &Client, intent: &str) -> Answer<Option<Known>> {
    let query = [("payment_intent", intent), ("limit", "1")];
    let pages: List<Session> = client.get("/v1/checkout/sessions", &query).await?;
    if let Some(page) = pages.data.into_iter().next() {
        let reference = page.metadata.as_ref().and_then(|metadata| metadata.get(REFERENCE)).and_then(Value::as_str);
        let reference = reference.map(str::to_owned);
        return Ok(reference.map(|reference| Known { payment: page.id, reference }));
    }
    // Made without a page: it is known by itself. Nothing but our name is read of it: another program's payment
    // may have a status or an amount that we can't, and is no reason to leave the day unread.
    let made: Intent = client.get(&format!("/v1/payment_intents/{}", checked(intent)?), &[]).await?;
    let reference = made.reference().filter(|reference| !reference.is_empty());
    Ok(reference.map(|reference| Known { payment: intent.to_owned(), reference }))
}

fn minor(amount: i64, currency: Currency) -> Answer<i64> {
    amounts::from_stripe(amount, currency).map_err(ProviderError::unreadable)
}

impl Transaction {
    fn moved(&self) -> Option<&Moved> {
        self.source.as_deref()
    }

    /// What moved; none for what is no part of the match.
    fn movement(&self) -> Option<Movement> {
        // The category is the finer one; a version without it has the kind. Of payouts the kind is: one category has
        // those that were cancelled and those that failed.
        match (self.reporting_category.as_deref(), self.kind.as_str()) {
            (_, "payout") => Some(Movement::Payout),
            (_, "payout_cancel" | "payout_failure") => Some(Movement::PayoutFailure),
            (Some("dispute"), _) => Some(Movement::Dispute),
            (Some("dispute_reversal"), _) => Some(Movement::DisputeReversal),
            (Some("refund_failure"), _) | (None, "refund_failure" | "payment_failure_refund") => {
                Some(Movement::RefundFailure)
            }
            (Some("charge"), _) | (None, "charge" | "payment") => Some(Movement::Charge),
            (Some("refund"), _) | (None, "refund" | "payment_refund") => Some(Movement::Refund),
            (Some("fee"), _) | (None, "stripe_fee") => Some(Movement::Fee),
            (None, "adjustment") if self.disputes() => {
                Some(if self.amount < 0 { Movement::Dispute } else { Movement::DisputeReversal })
            }
            _ => None,
        }
    }

    fn disputes(&self) -> bool {
        let id = self.moved().and_then(|moved| moved.id.as_deref()).unwrap_or_default();
        id.starts_with("dp_") || id.starts_with("du_")
    }

    fn lines(&self, known: &HashMap<String, Known>) -> Answer<Vec<ProviderLine>> {
        let at = Millis(self.created.saturating_mul(1_000));
        let line =
            |movement, id: &str, known: Option<&Known>, currency, gross_minor: i64, fee_minor: i64| ProviderLine {
                movement,
                id: id.to_owned(),
                payment: known.map(|known| known.payment.clone()).unwrap_or_default(),
                reference: known.map(|known| known.reference.clone()).unwrap_or_default(),
                currency,
                gross_minor,
                fee_minor,
                net_minor: gross_minor.saturating_sub(fee_minor),
                at,
            };
        let Some(movement) = self.movement() else { return Ok(Vec::new()) };
        if movement == Movement::Fee {
            // The amount is the fee itself, away from us; what is kept of it besides is a fee as well.
            let fee_minor = minor(self.net, self.currency)?.saturating_neg();
            return Ok(vec![line(movement, &self.id, None, self.currency, 0, fee_minor)]);
        }
        if matches!(movement, Movement::Payout | Movement::PayoutFailure) {
            // Of a payout that is not told, the movement itself is the name: its money left all the same.
            let id = self.moved().and_then(|moved| moved.id.as_deref()).unwrap_or(&self.id);
            let (gross, fee) = (minor(self.amount, self.currency)?, minor(self.fee, self.currency)?);
            let mut one = line(movement, id, None, self.currency, gross, fee);
            one.net_minor = minor(self.net, self.currency)?;
            return Ok(vec![one]);
        }
        let Some(moved) = self.moved() else { return Ok(Vec::new()) };
        let (Some(id), Some(intent)) = (&moved.id, moved.intent()) else { return Ok(Vec::new()) };
        let Some(known) = known.get(&intent) else { return Ok(Vec::new()) };
        // A charge is told by its payment, as an attempt is.
        let id = if movement == Movement::Charge { known.payment.as_str() } else { id.as_str() };
        let fee_minor = minor(self.fee, self.currency)?;
        let converted = self.exchange_rate.as_ref().is_some_and(|rate| !rate.is_null());
        let (Some(currency), true) = (moved.currency, converted) else {
            let mut one = line(movement, id, Some(known), self.currency, minor(self.amount, self.currency)?, fee_minor);
            one.net_minor = minor(self.net, self.currency)?;
            return Ok(vec![one]);
        };
        let Some(amount) = moved.amount_captured.or(moved.amount) else {
            return Err(ProviderError::unreadable(format!("{id} has no amount")));
        };
        let amount = if self.amount < 0 { amount.saturating_neg() } else { amount };
        let mut lines = vec![line(movement, id, Some(known), currency, minor(amount, currency)?, 0)];
        if fee_minor != 0 {
            lines.push(line(Movement::Fee, &self.id, Some(known), self.currency, 0, fee_minor));
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;
    use serde_json::json;

    const ATTEMPT: &str = "3f2a9c01-7b44-8e10-9d2c-0123456789ab";

    fn known() -> HashMap<String, Known> {
        let known = Known { payment: "cs_test_a1".to_owned(), reference: ATTEMPT.to_owned() };
        HashMap::from([("pi_1".to_owned(), known)])
    }

    fn transaction(kind: &str, category: Option<&str>, sums: (i64, i64, i64), source: Value) -> Transaction {
        let (amount, fee, net) = sums;
        let mut transaction = recorded::object("balance_transaction");
        for (name, value) in [
            ("amount", json!(amount)),
            ("fee", json!(fee)),
            ("net", json!(net)),
            ("type", json!(kind)),
            ("reporting_category", json!(category)),
            ("source", source),
        ] {
            transaction[name] = value;
        }
        serde_json::from_value(transaction).unwrap()
    }

    /// A charge, a refund or a dispute.
    fn source(id: &str, kind: &str, amount: i64) -> Value {
        let mut source = recorded::object(kind);
        source["id"] = json!(id);
        source["amount"] = json!(amount);
        if kind == "charge" {
            source["amount_captured"] = json!(amount);
        }
        source
    }

    /// Key, payment, gross, fee and net of each line.
    fn told(transaction: &Transaction) -> Vec<(String, String, i64, i64, i64)> {
        let lines = transaction.lines(&known()).unwrap();
        assert!(lines.iter().all(|line| line.at == Millis(1_700_000_007_000)));
        lines.into_iter().map(|l| (l.key(), l.payment.clone(), l.gross_minor, l.fee_minor, l.net_minor)).collect()
    }

    #[test]
    fn a_charge_is_told_by_the_page_that_it_was_paid_on() {
        let charge = transaction("charge", Some("charge"), (5_000, 175, 4_825), source("ch_1", "charge", 5_000));
        let page = "cs_test_a1".to_owned();
        assert_eq!(told(&charge), [("charge:cs_test_a1".to_owned(), page, 5_000, 175, 4_825)]);
        assert_eq!(charge.lines(&known()).unwrap()[0].reference, ATTEMPT);
        let foreign = charge.lines(&HashMap::new()).unwrap();
        assert!(foreign.is_empty(), "another program's payment on the same account");
    }

    #[test]
    fn each_movement_has_our_signs_by_category_and_by_kind() {
        for (kind, category, id, sums, key, recorded) in [
            ("refund", Some("refund"), "re_1", (-700, 0, -700), "refund:re_1", 700),
            ("payment_refund", None, "re_1", (-700, 0, -700), "refund:re_1", 700),
            ("adjustment", Some("refund_failure"), "re_1", (700, 0, 700), "refund_failure:re_1", 700),
            ("refund_failure", None, "re_1", (700, 0, 700), "refund_failure:re_1", 700),
            ("adjustment", Some("dispute"), "du_1", (-900, 1_500, -2_400), "dispute:du_1", 900),
            ("adjustment", None, "dp_1", (-900, 1_500, -2_400), "dispute:dp_1", 900),
            ("adjustment", Some("dispute_reversal"), "du_1", (900, 0, 900), "dispute_reversal:du_1", 900),
            ("adjustment", None, "dp_1", (900, 0, 900), "dispute_reversal:dp_1", 900),
        ] {
            let of = if id.starts_with("re_") { "refund" } else { "dispute" };
            let one = transaction(kind, category, sums, source(id, of, 700));
            let lines = one.lines(&known()).unwrap();
            assert_eq!((lines[0].key().as_str(), lines[0].recorded_minor()), (key, recorded), "{kind} {category:?}");
            assert_eq!((lines[0].gross_minor, lines[0].fee_minor, lines[0].net_minor), sums);
        }
    }

    #[test]
    fn a_fee_by_itself_costs_and_what_moves_the_whole_balance_is_no_line() {
        let fee = transaction("stripe_fee", Some("fee"), (-300, 0, -300), json!("fee_1"));
        assert_eq!(told(&fee), [("fee:txn_1".to_owned(), String::new(), 0, 300, -300)]);
        let returned = transaction("stripe_fee", Some("fee"), (300, 0, 300), Value::Null);
        assert_eq!(told(&returned)[0].3, -300, "a fee that is given back");
        for kind in ["topup", "transfer", "reserve_transaction", "payout_minimum_balance_hold", "a_new_word"] {
            let other = transaction(kind, Some(kind), (-10_000, 0, -10_000), json!({ "id": "tu_1", "object": kind }));
            assert!(other.lines(&known()).unwrap().is_empty(), "{kind}");
        }
    }

    #[test]
    fn a_payout_and_its_way_back_are_told_by_its_id_and_name_no_payment() {
        let source = || json!({ "id": "po_1", "object": "payout" });
        for (kind, category, sums, key) in [
            ("payout", Some("payout"), (-10_000, 0, -10_000), "payout:po_1"),
            ("payout", None, (-10_000, 150, -10_150), "payout:po_1"),
            ("payout_failure", Some("payout_reversal"), (10_000, 0, 10_000), "payout_failure:po_1"),
            ("payout_cancel", Some("payout_reversal"), (10_000, 0, 10_000), "payout_failure:po_1"),
            ("payout_failure", None, (10_000, 0, 10_000), "payout_failure:po_1"),
        ] {
            let one = transaction(kind, category, sums, source());
            let (gross, fee, net) = sums;
            assert_eq!(told(&one), [(key.to_owned(), String::new(), gross, fee, net)], "{kind} {category:?}");
            assert_eq!(one.lines(&known()).unwrap()[0].recorded_minor(), 10_000);
        }
        let untold = transaction("payout", Some("payout"), (-500, 0, -500), Value::Null);
        assert_eq!(told(&untold)[0].0, "payout:txn_1", "its money left all the same");
        let collected = transaction("payout", Some("payout"), (700, 0, 700), source());
        assert_eq!(collected.lines(&known()).unwrap()[0].recorded_minor(), -700, "taken from the bank");
    }

    #[test]
    fn a_converted_charge_has_the_amount_that_the_fan_paid_and_its_fee_apart() {
        let mut source = source("ch_1", "charge", 500_000);
        source["currency"] = json!("jpy");
        source["amount_captured"] = json!(500_000);
        let mut charge = transaction("charge", Some("charge"), (312_000, 9_300, 302_700), source);
        charge.exchange_rate = Some(json!(0.624));
        let lines = charge.lines(&known()).unwrap();
        assert_eq!((lines[0].currency.code(), lines[0].gross_minor, lines[0].net_minor), ("JPY", 500_000, 500_000));
        assert_eq!((lines[1].key(), lines[1].currency.code(), lines[1].fee_minor), ("fee:txn_1".into(), "EUR", 9_300));
    }

    #[test]
    fn an_amount_that_is_none_of_its_currency_makes_the_answer_unreadable() {
        let mut charge = transaction("charge", Some("charge"), (550, 0, 550), source("ch_1", "charge", 550));
        charge.currency = "ISK".parse().unwrap();
        assert!(charge.lines(&known()).is_err());
    }
}
