//! Mail by a relay that speaks SMTP (RFC 5321).
//!
//! A connection is used for one mail at a time and kept for the next one. One on which anything went wrong, or
//! that was still waiting when the time was over, is closed and never used again: its late answer would be
//! taken for the next mail's.

use super::{Delivered, Letter, Mailer};
use crate::config::{ConfigError, SmtpSettings, SmtpTls};
use crate::error::{Error, Result};
use domain::Millis;
use futures::future::BoxFuture;
use lettre::address::Envelope;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, Message};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Longest wait for the relay's machine to take a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A connection that was not used for this long is closed: relays close them after some minutes themselves.
const KEPT_MAX: Duration = Duration::from_secs(10);
/// Refusals that are about us and not about the letter (RFC 4954): they end when the settings are put right.
const ABOUT_US: [u16; 4] = [530, 534, 535, 538];

/// Delivers to a relay.
pub(super) struct SmtpMailer {
    settings: SmtpSettings,
    /// None where the relay is on this machine.
    tls: Option<TlsParameters>,
    /// How we introduce ourselves.
    hello: ClientId,
    /// Longest that one mail may take, from the connection to the last answer.
    timeout: Duration,
    /// Connections between two mails: at most as many as there are deliveries at once.
    kept: Mutex<Vec<Kept>>,
}

struct Kept {
    connection: AsyncSmtpConnection,
    since: Instant,
}

impl SmtpMailer {
    /// A mailer with bounds on time.
    ///
    /// # Errors
    /// When TLS can't be set up.
    pub(super) fn new(settings: &SmtpSettings, timeout_ms: i64) -> Result<Self> {
        crate::beacon::use_tls();
        let tls = match settings.tls {
            SmtpTls::Never => None,
            SmtpTls::FromStart | SmtpTls::StartTls => Some(
                TlsParameters::new(settings.host.clone())
                    .map_err(|e| Error::Config(ConfigError(format!("STARARENA_SMTP_URL: {e}"))))?,
            ),
        };
        Ok(Self {
            tls,
            hello: ClientId::Domain(settings.from.email.domain().to_owned()),
            timeout: Duration::from_millis(timeout_ms.unsigned_abs()),
            kept: Mutex::default(),
            settings: settings.clone(),
        })
    }

    /// The letter as it goes over the wire. Every try gives the same headers.
    fn written(&self, letter: &Letter) -> std::result::Result<(Envelope, Vec<u8>), String> {
        let to = letter.mail.to.parse::<Address>().map_err(|e| format!("to: {e}"))?;
        let written = UNIX_EPOCH + Duration::from_millis(letter.written.0.unsigned_abs());
        // Nobody's absence note shall answer (RFC 3834).
        let automatic = HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned());
        let head = Message::builder()
            .from(self.settings.from.clone())
            .to(Mailbox::new(None, to))
            .subject(letter.mail.subject.clone())
            .date(written)
            .message_id(Some(letter.message_id(self.settings.from.email.domain())))
            .raw_header(automatic);
        let text = letter.mail.body.clone();
        let message = match &letter.mail.html {
            Some(html) => head.multipart(MultiPart::alternative_plain_html(text, html.clone())),
            None => head.singlepart(SinglePart::plain(text)),
        };
        let message = message.map_err(|e| format!("the mail can't be put together: {e}"))?;
        Ok((message.envelope().clone(), message.formatted()))
    }

    async fn send(&self, envelope: &Envelope, content: &[u8]) -> Delivered {
        let mut connection = match self.connection().await {
            Ok(connection) => connection,
            Err(error) => return Delivered::Later(format!("the relay took no connection: {error}")),
        };
        match connection.send(envelope, content).await {
            Ok(_) => {
                self.lock().push(Kept { connection, since: Instant::now() });
                Delivered::Done
            }
            Err(error) if is_final(&error) => Delivered::Never(error.to_string()),
            Err(error) => Delivered::Later(error.to_string()),
        }
    }

    /// A connection that answers: one that was kept, or a new one.
    async fn connection(&self) -> std::result::Result<AsyncSmtpConnection, smtp::Error> {
        while let Some(mut kept) = self.take_kept() {
            if kept.test_connected().await {
                return Ok(kept);
            }
        }
        let tls = |when: SmtpTls| self.tls.clone().filter(|_| self.settings.tls == when);
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            (self.settings.host.as_str(), self.settings.port),
            Some(CONNECT_TIMEOUT),
            &self.hello,
            tls(SmtpTls::FromStart),
            None,
        )
        .await?;
        if let Some(tls) = tls(SmtpTls::StartTls) {
            connection.starttls(tls, &self.hello).await?;
        }
        if let Some((name, password)) = &self.settings.credentials {
            let credentials = Credentials::new(name.clone(), password.clone());
            connection.auth(DEFAULT_MECHANISMS, &credentials).await?;
        }
        Ok(connection)
    }

    fn take_kept(&self) -> Option<AsyncSmtpConnection> {
        let mut kept = self.lock();
        kept.retain(|kept| kept.since.elapsed() < KEPT_MAX);
        kept.pop().map(|kept| kept.connection)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mailer for SmtpMailer {
    fn deliver<'a>(&'a self, letter: &'a Letter, _now: Millis) -> BoxFuture<'a, Result<Delivered>> {
        Box::pin(async move {
            let (envelope, content) = match self.written(letter) {
                Ok(written) => written,
                Err(what) => return Ok(Delivered::Never(what)),
            };
            // A connection that is still in use when the time is over goes with the future that has it.
            let sent = tokio::time::timeout(self.timeout, self.send(&envelope, &content)).await;
            Ok(sent.unwrap_or_else(|_| Delivered::Later("the relay did not answer in time".to_owned())))
        })
    }

    fn rest(&self) {
        self.lock().retain(|kept| kept.since.elapsed() < KEPT_MAX);
    }
}

/// Whether the relay will never take the letter: a 5xx about the letter itself (RFC 5321, 4.2.1).
fn is_final(error: &smtp::Error) -> bool {
    error.is_permanent() && error.status().is_some_and(|code| !ABOUT_US.contains(&u16::from(code)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::{Mail, confirmation};

    fn mailer() -> SmtpMailer {
        let settings = SmtpSettings {
            host: "127.0.0.1".to_owned(),
            port: 25,
            tls: SmtpTls::Never,
            from: "StarArena <tickets@example.org>".parse().unwrap(),
            credentials: None,
        };
        SmtpMailer::new(&settings, 1_000).unwrap()
    }

    fn letter(mail: Mail) -> Letter {
        Letter { outbox: 1, dedupe: "confirm:1".to_owned(), mail, written: Millis(1_792_891_800_000) }
    }

    #[test]
    fn a_letter_has_the_same_id_and_date_in_every_try() {
        let letter = letter(confirmation("ana@example.org", "https://t.example.org/c", "zh"));
        let (envelope, content) = mailer().written(&letter).unwrap();
        assert_eq!(envelope.to().iter().map(ToString::to_string).collect::<Vec<_>>(), ["ana@example.org"]);
        let content = String::from_utf8(content).unwrap();
        let headers = |content: &str| {
            let (head, _) = content.split_once("\r\n\r\n").unwrap();
            let lines = head.lines().filter(|line| line.starts_with("Message-ID:") || line.starts_with("Date:"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let again = String::from_utf8(mailer().written(&letter).unwrap().1).unwrap();
        assert_eq!(headers(&content), headers(&again));
        assert_eq!(headers(&content).len(), 2, "{content}");
        assert!(content.contains("Auto-Submitted: auto-generated\r\n"));
        assert!(content.contains("text/plain") && content.contains("text/html"));
        assert!(content.is_ascii(), "every relay can take it");
    }

    #[test]
    fn an_address_or_a_subject_adds_no_header() {
        let mail = confirmation("ana@example.org>\r\nBcc: <all@example.org", "https://t.example.org/c", "en");
        assert!(mailer().written(&letter(mail)).is_err());
        let mut mail = confirmation("ana@example.org", "https://t.example.org/c", "en");
        mail.subject = "Evening\r\nBcc: all@example.org".to_owned();
        let content = mailer().written(&letter(mail)).map(|(_, content)| String::from_utf8(content).unwrap());
        assert!(content.is_err() || !content.unwrap().lines().any(|line| line.starts_with("Bcc:")));
    }
}
