//! What can go wrong, by who can do something about it: the caller (a refusal), time (an outage), us.

use domain::{Code, Refusal};

/// The result of a use-case.
pub type Result<T> = std::result::Result<T, Error>;

/// A use-case that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The expected "no", with its stable code. Nothing was changed.
    #[error("refused")]
    Refused(#[from] Refusal),
    /// Postgres failed or is out of reach.
    #[error("the database did not answer as expected")]
    Postgres(#[from] sqlx::Error),
    /// A migration could not be applied.
    #[error("the database could not be migrated")]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// Redis failed or is out of reach.
    #[error("the seat store did not answer as expected")]
    Redis(#[from] redis::RedisError),
    /// The payment provider failed or is out of reach.
    #[error("the payment provider did not answer as expected")]
    Provider(#[from] crate::payment::ProviderError),
    /// A setting that can't be used.
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    /// A file could not be read or written.
    #[error("a file could not be read or written")]
    File(#[from] std::io::Error),
    /// A fault that several callers met together.
    #[error("{0}")]
    Shared(std::sync::Arc<Error>),
    /// Something that must hold does not: a bug, or stores that were changed by hand.
    #[error("broken expectation: {0}")]
    Broken(String),
}

impl Error {
    /// What the caller is told: refusals as they are, outages as `unavailable`, the rest as `internal`.
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal.clone(),
            Self::Shared(fault) => fault.refusal(),
            Self::Redis(_) => {
                Refusal::new(Code::Unavailable, "the seats can't be reached right now; nothing was changed")
                    .retry_after_ms(RETRY_AFTER_MS)
            }
            Self::Postgres(e) if is_outage(e) => {
                Refusal::new(Code::Unavailable, "the orders can't be reached right now; nothing was changed")
                    .retry_after_ms(RETRY_AFTER_MS)
            }
            Self::Provider(_) => Refusal::new(
                Code::ProviderUnavailable,
                "the payment provider can't be reached right now; nothing was charged",
            )
            .retry_after_ms(RETRY_AFTER_MS),
            Self::Postgres(e) if is_unstorable_text(e) => {
                Refusal::new(Code::InvalidInput, "a text contains a character that can't be stored, such as NUL")
            }
            Self::Postgres(_) | Self::Migration(_) | Self::Config(_) | Self::File(_) | Self::Broken(_) => {
                Refusal::new(Code::Internal, "something went wrong on our side; it was recorded")
            }
        }
    }

    /// Whether a store is out of reach, so that everything else would fail as well; else the fault is with what was
    /// asked for.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Self::Shared(fault) => fault.is_outage(),
            Self::Redis(error) => is_away(error),
            Self::Postgres(error) => is_outage(error) && !is_cancelled(error) && !is_lock_timeout(error),
            _ => false,
        }
    }

    /// Whether the seats of a sale can't be reached, or are being built: that is nothing of one order.
    pub(crate) fn is_outage_of_seats(&self) -> bool {
        match self {
            Self::Shared(fault) => fault.is_outage_of_seats(),
            Self::Redis(error) => is_away(error),
            Self::Refused(refusal) => refusal.code == Code::Unavailable,
            _ => false,
        }
    }

    /// Whether this is an expected answer rather than a fault.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Refused(_) => true,
            Self::Shared(fault) => fault.is_refusal(),
            _ => false,
        }
    }
}

/// An error with its causes, in one line: the last of them says what happened.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// How long callers wait before they try again after an outage.
const RETRY_AFTER_MS: u32 = 1_000;

fn is_outage(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed)
        // Class 57: the server is shutting down or starting up; 53: out of a resource; 08: connection; 55P03:
        // somebody else has held a lock for too long, such as a process that stands still.
        || error.as_database_error().and_then(|e| e.code()).is_some_and(|code| ["57", "53", "08", "55P03"].iter().any(|class| code.starts_with(class)))
}

/// A statement that took too long was ended: what it was about may be at fault, and everything else may do.
fn is_cancelled(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|e| e.code()).is_some_and(|code| code == "57014")
}

/// A lock that somebody else held for too long: of one row mostly, and everything else goes on.
pub(crate) fn is_lock_timeout(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|e| e.code()).is_some_and(|code| code == "55P03")
}

/// Whether Redis, or the server of a sale, is away, or refuses whatever it is asked (out of memory, without its
/// replicas). A script that fails, or an answer that can't be read, is no outage.
fn is_away(error: &redis::RedisError) -> bool {
    match error.kind() {
        redis::ErrorKind::Server(redis::ServerErrorKind::ResponseError)
        | redis::ErrorKind::UnexpectedReturnType
        | redis::ErrorKind::Parse
        | redis::ErrorKind::Client => false,
        _ => error.code() != Some("WRONGTYPE"),
    }
}

/// A NUL in a text or in JSON: valid UTF-8 that Postgres can't store, so it can only be a caller's.
fn is_unstorable_text(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|e| e.code()).is_some_and(|code| code == "22021" || code == "22P05")
}

/// A refusal as an error, for the many places that return early.
pub(crate) fn refuse<T>(code: Code, message: impl Into<String>) -> Result<T> {
    Err(Error::Refused(Refusal::new(code, message)))
}

/// "No such thing, or not yours": the same answer for both.
pub(crate) fn not_found<T>(what: &str) -> Result<T> {
    refuse(Code::NotFound, format!("there is no such {what}"))
}
