//! The real keys and rows, read into the model's types.

use crate::backend::Backend;
use crate::redis::{Keys, LogEntry, read_log};
use crate::simulation::model::postgres::{Attempt, Order, Refund, RefundStatus, Rows, Visit};
use crate::simulation::model::reclaim::Reclaimed;
use crate::simulation::model::redis::{Entry, Hot, Meta, NO_VISIT, Record, Settings, State, What};
use domain::hold::HoldState;
use domain::live::LogPosition;
use domain::order::{AttemptStatus, OrderStatus};
use domain::{AccountId, AttemptId, OrderId, PerformanceId};
use sqlx::{PgPool, Row as _};
use std::collections::{BTreeMap, HashMap};
use uuid::Uuid;

fn id(text: &str) -> Uuid {
    Uuid::parse_str(text).unwrap()
}

fn seats(text: &str) -> Vec<u32> {
    text.split(',').filter(|part| !part.is_empty()).map(|part| part.parse().unwrap()).collect()
}

/// A run of Redis as a number.
pub(super) fn run_number(text: &str) -> u64 {
    u64::from_str_radix(&text[..text.len().min(12)], 16).unwrap_or(0)
}

pub(super) fn record(raw: &str) -> Record {
    let value: serde_json::Value = serde_json::from_str(raw).unwrap();
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let number = |name: &str| value[name].as_i64().unwrap();
    let seats = seats(text("s"));
    assert_eq!(number("n"), i64::try_from(seats.len()).unwrap(), "{raw}");
    Record {
        account: AccountId(id(text("a"))),
        seats,
        wish: text("w").parse().ok(),
        version: i32::try_from(number("v")).unwrap(),
        created: number("c"),
        expires: number("x"),
        first_end: number("o"),
        state: serde_json::from_value(value["st"].clone()).unwrap(),
        attempt: i32::try_from(number("k")).unwrap(),
        pass: if text("p") == "-" { Some(NO_VISIT) } else { text("p").parse().ok() },
        reclaim: value["rc"].as_i64().map(|attempt| Reclaimed {
            attempt: i32::try_from(attempt).unwrap(),
            entry: LogPosition::parse(text("l")).unwrap(),
            fence: number("f"),
        }),
        returned: value["g"].as_i64() == Some(1),
    }
}

/// A record in the form of the real one.
pub(super) fn raw(record: &Record) -> String {
    let state = serde_json::to_value(record.state).unwrap();
    let csv: Vec<String> = record.seats.iter().map(ToString::to_string).collect();
    let mut value = serde_json::json!({
        "a": record.account.simple(), "s": csv.join(","), "n": record.seats.len(), "v": record.version,
        "c": record.created, "x": record.expires, "o": record.first_end, "st": state,
        "k": record.attempt,
    });
    if let Some(wish) = record.wish {
        value["w"] = wish.to_string().into();
    }
    if let Some(pass) = record.pass {
        let text = if pass == NO_VISIT { "-".to_owned() } else { pass.to_string() };
        value["p"] = text.into();
    }
    if let Some(Reclaimed { attempt, entry, fence }) = record.reclaim {
        (value["rc"], value["l"], value["f"]) = (attempt.into(), entry.to_string().into(), fence.into());
    }
    if record.returned {
        value["g"] = serde_json::json!(1);
    }
    value.to_string()
}

fn entry(entry: &LogEntry) -> Entry {
    let number = |name: &str| entry.field(name).parse::<i64>().unwrap();
    let account = || AccountId(id(entry.field("a")));
    let hold = || OrderId(id(entry.field("h")));
    let what = match entry.field("t") {
        "hold" => What::Hold {
            id: hold(),
            account: account(),
            seats: seats(entry.field("s")),
            version: i32::try_from(number("v")).unwrap(),
            created: number("c"),
            expires: number("x"),
        },
        "enter" => What::Enter {
            account: account(),
            nonce: entry.field("n").parse().unwrap(),
            entered: number("c"),
            expires: number("x"),
        },
        "leave" => What::Leave(account()),
        "sold" => What::Sold(hold(), account()),
        "end" => What::End(hold()),
        "block" => What::Block,
        "allocate" => What::Allocate,
        "mend" => What::Mend,
        "rebuilt" => What::Rebuilt,
        _ => What::Poison(hold()),
    };
    let ends = entry.field("e").split(',').filter(|text| !text.is_empty()).map(|text| OrderId(id(text))).collect();
    Entry { what, ends, delta: entry.changes() }
}

fn meta(fields: &HashMap<String, String>) -> Meta {
    let number = |name: &str| fields.get(name).map_or(0, |text| text.parse::<i64>().unwrap());
    Meta {
        settings: Settings {
            version: number("settings"),
            opens: number("opens"),
            closes: number("closes"),
            limit: u32::try_from(number("limit")).unwrap(),
            ttl_ms: number("ttl"),
            price_version: i32::try_from(number("version")).unwrap(),
            shoppers_max: usize::try_from(number("max")).unwrap(),
            paused: number("paused") == 1,
        },
        serving: number("serving"),
        term: number("term"),
        run: fields.get("run").map_or(0, |text| run_number(text)),
        written: fields.get("written").map(|text| LogPosition::parse(text).unwrap()).unwrap_or_default(),
    }
}

type Texts = HashMap<String, String>;
/// Epoch, settings, bytes, owners, holds, expiry and counts.
type SaleKeys = (Option<i64>, Texts, Vec<u8>, HashMap<u32, String>, Texts, HashMap<String, i64>, Texts);

/// All keys of a performance, and its log.
pub(super) async fn hot(backend: &Backend, keys: &Keys) -> Hot {
    let mut connection = backend.seats.connection();
    let [epoch, meta_key, bytes, owner, holds, expiry, held_by, shoppers, entered, _log, tombs] = keys.all() else {
        panic!("eleven keys");
    };
    let read: SaleKeys = redis::pipe()
        .atomic()
        .get(epoch)
        .hgetall(meta_key)
        .get(bytes)
        .hgetall(owner)
        .hgetall(holds)
        .zrange_withscores(expiry, 0, -1)
        .hgetall(held_by)
        .query_async(&mut connection)
        .await
        .unwrap();
    let (epoch, fields, bytes, owner, holds, expiry, held_by) = read;
    let more: (HashMap<String, i64>, Texts, HashMap<String, i64>) = redis::pipe()
        .atomic()
        .zrange_withscores(shoppers, 0, -1)
        .hgetall(entered)
        .zrange_withscores(tombs, 0, -1)
        .query_async(&mut connection)
        .await
        .unwrap();
    let counts = |text: &str| {
        let (count, open) = text.split_once(':').unwrap();
        (count.parse().unwrap(), Some(open).filter(|open| !open.is_empty()).map(|open| OrderId(id(open))))
    };
    let state = State {
        meta: meta(&fields),
        seats: bytes,
        owner: owner.into_iter().map(|(seat, hold)| (seat, OrderId(id(&hold)))).collect(),
        holds: holds.iter().map(|(hold, raw)| (OrderId(id(hold)), record(raw))).collect(),
        expiry: expiry.into_iter().map(|(hold, ends)| (OrderId(id(&hold)), ends)).collect(),
        held_by: held_by.iter().map(|(account, text)| (AccountId(id(account)), counts(text))).collect(),
        shoppers: more.0.into_iter().map(|(account, ends)| (AccountId(id(&account)), ends)).collect(),
        entered: more.1.iter().map(|(account, nonce)| (AccountId(id(account)), nonce.parse().unwrap())).collect(),
        tombs: more.2.into_iter().map(|(hold, at)| (OrderId(id(&hold)), at)).collect(),
    };
    let entries = read_log(&mut connection, keys, "0-0", None).await.unwrap();
    let log = entries.iter().map(|one| (one.position().unwrap(), entry(one))).collect();
    Hot { epoch, state, log, ..Hot::default() }
}

/// An entry of the log as the model has it.
pub(super) fn entries(list: &[LogEntry]) -> Vec<(LogPosition, Entry)> {
    list.iter().map(|one| (one.position().unwrap(), entry(one))).collect()
}

/// All rows of a performance; what never changes is taken over from `like`.
pub(super) async fn rows(pg: &PgPool, performance: PerformanceId, like: &Rows) -> Rows {
    let query = |sql: &'static str| sqlx::query(sql).bind(performance.0).fetch_all(pg);
    let mut rows = Rows {
        settings: like.settings,
        seat_count: like.seat_count,
        unpriced: like.unpriced.clone(),
        accounts: like.accounts.clone(),
        ..Rows::default()
    };
    let sale = query("select * from performances where id = $1").await.unwrap();
    rows.epoch = sale[0].get("epoch");
    for row in query("select * from log_positions where performance_id = $1").await.unwrap() {
        rows.position = Some((row.get("epoch"), LogPosition::parse(row.get("position")).unwrap()));
    }
    let sql = "select o.*, array(select seat_no from order_items where order_id = o.id) as seats
        from orders o where performance_id = $1";
    for row in query(sql).await.unwrap() {
        let items: Vec<i32> = row.get("seats");
        let order = Order {
            account: AccountId(row.get("account_id")),
            status: OrderStatus::parse(row.get("status")).unwrap(),
            version: row.get("version"),
            price_version: row.get("price_version"),
            created: row.get("created_ms"),
            expires: row.get("expires_ms"),
            paid: row.get::<Option<i64>, _>("paid_ms").is_some(),
            confirmed: row.get::<Option<i64>, _>("confirmed_ms").is_some(),
            released: row.get::<Option<i64>, _>("released_ms").is_some(),
            items: items.into_iter().map(|seat| u32::try_from(seat).unwrap()).collect(),
            returned: BTreeMap::new(),
        };
        rows.orders.insert(OrderId(row.get("id")), order);
    }
    let seat = |row: &sqlx::postgres::PgRow| u32::try_from(row.get::<i32, _>("seat_no")).unwrap();
    let sql = "select i.order_id, i.seat_no, i.released_ms from order_items i join orders o on o.id = i.order_id
        where o.performance_id = $1 and i.returned_ms is not null";
    for row in query(sql).await.unwrap() {
        let order = rows.orders.get_mut(&OrderId(row.get("order_id"))).unwrap();
        order.returned.insert(seat(&row), row.get::<Option<i64>, _>("released_ms").is_some());
    }
    for row in query("select * from seat_claims where performance_id = $1").await.unwrap() {
        rows.claims.insert(seat(&row), OrderId(row.get("order_id")));
    }
    for row in query("select * from blocked_seats where performance_id = $1").await.unwrap() {
        rows.blocked.insert(seat(&row));
    }
    rows.kept = crate::postgres::allocations::kept(pg, performance).await.unwrap().into_iter().collect();
    for row in query("select * from admissions where performance_id = $1").await.unwrap() {
        let visit = Visit {
            nonce: row.get::<String, _>("nonce").parse().unwrap(),
            entered: row.get("entered_ms"),
            expires: row.get("expires_ms"),
            left: row.get::<Option<i64>, _>("left_ms").is_some(),
        };
        rows.visits.insert(AccountId(row.get("account_id")), visit);
    }
    for row in query("select * from log_set_aside where performance_id = $1").await.unwrap() {
        rows.set_aside.insert((row.get("epoch"), LogPosition::parse(row.get("position")).unwrap()));
    }
    money(pg, performance, &mut rows).await;
    rows
}

async fn money(pg: &PgPool, performance: PerformanceId, rows: &mut Rows) {
    let query = |sql: &'static str| sqlx::query(sql).bind(performance.0).fetch_all(pg);
    let sql = "select a.* from attempts a join orders o on o.id = a.order_id where o.performance_id = $1";
    for row in query(sql).await.unwrap() {
        let attempt = Attempt {
            order: OrderId(row.get("order_id")),
            number: row.get("number"),
            status: AttemptStatus::parse(row.get("status")).unwrap(),
            known_there: row.get::<Option<String>, _>("provider_ref").is_some(),
            taken_back: row.get::<Option<i64>, _>("taken_back_ms").is_some(),
            deadline: row.get("deadline_ms"),
            amount: row.get("amount_minor"),
        };
        rows.attempts.insert(AttemptId(row.get("id")), attempt);
    }
    let sql = "select r.* from refunds r join attempts a on a.id = r.attempt_id join orders o on o.id = a.order_id
        where o.performance_id = $1 order by r.created_ms, r.id";
    for row in query(sql).await.unwrap() {
        let status = match row.get("status") {
            "succeeded" => RefundStatus::Succeeded,
            "failed" => RefundStatus::Failed,
            _ => RefundStatus::Open,
        };
        let (attempt, amount) = (AttemptId(row.get("attempt_id")), row.get("amount_minor"));
        rows.refunds.push(Refund { attempt, status, amount });
    }
    let mut ledger: BTreeMap<(String, &'static str), i64> = BTreeMap::new();
    for source in rows.attempts.keys().flat_map(|id| [format!("capture:{id}"), format!("reclaim:{id}")]) {
        let found = sqlx::query("select account, amount_minor from ledger_entries where source = $1").bind(&source);
        for row in found.fetch_all(pg).await.unwrap() {
            let account = match row.get("account") {
                "provider_clearing" => "provider_clearing",
                "order_receivable" => "order_receivable",
                _ => "organizer_payable",
            };
            ledger.insert((source.clone(), account), row.get("amount_minor"));
        }
    }
    rows.ledger = ledger;
}

/// What a hold's state is called.
pub(super) fn is_open(state: HoldState) -> bool {
    matches!(state, HoldState::Held | HoldState::Paying | HoldState::Closing)
}
