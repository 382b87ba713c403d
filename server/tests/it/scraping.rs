//! What scrapers are told of a program in parts: each process answers them at an address of its own, and the leader
//! tells of the invariants.

use crate::arena::{Arena, SOON, Setup};

/// The worker, as [`Arena::scrape`] numbers it.
const WORKER: usize = 0;
/// The web.
const WEB: usize = 1;

/// The value of a metric in Prometheus's text: of the one line that begins so and has all these labels.
fn value(text: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let mut lines =
        text.lines().filter(|line| line.starts_with(name) && labels.iter().all(|label| line.contains(label)));
    lines.next()?.rsplit_once(' ')?.1.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_and_a_web_server_answer_scrapers_at_addresses_of_their_own() {
    let arena = Arena::scraped(Setup::default()).await;
    for part in [WORKER, WEB] {
        assert_eq!(arena.scrape(part, "/healthz").await, (200, "ok".to_owned()));
        assert_eq!(arena.scrape(part, "/readyz").await, (200, "ready".to_owned()));
        assert_eq!(arena.scrape(part, "/").await.0, 404, "nothing else is there");
    }
    // The alarms of workers are on metrics that a worker tells.
    for metric in ["stararena_leader", "stararena_outbox_waiting", "stararena_quarantine_waiting", "stararena_setbacks"]
    {
        eventually!(SOON, metric, value(&arena.scrape(WORKER, "/metrics").await.1, metric, &[]).is_some());
    }
    // Each job tells when it went well, also one that looks once a minute.
    for job in ["job=\"gauges\"", "job=\"mail\"", "job=\"money sweep\"", "job=\"forget setbacks\"", "job=\"invoices\""]
    {
        let done = async || {
            let text = arena.scrape(WORKER, "/metrics").await.1;
            value(&text, "stararena_job_done_timestamp_seconds", &[job])
        };
        eventually!(SOON, job, done().await.is_some_and(|at| at > 1_000_000_000.0));
    }
    let audits =
        async || value(&arena.scrape(WORKER, "/metrics").await.1, "stararena_audits_total", &["outcome=\"done\""]);
    eventually!(SOON, "whoever leads looks at the invariants at once", audits().await.is_some_and(|done| done >= 1.0));
    assert_eq!(value(&arena.scrape(WORKER, "/metrics").await.1, "stararena_leader", &[]), Some(1.0));
    assert_eq!(value(&arena.scrape(WEB, "/metrics").await.1, "stararena_leader", &[]), None, "it leads nothing");
    arena.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn books_that_do_not_balance_are_told_by_the_leader_until_they_do() {
    let every = ("STARARENA_AUDIT_EVERY_MS", "1000".to_owned());
    let arena = Arena::scraped(Setup { settings: vec![every], ..Setup::default() }).await;
    let breaches = async |check: &str| {
        let labels = ["invariant=\"I3\"", check];
        value(&arena.scrape(WORKER, "/metrics").await.1, "stararena_invariant_breaches", &labels)
    };
    eventually!(SOON, "the books are looked at", breaches("the books balance").await == Some(0.0));
    let wrong = "insert into ledger_entries (source, account, currency, amount_minor, at_ms) values ('test', 'bank', 'EUR', 7, 1)";
    sqlx::query(wrong).execute(&arena.pg).await.unwrap();
    eventually!(SOON, "the breach is told", breaches("the books balance").await == Some(1.0));
    eventually!(SOON, "and the posting", breaches("each posting sums to zero").await == Some(1.0));
    let balance = async || {
        let text = arena.scrape(WORKER, "/metrics").await.1;
        value(&text, "stararena_books_balance_minor", &["currency=\"EUR\""])
    };
    eventually!(SOON, "and how much", balance().await == Some(7.0));
    sqlx::query("delete from ledger_entries where source = 'test'").execute(&arena.pg).await.unwrap();
    eventually!(SOON, "it is told no more", breaches("the books balance").await == Some(0.0));
    eventually!(SOON, "nor how much, though no entry is left", balance().await == Some(0.0));
    arena.finish().await;
}
