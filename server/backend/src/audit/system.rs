//! History, terms and durability: that each change named what it changed (I9), that what was acknowledged lasts
//! (I7), and that draws are the ones that were committed to (I6).

use super::{SqlCheck, of_system};

/// The checks of this module, in their order.
pub(super) const CHECKS: &[SqlCheck] = &[
    of_system(
        "I6",
        "every commitment that was published is to the seed of its draw",
        "select c.performance_id::text || ' ' || c.number::text from draw_commitments c
         join performances p on p.id = c.performance_id where c.commitment <> sha256(p.draw_seed)",
    ),
    of_system(
        "I7",
        "Postgres answers after what it wrote is on the disk",
        "select name || ' = ' || setting from pg_settings
         where (name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off')",
    ),
    of_system(
        "I7",
        "every entry of a sale's log became an order, or was decided about by people",
        "select performance_id::text || ' ' || position from log_set_aside where resolved_ms is null",
    ),
    of_system(
        "I7",
        "the tickets of a fulfilled order were sent, or wait to be",
        // An order of which everything was given back before its tickets were issued had none to send.
        "select o.id::text from orders o where o.status = 'fulfilled'
            and exists (select 1 from order_items i where i.order_id = o.id and i.returned_ms is null)
            and not exists (select 1 from outbox b where b.dedupe = 'tickets:' || o.id)",
    ),
    of_system(
        "I9",
        "each version of an order has its step in the history",
        // What happened to a ticket is noted there too, and moves its order nowhere.
        "select o.id::text from orders o
         left join (select order_id, count(*) as steps from order_audit where from_status <> to_status group by order_id) h
             on h.order_id = o.id
         where o.version <> coalesce(h.steps, 0)",
    ),
    of_system(
        "I9",
        "each step of an order begins where the one before ended, and the last one where the order is",
        "select distinct step.order_id::text from (
            select order_id, to_status,
                coalesce(lead(from_status) over later, (select o.status from orders o where o.id = a.order_id)) as next
            from order_audit a window later as (partition by order_id order by id)
         ) as step where step.to_status <> step.next",
    ),
    of_system(
        "I9",
        "no queue was written under a term that nobody leads by",
        "select q.performance_id::text from queue_state q
         where q.term > (select coalesce(max(l.term), 0) from leader_terms l)",
    ),
];
