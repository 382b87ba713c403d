//! What the program sends to Stripe, as it is on the wire, and lines that are cut.

use super::{Front, Pages, Stripe};
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Method;

/// A call of the program.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// What follows the question mark; empty where there is none.
    pub(crate) query: String,
    /// Its idempotency key.
    pub(crate) key: Option<String>,
    /// The version of the interface that it asks for.
    pub(crate) version: Option<String>,
}

impl Call {
    fn of(request: &Request) -> Self {
        let header = |name: &str| Some(request.headers().get(name)?.to_str().ok()?.to_owned());
        Self {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().unwrap_or_default().to_owned(),
            key: header("idempotency-key"),
            version: header("stripe-version"),
        }
    }

    /// Whether it changes something at a path that ends so.
    fn changes(&self, end: &str) -> bool {
        self.method == Method::POST && self.path.ends_with(end)
    }
}

/// What is lost where a line is cut. Who calls can't tell one from the other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lost {
    /// The call: nothing happens.
    Call,
    /// The answer alone: it happened.
    Answer,
}

impl Pages {
    /// Notes a call, and says what of it is lost.
    fn noted(&mut self, call: Call) -> Option<Lost> {
        let loss = self.losses.iter().position(|(end, _)| call.changes(end));
        self.calls.push(call);
        loss.map(|at| self.losses.remove(at).1)
    }
}

/// Notes each call of the program, and cuts the line where a test wants it.
pub(super) async fn note(State(front): State<Front>, request: Request, next: Next) -> Response {
    let lost = front.pages().noted(Call::of(&request));
    match lost {
        Some(Lost::Call) => cut(),
        Some(Lost::Answer) => {
            drop(next.run(request).await);
            cut()
        }
        None => next.run(request).await,
    }
}

/// An answer that breaks off: no status of Stripe's, no body, a closed connection.
fn cut() -> Response {
    let end = futures::stream::iter([Err::<Bytes, _>(std::io::Error::other("the line is cut"))]);
    Response::new(Body::from_stream(end))
}

impl Stripe {
    /// All that the program sent, the oldest first.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.front.pages().calls.clone()
    }

    /// The keys of all calls that change something at a path that ends so, the oldest first.
    pub(crate) fn keys(&self, end: &str) -> Vec<String> {
        let calls = self.calls().into_iter().filter(|call| call.changes(end));
        calls.map(|call| call.key.clone().unwrap_or_else(|| panic!("a change without a key: {call:?}"))).collect()
    }

    /// Cuts the lines of the next calls that change something at a path that ends so.
    pub(crate) fn lose(&self, end: &'static str, lost: &[Lost]) {
        self.front.pages().losses.extend(lost.iter().map(|lost| (end, *lost)));
    }
}
