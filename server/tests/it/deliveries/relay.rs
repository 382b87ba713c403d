//! A mail relay: it speaks as much SMTP as a client needs, and behaves by the name of the recipient.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A mail that was taken.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    to: String,
    pub(super) content: String,
}

impl Taken {
    /// A header's value.
    pub(super) fn header(&self, name: &str) -> &str {
        let line = self.content.lines().find(|line| line.starts_with(&format!("{name}: "))).unwrap();
        &line[name.len() + 2..]
    }
}

#[derive(Clone, Default)]
struct State {
    taken: Arc<Mutex<Vec<Taken>>>,
    moody: Arc<AtomicBool>,
}

/// The running relay. While it is moody, it refuses `later@…` for now and says nothing at all about `hang@…`;
/// it never takes `never@…`.
pub(super) struct Relay {
    pub(super) port: u16,
    state: State,
}

impl Relay {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State::default();
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that goes away in the middle is what these tests are about.
                let shared = shared.clone();
                tokio::spawn(async move { serve(stream, &shared).await.ok() });
            }
        });
        Self { port, state }
    }

    pub(super) fn set_moody(&self, moody: bool) {
        self.state.moody.store(moody, Ordering::Relaxed);
    }

    /// What was taken for an address.
    pub(super) fn taken(&self, address: &str) -> Vec<Taken> {
        let taken = self.state.taken.lock().unwrap();
        taken.iter().filter(|mail| mail.to == address).cloned().collect()
    }

    /// How many mails were taken.
    pub(super) fn count(&self) -> usize {
        self.state.taken.lock().unwrap().len()
    }
}

async fn serve(stream: TcpStream, state: &State) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    write.write_all(b"220 relay.example ESMTP\r\n").await?;
    let mut to = String::new();
    while let Some(line) = lines.next_line().await? {
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let answer = match verb.as_str() {
            "EHLO" => "250-relay.example\r\n250 8BITMIME",
            "MAIL" | "NOOP" | "RSET" => "250 ok",
            "RCPT" => {
                let address = line.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(to, _)| to);
                to = address.unwrap_or_default().to_owned();
                let moody = state.moody.load(Ordering::Relaxed);
                match to.split('@').next() {
                    Some("never") => "550 5.1.1 no such mailbox",
                    Some("later") if moody => "451 4.7.1 come again",
                    Some("hang") if moody => std::future::pending().await,
                    _ => "250 ok",
                }
            }
            "DATA" => {
                write.write_all(b"354 go on\r\n").await?;
                let mut content = String::new();
                while let Some(line) = lines.next_line().await?.filter(|line| line != ".") {
                    content.push_str(&line);
                    content.push('\n');
                }
                state.taken.lock().unwrap().push(Taken { to: to.clone(), content });
                "250 taken"
            }
            "QUIT" => return write.write_all(b"221 bye\r\n").await,
            _ => "500 what?",
        };
        write.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
    Ok(())
}
