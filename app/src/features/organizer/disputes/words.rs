//! The words of disputes and of what was set aside.

use crate::format;
use crate::i18n::{Locale, td_string};
use domain::dispute::{DisputeStatus, TicketHold};
use domain::organizer::disputes::{SetAsideKind, SetAsideState};
use domain::{Currency, Money};

/// Where a dispute stands.
pub(super) fn status_text(lang: Locale, status: DisputeStatus) -> &'static str {
    match status {
        DisputeStatus::Opened => td_string!(lang, disputes.opened),
        DisputeStatus::Won => td_string!(lang, disputes.won),
        DisputeStatus::Lost => td_string!(lang, disputes.lost),
    }
}

/// What disputes make of tickets.
pub(super) fn tickets_text(lang: Locale, hold: TicketHold) -> &'static str {
    match hold {
        TicketHold::Valid => td_string!(lang, disputes.tickets_valid),
        TicketHold::Frozen => td_string!(lang, disputes.tickets_frozen),
        TicketHold::Revoked => td_string!(lang, disputes.tickets_revoked),
    }
}

/// The same as a word that styles and tests know.
pub(super) fn tickets_word(hold: TicketHold) -> &'static str {
    match hold {
        TicketHold::Valid => "valid",
        TicketHold::Frozen => "frozen",
        TicketHold::Revoked => "revoked",
    }
}

/// The bank's reason; one that is not known here is shown as the provider calls it.
pub(super) fn reason_text(lang: Locale, reason: &str) -> String {
    let text = match reason {
        "fraudulent" => td_string!(lang, disputes.reason_fraudulent),
        "duplicate" => td_string!(lang, disputes.reason_duplicate),
        "product_not_received" => td_string!(lang, disputes.reason_not_received),
        "product_unacceptable" => td_string!(lang, disputes.reason_unacceptable),
        "credit_not_processed" => td_string!(lang, disputes.reason_credit),
        "unrecognized" => td_string!(lang, disputes.reason_unrecognized),
        "general" | "" => td_string!(lang, disputes.reason_general),
        other => return other.to_owned(),
    };
    text.to_owned()
}

/// Why something was set aside; a reason that is not known here is shown as it is.
pub(super) fn aside_text(lang: Locale, reason: &str) -> String {
    let text = match reason {
        "another amount" => td_string!(lang, disputes.aside_amount),
        "another currency" => td_string!(lang, disputes.aside_currency),
        "another merchant" => td_string!(lang, disputes.aside_merchant),
        "another reference" => td_string!(lang, disputes.aside_reference),
        "a dispute with two ends" => td_string!(lang, disputes.aside_two_ends),
        "a dispute of no amount, or of another currency" => td_string!(lang, disputes.aside_no_amount),
        other => return other.to_owned(),
    };
    text.to_owned()
}

/// What was set aside.
pub(super) fn kind_text(lang: Locale, kind: SetAsideKind) -> &'static str {
    match kind {
        SetAsideKind::Payment => td_string!(lang, disputes.kind_payment),
        SetAsideKind::Event => td_string!(lang, disputes.kind_event),
        SetAsideKind::Dispute => td_string!(lang, disputes.kind_dispute),
    }
}

/// Where it stands.
pub(super) fn state_text(lang: Locale, state: SetAsideState) -> &'static str {
    match state {
        SetAsideState::Waiting => td_string!(lang, disputes.state_waiting),
        SetAsideState::Asked => td_string!(lang, disputes.state_asked),
        SetAsideState::Returning => td_string!(lang, disputes.state_returning),
        SetAsideState::Returned => td_string!(lang, disputes.state_returned),
        SetAsideState::Booked => td_string!(lang, disputes.state_booked),
        SetAsideState::Nothing => td_string!(lang, disputes.state_nothing),
        SetAsideState::Settled => td_string!(lang, disputes.state_settled),
    }
}

/// Evidence as people read it: an amount with its currency is one fact, and what is known here has a name.
pub(super) fn evidence_lines(lang: Locale, evidence: &[(String, String)]) -> Vec<(String, String)> {
    let value = |path: &str| evidence.iter().find(|(key, _)| key == path).map(|(_, value)| value.as_str());
    let money = |of: &str| {
        let minor: i64 = value(&format!("{of}.amount"))?.parse().ok()?;
        let currency: Currency = value(&format!("{of}.currency"))?.parse().ok()?;
        Some(format::money(lang, Money::new(minor, currency)))
    };
    let sums =
        [(td_string!(lang, disputes.expected), money("expected")), (td_string!(lang, disputes.found), money("found"))];
    let mut lines: Vec<(String, String)> =
        sums.iter().filter_map(|(name, sum)| Some(((*name).to_owned(), sum.clone()?))).collect();
    for (key, value) in evidence {
        let told = match key.as_str() {
            "expected.amount" | "expected.currency" if sums[0].1.is_some() => continue,
            "found.amount" | "found.currency" if sums[1].1.is_some() => continue,
            // A count of milliseconds tells nobody anything; the page says when it was set aside.
            "found.read_ms" => continue,
            "found.merchant" => td_string!(lang, disputes.merchant).to_owned(),
            "found.reference" => td_string!(lang, disputes.named).to_owned(),
            "found.state" => td_string!(lang, disputes.said_now).to_owned(),
            "found.reason" => td_string!(lang, disputes.reason).to_owned(),
            "known" => td_string!(lang, disputes.said_before).to_owned(),
            "attempt" => td_string!(lang, search.attempt_id).to_owned(),
            "dispute" => td_string!(lang, disputes.reference).to_owned(),
            other => match other.strip_prefix("refunds.") {
                Some(refund) => format!("{} {refund}", td_string!(lang, disputes.refunded_there)),
                None => other.to_owned(),
            },
        };
        lines.push((told, value.clone()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn amounts_are_money_and_unknown_evidence_is_shown_as_it_is() {
        let evidence = pairs(&[
            ("attempt", "0190"),
            ("expected.amount", "2500"),
            ("expected.currency", "EUR"),
            ("found.amount", "2600"),
            ("found.currency", "EUR"),
            ("some.thing", "new"),
        ]);
        let lines = evidence_lines(Locale::en, &evidence);
        let eur = |minor| format::money(Locale::en, Money::new(minor, "EUR".parse().unwrap()));
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert_eq!((&lines[0].1, &lines[1].1), (&eur(2_500), &eur(2_600)));
        assert_eq!(lines[3], ("some.thing".to_owned(), "new".to_owned()));
        let broken = evidence_lines(Locale::zh, &pairs(&[("found.amount", "many"), ("found.currency", "EUR")]));
        assert_eq!(broken.len(), 2, "what can't be read is not left out: {broken:?}");
    }

    #[test]
    fn an_unknown_reason_is_shown_as_the_provider_calls_it() {
        assert_eq!(reason_text(Locale::en, "noncompliant"), "noncompliant");
        assert_ne!(reason_text(Locale::zh, "fraudulent"), "fraudulent");
        assert_eq!(aside_text(Locale::en, "<b>"), "<b>");
    }
}
