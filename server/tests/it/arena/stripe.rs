//! Stripe's stand-in. Payments, refunds and signed webhooks are those of `localstripe`, a process of its own that
//! others wrote. It has no hosted page: that is made here, before it, as Stripe documents it. All calls of the
//! program pass here, and are noted. Balance transactions and disputes, which it doesn't have as Stripe has them, are
//! answered here too.

mod balance;
pub(crate) mod recorded;
pub(crate) mod wire;

use super::{Arena, ORGANIZATION, SOON, Setup, program, run_to_end};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use domain::order::PayStarted;
use http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use wire::{Call, Lost};

/// Our key there.
const API_KEY: &str = "sk_test_stararena";
/// What signs its webhooks, and what signed them before.
pub(crate) const SECRETS: [&str; 2] = ["whsec_new", "whsec_old"];
/// A card that is charged.
pub(crate) const GOOD_CARD: &str = "4242424242424242";
/// A card that is declined when it is charged.
pub(crate) const DECLINED_CARD: &str = "4000000000000341";
/// A card whose bank asks the fan first.
pub(crate) const ASKING_CARD: &str = "4000002500003155";
/// What of a call goes on to the stand-in.
const PASSED_ON: [&str; 4] = ["authorization", "content-type", "idempotency-key", "stripe-version"];
/// A page lives at least this long, in seconds.
const PAGE_MIN_S: i64 = 30 * 60;
/// Starts the stand-in on a port of IPv4 alone, and keeps its objects in memory: it would write all of them into
/// one file of the machine.
const LAUNCHER: &str = "import sys\n\
    from aiohttp import web\n\
    from localstripe import resources, server\n\
    resources.Store.dump_to_disk = lambda self: None\n\
    web.run_app(server.app, host='127.0.0.1', port=int(sys.argv[1]), access_log=None, print=None)\n";

/// A hosted page.
#[derive(Clone)]
struct Page {
    form: BTreeMap<String, String>,
    status: &'static str,
    intent: Option<String>,
}

#[derive(Default)]
struct Pages {
    pages: BTreeMap<String, Page>,
    /// What was asked under a key, and the page that it made.
    keys: HashMap<String, (BTreeMap<String, String>, String)>,
    /// Whether nobody answers.
    away: bool,
    /// Refunds that the bank sent back afterwards.
    failed_refunds: HashSet<String>,
    /// What the program sent, the oldest first.
    calls: Vec<Call>,
    /// Which calls are lost: the ends of their paths, and what of them.
    losses: Vec<(&'static str, Lost)>,
    /// What moved the balance, the oldest first.
    movements: Vec<Value>,
    disputes: BTreeMap<String, Value>,
}

/// What stands before the stand-in.
#[derive(Clone)]
struct Front {
    url: String,
    upstream: String,
    client: reqwest::Client,
    pages: Arc<Mutex<Pages>>,
}

impl Front {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap()
    }

    /// Asks the stand-in as our account.
    async fn ask(&self, method: Method, path: &str, form: &[(&str, &str)]) -> (u16, Value) {
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.upstream)).bearer_auth(API_KEY);
        if method == Method::POST {
            request = request.form(form);
        }
        let answer = request.send().await.expect("the stand-in answers");
        let status = answer.status().as_u16();
        (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or(Value::Null))
    }

    async fn shown(&self, id: &str, expanded: bool) -> Response {
        match self.page(id, expanded).await {
            Some(page) => Json(page).into_response(),
            None => refusal(404, "resource_missing"),
        }
    }

    /// A page as Stripe tells it; none where there is none.
    async fn page(&self, id: &str, expanded: bool) -> Option<Value> {
        let page = self.pages().pages.get(id).cloned()?;
        let intent = match &page.intent {
            Some(intent) if expanded => self.ask(Method::GET, &format!("/v1/payment_intents/{intent}"), &[]).await.1,
            Some(intent) => json!(intent),
            None => Value::Null,
        };
        let field = |name: &str| page.form.get(name).cloned().unwrap_or_default();
        let amount: i64 = field("line_items[0][price_data][unit_amount]").parse().unwrap();
        let url = if page.status == "open" { json!(format!("{}/pay/{id}", self.url)) } else { Value::Null };
        let mut told = recorded::object("checkout.session");
        for (name, value) in [
            ("id", json!(id)),
            ("status", json!(page.status)),
            ("url", url),
            ("amount_subtotal", json!(amount)),
            ("amount_total", json!(amount)),
            ("currency", json!(field("line_items[0][price_data][currency]"))),
            ("client_reference_id", json!(field("client_reference_id"))),
            ("expires_at", json!(field("expires_at").parse::<i64>().unwrap())),
            ("metadata", json!({ "stararena_attempt": field("metadata[stararena_attempt]") })),
            ("payment_intent", intent),
        ] {
            told[name] = value;
        }
        Some(told)
    }
}

fn refusal(status: u16, code: &str) -> Response {
    let body = Json(json!({ "error": { "type": "invalid_request_error", "code": code } }));
    (StatusCode::from_u16(status).unwrap(), body).into_response()
}

/// Makes a page, once for its key; the same key with other fields is refused.
async fn open_page(
    State(front): State<Front>,
    headers: HeaderMap,
    Form(form): Form<Vec<(String, String)>>,
) -> Response {
    let form: BTreeMap<String, String> = form.into_iter().collect();
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
    if key.is_empty() || !headers.contains_key("stripe-version") {
        return refusal(400, "key_and_version_are_wanted");
    }
    let id = {
        let mut pages = front.pages();
        if pages.away {
            return refusal(503, "away");
        }
        let known = pages.keys.get(&key).cloned();
        match known {
            Some((asked, _)) if asked != form => return refusal(400, "idempotency_error"),
            Some((_, id)) => id,
            None => {
                let end: i64 = form.get("expires_at").and_then(|end| end.parse().ok()).unwrap_or_default();
                if end < super::provider::unix_s() + PAGE_MIN_S {
                    return refusal(400, "expires_at");
                }
                let id = format!("cs_test_{}", uuid::Uuid::new_v4().simple());
                pages.keys.insert(key, (form.clone(), id.clone()));
                pages.pages.insert(id.clone(), Page { form, status: "open", intent: None });
                id
            }
        }
    };
    front.shown(&id, false).await
}

async fn show_page(State(front): State<Front>, Path(id): Path<String>, uri: Uri) -> Response {
    if front.pages().away {
        return refusal(503, "away");
    }
    front.shown(&id, uri.query().is_some_and(|query| query.contains("payment_intent"))).await
}

/// Ends a page, and with it a payment that has no money.
async fn expire_page(State(front): State<Front>, Path(id): Path<String>) -> Response {
    let intent = {
        let mut pages = front.pages();
        if pages.away {
            return refusal(503, "away");
        }
        match pages.pages.get_mut(&id) {
            Some(page) if page.status == "open" => {
                page.status = "expired";
                page.intent.clone()
            }
            _ => return refusal(400, "page_is_not_open"),
        }
    };
    if let Some(intent) = intent {
        front.ask(Method::POST, &format!("/v1/payment_intents/{intent}/cancel"), &[]).await;
    }
    front.shown(&id, false).await
}

/// Everything else is the stand-in's.
async fn pass_on(State(front): State<Front>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let sent_back = {
        let pages = front.pages();
        if pages.away {
            return refusal(503, "away");
        }
        uri.path().strip_prefix("/v1/refunds/").is_some_and(|id| pages.failed_refunds.contains(id))
    };
    let mut request = front.client.request(method, format!("{}{uri}", front.upstream)).body(body);
    for name in PASSED_ON {
        if let Some(value) = headers.get(name) {
            request = request.header(name, value.clone());
        }
    }
    let answer = request.send().await.expect("the stand-in answers");
    let status = StatusCode::from_u16(answer.status().as_u16()).unwrap();
    let body = answer.bytes().await.unwrap();
    if sent_back {
        let mut refund: Value = serde_json::from_slice(&body).unwrap();
        refund["status"] = json!("failed");
        refund["failure_reason"] = json!("expired_or_canceled_card");
        return (status, Json(refund)).into_response();
    }
    (status, body).into_response()
}

/// The running stand-in. It ends with this value.
pub(crate) struct Stripe {
    front: Front,
    child: Child,
    log: PathBuf,
}

impl Drop for Stripe {
    fn drop(&mut self) {
        self.child.start_kill().ok();
        if std::thread::panicking() {
            eprintln!("--- localstripe's last words ---\n{}", super::process::tail(&self.log));
        }
        std::fs::remove_file(&self.log).ok();
    }
}

impl Stripe {
    /// Starts it, before the program that speaks to it.
    pub(crate) async fn start() -> Self {
        let unique = uuid::Uuid::new_v4();
        let log = std::env::temp_dir().join(format!("sa-it-stripe-{}.log", &unique.simple().to_string()[..10]));
        let address = server::run::free_address(unique.as_u128() as u32).unwrap();
        let child = launch(address, &log);
        backend::use_tls();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let front = Front {
            url: format!("http://{}", listener.local_addr().unwrap()),
            upstream: format!("http://{address}"),
            client,
            pages: Arc::default(),
        };
        let routes = Router::new()
            .route("/v1/checkout/sessions", post(open_page).get(balance::list_pages))
            .route("/v1/checkout/sessions/{id}", get(show_page))
            .route("/v1/checkout/sessions/{id}/expire", post(expire_page))
            .route("/v1/balance_transactions", get(balance::list_movements))
            .route("/v1/disputes/{id}", get(balance::show_dispute))
            .fallback(pass_on)
            .layer(middleware::from_fn_with_state(front.clone(), wire::note))
            .with_state(front.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let mut stripe = Self { front, child, log };
        eventually!(2 * SOON, "localstripe listens", {
            assert_eq!(stripe.child.try_wait().unwrap(), None, "localstripe ended");
            TcpStream::connect(address).await.is_ok()
        });
        stripe
    }

    /// A sale whose organization is paid through it.
    pub(crate) async fn sale(&self, mut setup: Setup) -> Arena {
        let own = [
            ("STARARENA_STRIPE_URL", self.front.url.clone()),
            ("STARARENA_STRIPE_API_KEY", API_KEY.to_owned()),
            ("STARARENA_STRIPE_WEBHOOK_SECRETS", SECRETS.join(",")),
        ];
        setup.settings.extend(own);
        let arena = Arena::web(setup).await;
        let address = format!("{}/webhooks/stripe", arena.origin);
        let form = [("url", address.as_str()), ("secret", SECRETS[0])];
        assert_eq!(self.front.ask(Method::POST, "/_config/webhooks/stararena", &form).await.0, 200);
        arena.choose_provider("stripe").await;
        arena
    }

    /// Tells of nothing from now on.
    pub(crate) async fn mute(&self) {
        let form = [("url", self.front.url.as_str()), ("secret", SECRETS[0]), ("events[]", "none")];
        assert_eq!(self.front.ask(Method::POST, "/_config/webhooks/stararena", &form).await.0, 200);
    }

    /// Whether nobody answers from now on.
    pub(crate) fn away(&self, away: bool) {
        self.front.pages().away = away;
    }

    /// Types a card into the hosted page: the status of Stripe's answer, 410 where the page has ended.
    pub(crate) async fn card(&self, started: &PayStarted, number: &str) -> u16 {
        let id = page_id(started);
        let form = match self.front.pages().pages.get(&id) {
            Some(page) if page.status == "open" => page.form.clone(),
            _ => return 410,
        };
        let reference = &form["payment_intent_data[metadata][stararena_attempt]"];
        let amount = &form["line_items[0][price_data][unit_amount]"];
        let intent = self.intent_of(amount, reference, number).await;
        self.change(&id, |page| page.intent = Some(intent.clone()));
        let (status, told) = self.confirm(&intent).await;
        if told["status"] == "requires_capture" {
            self.change(&id, |page| page.status = "complete");
        }
        status
    }

    /// The fan says yes to the bank, where it asks.
    pub(crate) async fn authenticate(&self, started: &PayStarted) {
        let intent = self.intent(started).await;
        assert_eq!(intent["status"], "requires_action");
        let path = format!("/v1/payment_intents/{}/_authenticate", intent["id"].as_str().unwrap());
        let form = [("client_secret", intent["client_secret"].as_str().unwrap()), ("success", "true")];
        assert_eq!(self.front.ask(Method::POST, &path, &form).await.0, 200);
        self.change(&page_id(started), |page| page.status = "complete");
    }

    /// A new payment by hand, with a card; its id.
    pub(crate) async fn intent_of(&self, amount: &str, reference: &str, number: &str) -> String {
        self.intent_with(amount, ("metadata[stararena_attempt]", reference), number).await
    }

    /// A new payment with one field of metadata.
    async fn intent_with(&self, amount: &str, metadata: (&str, &str), number: &str) -> String {
        let card = [
            ("type", "card"),
            ("card[number]", number),
            ("card[exp_month]", "12"),
            ("card[exp_year]", "2040"),
            ("card[cvc]", "123"),
        ];
        let (status, method) = self.front.ask(Method::POST, "/v1/payment_methods", &card).await;
        assert_eq!(status, 200, "{method}");
        let form = [
            ("amount", amount),
            ("currency", "eur"),
            ("capture_method", "manual"),
            ("payment_method", method["id"].as_str().unwrap()),
            metadata,
        ];
        let (status, intent) = self.front.ask(Method::POST, "/v1/payment_intents", &form).await;
        assert_eq!(status, 200, "{intent}");
        intent["id"].as_str().unwrap().to_owned()
    }

    /// Charges the card of a payment: Stripe's status and answer.
    pub(crate) async fn confirm(&self, intent: &str) -> (u16, Value) {
        self.front.ask(Method::POST, &format!("/v1/payment_intents/{intent}/confirm"), &[]).await
    }

    /// The payment that was made on a page.
    pub(crate) async fn intent(&self, started: &PayStarted) -> Value {
        let intent = self.front.pages().pages[&page_id(started)].intent.clone().expect("the fan has paid");
        self.front.ask(Method::GET, &format!("/v1/payment_intents/{intent}"), &[]).await.1
    }

    /// Takes authorised money, as staff could.
    pub(crate) async fn capture(&self, started: &PayStarted) {
        let path = format!("/v1/payment_intents/{}/capture", self.intent(started).await["id"].as_str().unwrap());
        assert_eq!(self.front.ask(Method::POST, &path, &[]).await.0, 200);
    }

    /// The refunds of a payment, the newest first.
    pub(crate) async fn refunds(&self, intent: &str) -> Vec<Value> {
        let path = format!("/v1/refunds?payment_intent={intent}");
        self.front.ask(Method::GET, &path, &[]).await.1["data"].as_array().unwrap().clone()
    }

    /// Gives money of a payment back by hand, as staff could: the refund.
    pub(crate) async fn give_back(&self, intent: &str, amount: &str) -> Value {
        let form = [("payment_intent", intent), ("amount", amount)];
        let (status, refund) = self.front.ask(Method::POST, "/v1/refunds", &form).await;
        assert_eq!(status, 200, "{refund}");
        refund
    }

    /// The bank sends a refund back.
    pub(crate) fn send_back(&self, refund: &str) {
        self.front.pages().failed_refunds.insert(refund.to_owned());
    }

    /// How many pages were made.
    pub(crate) fn page_count(&self) -> usize {
        self.front.pages().pages.len()
    }

    /// Whether a page is open, complete or expired.
    pub(crate) fn page_status(&self, started: &PayStarted) -> &'static str {
        self.front.pages().pages[&page_id(started)].status
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Page)) {
        change(self.front.pages().pages.get_mut(id).unwrap());
    }
}

fn page_id(started: &PayStarted) -> String {
    started.redirect_url.rsplit_once("/pay/").expect("the fan is sent to the page").1.to_owned()
}

fn launch(address: SocketAddr, log: &std::path::Path) -> Child {
    let python = cache().join("localstripe").join("1.15.10").join("bin").join("python");
    assert!(python.exists(), "localstripe is missing: scripts/localstripe.sh installs it");
    let file = std::fs::File::create(log).unwrap();
    let mut command = Command::new(python);
    command.arg("-c").arg(LAUNCHER).arg(address.port().to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).kill_on_drop(true).spawn().unwrap()
}

/// Where the set-up scripts keep what they install, as `scripts/common.sh` says.
fn cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("STARARENA_CACHE")
        .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("stararena")))
        .or_else(|| Some(folder("HOME")?.join(".cache").join("stararena")))
        .expect("a folder for caches")
}

impl Arena {
    /// Chooses a payment provider for the organization of the sale, as an operator does.
    pub(crate) async fn choose_provider(&self, name: &str) {
        let mut command = program(self.settings());
        command.args(["organization", "provider", ORGANIZATION, name]);
        let (code, out, err) = run_to_end(command).await;
        assert_eq!(code, Some(0), "{out}{err}");
        assert!(out.contains(name), "{out}");
    }
}
