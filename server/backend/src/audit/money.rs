//! Money, and what was promised for it: the books beside attempts, refunds, disputes, tickets and documents.
//!
//! What a posting is, is told in [`domain::ledger`]. Each check is one statement: a change that is written in one
//! transaction is seen whole, or not at all.

use super::{SqlCheck, of_system};

/// The checks of this module, in their order.
pub(super) const CHECKS: &[SqlCheck] = &[
    of_system(
        "I3",
        "the books balance in every currency",
        "select currency::text || ' ' || sum(amount_minor)::text from ledger_entries
         group by currency having sum(amount_minor) <> 0",
    ),
    of_system(
        "I3",
        "each posting sums to zero, in one currency",
        "select source from ledger_entries group by source
         having sum(amount_minor) <> 0 or count(distinct currency) > 1",
    ),
    of_system(
        "I3",
        "each capture is posted once, with the amount of its attempt",
        "select a.id::text from attempts a
         left join ledger_entries l on l.source = 'capture:' || a.id and l.account = 'provider_clearing'
         where a.status in ('captured', 'refunded')
            and (l.id is null or l.amount_minor <> a.amount_minor or l.currency <> a.currency)",
    ),
    of_system(
        "I3",
        "nothing is posted as captured that attempts don't know",
        "select l.source from ledger_entries l
         where l.source like 'capture:%' and l.account = 'provider_clearing'
            and not exists (select 1 from attempts a
                where 'capture:' || a.id = l.source and a.status in ('captured', 'refunded'))
            -- Money that fitted no attempt is booked when it goes back.
            and not exists (select 1 from payment_quarantine q
                where (q.refund_id is not null or q.failures > 0)
                    and 'capture:' || (q.evidence ->> 'attempt') = l.source)",
    ),
    of_system(
        "I3",
        "what went back, is on its way back or is disputed stays within what was captured",
        "select a.id::text from attempts a
         left join (select attempt_id, sum(amount_minor) as minor from refunds
            where status in ('requested', 'approved', 'submitted', 'succeeded')
                -- What its own staff gave back went whatever was under way here, which the provider then refuses.
                and origin <> 'provider'
            group by attempt_id) r
            on r.attempt_id = a.id
         left join (select attempt_id, sum(amount_minor) as minor from disputes
            where status in ('opened', 'lost') group by attempt_id) d
            on d.attempt_id = a.id
         where coalesce(r.minor, 0) + coalesce(d.minor, 0)
            > case when a.status in ('captured', 'refunded') then a.amount_minor else 0 end",
    ),
    of_system(
        "I3",
        "a refund that succeeded is posted with its amount",
        "select r.id::text from refunds r
         left join ledger_entries l on l.source = 'refund:' || r.id and l.account = 'provider_clearing'
         where r.status = 'succeeded'
            and (l.id is null or l.amount_minor <> -r.amount_minor or l.currency <> r.currency)",
    ),
    of_system(
        "I3",
        "a refund that did not succeed moved no money",
        "select r.id::text from refunds r
         left join ledger_entries done on done.source = 'refund:' || r.id and done.account = 'provider_clearing'
         left join ledger_entries back
            on back.source = 'refund-returned:' || r.id and back.account = 'provider_clearing'
         where r.status <> 'succeeded'
            and coalesce(done.amount_minor, 0) + coalesce(back.amount_minor, 0) <> 0",
    ),
    of_system(
        "I3",
        "a refund is owed from its reservation until it ends, and not longer",
        "select r.id::text from refunds r
         left join ledger_entries made
            on made.source = 'refund-reserved:' || r.id and made.account = 'refunds_payable'
         left join ledger_entries done on done.source = 'refund:' || r.id and done.account = 'refunds_payable'
         left join ledger_entries freed
            on freed.source = 'refund-failed:' || r.id and freed.account = 'refunds_payable'
         where r.books = 2
            and coalesce(made.amount_minor, 0) + coalesce(done.amount_minor, 0) + coalesce(freed.amount_minor, 0)
             <> case when r.status in ('requested', 'approved', 'submitted') then -r.amount_minor else 0 end",
    ),
    of_system(
        "I3",
        "refunds payable is the sum of what is on its way back",
        "select currency::text || ' ' || sum(minor)::text from (
            select currency, amount_minor as minor from ledger_entries where account = 'refunds_payable'
            union all
            select currency, amount_minor from refunds
                where books = 2 and status in ('requested', 'approved', 'submitted')
            union all
            -- What fitted no order's payment, and goes back from the quarantine.
            select q.currency, q.amount_minor from payment_quarantine q
                where q.refund_id is not null and q.resolved_ms is null
                    and exists (select 1 from attempts a where a.id::text = q.evidence ->> 'attempt')
         ) as sides group by currency having sum(minor) <> 0",
    ),
    of_system(
        "I3",
        "the account of disputes is the sum of those that are open",
        "select currency::text || ' ' || sum(minor)::text from (
            select currency, amount_minor as minor from ledger_entries where account = 'disputes'
            union all
            select currency, -amount_minor from disputes where status = 'opened'
         ) as sides group by currency having sum(minor) <> 0",
    ),
    of_system(
        "I3",
        "a payment counts as refunded exactly when all of its money went back",
        "select a.id::text from attempts a
         left join (select attempt_id, sum(amount_minor) as minor from refunds
            where status = 'succeeded' group by attempt_id) r on r.attempt_id = a.id
         where a.status in ('captured', 'refunded')
            and (a.status = 'refunded') <> (coalesce(r.minor, 0) >= a.amount_minor)",
    ),
    of_system(
        "I3",
        "a payout to an organizer is posted with its amount, and posted back when it was reversed",
        "select p.id::text from organizer_payouts p
         left join ledger_entries made
            on made.source = 'organizer-payout:' || p.id and made.account = 'organizer_payable'
         left join ledger_entries back
            on back.source = 'organizer-payout-reversed:' || p.id and back.account = 'organizer_payable'
         where made.id is null or made.amount_minor <> p.amount_minor or made.currency <> p.currency
            or coalesce(back.amount_minor, 0) <> case when p.reversed_ms is null then 0 else -p.amount_minor end",
    ),
    of_system(
        "I3",
        "the lines of an order sum to its total",
        "select o.id::text from orders o
         left join (select order_id, sum(gross_minor) as minor from order_lines group by order_id) l
            on l.order_id = o.id
         left join (select order_id, sum(amount_minor) as minor from order_items group by order_id) i
            on i.order_id = o.id
         where o.total_minor <> coalesce(l.minor, i.minor, 0)",
    ),
    of_system(
        "I3",
        "documents of an organization are numbered without a gap",
        "select organization_id::text from invoice_sequences s
         full join (select organization_id, count(*) as papers, max(number) as highest
            from invoices group by organization_id) i using (organization_id)
         where coalesce(s.last_number, 0) <> coalesce(i.papers, 0)
            or coalesce(i.highest, 0) <> coalesce(i.papers, 0)",
    ),
    of_system(
        "I2",
        "at most one payment of an order is open",
        "select order_id::text from attempts where status in ('created', 'open', 'authorized')
         group by order_id having count(*) > 1",
    ),
    of_system(
        "I2",
        "an order keeps the money of one payment at most",
        "select a.order_id::text from attempts a where a.status = 'captured'
            and not exists (select 1 from refunds r where r.attempt_id = a.id and r.cause = 'late_money'
                and r.status in ('requested', 'approved', 'submitted', 'succeeded'))
            -- The bank took it, or may.
            and not exists (select 1 from disputes d where d.attempt_id = a.id and d.status in ('opened', 'lost'))
         group by a.order_id having count(*) > 1",
    ),
    of_system(
        "I2",
        "a valid ticket belongs to a paid order, and to a seat that it kept",
        "select t.id::text from tickets t join orders o on o.id = t.order_id
         left join order_items i on i.order_id = t.order_id and i.seat_no = t.seat_no and i.returned_ms is null
         where t.revoked_ms is null and (o.status not in ('paid', 'fulfilled') or i.order_id is null)",
    ),
    of_system(
        "I2",
        "tickets are frozen exactly while a dispute of their order is open",
        "select t.id::text from tickets t
         where t.revoked_ms is null and (t.frozen_ms is not null)
            <> exists (select 1 from disputes d where d.order_id = t.order_id and d.status = 'opened')",
    ),
    of_system(
        "I2",
        "what providers told is applied within five minutes",
        "select provider || ' ' || event_id || coalesce(' (' || error || ')', '') from payment_inbox
         where applied_ms is null and received_ms < (extract(epoch from now()) * 1000)::bigint - 300000",
    ),
];
