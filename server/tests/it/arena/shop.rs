//! The shop as a browser meets it on a bad day: connections may break, answers may fail to come. A
//! handle of its own, so that fans go on while the test ends and starts processes.

use super::http::cookies;
use super::{Arena, Fan, Reply, SOON};
use domain::PerformanceId;
use domain::order::PayStarted;
use reqwest::header::{ACCEPT, COOKIE, ORIGIN};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A browser's patience with one request.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whom fans talk to.
#[derive(Clone, Debug)]
pub(crate) struct Shop {
    pub(crate) performance: PerformanceId,
    client: reqwest::Client,
    origin: String,
}

impl Arena {
    /// The shop, for fans who outlive its processes.
    pub(crate) fn shop(&self) -> Shop {
        backend::use_tls();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(PATIENCE)
            .build()
            .unwrap();
        Shop { performance: self.performance, client, origin: self.origin.clone() }
    }
}

impl Shop {
    /// Calls a server function; an error says that no answer came, not that nothing happened.
    pub(crate) async fn call(&self, fan: &Fan, function: &str, form: &[(&str, &str)]) -> Result<Reply, reqwest::Error> {
        let request = self
            .client
            .post(format!("{}/api/{function}", self.origin))
            .header(ORIGIN, &self.origin)
            .header(ACCEPT, "application/json")
            .header(COOKIE, cookies(fan))
            .form(form);
        let answer = request.send().await?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Ok(Reply { status, headers, body: answer.text().await? })
    }

    /// Types a card into the provider's page: the status of the answer.
    pub(crate) async fn card(&self, started: &PayStarted, number: &str) -> Result<u16, reqwest::Error> {
        let form = [("card", number), ("expiry", "12/40"), ("cvc", "123")];
        Ok(self.client.post(&started.redirect_url).form(&form).send().await?.status().as_u16())
    }

    /// The bytes of a call, as a browser writes them; the path is taken as it is.
    pub(crate) fn spelled(&self, fan: &Fan, path: &str, form: &[(&str, &str)]) -> String {
        let body = form.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&");
        format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\norigin: {}\r\naccept: application/json\r\ncookie: {}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address(),
            self.origin,
            cookies(fan),
            body.len()
        )
    }

    /// Sends bytes and hangs up at once, without waiting for an answer.
    pub(crate) async fn hang_up_after(&self, bytes: &str) {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    }

    /// Sends bytes and reads all that comes back.
    pub(crate) async fn answer_to(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(SOON, stream.read_to_end(&mut answer)).await.expect("the connection ends").ok();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn address(&self) -> &str {
        self.origin.trim_start_matches("http://")
    }
}

/// The fields of a hold.
pub(crate) fn hold_form<'a>(performance: &'a str, seats: &'a str, key: &'a str) -> [(&'a str, &'a str); 3] {
    [("performance", performance), ("seats", seats), ("key", key)]
}

/// Seats as the forms have them, in the order given.
pub(crate) fn written(seats: &[u32]) -> String {
    seats.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Microseconds since 1970 by this machine's clock, which is Redis's too.
pub(crate) fn now_us() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}
