//! What the log's words mean to people, and where the things are that it speaks of.

use crate::i18n::{Locale, td_string};
use domain::OrderId;

/// An action in words; none for a word that is not known here, which is shown as it is.
pub(in crate::features::organizer) fn action_text(lang: Locale, action: &str) -> Option<&'static str> {
    Some(match action {
        "organization.create" => td_string!(lang, organizer.did_organization_create),
        "organization.details" => td_string!(lang, organizer.did_organization_details),
        "organization.provider" => td_string!(lang, organizer.did_organization_provider),
        "organization.approval" => td_string!(lang, organizer.did_organization_approval),
        "performance.cancel" => td_string!(lang, organizer.did_performance_cancel),
        "performance.retry" => td_string!(lang, organizer.did_performance_retry),
        "performance.terms" => td_string!(lang, organizer.did_performance_terms),
        "refund.ask" => td_string!(lang, organizer.did_refund_ask),
        "refund.approve" => td_string!(lang, organizer.did_refund_approve),
        "refund.reject" => td_string!(lang, organizer.did_refund_reject),
        "refund.retry" => td_string!(lang, organizer.did_refund_retry),
        "member.invite" => td_string!(lang, organizer.did_member_invite),
        "member.revoke" => td_string!(lang, organizer.did_member_revoke),
        "member.join" => td_string!(lang, organizer.did_member_join),
        "member.add" => td_string!(lang, organizer.did_member_add),
        "member.role" => td_string!(lang, organizer.did_member_role),
        "member.remove" => td_string!(lang, organizer.did_member_remove),
        "event.create" => td_string!(lang, organizer.did_event_create),
        "event.edit" => td_string!(lang, organizer.did_event_edit),
        "event.picture" => td_string!(lang, organizer.did_event_picture),
        "performance.draft" => td_string!(lang, organizer.did_performance_draft),
        "performance.edit" => td_string!(lang, organizer.did_performance_edit),
        "performance.delete" => td_string!(lang, organizer.did_performance_delete),
        "performance.names" => td_string!(lang, tickets.did_performance_names),
        "performance.publish" => td_string!(lang, organizer.did_performance_publish),
        "sale.open" => td_string!(lang, organizer.did_performance_open),
        "sale.pause" => td_string!(lang, organizer.did_performance_pause),
        "sale.resume" => td_string!(lang, organizer.did_performance_resume),
        "sale.rate" | "sale.maximum" => td_string!(lang, organizer.did_performance_steer),
        "sale.close" => td_string!(lang, organizer.did_performance_close),
        "seats.block" => td_string!(lang, organizer.did_seats_block),
        "seats.unblock" => td_string!(lang, organizer.did_seats_unblock),
        "fees.edit" => td_string!(lang, organizer.did_fees_edit),
        "prices.edit" => td_string!(lang, organizer.did_prices_edit),
        "prices.change" => td_string!(lang, organizer.did_prices_change),
        "plan.upload" => td_string!(lang, organizer.did_plan_upload),
        "plan.recheck" => td_string!(lang, organizer.did_plan_recheck),
        "plan.discard" => td_string!(lang, organizer.did_plan_discard),
        "plan.accept" => td_string!(lang, organizer.did_plan_accept),
        "plan.replace" => td_string!(lang, organizer.did_plan_replace),
        "plan.import" => td_string!(lang, organizer.did_plan_import),
        "allocation.create" => td_string!(lang, organizer.did_allocation_create),
        "allocation.edit" => td_string!(lang, organizer.did_allocation_edit),
        "allocation.add" => td_string!(lang, organizer.did_allocation_add),
        "allocation.remove" => td_string!(lang, organizer.did_allocation_remove),
        "allocation.release" => td_string!(lang, organizer.did_allocation_release),
        "allocation.due" => td_string!(lang, organizer.did_allocation_due),
        "allocation.soldout" => td_string!(lang, organizer.did_allocation_soldout),
        "allocation.code" => td_string!(lang, organizer.did_allocation_code),
        "allocation.revoke" => td_string!(lang, organizer.did_allocation_revoke),
        "difference.repair" => td_string!(lang, reconciliation.did_repair),
        "difference.settle" => td_string!(lang, reconciliation.did_settle),
        "webhook.add" => td_string!(lang, organizer.did_webhook_add),
        "webhook.remove" => td_string!(lang, organizer.did_webhook_remove),
        "webhook.enable" => td_string!(lang, organizer.did_webhook_enable),
        "webhook.rotate" => td_string!(lang, organizer.did_webhook_rotate),
        "webhook.redeliver" => td_string!(lang, organizer.did_webhook_redeliver),
        "dispute.seats" => td_string!(lang, disputes.did_seats),
        "quarantine.return" => td_string!(lang, disputes.did_return),
        "quarantine.settle" => td_string!(lang, disputes.did_settle),
        "payout.record" => td_string!(lang, payouts.did_record),
        "payout.reverse" => td_string!(lang, payouts.did_reverse),
        "allocation.grant" => td_string!(lang, organizer.did_allocation_grant),
        _ => return None,
    })
}

/// The page of what a subject names, where there is one. A subject is kind and id; anything that is
/// not of that form leads nowhere.
pub(super) fn page_of(subject: &str) -> Option<String> {
    let (kind, id) = subject.split_once(' ')?;
    let folder = match kind {
        "event" => "events",
        "performance" | "draft" => "performances",
        "plan" => "plans",
        "import" => "imports",
        "order" => "orders",
        "payout" => return Some("/organizer/money/payouts".to_owned()),
        "member" | "invitation" => return Some("/organizer/members".to_owned()),
        _ => return None,
    };
    // Every id has the form of this one.
    let id: OrderId = id.parse().ok()?;
    Some(format!("/organizer/{folder}/{id}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// String literals of the form `noun.verb` in Rust sources below a path.
    fn literals(path: &std::path::Path, found: &mut std::collections::BTreeSet<String>) {
        if path.is_dir() {
            for entry in std::fs::read_dir(path).unwrap() {
                literals(&entry.unwrap().path(), found);
            }
            return;
        }
        let text = std::fs::read_to_string(path).unwrap();
        let nouns = [
            "organization",
            "allocation",
            "member",
            "event",
            "performance",
            "seats",
            "prices",
            "plan",
            "sale",
            "dispute",
            "quarantine",
            "payout",
            "refund",
        ];
        let word = |text: &&str| {
            text.split_once('.').is_some_and(|(noun, verb)| {
                nouns.contains(&noun)
                    && verb.bytes().all(|b| b.is_ascii_lowercase())
                    && !["csv", "json"].contains(&verb)
            })
        };
        found.extend(text.split('"').filter(word).map(str::to_owned));
    }

    #[test]
    fn every_word_that_is_recorded_has_a_text() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut recorded = std::collections::BTreeSet::new();
        literals(&root.join("../server/backend/src/organizer"), &mut recorded);
        literals(&root.join("../server/backend/src/refunds"), &mut recorded);
        literals(&root.join("domain/src/organizer/desk.rs"), &mut recorded);
        assert!(recorded.len() > 20 && recorded.contains("sale.open"), "the sources were read: {recorded:?}");
        for lang in [Locale::en, Locale::zh] {
            let silent: Vec<_> = recorded.iter().filter(|word| action_text(lang, word).is_none()).collect();
            assert!(silent.is_empty(), "without a text: {silent:?}");
        }
    }

    #[test]
    fn only_kind_and_id_lead_to_a_page() {
        let id = "3f2a9c01-7b44-8e10-9d2c-0123456789ab";
        assert_eq!(page_of(&format!("order {id}")), Some(format!("/organizer/orders/{id}")));
        assert_eq!(page_of(&format!("performance {id}")), Some(format!("/organizer/performances/{id}")));
        assert_eq!(page_of("invitation a@example.org").as_deref(), Some("/organizer/members"));
        for nowhere in ["order", "order ../../x", "order javascript:alert(1)", &format!("organization {id}"), ""] {
            assert_eq!(page_of(nowhere), None, "{nowhere}");
        }
    }
}
