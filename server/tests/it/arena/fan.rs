//! Fans as values: an account, its sign-in, and what it was given at the door.

use super::{Arena, SOON, seats};
use domain::account::Session;
use domain::hold::Held;
use domain::{AccountId, Code, OrderId, PerformanceId, SessionId};
use futures::StreamExt as _;
use std::time::Instant;

/// Fans at the door at once.
const AT_ONCE: usize = 32;

/// One fan in one browser.
#[derive(Clone, Debug)]
pub(crate) struct Fan {
    pub(crate) account: AccountId,
    pub(crate) session: Session,
    /// The session cookie, `name=value`.
    pub(crate) cookie: String,
    /// The pass of a performance, once inside.
    pub(crate) pass: Option<(PerformanceId, String)>,
}

impl Fan {
    /// The pass, as use-cases take it.
    pub(crate) fn pass(&self) -> Option<&str> {
        self.pass.as_ref().map(|(_, pass)| pass.as_str())
    }
}

/// Fans whom the door would let in one after another only, where few seats are left for them.
const MANY: usize = 30;
/// More places than any test gives.
const EVERYBODY: u32 = 1_000_000;

impl Arena {
    /// Confirmed accounts, signed in, still outside.
    pub(crate) async fn fans(&self, count: usize) -> Vec<Fan> {
        let mut fans = Vec::with_capacity(count);
        for login in self.backend.seed_fans(count).await.unwrap() {
            let (_, token) = login.cookie.split_once('=').unwrap();
            let (session, _) = self.backend.read_session(token).await.unwrap().unwrap();
            fans.push(Fan { account: login.account, session, cookie: login.cookie, pass: None });
        }
        fans
    }

    /// Fans who came in through the queue of the sale.
    pub(crate) async fn inside(&self, count: usize) -> Vec<Fan> {
        let fans = self.fans(count).await;
        if count >= MANY {
            self.call_everybody().await;
        }
        futures::stream::iter(fans)
            .map(|fan| self.let_in(fan, self.performance))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await
    }

    /// Serves all places, now and to come, as the door's controller would not: for tests about what comes behind it.
    pub(crate) async fn call_everybody(&self) {
        // A cluster's tests wait for the door.
        if self.cluster.is_some() {
            return;
        }
        let meta = format!("sa:1:{{p{}}}:meta", self.performance.simple());
        let mut redis = self.redis().await;
        let serve = redis::cmd("HSET").arg(meta).arg("serving").arg(EVERYBODY).to_owned();
        let () = serve.query_async(&mut redis).await.unwrap();
    }

    /// One fan who came in.
    pub(crate) async fn one_inside(&self) -> Fan {
        self.inside(1).await.remove(0)
    }

    /// Takes a place and enters as soon as it is reached.
    pub(crate) async fn let_in(&self, mut fan: Fan, performance: PerformanceId) -> Fan {
        let ticket = self.backend.join_queue(&fan.session, performance, None).await.unwrap().ticket;
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        // The door follows what is left and who comes, so that it takes its time with many for few seats.
        let deadline = Instant::now() + 2 * SOON;
        loop {
            match self.backend.enter(&fan.session, performance, &ticket, &nonce).await {
                Ok(entered) => {
                    fan.pass = Some((performance, entered.pass));
                    return fan;
                }
                Err(error) if error.refusal().code == Code::NotYourTurn && Instant::now() < deadline => {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                }
                Err(error) => panic!("the fan was not let in: {:?}", error.refusal()),
            }
        }
    }

    /// The same account on a second device.
    pub(crate) async fn second_device(&self, fan: &Fan) -> Fan {
        let id = uuid::Uuid::new_v4();
        sqlx::query("insert into sessions (id, account_id, created_ms) values ($1, $2, 0)")
            .bind(id)
            .bind(fan.account.0)
            .execute(&self.pg)
            .await
            .unwrap();
        let signed_in = self.backend.renew_session(SessionId(id)).await.unwrap();
        let cookie = format!("{}={}", self.backend.cookie_name("sa-session"), signed_in.token);
        Fan { account: fan.account, session: signed_in.session, cookie, pass: None }
    }

    /// Holds seats without HTTP between.
    pub(crate) async fn take(&self, fan: &Fan, list: &[u32], key: &str) -> Result<Held, Code> {
        let held = self.backend.hold(&fan.session, fan.pass(), self.performance, seats(list), key).await;
        held.map_err(|error| error.refusal().code)
    }

    /// Gives seats back without HTTP between.
    pub(crate) async fn give_back(&self, fan: &Fan, order: OrderId) -> Result<(), Code> {
        self.backend.release(&fan.session, order).await.map_err(|error| error.refusal().code)
    }
}
