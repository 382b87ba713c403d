//! A small door for the crowd's own tests: it keeps the waiting room's contract in memory, sheds load
//! now and then, and cheats on request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::{Form, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use domain::queue::facts::{Commitment, DrawFacts, Randomness, entry, list_digest};
use domain::queue::{Draw, Drawn, Entered, Joined, Mode, Phase, QueueStatus, Supply, commitment};
use domain::refusal::{Code, Refusal};
use domain::{AccountId, Millis, PerformanceId};
use uuid::Uuid;

use super::super::FanLogin;

/// Most shoppers inside.
pub(super) const SHOPPERS_MAX: u32 = 5;
/// Longer than a test and the doubt about a visit's end.
const VISIT_MS: i64 = 60_000;
const SEED: [u8; 32] = [7; 32];
/// Places served in a second, once the sale is open.
const SERVED_PER_S: i64 = 40;
/// One of so many joins is told to come again.
const SHED_ONE_IN: u32 = 7;

/// How the door cheats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// Two accounts get one number.
    GivesTwice,
    /// Reveals another seed than it committed to.
    OtherSeed,
    /// Counts who came after the opening to the lobby.
    LetsLateIn,
    /// Lets in whoever knocks.
    Overcrowds,
}

#[derive(Default)]
struct Books {
    /// By arrival.
    order: Vec<AccountId>,
    numbers: HashMap<AccountId, u32>,
    asked: u32,
    lobby: Option<u32>,
    inside: HashMap<AccountId, i64>,
}

struct Inner {
    fault: Fault,
    performance: PerformanceId,
    url: String,
    opens: i64,
    books: Mutex<Books>,
}

/// The door; it closes with the test's runtime.
pub(super) struct LobbyHouse {
    pub(super) url: String,
    pub(super) performance: PerformanceId,
}

type Shared = State<Arc<Inner>>;

impl LobbyHouse {
    pub(super) async fn open(opens_in: Duration, fault: Fault) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let performance = PerformanceId(Uuid::from_u128(78));
        let opens = now() + i64::try_from(opens_in.as_millis()).unwrap();
        let inner = Arc::new(Inner { fault, performance, url: url.clone(), opens, books: Mutex::default() });
        let router = Router::new()
            .route("/api/server-time", get(|| async { Json(HashMap::from([("now", now())])) }))
            .route("/api/performances/{id}/queue/status", get(status))
            .route("/api/performances/{id}/queue/draw", get(draw))
            .route("/api/performances/{id}/queue/arrivals", get(arrivals))
            .route("/api/performances/{id}/queue/join", post(join))
            .route("/api/queue-enter", post(enter))
            .with_state(inner);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, performance }
    }

    pub(super) fn logins(&self, count: usize) -> Vec<FanLogin> {
        (1..=count as u128)
            .map(|n| AccountId(Uuid::from_u128(n)))
            .map(|account| FanLogin { account, cookie: format!("sa-session={account}") })
            .collect()
    }
}

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

fn no(code: Code) -> Response {
    let refusal = Refusal::new(code, code.as_str()).retry_after_ms(100);
    (StatusCode::from_u16(code.http_status()).unwrap(), Json(refusal)).into_response()
}

fn account(headers: &HeaderMap) -> AccountId {
    let cookies = headers[header::COOKIE].to_str().unwrap();
    let session = cookies.split("; ").find_map(|pair| pair.strip_prefix("sa-session=")).unwrap();
    AccountId(session.parse().unwrap())
}

impl Inner {
    /// Freezes the lobby at the first call past the opening.
    fn freeze(&self, books: &mut Books) {
        // The cheat waits until who is late has come.
        let late_ms = if self.fault == Fault::LetsLateIn { 5_000 } else { 0 };
        if books.lobby.is_none() && now() >= self.opens + late_ms {
            books.lobby = Some(u32::try_from(books.order.len()).unwrap());
        }
    }

    fn list(&self, books: &Books) -> Vec<u8> {
        let lobby = books.lobby.unwrap_or(0) as usize;
        books.order[..lobby].iter().flat_map(|account| entry(self.performance, *account)).collect()
    }

    fn revealed(&self) -> [u8; 32] {
        if self.fault == Fault::OtherSeed { [8; 32] } else { SEED }
    }

    fn serving(&self, books: &Books) -> u32 {
        let joined = u32::try_from(books.order.len()).unwrap();
        let served = (now() - self.opens).max(0) * SERVED_PER_S / 1_000;
        if books.lobby.is_some() { joined.min(u32::try_from(served).unwrap()) } else { 0 }
    }

    fn place(&self, books: &Books, arrival: u32) -> Option<u32> {
        let lobby = books.lobby?;
        let list = list_digest(&self.list(books));
        Some(Draw::new(&self.revealed(), u64::from(lobby), &list, &[]).place(arrival))
    }
}

async fn status(State(house): Shared) -> Json<QueueStatus> {
    let mut books = house.books.lock().unwrap();
    house.freeze(&mut books);
    let drawn = books.lobby.map(|_| Drawn {
        seed: hex::encode(house.revealed()),
        list: hex::encode(list_digest(&house.list(&books))),
        beacon: String::new(),
    });
    Json(QueueStatus {
        performance: house.performance,
        mode: Mode::Queue,
        phase: if now() < house.opens { Phase::Lobby } else { Phase::Open },
        now: Millis(now()),
        registers_at: Millis(0),
        opens_at: Millis(house.opens),
        closes_at: Millis(i64::MAX),
        joined: u32::try_from(books.order.len()).unwrap(),
        lobby: books.lobby,
        commitment: hex::encode(commitment(&SEED)),
        beacon_due: None,
        drawn,
        serving: house.serving(&books),
        window: None,
        rate_per_min: 60,
        stock: 10,
        supply: Supply::OnSale,
        refresh_ms: 100,
    })
}

async fn draw(State(house): Shared) -> Json<DrawFacts> {
    let books = house.books.lock().unwrap();
    let published = Commitment {
        commitment: hex::encode(commitment(&SEED)),
        opens: Millis(house.opens),
        beacon: None,
        published: Millis(0),
    };
    Json(DrawFacts {
        performance: house.performance,
        mode: Mode::Queue,
        commitments: vec![published],
        lobby: books.lobby,
        list: Some(hex::encode(list_digest(&house.list(&books)))),
        list_published: Some(Millis(house.opens)),
        randomness: Randomness::None,
        seed: Some(hex::encode(house.revealed())),
        revealed: Some(Millis(now())),
    })
}

async fn arrivals(State(house): Shared) -> Vec<u8> {
    house.list(&house.books.lock().unwrap())
}

async fn join(State(house): Shared, headers: HeaderMap) -> Response {
    assert_eq!(headers[header::ORIGIN], house.url.as_str());
    assert_eq!(headers[header::CONTENT_LENGTH], "0");
    let account = account(&headers);
    let mut books = house.books.lock().unwrap();
    house.freeze(&mut books);
    books.asked += 1;
    if books.asked.is_multiple_of(SHED_ONE_IN) {
        return no(Code::Overloaded);
    }
    let next = u32::try_from(books.order.len()).unwrap();
    let known = books.numbers.get(&account).copied();
    let arrival = known.unwrap_or(if house.fault == Fault::GivesTwice && next == 9 { 3 } else { next });
    if known.is_none() {
        books.numbers.insert(account, arrival);
        books.order.push(account);
    }
    Json(Joined { ticket: format!("qt1.{arrival}"), arrival }).into_response()
}

async fn enter(State(house): Shared, headers: HeaderMap, Form(form): Form<HashMap<String, String>>) -> Response {
    let account = account(&headers);
    let arrival = form["ticket"].strip_prefix("qt1.").unwrap().parse().unwrap();
    assert!(headers[header::COOKIE].to_str().unwrap().contains(&format!("sa-q-1={}", form["ticket"])));
    assert_eq!((form["performance"].as_str(), form["nonce"].len()), (house.performance.to_string().as_str(), 32));
    let mut books = house.books.lock().unwrap();
    if house.place(&books, arrival).is_none_or(|place| place >= house.serving(&books)) {
        return no(Code::NotYourTurn);
    }
    let is_full = books.inside.len() >= SHOPPERS_MAX as usize && !books.inside.contains_key(&account);
    if is_full && house.fault != Fault::Overcrowds {
        return no(Code::Full);
    }
    let expires = now() + VISIT_MS;
    books.inside.insert(account, expires);
    Json(Entered { pass: "pass".to_owned(), expires: Millis(expires) }).into_response()
}
