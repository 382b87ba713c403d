//! Requests as a browser sends them, and what comes back.

use super::{Arena, Fan};
use domain::hold::Held;
use domain::order::{OrderView, PayStarted};
use domain::{Code, OrderId, Refusal};
use reqwest::header::{ACCEPT, CONTENT_TYPE, COOKIE, HeaderMap, ORIGIN, SET_COOKIE};
use reqwest::{Method, RequestBuilder};
use serde::de::DeserializeOwned;

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    /// The value of a success.
    #[track_caller]
    pub(crate) fn ok<T: DeserializeOwned>(&self) -> T {
        assert_eq!(self.status, 200, "{}", self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The refusal, whose code and status belong together.
    #[track_caller]
    pub(crate) fn refusal(&self) -> Refusal {
        let refusal: Refusal =
            serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{} {error}: {}", self.status, self.body));
        assert_eq!(self.status, refusal.code.http_status(), "{refusal:?}");
        assert_eq!(self.headers.contains_key("retry-after"), refusal.retry_after_ms.is_some(), "{refusal:?}");
        assert!(!refusal.message.is_empty());
        refusal
    }

    /// A header as text; empty when it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The code of a refusal.
    #[track_caller]
    pub(crate) fn code(&self) -> Code {
        self.refusal().code
    }

    /// The `name=value` of a cookie that was set.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let start = format!("{name}=");
        let values = self.headers.get_all(SET_COOKIE).iter().filter_map(|value| value.to_str().ok());
        values.filter(|value| value.starts_with(&start)).map(|value| value.split(';').next().unwrap().to_owned()).next()
    }
}

impl Arena {
    /// A request as the program's own pages send it.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.origin))
            .header(ORIGIN, &self.origin)
            .header(ACCEPT, "application/json")
    }

    /// A request without any header of a browser.
    pub(crate) fn plain_request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.origin))
    }

    /// Sends a request and reads the answer.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Reply {
        let answer = request.send().await.expect("the server answers");
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Reply { status, headers, body: answer.text().await.expect("the answer is read to its end") }
    }

    /// Calls a server function with a form, as a fan or as a stranger.
    pub(crate) async fn call(&self, fan: Option<&Fan>, function: &str, form: &[(&str, &str)]) -> Reply {
        let mut request = self.request(Method::POST, &format!("/api/{function}")).form(form);
        if let Some(fan) = fan {
            request = request.header(COOKIE, cookies(fan));
        }
        self.send(request).await
    }

    /// Calls a server function of a server that may end before it answers.
    pub(crate) async fn call_to_a_dying_server(&self, fan: &Fan, function: &str, form: &[(&str, &str)]) {
        let request = self.request(Method::POST, &format!("/api/{function}")).form(form);
        drop(request.header(COOKIE, cookies(fan)).send().await);
    }

    /// Calls a server function with one more cookie than the fan's own.
    pub(crate) async fn call_with_cookie(
        &self,
        fan: &Fan,
        function: &str,
        form: &[(&str, &str)],
        cookie: &str,
    ) -> Reply {
        let request = self.request(Method::POST, &format!("/api/{function}")).form(form);
        self.send(request.header(COOKIE, format!("{}; {cookie}", cookies(fan)))).await
    }

    /// Calls a server function with a body of one's own making.
    pub(crate) async fn call_raw(&self, fan: &Fan, function: &str, content_type: &str, body: Vec<u8>) -> Reply {
        let request = self.request(Method::POST, &format!("/api/{function}")).header(COOKIE, cookies(fan));
        self.send(request.header(CONTENT_TYPE, content_type).body(body)).await
    }

    /// Opens a page or a plain route.
    pub(crate) async fn open(&self, fan: Option<&Fan>, path: &str) -> Reply {
        let mut request = self.plain_request(Method::GET, path).header(ACCEPT, "text/html");
        if let Some(fan) = fan {
            request = request.header(COOKIE, cookies(fan));
        }
        self.send(request).await
    }

    /// A number of the server's own metrics, without labels; 0 before it is counted for the first time.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let text = self.send(self.plain_request(Method::GET, "/metrics")).await.body;
        let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok();
        text.lines().find_map(value).unwrap_or(0.0)
    }

    /// Asks for seats.
    pub(crate) async fn hold(&self, fan: &Fan, seats: &str, key: &str) -> Reply {
        let performance = self.performance.to_string();
        self.call(Some(fan), "hold", &[("performance", &performance), ("seats", seats), ("key", key)]).await
    }

    /// Holds seats that are free.
    pub(crate) async fn held(&self, fan: &Fan, seats: &str) -> Held {
        self.hold(fan, seats, &uuid::Uuid::new_v4().simple().to_string()).await.ok()
    }

    /// Presses Pay.
    pub(crate) async fn pay(&self, fan: &Fan, order: OrderId) -> Reply {
        self.call(Some(fan), "order-pay", &[("order", &order.to_string())]).await
    }

    /// Reads an order.
    pub(crate) async fn order(&self, fan: &Fan, order: OrderId) -> Reply {
        self.call(Some(fan), "order", &[("id", &order.to_string())]).await
    }

    /// Presses Pay, types a good card and waits for the tickets.
    pub(crate) async fn buy(&self, fan: &Fan, order: OrderId) -> OrderView {
        let started: PayStarted = self.pay(fan, order).await.ok();
        assert_eq!(self.provider().card(&started, super::provider::GOOD_CARD).await, 303);
        self.await_status(order, "fulfilled").await;
        self.order(fan, order).await.ok()
    }
}

/// What the browser would send along.
pub(crate) fn cookies(fan: &Fan) -> String {
    match &fan.pass {
        Some((performance, pass)) => format!("{}; sa-p-{}={pass}", fan.cookie, performance.simple()),
        None => fan.cookie.clone(),
    }
}
