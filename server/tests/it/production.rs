//! Production mode refuses what only development may have: exit code 1 and a sentence.

use crate::arena::{program, run_to_end};
use std::collections::HashMap;

/// Settings of a production without anything wrong that this version could have.
fn production(further: &[(&str, &str)]) -> HashMap<String, String> {
    let key = "0123456789abcdef0123456789abcdef";
    let base = [
        ("STARARENA_ENV", "production"),
        ("STARARENA_PUBLIC_URL", "https://tickets.example.org"),
        ("STARARENA_TOKEN_KEYS", key),
        ("STARARENA_TICKET_KEY", "1111111111111111111111111111111111111111111111111111111111111111"),
        ("STARARENA_SMTP_URL", "smtps://mail.example.org"),
        ("STARARENA_MAIL_FROM", "StarArena <tickets@example.org>"),
        // Nobody listens there: what refuses must refuse before it looks for a store.
        ("DATABASE_URL", "postgres://nobody@127.0.0.1:9/none"),
        ("REDIS_URL", "redis://127.0.0.1:9"),
        ("STARARENA_LISTEN", "127.0.0.1:0"),
    ];
    base.iter().chain(further).map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

async fn refusal(further: &[(&str, &str)], args: &[&str]) -> String {
    let mut command = program(&production(further));
    command.args(args);
    let (code, out, err) = run_to_end(command).await;
    assert_eq!(code, Some(1), "{args:?} {further:?}: {out}{err}");
    let sentence = err.lines().filter(|line| line.starts_with("stararena: ")).collect::<Vec<_>>();
    assert_eq!(sentence.len(), 1, "one sentence: {err}");
    sentence[0].to_owned()
}

#[tokio::test]
async fn production_refuses_default_secrets_fault_points_plain_http_and_no_mail() {
    for (variable, value) in [
        ("STARARENA_TOKEN_KEYS", ""),
        ("STARARENA_TOKEN_KEYS", "too short"),
        ("STARARENA_TICKET_KEY", ""),
        ("STARARENA_FAULT_POINTS", "after-capture"),
        ("STARARENA_PUBLIC_URL", "http://tickets.example.org"),
        ("STARARENA_PUBLIC_URL", ""),
        ("STARARENA_SMTP_URL", ""),
        ("STARARENA_MAIL_FROM", ""),
        ("STARARENA_WEBHOOK_LOOPBACK", "yes"),
    ] {
        let sentence = refusal(&[(variable, value)], &["all"]).await;
        assert!(sentence.contains(variable), "{variable}={value}: {sentence}");
    }
}

#[tokio::test]
async fn production_refuses_the_sandbox_the_demo_the_simulator_and_benchmarks() {
    for args in [
        &["all"][..],
        &["serve"],
        &["worker"],
        &["--demo"],
        &["all", "--demo"],
        &["demo"],
        &["psp"],
        &["rush"],
        &["bench"],
    ] {
        let sentence = refusal(&[], args).await;
        assert!(sentence.contains("refuse"), "{args:?}: {sentence}");
    }
}
