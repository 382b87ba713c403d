//! The audit: it tells every check by name, and finds what is wrong.

use crate::arena::{Arena, SOON, Setup, program, run_to_end};
use backend::Finding;
use redis::AsyncCommands as _;
use std::collections::HashMap;

/// A change by hand, what the audit must say of it, and its undoing.
struct Wrong {
    /// Part of the titles of the checks that must find it.
    titles: &'static [&'static str],
    made: &'static str,
    mended: &'static str,
}

const WRONGS: &[Wrong] = &[
    Wrong {
        titles: &["the books balance", "each posting sums to zero"],
        made: "insert into ledger_entries (source, account, currency, amount_minor, at_ms) values ('test', 'bank', 'EUR', 1, 1)",
        mended: "delete from ledger_entries where source = 'test'",
    },
    Wrong {
        titles: &["each capture is posted once"],
        made: "update ledger_entries set amount_minor = amount_minor * 2 where source like 'capture:%'",
        mended: "update ledger_entries set amount_minor = amount_minor / 2 where source like 'capture:%'",
    },
    Wrong {
        titles: &["nothing is posted as captured"],
        made: "insert into ledger_entries (source, account, currency, amount_minor, at_ms)
            values ('capture:00000000-0000-0000-0000-000000000001', 'provider_clearing', 'EUR', 5, 1),
                   ('capture:00000000-0000-0000-0000-000000000001', 'organizer_payable', 'EUR', -5, 1)",
        mended: "delete from ledger_entries where source = 'capture:00000000-0000-0000-0000-000000000001'",
    },
    Wrong {
        titles: &["stays within what was captured"],
        made: "insert into refunds (id, attempt_id, amount_minor, currency, reason, status, created_ms, next_try_ms)
            select gen_random_uuid(), id, amount_minor + 1, currency, 'test', 'requested', 1, 9000000000000 from attempts",
        mended: "delete from refunds where reason = 'test'",
    },
    Wrong {
        titles: &["a refund that succeeded is posted"],
        made: "insert into refunds (id, attempt_id, amount_minor, currency, reason, status, created_ms, next_try_ms)
            select gen_random_uuid(), id, 1, currency, 'test', 'succeeded', 1, 1 from attempts",
        mended: "delete from refunds where reason = 'test'",
    },
    Wrong {
        titles: &["a refund that did not succeed moved no money", "the books balance"],
        made: "with made as (
                insert into refunds (id, attempt_id, amount_minor, currency, reason, status, created_ms, next_try_ms)
                select gen_random_uuid(), id, 1, currency, 'test', 'failed', 1, 1 from attempts returning id)
            insert into ledger_entries (source, account, currency, amount_minor, at_ms)
            select 'refund:' || id, 'provider_clearing', 'EUR', -1, 77 from made",
        mended: "with gone as (delete from refunds where reason = 'test') delete from ledger_entries where at_ms = 77",
    },
    Wrong {
        titles: &["a refund is owed from its reservation", "refunds payable is the sum"],
        made: "insert into refunds (id, attempt_id, amount_minor, currency, reason, status, books, created_ms, next_try_ms)
            select gen_random_uuid(), id, 1, currency, 'test', 'requested', 2, 1, 9000000000000 from attempts",
        mended: "delete from refunds where reason = 'test'",
    },
    Wrong {
        titles: &["the account of disputes", "tickets are frozen exactly"],
        made: "insert into disputes (id, provider, provider_ref, attempt_id, order_id, amount_minor, currency, reason,
                status, opened_ms, evidence)
            select gen_random_uuid(), provider, 'test', id, order_id, 1, currency, 'test', 'opened', 1, '{}' from attempts",
        mended: "delete from disputes where reason = 'test'",
    },
    Wrong {
        titles: &["counts as refunded exactly"],
        made: "update attempts set status = 'refunded'",
        mended: "update attempts set status = 'captured'",
    },
    Wrong {
        titles: &["a payout to an organizer is posted"],
        made: "insert into organizer_payouts (id, organization_id, reference, amount_minor, currency, day_ms, recorded_ms)
            select gen_random_uuid(), id, 'test', 5, 'EUR', 0, 1 from organizations",
        mended: "delete from organizer_payouts where reference = 'test'",
    },
    Wrong {
        titles: &["the lines of an order sum"],
        made: "update orders set total_minor = total_minor + 1",
        mended: "update orders set total_minor = total_minor - 1",
    },
    Wrong {
        titles: &["numbered without a gap"],
        made: "insert into invoice_sequences (organization_id, last_number) select id, 1 from organizations
            on conflict (organization_id) do update set last_number = invoice_sequences.last_number + 1",
        mended: "update invoice_sequences set last_number = last_number - 1",
    },
    Wrong {
        titles: &["an order keeps the money of one payment", "each capture is posted once"],
        made: "insert into attempts (id, order_id, number, status, provider, amount_minor, currency, created_ms, deadline_ms, next_query_ms)
            select gen_random_uuid(), order_id, 99, 'captured', provider, amount_minor, currency, 1, 1, 1 from attempts",
        mended: "delete from attempts where number = 99",
    },
    Wrong {
        titles: &["a valid ticket belongs to a paid order"],
        made: "update order_items set returned_ms = 1, released_ms = 1",
        mended: "update order_items set returned_ms = null, released_ms = null",
    },
    Wrong {
        titles: &["what providers told is applied"],
        made: "insert into payment_inbox (provider, event_id, body, received_ms, next_try_ms)
            values ('sandbox', 'evt_test', '{}', 1, 9000000000000)",
        mended: "delete from payment_inbox where event_id = 'evt_test'",
    },
    Wrong {
        titles: &["every commitment that was published"],
        made: "update draw_commitments set commitment = sha256('another')",
        mended: "update draw_commitments c set commitment = p.draw_commitment from performances p where p.id = c.performance_id",
    },
    Wrong {
        titles: &["every entry of a sale's log"],
        made: "insert into log_set_aside (performance_id, epoch, position, entry, error, at_ms)
            select id, 1, '0-1', '{}', 'test', 1 from performances",
        mended: "delete from log_set_aside",
    },
    Wrong {
        titles: &["the tickets of a fulfilled order were sent"],
        made: "update outbox set dedupe = 'x' || dedupe where dedupe like 'tickets:%'",
        mended: "update outbox set dedupe = substr(dedupe, 2) where dedupe like 'xtickets:%'",
    },
    Wrong {
        titles: &["each version of an order"],
        made: "update orders set version = version + 1",
        mended: "update orders set version = version - 1",
    },
    Wrong {
        titles: &["each step of an order begins"],
        made: "update order_audit set to_status = 'closed' where event = 'pay'",
        mended: "update order_audit set to_status = 'payment_processing' where event = 'pay'",
    },
    Wrong {
        titles: &["no queue was written under a term"],
        made: "update queue_state set term = term + 1000000",
        mended: "update queue_state set term = term - 1000000",
    },
];

async fn audited(arena: &Arena) -> HashMap<&'static str, Finding> {
    let findings = arena.backend.audit_system().await.unwrap();
    findings.into_iter().map(|finding| (finding.check.title, finding)).collect()
}

fn broken<'a>(findings: &'a HashMap<&'static str, Finding>) -> Vec<&'a Finding> {
    findings.values().filter(|finding| !finding.holds()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_changed_by_hand_is_found_and_named() {
    let mut arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    arena.buy(&fan, held.order).await;
    crate::purchase::assert_paid_once(&arena, held.order, 2).await;
    // From here on nobody works on the stores but this test.
    arena.kill_server().await;
    assert_eq!(broken(&audited(&arena).await), Vec::<&Finding>::new());
    for wrong in WRONGS {
        sqlx::query(wrong.made).execute(&arena.pg).await.unwrap();
        let findings = audited(&arena).await;
        for part in wrong.titles {
            let finding = findings.values().find(|finding| finding.check.title.contains(part)).expect(part);
            assert!(!finding.holds(), "{part}: not found after {}", wrong.made);
            assert!(!finding.evidence.is_empty() && finding.breach().is_some(), "{part}: without evidence");
        }
        sqlx::query(wrong.mended).execute(&arena.pg).await.unwrap();
        assert_eq!(broken(&audited(&arena).await), Vec::<&Finding>::new(), "after {}", wrong.mended);
    }
    // Where everything was given back before the tickets were issued, there were none to send.
    let change = async |sql: &'static str| {
        sqlx::query(sql).execute(&arena.pg).await.unwrap();
    };
    change("update outbox set dedupe = 'x' || dedupe where dedupe like 'tickets:%'").await;
    change("update order_items set returned_ms = 1, released_ms = 1").await;
    assert!(audited(&arena).await["the tickets of a fulfilled order were sent, or wait to be"].holds());
    change("update order_items set returned_ms = null, released_ms = null").await;
    change("update outbox set dedupe = substr(dedupe, 2) where dedupe like 'xtickets:%'").await;
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_tells_every_check_by_name_and_fails_when_one_is_broken() {
    let arena = Arena::web(Setup::default()).await;
    let doctor = async |args: &[&str]| {
        let mut command = program(arena.settings());
        command.args(args);
        run_to_end(command).await
    };
    let (code, out, err) = doctor(&["doctor", "--audit"]).await;
    assert_eq!(code, Some(0), "{out}{err}");
    for check in backend::audit_checks() {
        let line = format!(": {}: {}", check.invariant, check.title);
        assert!(out.lines().any(|told| told.starts_with("ok ") && told.ends_with(&line)), "{line} is not in {out}");
    }
    let (code, short, err) = doctor(&["doctor"]).await;
    assert_eq!(code, Some(0), "{short}{err}");
    assert!(short.lines().count() < out.lines().count(), "{short}");

    let wrong = "insert into ledger_entries (source, account, currency, amount_minor, at_ms) values ('test', 'bank', 'EUR', 1, 1)";
    sqlx::query(wrong).execute(&arena.pg).await.unwrap();
    for args in [&["doctor"][..], &["doctor", "--audit"]] {
        let (code, out, err) = doctor(args).await;
        assert_eq!(code, Some(1), "{out}{err}");
        assert!(out.lines().any(|told| told.starts_with("wrong  books: I3: the books balance")), "{out}");
    }
    sqlx::query("delete from ledger_entries where source = 'test'").execute(&arena.pg).await.unwrap();
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_an_evening_long_after_its_sale_is_found_as_well() {
    let mut arena = Arena::web(Setup::default()).await;
    let fan = arena.one_inside().await;
    let held = arena.held(&fan, "1,2").await;
    arena.buy(&fan, held.order).await;
    crate::purchase::assert_paid_once(&arena, held.order, 2).await;
    let confirmed = "select count(*) from orders where id = $1 and confirmed_ms is not null";
    eventually!(SOON, "Redis knows", arena.count_of(held.order, confirmed).await == 1);
    arena.kill_server().await;
    let change = async |sql: &'static str| {
        sqlx::query(sql).execute(&arena.pg).await.unwrap();
    };
    let found = async || {
        let findings = arena.backend.audit_published().await.unwrap();
        let broken = findings.into_iter().filter(|finding| !finding.holds());
        broken.map(|finding| (finding.check.title, finding.count)).collect::<Vec<_>>()
    };
    let nothing: Vec<(&str, usize)> = Vec::new();
    // Long ago; Redis has its seats still, which are looked at as well.
    change("update performances set opens_ms = opens_ms - 1000000000000, closes_ms = opens_ms - 900000000000").await;
    assert_eq!(arena.backend.audited_sales().await.unwrap(), [arena.performance]);
    assert_eq!(found().await, nothing);
    assert!(arena.backend.audit(arena.performance).await.unwrap().is_empty());
    let mut redis = arena.redis().await;
    let key = format!("sa:1:{{p{}}}:seats", arena.performance.simple());
    let () = redis.setrange(&key, 5, "\u{2}").await.unwrap();
    assert!(!arena.backend.audit(arena.performance).await.unwrap().is_empty(), "a seat that nobody bought");
    let () = redis.setrange(&key, 5, "\u{0}").await.unwrap();
    change("update tickets set revoked_ms = 7 where seat_no = 1").await;
    assert_eq!(found().await, [("a fulfilled order has one valid ticket a seat that it kept", 1)]);
    change("update tickets set revoked_ms = null where revoked_ms = 7").await;
    change("delete from seat_claims where seat_no = 2").await;
    assert_eq!(found().await, [("a seat of an open or paid order, and none that was given back, is claimed by it", 1)]);
    change("insert into seat_claims (performance_id, seat_no, order_id) select performance_id, 2, id from orders")
        .await;
    assert_eq!(found().await, nothing);
    arena.finish().await;
}
