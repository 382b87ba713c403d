//! A small house for the simulator's own tests: it keeps the wire contract in memory, and cheats on
//! request, to show that the simulator finds out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Form, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use domain::hold::{Held, SeatState, hold_id};
use domain::live::{Frame, LogPosition};
use domain::order::{OrderStatus, OrderView, PayStarted, TicketView};
use domain::queue::{Drawn, Entered, Joined, Mode, Phase, QueueStatus, Supply, commitment};
use domain::refusal::{Code, Refusal};
use domain::ticket::TicketCode;
use domain::{AccountId, AttemptId, Millis, Money, OrderId, PerformanceId, SeatNo, TicketId, ZonedTime, ids};
use ed25519_dalek::{SigningKey, VerifyingKey};
use serde::Serialize;
use tokio::sync::broadcast;
use uuid::Uuid;

use super::FanLogin;

const VISIT_MS: i64 = 3_000;
const HOLD_MS: i64 = 4_000;
const ISSUE_MS: i64 = 200;

/// How the house cheats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    SellsTwice,
    LosesMoney,
    Overcrowds,
    MovesPlaces,
}

struct Order {
    account: AccountId,
    seats: Vec<SeatNo>,
    status: OrderStatus,
    expires: i64,
    charged: i64,
}

#[derive(Default)]
struct Books {
    arrivals: HashMap<AccountId, u32>,
    inside: HashMap<AccountId, i64>,
    map: Vec<SeatState>,
    position: u64,
    orders: HashMap<OrderId, Order>,
}

struct Inner {
    fault: Fault,
    max_shoppers: usize,
    performance: PerformanceId,
    url: String,
    key: SigningKey,
    books: Mutex<Books>,
    deltas: broadcast::Sender<Vec<u8>>,
}

/// The house; it closes with the test's runtime.
pub(super) struct House {
    pub(super) url: String,
    pub(super) performance: PerformanceId,
    pub(super) seats: u32,
    pub(super) max_shoppers: u32,
    inner: Arc<Inner>,
}

impl House {
    pub(super) async fn open(seats: u32, max_shoppers: u32, fault: Fault) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let performance = PerformanceId(Uuid::from_u128(77));
        let books = Books { map: vec![SeatState::Available; seats as usize], position: 1, ..Books::default() };
        let inner = Arc::new(Inner {
            fault,
            max_shoppers: max_shoppers as usize,
            performance,
            url: url.clone(),
            key: SigningKey::from_bytes(&[5; 32]),
            books: Mutex::new(books),
            deltas: broadcast::channel(4_096).0,
        });
        let router = router(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, performance, seats, max_shoppers, inner }
    }

    pub(super) fn logins(&self, count: usize) -> Vec<FanLogin> {
        (1..=count as u128)
            .map(|n| AccountId(Uuid::from_u128(n)))
            .map(|account| FanLogin { account, cookie: format!("sa-session={account}") })
            .collect()
    }

    pub(super) fn verify_key(&self) -> VerifyingKey {
        self.inner.key.verifying_key()
    }

    pub(super) fn fulfilled_seats(&self) -> u64 {
        let books = self.inner.books.lock().unwrap();
        books
            .orders
            .values()
            .filter(|order| order.status == OrderStatus::Fulfilled)
            .map(|order| order.seats.len() as u64)
            .sum()
    }
}

fn router(inner: Arc<Inner>) -> Router {
    Router::new()
        .route("/api/server-time", get(|| async { Json(HashMap::from([("now", now())])) }))
        .route("/api/performances/{id}/queue/status", get(status))
        .route("/ws/performances/{id}", get(socket))
        .route("/pay/{id}", post(card))
        .route("/api/{endpoint}", post(call))
        .with_state(inner)
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

type Fields = HashMap<String, String>;
type Shared = State<Arc<Inner>>;

fn ok(value: &impl Serialize) -> Response {
    Json(serde_json::to_value(value).unwrap()).into_response()
}

fn no(code: Code) -> Response {
    let refusal = Refusal::new(code, code.as_str()).retry_after_ms(200);
    (StatusCode::from_u16(code.http_status()).unwrap(), Json(refusal)).into_response()
}

async fn status(State(house): Shared) -> Response {
    let books = house.books.lock().unwrap();
    let joined = books.arrivals.len() as u32;
    let stock = books.map.iter().filter(|seat| **seat == SeatState::Available).count() as u32;
    ok(&QueueStatus {
        performance: house.performance,
        mode: Mode::Queue,
        phase: Phase::Open,
        now: Millis(now()),
        registers_at: Millis(0),
        opens_at: Millis(0),
        closes_at: Millis(i64::MAX),
        joined,
        lobby: Some(0),
        commitment: hex::encode(commitment(&[7; 32])),
        beacon_due: None,
        drawn: Some(Drawn { seed: "07".repeat(32), list: "08".repeat(32), beacon: String::new() }),
        serving: joined + 1,
        window: None,
        rate_per_min: 600,
        stock,
        supply: Supply::OnSale,
        refresh_ms: 250,
    })
}

async fn socket(State(house): Shared, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    assert_eq!(headers[header::ORIGIN], house.url.as_str());
    upgrade.on_upgrade(move |socket| feed(house, socket))
}

async fn feed(house: Arc<Inner>, mut socket: WebSocket) {
    let (snapshot, mut deltas) = {
        let books = house.books.lock().unwrap();
        let snapshot =
            Frame::Snapshot { epoch: 1, at: LogPosition { ms: books.position, seq: 0 }, seats: books.map.clone() };
        (snapshot.encode(), house.deltas.subscribe())
    };
    if socket.send(Message::Binary(snapshot.into())).await.is_err() {
        return;
    }
    while let Ok(delta) = deltas.recv().await {
        if socket.send(Message::Binary(delta.into())).await.is_err() {
            return;
        }
    }
}

async fn card(Path(id): Path<String>, State(house): Shared, Form(form): Form<Fields>) -> Response {
    if form["card"] != "4242424242424242" {
        return StatusCode::PAYMENT_REQUIRED.into_response();
    }
    let mut books = house.books.lock().unwrap();
    let order = books.orders.get_mut(&id.parse::<OrderId>().unwrap()).unwrap();
    order.charged = now();
    order.status = OrderStatus::Paid;
    Redirect::to("/orders").into_response()
}

async fn call(
    Path(endpoint): Path<String>,
    State(house): Shared,
    headers: HeaderMap,
    Form(form): Form<Fields>,
) -> Response {
    assert_eq!(headers[header::ORIGIN], house.url.as_str());
    let cookies = headers[header::COOKIE].to_str().unwrap();
    let session = cookies.split("; ").find_map(|pair| pair.strip_prefix("sa-session=")).unwrap();
    let account = AccountId(session.parse().unwrap());
    let mut books = house.books.lock().unwrap();
    house.expire(&mut books);
    match endpoint.as_str() {
        "queue-join" => house.join(&mut books, account),
        "queue-enter" => house.enter(&mut books, account, cookies),
        "hold" if !cookies.contains("sa-p-1=") => no(Code::PassRequired),
        "hold" => house.hold(&mut books, account, &form),
        "hold-release" => house.release(&mut books, account, form["order"].parse().unwrap()),
        "order-pay" => house.pay(&mut books, account, form["order"].parse().unwrap()),
        "order" => house.order(&mut books, form["id"].parse().unwrap()),
        _ => no(Code::NotFound),
    }
}

impl Inner {
    fn set(&self, books: &mut Books, seats: &[SeatNo], state: SeatState) {
        let after = LogPosition { ms: books.position, seq: 0 };
        books.position += 1;
        for seat in seats {
            books.map[seat.0 as usize] = state;
        }
        let changes = seats.iter().map(|seat| (seat.0, state)).collect();
        let delta = Frame::Delta { epoch: 1, after, upto: LogPosition { ms: books.position, seq: 0 }, changes };
        // Nobody listens: nothing is lost.
        drop(self.deltas.send(delta.encode()));
    }

    fn expire(&self, books: &mut Books) {
        books.inside.retain(|_, until| *until > now());
        let due: Vec<OrderId> = books
            .orders
            .iter()
            .filter(|(_, order)| order.status == OrderStatus::PendingPayment && order.expires <= now())
            .map(|(id, _)| *id)
            .collect();
        due.into_iter().for_each(|id| self.close(books, id));
    }

    fn close(&self, books: &mut Books, id: OrderId) {
        let order = books.orders.get_mut(&id).unwrap();
        order.status = OrderStatus::Closed;
        let seats = order.seats.clone();
        self.set(books, &seats, SeatState::Available);
    }

    fn join(&self, books: &mut Books, account: AccountId) -> Response {
        let next = books.arrivals.len() as u32;
        let arrival = match books.arrivals.get(&account) {
            Some(_) if self.fault == Fault::MovesPlaces => next + 1_000,
            Some(arrival) => *arrival,
            None => next,
        };
        books.arrivals.insert(account, arrival);
        ok(&Joined { ticket: format!("qt1.{arrival}"), arrival })
    }

    fn enter(&self, books: &mut Books, account: AccountId, cookies: &str) -> Response {
        let is_full = books.inside.len() >= self.max_shoppers && !books.inside.contains_key(&account);
        if is_full && self.fault != Fault::Overcrowds {
            return no(Code::Full);
        }
        assert!(!cookies.contains("sa-q-1="), "the house never set it");
        let expires = now() + VISIT_MS;
        books.inside.insert(account, expires);
        let cookie = [(header::SET_COOKIE, "sa-p-1=pass; HttpOnly; Path=/")];
        (cookie, ok(&Entered { pass: "pass".to_owned(), expires: Millis(expires) })).into_response()
    }

    fn hold(&self, books: &mut Books, account: AccountId, form: &Fields) -> Response {
        if !books.inside.contains_key(&account) {
            return no(Code::PassRequired);
        }
        let seats = ids::parse_seats(&form["seats"]).unwrap();
        let is_taken = |seat: &&SeatNo| books.map[seat.0 as usize] != SeatState::Available;
        if seats.iter().any(|seat| is_taken(&seat)) {
            return no(Code::SeatTaken);
        }
        let (order, expires) = (hold_id(account, self.performance, &form["key"]), now() + HOLD_MS);
        let entry = Order { account, seats: seats.clone(), status: OrderStatus::PendingPayment, expires, charged: 0 };
        books.orders.insert(order, entry);
        // The cheat forgets what it gave away.
        if self.fault != Fault::SellsTwice {
            self.set(books, &seats, SeatState::Held);
        }
        ok(&Held { order, seats, expires: Millis(expires), total: eur() })
    }

    fn release(&self, books: &mut Books, account: AccountId, id: OrderId) -> Response {
        books.inside.remove(&account);
        self.close(books, id);
        ok(&())
    }

    fn pay(&self, books: &mut Books, account: AccountId, id: OrderId) -> Response {
        let order = books.orders.get_mut(&id).unwrap();
        if order.account != account || order.status == OrderStatus::Closed {
            return no(Code::HoldClosed);
        }
        order.status = OrderStatus::PaymentProcessing;
        books.inside.remove(&account);
        ok(&PayStarted { attempt: AttemptId(id.0), redirect_url: format!("{}/pay/{id}", self.url) })
    }

    fn order(&self, books: &mut Books, id: OrderId) -> Response {
        let order = books.orders.get_mut(&id).unwrap();
        if order.status == OrderStatus::Paid && now() > order.charged + ISSUE_MS && self.fault != Fault::LosesMoney {
            order.status = OrderStatus::Fulfilled;
            let seats = order.seats.clone();
            if self.fault != Fault::SellsTwice {
                self.set(books, &seats, SeatState::Sold);
            }
        }
        let order = &books.orders[&id];
        let mut tickets = Vec::new();
        if order.status == OrderStatus::Fulfilled {
            tickets.extend(order.seats.iter().map(|seat| self.ticket(id, *seat)));
        }
        ok(&OrderView {
            id,
            status: order.status,
            performance: self.performance,
            event: String::new(),
            artist: String::new(),
            venue: String::new(),
            cover: 0,
            starts: evening(),
            now: Millis(now()),
            expires: Millis(order.expires),
            items: Vec::new(),
            charges: None,
            total: eur(),
            pay_url: None,
            decline: None,
            attempts: 1,
            tickets,
        })
    }

    fn ticket(&self, order: OrderId, seat: SeatNo) -> TicketView {
        let id = TicketId(Uuid::from_u128(order.0.as_u128() ^ u128::from(seat.0)));
        let code = TicketCode { key_id: 0, performance: self.performance, ticket: id, seat, issue: 0 };
        TicketView { id, seat, code: code.sign(&self.key), frozen: false, holder: None, transfer: None }
    }
}

fn eur() -> Money {
    serde_json::from_value(serde_json::json!({ "minor": 4_500, "currency": "EUR" })).unwrap()
}

fn evening() -> ZonedTime {
    let zone = "Europe/Berlin".to_owned();
    ZonedTime { at: Millis(0), zone, year: 2026, month: 12, day: 5, hour: 20, minute: 0, weekday: 6, offset_min: 60 }
}
