//! What organizers can call and open: what each needs, and what another organization meets there.

use domain::organizer::Action;

/// What another organization's owner meets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// The thing is not there for them.
    NotFound,
    /// There is no thing: they act for their own organization.
    Own,
}

/// Endpoint, form, what it needs, what others meet. `{event}` and the like stand for ids. Versions are
/// of the past, so that whoever may try changes little.
pub(super) type Line = (&'static str, &'static [(&'static str, &'static str)], Action, Others);

pub(super) const LINES: &[Line] = {
    use Action::{
        AskRefunds, DecideMoney, EditEvents, EditMembers, EditPlans, EditTerms, ReadAudit, ReadDesk, ReadEvents,
        ReadMoney, ReadOrders, ReadPlans, RunSale,
    };
    use Others::{NotFound, Own};
    &[
        ("organizer-desk", &[], ReadEvents, Own),
        ("organizer-events", &[], ReadEvents, Own),
        ("organizer-event", &[("id", "{event}")], ReadEvents, NotFound),
        (
            "organizer-event-save",
            &[
                ("id", "{event}"),
                ("fields[title]", "Evening"),
                ("fields[artist]", "Nobody"),
                ("fields[description]", "Text"),
            ],
            EditEvents,
            NotFound,
        ),
        ("organizer-draft-new", &[("event", "{event}")], EditEvents, NotFound),
        ("organizer-draft", &[("id", "{draft}")], ReadEvents, NotFound),
        (
            "organizer-draft-save",
            &[
                ("id", "{draft}"),
                ("version", "999"),
                ("form[plan]", "{plan}"),
                ("form[starts]", ""),
                ("form[opens]", ""),
                ("form[closes]", ""),
                ("form[seat_limit]", "4"),
                ("form[hold_ttl_min]", "2"),
                ("form[shoppers_max]", "1"),
                ("form[release_per_min]", "1"),
                ("form[currency]", "EUR"),
            ],
            EditEvents,
            NotFound,
        ),
        ("organizer-draft-delete", &[("id", "{draft}"), ("version", "999")], EditEvents, NotFound),
        ("organizer-draft-publish", &[("id", "{draft}"), ("version", "999")], EditEvents, NotFound),
        ("organizer-readiness", &[("id", "{performance}")], ReadEvents, NotFound),
        ("organizer-names-set", &[("id", "{performance}"), ("from", ""), ("hours", "")], EditEvents, NotFound),
        ("organizer-prices", &[("id", "{performance}")], ReadEvents, NotFound),
        ("organizer-prices-set", &[("id", "{draft}"), ("version", "999"), ("prices[0]", "10")], EditEvents, NotFound),
        ("organizer-prices-preview", &[("id", "{performance}"), ("prices[0]", "10")], EditEvents, NotFound),
        (
            "organizer-prices-change",
            &[("id", "{performance}"), ("version", "999"), ("prices[0]", "10")],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-seats-change",
            &[
                ("id", "{draft}"),
                ("version", "999"),
                ("form[step]", "block"),
                ("form[picked]", "1"),
                ("form[reason]", "camera"),
            ],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-zone-rename",
            &[("id", "{draft}"), ("version", "999"), ("zone", "0"), ("name", "Gold")],
            EditEvents,
            NotFound,
        ),
        ("organizer-zone-remove", &[("id", "{draft}"), ("version", "999"), ("zone", "0")], EditEvents, NotFound),
        ("organizer-plan-choices", &[("id", "{performance}")], ReadEvents, NotFound),
        // The plan in use: nothing changes.
        ("organizer-plan-preview", &[("id", "{performance}"), ("plan", "{plan}")], EditEvents, NotFound),
        (
            "organizer-plan-replace",
            &[("id", "{performance}"), ("from", "{plan}"), ("plan", "{plan}")],
            EditEvents,
            NotFound,
        ),
        ("organizer-allocations", &[("id", "{performance}")], ReadEvents, NotFound),
        (
            "organizer-allocation-create",
            &[("id", "{performance}"), ("form[name]", "Friends"), ("form[kind]", "house"), ("form[picked]", "50")],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-allocation-edit",
            &[
                ("id", "{performance}"),
                ("allocation", "{allocation}"),
                ("version", "999"),
                ("name", "Club"),
                ("release", ""),
            ],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-allocation-seats",
            &[
                ("id", "{performance}"),
                ("allocation", "{allocation}"),
                ("step", "add"),
                ("picked", "42"),
                ("typed", ""),
            ],
            EditEvents,
            NotFound,
        ),
        (
            "organizer-allocation-code-add",
            &[("id", "{performance}"), ("allocation", "{allocation}"), ("form[code]", "OPEN SESAME")],
            EditEvents,
            NotFound,
        ),
        ("organizer-allocation-code-revoke", &[("id", "{performance}"), ("code", "{code}")], EditEvents, NotFound),
        (
            "organizer-allocation-grant",
            &[("id", "{performance}"), ("allocation", "{allocation}"), ("email", "nobody@mail.example")],
            EditEvents,
            NotFound,
        ),
        // After all others: nobody can change it any more.
        (
            "organizer-allocation-release",
            &[("id", "{performance}"), ("allocation", "{allocation}"), ("sure", "true")],
            EditEvents,
            NotFound,
        ),
        ("organizer-plans", &[], ReadPlans, Own),
        ("organizer-plan", &[("id", "{plan}")], ReadPlans, NotFound),
        ("organizer-import", &[("id", "{import}"), ("filter", "all"), ("page", "1")], ReadPlans, NotFound),
        ("organizer-import-recheck", &[("id", "{import}"), ("version", "999")], EditPlans, NotFound),
        (
            "organizer-import-accept",
            &[
                ("id", "{import}"),
                ("version", "999"),
                ("venue", "Hall"),
                ("city", "Berlin"),
                ("time_zone", "Europe/Berlin"),
            ],
            EditPlans,
            NotFound,
        ),
        ("organizer-import-discard", &[("id", "{import}")], EditPlans, NotFound),
        ("organizer-settings", &[], Action::EditSettings, Own),
        ("organizer-provider-choose", &[("name", "sandbox")], Action::EditSettings, Own),
        (
            "organizer-webhook-add",
            &[("url", "https://hooks.example.org/"), ("kinds[0]", "refund.succeeded")],
            Action::EditSettings,
            Own,
        ),
        ("organizer-webhook", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-webhook-enable", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-webhook-rotate", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-webhook-redeliver", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-webhook-remove", &[("id", "{endpoint}")], Action::EditSettings, NotFound),
        ("organizer-sale-desk", &[("performance", "{performance}")], ReadDesk, NotFound),
        ("organizer-sale-series", &[("performance", "{performance}"), ("language", "en")], ReadDesk, NotFound),
        ("organizer-sale-open", &[("performance", "{performance}")], RunSale, NotFound),
        ("organizer-sale-pause", &[("performance", "{performance}")], RunSale, NotFound),
        ("organizer-sale-resume", &[("performance", "{performance}")], RunSale, NotFound),
        ("organizer-sale-rate", &[("performance", "{performance}"), ("from", "7"), ("to", "8")], RunSale, NotFound),
        ("organizer-sale-maximum", &[("performance", "{performance}"), ("from", "7"), ("to", "8")], RunSale, NotFound),
        ("organizer-orders", &[("text", "")], ReadOrders, Own),
        ("organizer-order", &[("id", "{order}")], ReadOrders, NotFound),
        ("organizer-members", &[], EditMembers, Own),
        ("organizer-member-invite", &[("email", "new@mail.example"), ("role", "door")], EditMembers, Own),
        ("organizer-invitation-revoke", &[("email", "new@mail.example")], EditMembers, Own),
        (
            "organizer-member-role",
            &[("account", "{account}"), ("from", "risk"), ("role", "risk")],
            EditMembers,
            NotFound,
        ),
        ("organizer-member-remove", &[("account", "{account}"), ("role", "finance")], EditMembers, NotFound),
        ("organizer-fees", &[], EditTerms, Own),
        ("organizer-fees-save", &[("version", "999"), ("form[currency]", "EUR")], EditTerms, Own),
        ("organizer-audit", &[], ReadAudit, Own),
        ("organizer-money", &[("period", "month")], ReadMoney, Own),
        ("organizer-payouts", &[("before", "")], ReadMoney, Own),
        (
            "organizer-payout-record",
            &[
                ("form[amount]", "1"),
                ("form[currency]", "EUR"),
                ("form[day]", "2026-01-31"),
                ("form[reference]", "RF18 5390"),
            ],
            DecideMoney,
            Own,
        ),
        // The first of them reverses it; for the others it is done.
        ("organizer-payout-reverse", &[("id", "{payout}"), ("reason", "typed twice")], DecideMoney, NotFound),
        ("organizer-reconciliation", &[], ReadMoney, Own),
        ("organizer-difference-settle", &[("id", "{difference}"), ("note", "seen")], DecideMoney, NotFound),
        ("organizer-difference-repair", &[("id", "{difference}")], DecideMoney, NotFound),
        ("organizer-details", &[], EditTerms, Own),
        (
            "organizer-details-set",
            &[("address", "Main Street 1"), ("tax_id", "DE 1"), ("prefix", "SA"), ("version", "999")],
            EditTerms,
            Own,
        ),
        ("organizer-order-documents", &[("order", "{bought}")], ReadOrders, NotFound),
        ("organizer-refunds", &[("status", ""), ("performance", ""), ("before", "")], ReadMoney, Own),
        ("organizer-refund-rule", &[("automatic", "0"), ("four_eyes", ""), ("currency", "")], EditTerms, Own),
        ("organizer-order-refund-offer", &[("order", "{bought}")], AskRefunds, NotFound),
        // Nothing was paid: there is nothing to give back.
        (
            "organizer-order-refund",
            &[("order", "{order}"), ("seats", "1"), ("note", "a kindness")],
            AskRefunds,
            NotFound,
        ),
        // The first of them turns it down, which moves no money.
        (
            "organizer-refund-decide",
            &[("refund", "{refund}"), ("answer", "reject"), ("note", "not now")],
            DecideMoney,
            NotFound,
        ),
        ("organizer-refund-retry", &[("refund", "{refund}")], DecideMoney, NotFound),
        ("organizer-terms", &[("id", "{performance}")], ReadMoney, NotFound),
        (
            "organizer-terms-save",
            &[("id", "{performance}"), ("version", "999"), ("form[ends]", "1"), ("form[unit]", "days")],
            EditTerms,
            NotFound,
        ),
        // Another name than the event's: nothing is cancelled.
        (
            "organizer-performance-cancel",
            &[("id", "{performance}"), ("typed", "Another evening")],
            DecideMoney,
            NotFound,
        ),
        ("organizer-refund-batch", &[("id", "{performance}")], ReadMoney, NotFound),
        ("organizer-refund-batch-retry", &[("id", "{performance}")], DecideMoney, NotFound),
        ("organizer-disputes", &[], ReadMoney, Own),
        ("organizer-dispute-policy", &[("seats", "keep"), ("hours", "")], EditTerms, Own),
        // A dispute holds no money that could go back; the first of them settles it.
        ("organizer-quarantine-return", &[("id", "{aside}")], DecideMoney, NotFound),
        ("organizer-quarantine-settle", &[("id", "{aside}"), ("note", "seen")], DecideMoney, NotFound),
        // The last, because it ends the sale.
        ("organizer-sale-close", &[("performance", "{performance}")], RunSale, NotFound),
    ]
};

/// Endpoints that a link's secret opens, not a role.
pub(super) const BY_LINK: [&str; 2] = ["organizer-invitation", "organizer-join"];
/// Routes beside the server functions, which have tests of their own.
pub(super) const ROUTES: [&str; 5] = [
    "organizer-plan-upload",
    "organizer-picture-upload",
    "organizer-picture-remove",
    "organizer-money-table",
    "organizer-invoices",
];

/// Pages, and what they need.
pub(super) const PAGES: &[(&str, Action, Others)] = &[
    ("/organizer", Action::ReadEvents, Others::Own),
    ("/organizer/events/{event}", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{draft}", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{performance}", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{draft}/prices", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{performance}/prices", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{performance}/allocations", Action::ReadEvents, Others::NotFound),
    ("/organizer/performances/{performance}/plan", Action::EditEvents, Others::NotFound),
    ("/organizer/performances/{performance}/desk", Action::ReadDesk, Others::NotFound),
    ("/organizer/plans", Action::ReadPlans, Others::Own),
    ("/organizer/settings", Action::EditSettings, Others::Own),
    ("/organizer/settings/webhooks/{endpoint}", Action::EditSettings, Others::NotFound),
    ("/organizer/plans/{plan}", Action::ReadPlans, Others::NotFound),
    ("/organizer/imports/{import}", Action::ReadPlans, Others::NotFound),
    ("/organizer/orders", Action::ReadOrders, Others::Own),
    ("/organizer/orders/{order}", Action::ReadOrders, Others::NotFound),
    ("/organizer/members", Action::EditMembers, Others::Own),
    ("/organizer/settings/fees", Action::EditTerms, Others::Own),
    ("/organizer/audit", Action::ReadAudit, Others::Own),
    ("/organizer/money", Action::ReadMoney, Others::Own),
    ("/organizer/money/reconciliation", Action::ReadMoney, Others::Own),
    ("/organizer/money/payouts", Action::ReadMoney, Others::Own),
    ("/organizer/money/refunds", Action::ReadMoney, Others::Own),
    ("/organizer/money/disputes", Action::ReadMoney, Others::Own),
    ("/organizer/orders/{bought}/refund", Action::AskRefunds, Others::NotFound),
    ("/organizer/performances/{performance}/refunds", Action::ReadMoney, Others::NotFound),
    ("/organizer/settings/details", Action::EditTerms, Others::Own),
];
