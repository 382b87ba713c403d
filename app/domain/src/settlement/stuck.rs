//! What should have moved by itself and has not: looked for every minute, poked, and put before people when
//! that did not help.

use serde::{Deserialize, Serialize};

const MINUTE_MS: i64 = 60_000;

/// How long something may stand still, poked every minute, before people are told.
pub const TELL_AFTER_MS: i64 = 60 * MINUTE_MS;

/// What stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckKind {
    /// An attempt is open beyond its deadline and the grace.
    Attempt,
    /// An order is paid and has no tickets.
    Issue,
    /// A refund was agreed to, and the provider has not decided it.
    Refund,
    /// An event of a provider is not applied.
    Inbox,
    /// A mail or webhook is due, and nobody sends it.
    Outbox,
    /// Money is set aside.
    Quarantine,
}

impl StuckKind {
    /// Every kind.
    pub const ALL: &[Self] = &[Self::Attempt, Self::Issue, Self::Refund, Self::Inbox, Self::Outbox, Self::Quarantine];

    /// The text form, as in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Issue => "issue",
            Self::Refund => "refund",
            Self::Inbox => "inbox",
            Self::Outbox => "outbox",
            Self::Quarantine => "quarantine",
        }
    }

    /// Reads the text form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text)
    }

    /// How long it may take, in milliseconds.
    #[must_use]
    pub fn allowed_ms(self) -> i64 {
        match self {
            // On top of the deadline and the grace of the provider.
            Self::Attempt => MINUTE_MS,
            Self::Issue => super::ISSUE_GRACE_MS,
            Self::Refund | Self::Quarantine => 10 * MINUTE_MS,
            Self::Inbox | Self::Outbox => 5 * MINUTE_MS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_and_everything_has_its_time() {
        for kind in StuckKind::ALL {
            assert_eq!(StuckKind::parse(kind.as_str()), Some(*kind));
            assert!(kind.allowed_ms() >= MINUTE_MS && kind.allowed_ms() < TELL_AFTER_MS, "{kind:?}");
        }
        assert_eq!(StuckKind::parse("hold"), None);
    }
}
