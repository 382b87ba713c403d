//! The words of an order's story.

use super::super::members::action_text;
use crate::components::order_status::status_text;
use crate::components::refund;
use crate::format;
use crate::i18n::{Locale, td_string};
use domain::organizer::search::What;
use domain::refund::RefundStatus;

/// What happened, in a sentence.
pub(super) fn moment_text(lang: Locale, what: &What) -> String {
    match what {
        What::Held => td_string!(lang, search.held).to_owned(),
        // What happened to a ticket moves no order.
        What::Step(step) if step.from == step.to => {
            event_text(lang, &step.event).map_or_else(|| step.event.clone(), str::to_owned)
        }
        What::Step(step) => {
            td_string!(lang, search.step, from = status_text(lang, step.from), to = status_text(lang, step.to))
        }
        What::AttemptBegan(number) => td_string!(lang, search.attempt_began, number = *number),
        What::Told(kind) => td_string!(lang, search.told, kind = kind.clone()),
        What::Applied(kind) => td_string!(lang, search.applied, kind = kind.clone()),
        What::RefundDecided(amount, reason) => {
            td_string!(lang, search.refund_decided, amount = format::money(lang, *amount), reason = reason.clone())
        }
        What::SetAside(reason) => td_string!(lang, search.was_set_aside, reason = reason.clone()),
        What::Issued(count) => td_string!(lang, search.issued, count = *count),
        What::Revoked(count) => td_string!(lang, search.revoked, count = *count),
        What::MailWritten(subject) => td_string!(lang, search.mail_written, subject = subject.clone()),
        What::MailSent(subject) => td_string!(lang, search.mail_sent, subject = subject.clone()),
        What::Confirmed => td_string!(lang, search.map_sold).to_owned(),
        What::Released => td_string!(lang, search.map_released).to_owned(),
        What::Did(action, _) => action_text(lang, action).map_or_else(|| action.clone(), str::to_owned),
    }
}

/// Of which kind a moment is, for its sign and for tests: a word that styles and tests know.
pub(super) fn shape(what: &What) -> &'static str {
    match what {
        What::Step(step) if step.from == step.to => "ticket",
        What::Held | What::Step(_) => "order",
        What::AttemptBegan(_) => "attempt",
        What::Told(_) | What::Applied(_) => "webhook",
        What::RefundDecided(..) | What::SetAside(_) => "money",
        What::Issued(_) | What::Revoked(_) => "ticket",
        What::MailWritten(_) | What::MailSent(_) => "mail",
        What::Confirmed | What::Released => "map",
        What::Did(..) => "member",
    }
}

/// Why the order moved; none for a word that is not known here, which is shown as it is.
pub(super) fn event_text(lang: Locale, event: &str) -> Option<&'static str> {
    Some(match event {
        "pay" => td_string!(lang, search.event_pay),
        "attempt_failed" => td_string!(lang, search.event_attempt_failed),
        "captured" => td_string!(lang, search.event_captured),
        "expire" | "hold ended" => td_string!(lang, search.event_expire),
        "cancel" => td_string!(lang, search.event_cancel),
        "provider_cancelled" => td_string!(lang, search.event_provider_cancelled),
        "reclaimed" => td_string!(lang, search.event_reclaimed),
        "issued" => td_string!(lang, search.event_issued),
        "all_refunded" => td_string!(lang, search.event_all_refunded),
        "seats belong to another order" => td_string!(lang, search.event_refused),
        "ticket_reissued" => td_string!(lang, tickets.event_reissued),
        "ticket_renamed" => td_string!(lang, tickets.event_renamed),
        "ticket_offered" => td_string!(lang, tickets.event_offered),
        "ticket_taken_back" => td_string!(lang, tickets.event_taken_back),
        "ticket_accepted" => td_string!(lang, tickets.event_accepted),
        "ticket_declined" => td_string!(lang, tickets.event_declined),
        "ticket_expired" => td_string!(lang, tickets.event_expired),
        _ => return None,
    })
}

/// Why a ticket was revoked; none for a word that is not known here, which is shown as it is.
pub(super) fn revoked_text(lang: Locale, reason: &str) -> Option<&'static str> {
    Some(match reason {
        "reissue" => td_string!(lang, tickets.revoked_reissue),
        "name" => td_string!(lang, tickets.revoked_name),
        "transfer" => td_string!(lang, tickets.revoked_transfer),
        "refund" => td_string!(lang, tickets.revoked_refund),
        "dispute" => td_string!(lang, tickets.revoked_dispute),
        _ => return None,
    })
}

/// Where a refund stands; none for a word that is not known here.
pub(super) fn refund_text(lang: Locale, status: &str) -> Option<&'static str> {
    RefundStatus::parse(status).map(|status| refund::status_text(lang, status))
}
