//! Accounts: who is signed in, and the rules for what can be entered.

use crate::ids::{AccountId, SessionId};
use crate::refusal::{Code, Refusal};
use crate::time::Millis;
use serde::{Deserialize, Serialize};

/// Shortest password, in characters.
pub const PASSWORD_MIN_CHARS: usize = 10;
/// Longest password, in bytes: bounds the work of hashing.
pub const PASSWORD_MAX_BYTES: usize = 256;
/// Longest e-mail address, in bytes (RFC 5321 path limit).
pub const EMAIL_MAX_BYTES: usize = 254;
/// Purpose of the session among signed tokens.
pub const SESSION_PURPOSE: &str = "s1";

/// What an account may do in its organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything, members included.
    Owner,
    /// Events, plans, prices, on-sale.
    Operator,
    /// Refunds, ledger, settlement, reports.
    Finance,
    /// Rules against scalping.
    Risk,
    /// Scanning at the door.
    Door,
}

impl Role {
    /// Every role.
    pub const ALL: &[Self] = &[Self::Owner, Self::Operator, Self::Finance, Self::Risk, Self::Door];

    /// The text form, as stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Operator => "operator",
            Self::Finance => "finance",
            Self::Risk => "risk",
            Self::Door => "door",
        }
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.as_str() == text)
    }
}

/// What the session cookie carries: enough for the hot path without a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The account.
    pub account: AccountId,
    /// This sign-in.
    pub session: SessionId,
    /// The address, for display.
    pub email: String,
    /// Whether the address is confirmed.
    pub verified: bool,
    /// Role in the organization, for its members.
    pub role: Option<Role>,
    /// When the account was made: an on-sale may have a cut-off.
    #[serde(default)]
    pub created: Millis,
    /// After this instant the stores are asked again.
    pub fresh_until: Millis,
}

/// The signed-in person, as pages see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// The account.
    pub account: AccountId,
    /// The address.
    pub email: String,
    /// Whether the address is confirmed.
    pub verified: bool,
    /// Role in the organization, for its members.
    pub role: Option<Role>,
}

/// A mail in the development mailbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailView {
    /// Receiver.
    pub to: String,
    /// Subject line.
    pub subject: String,
    /// Plain text.
    pub body: String,
    /// When it was sent.
    pub sent: Millis,
}

/// Checks and normalises an e-mail address: trimmed, lower-case domain and local part (an account
/// per mailbox, not per spelling).
///
/// # Errors
/// `invalid_input` names the field.
pub fn parse_email(text: &str) -> Result<String, Refusal> {
    let email = text.trim().to_lowercase();
    let ok = email.len() <= EMAIL_MAX_BYTES
        && !email.chars().any(|c| c.is_whitespace() || c.is_control())
        && email.split_once('@').is_some_and(|(local, domain)| {
            !local.is_empty()
                && local.len() <= 64
                && !domain.contains('@')
                && domain.split('.').count() >= 2
                && domain
                    .split('.')
                    .all(|label| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-'))
        });
    if ok {
        Ok(email)
    } else {
        Err(Refusal::new(Code::InvalidInput, "email: an address such as ana@example.org is expected"))
    }
}

/// Checks a new password.
///
/// # Errors
/// `invalid_input` names the field.
pub fn check_password(password: &str) -> Result<(), Refusal> {
    if password.chars().count() < PASSWORD_MIN_CHARS {
        return Err(Refusal::new(
            Code::InvalidInput,
            format!("password: at least {PASSWORD_MIN_CHARS} characters are expected"),
        ));
    }
    if password.len() > PASSWORD_MAX_BYTES {
        return Err(Refusal::new(
            Code::InvalidInput,
            format!("password: at most {PASSWORD_MAX_BYTES} bytes are allowed"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_normalised_or_refused() {
        assert_eq!(parse_email(" Ana@Example.ORG ").unwrap(), "ana@example.org");
        for bad in [
            "",
            "ana",
            "ana@",
            "@example.org",
            "a b@example.org",
            "a@b@c.org",
            "ana@example",
            "ana@.org",
            "ana@ex ample.org",
            "ana@example..org",
        ] {
            assert_eq!(parse_email(bad).unwrap_err().code, Code::InvalidInput, "{bad}");
        }
        assert!(parse_email(&format!("{}@example.org", "a".repeat(65))).is_err());
    }

    #[test]
    fn passwords_have_bounds() {
        assert!(check_password("short").is_err());
        assert!(check_password("long enough").is_ok());
        assert!(check_password("十二三四五六七八九十").is_ok());
        assert!(check_password(&"x".repeat(PASSWORD_MAX_BYTES + 1)).is_err());
    }
}
