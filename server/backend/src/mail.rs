//! Mail: written into the outbox with the change that causes it, delivered by a worker (`work/outbox.rs`).
//!
//! What the mails say is in [`kinds`] and [`tickets`], how they look in [`layout`], how they leave in [`smtp`].

mod kinds;
mod layout;
mod smtp;
mod tickets;

pub(crate) use kinds::{
    confirmation, invitation, performance_cancelled, refund_approved, refund_asked, refund_done, refund_rejected,
    refunded, seats_renamed, tickets_frozen, tickets_ready, tickets_restored, tickets_revoked, webhook_disabled,
};
pub(crate) use tickets::{
    OfferEnd, ticket_ended, ticket_frozen, ticket_received, ticket_replaced, ticket_restored, transfer_ended,
    transfer_offered,
};

use crate::config::DeliverySettings;
use crate::error::Result;
use crate::postgres::outbox;
use domain::Millis;
use domain::account::MailView;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use smtp::SmtpMailer;
use sqlx::{PgExecutor, PgPool};

/// The outbox kind of mails.
const MAIL: &str = "mail";
/// Bytes of the digest in a Message-ID: enough that two never meet.
const MESSAGE_ID_BYTES: usize = 16;

/// A mail to be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mail {
    pub(crate) to: String,
    pub(crate) subject: String,
    /// The plain text: complete by itself.
    pub(crate) body: String,
    /// The same as HTML; none in mails that were written before there was one.
    #[serde(default)]
    pub(crate) html: Option<String>,
}

/// A mail with what stays the same in every try to deliver it.
pub(crate) struct Letter {
    /// Its row in the outbox.
    pub(crate) outbox: i64,
    /// The key that makes it be sent once.
    pub(crate) dedupe: String,
    pub(crate) mail: Mail,
    pub(crate) written: Millis,
}

impl Letter {
    /// The Message-ID (RFC 5322, 3.6.4): the same in every try, so that a repeated delivery can be recognised,
    /// and different from that of any other installation, whose rows may have the same numbers.
    fn message_id(&self, domain: &str) -> String {
        let digest = Sha256::digest(self.dedupe.as_bytes());
        format!("<{}@{domain}>", hex::encode(&digest[..MESSAGE_ID_BYTES]))
    }
}

/// How a try to deliver ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Delivered {
    /// The next one on the way has it.
    Done,
    /// It may go another time.
    Later(String),
    /// It will never go.
    Never(String),
}

/// An outside service that delivers mail.
pub(crate) trait Mailer: Send + Sync {
    /// Tries to deliver one mail.
    ///
    /// # Errors
    /// Outages of our own: it is tried again.
    fn deliver<'a>(&'a self, letter: &'a Letter, now: Millis) -> BoxFuture<'a, Result<Delivered>>;

    /// Nothing is to be delivered right now: lets go of what was only kept for the next mail.
    fn rest(&self) {}
}

/// The mailer that the settings name.
///
/// # Errors
/// When TLS to the relay can't be set up.
pub(crate) fn from_settings(settings: &DeliverySettings, pg: &PgPool) -> Result<Box<dyn Mailer>> {
    Ok(match &settings.smtp {
        Some(smtp) => Box::new(SmtpMailer::new(smtp, settings.smtp_timeout_ms)?),
        None => Box::new(DevelopmentMailer(pg.clone())),
    })
}

/// Delivers into the mailbox that the development page shows.
struct DevelopmentMailer(PgPool);

impl Mailer for DevelopmentMailer {
    fn deliver<'a>(&'a self, letter: &'a Letter, now: Millis) -> BoxFuture<'a, Result<Delivered>> {
        Box::pin(async move {
            let mail = letter.mail.clone();
            let view = MailView { to: mail.to, subject: mail.subject, body: mail.body, sent: now };
            outbox::deliver(&self.0, letter.outbox, &view).await?;
            Ok(Delivered::Done)
        })
    }
}

/// Writes a mail into the outbox; `dedupe` makes it be sent once.
pub(crate) async fn enqueue(db: impl PgExecutor<'_>, dedupe: &str, mail: &Mail, now: Millis) -> Result<()> {
    Ok(enqueue_row(db, dedupe, mail, now).await?)
}

/// As [`enqueue`], for changes that write mails by themselves.
pub(crate) async fn enqueue_row(db: impl PgExecutor<'_>, dedupe: &str, mail: &Mail, now: Millis) -> sqlx::Result<()> {
    outbox::insert(db, MAIL, dedupe, &json!(mail), now).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(dedupe: &str, mail: Mail) -> Letter {
        Letter { outbox: 7, dedupe: dedupe.to_owned(), mail, written: Millis(1_792_891_800_000) }
    }

    #[test]
    fn a_message_id_follows_from_the_key_alone() {
        let mail = confirmation("ana@example.org", "https://t.example.org/confirm?token=1", "en");
        let id = letter("confirm:1", mail.clone()).message_id("example.org");
        assert_eq!(id, letter("confirm:1", mail.clone()).message_id("example.org"));
        assert_ne!(id, letter("confirm:2", mail).message_id("example.org"));
        assert!(
            id.starts_with('<') && id.ends_with("@example.org>") && id.len() == 32 + "<@example.org>".len(),
            "{id}"
        );
    }

    #[test]
    fn a_mail_that_was_written_before_there_was_html_can_be_read() {
        let old = json!({ "to": "ana@example.org", "subject": "Hello", "body": "text" });
        let mail: Mail = serde_json::from_value(old).unwrap();
        assert_eq!((mail.body.as_str(), mail.html), ("text", None));
    }
}
