//! The payment machine: values and pure transitions.
//!
//! No I/O, no clock, no randomness: time and ids come in as arguments. Storing the outcome and
//! telling the merchant is the work of [`super::ledger`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;

/// What ids of payments begin with.
pub(super) const ID_PREFIX: &str = "pay";
/// How long an authorised amount waits for its capture, as card networks have it.
pub(super) const AUTHORISATION_TTL_MS: i64 = 7 * 24 * 3_600_000;
/// The card of a late yes when nobody had typed one.
const LATE_CARD_LAST4: &str = "4242";

/// Where a payment is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    RequiresPayment,
    RequiresAction,
    Authorized,
    Captured,
    Canceled,
}

impl Status {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::RequiresPayment => "requires_payment",
            Self::RequiresAction => "requires_action",
            Self::Authorized => "authorized",
            Self::Captured => "captured",
            Self::Canceled => "canceled",
        }
    }
}

/// Whether money moves at once or when the merchant says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CaptureMode {
    Manual,
    Automatic,
}

/// Why a payment ended without money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CancelReason {
    RequestedByMerchant,
    Expired,
    AuthorizationExpired,
}

/// Why the last attempt to pay failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastError {
    pub(super) code: String,
    pub(super) message: String,
}

/// One payment, as it is stored, answered and sent in events.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Payment {
    pub(super) id: String,
    pub(super) object: String,
    pub(super) status: Status,
    pub(super) amount: i64,
    pub(super) amount_captured: i64,
    /// What went back; a refund that is still pending is not in it.
    pub(super) amount_refunded: i64,
    #[serde(default)]
    pub(super) amount_refund_pending: i64,
    /// What banks took back in disputes that are open or lost.
    #[serde(default)]
    pub(super) amount_disputed: i64,
    pub(super) currency: String,
    pub(super) merchant: String,
    pub(super) reference: String,
    pub(super) description: String,
    pub(super) capture: CaptureMode,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) return_url: String,
    pub(super) hosted_url: String,
    pub(super) created_ms: i64,
    pub(super) expires_at_ms: i64,
    pub(super) authorized_ms: Option<i64>,
    pub(super) captured_ms: Option<i64>,
    pub(super) canceled_ms: Option<i64>,
    pub(super) cancel_reason: Option<CancelReason>,
    /// The last four digits of the card that paid; the number itself is never kept.
    pub(super) card_last4: Option<String>,
    pub(super) last_error: Option<LastError>,
}

/// What a transition has to tell the merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    Authorized,
    Captured,
    Declined,
    Canceled,
}

impl Notice {
    pub(super) fn event_type(self) -> &'static str {
        match self {
            Self::Authorized => "payment.authorized",
            Self::Captured => "payment.captured",
            Self::Declined => "payment.declined",
            Self::Canceled => "payment.canceled",
        }
    }
}

impl Payment {
    /// When time alone changes this payment: its page closes, or its authorisation lapses.
    pub(super) fn deadline_ms(&self) -> Option<i64> {
        match self.status {
            Status::RequiresPayment | Status::RequiresAction => Some(self.expires_at_ms),
            Status::Authorized => self.authorized_ms.map(|at_ms| at_ms + AUTHORISATION_TTL_MS),
            Status::Captured | Status::Canceled => None,
        }
    }

    /// Ends the payment if its deadline has passed.
    pub(super) fn expire(&mut self, now_ms: i64) -> Option<Notice> {
        if self.deadline_ms().is_none_or(|deadline_ms| now_ms < deadline_ms) {
            return None;
        }
        let reason = match self.status {
            Status::Authorized => CancelReason::AuthorizationExpired,
            _ => CancelReason::Expired,
        };
        Some(self.end(reason, now_ms))
    }

    /// The bank's answer to one card, at the hosted page.
    pub(super) fn pay(&mut self, verdict: &Verdict, now_ms: i64) -> Result<Option<Notice>, Refusal> {
        if !matches!(self.status, Status::RequiresPayment | Status::RequiresAction) {
            return Err(self.unexpected("paid"));
        }
        match verdict {
            Verdict::Approved { last4 } => Ok(Some(self.approve(last4, now_ms))),
            Verdict::Challenge { last4 } => {
                self.status = Status::RequiresAction;
                self.card_last4 = Some(last4.clone());
                self.last_error = None;
                Ok(None)
            }
            Verdict::Declined { code, message } => Ok(Some(self.decline(code, message))),
        }
    }

    /// The cardholder's answer to the bank's confirmation step.
    pub(super) fn confirm(&mut self, approved: bool, now_ms: i64) -> Result<Notice, Refusal> {
        if self.status != Status::RequiresAction {
            return Err(self.unexpected("confirmed"));
        }
        if approved {
            let last4 = self.card_last4.take().unwrap_or_default();
            return Ok(self.approve(&last4, now_ms));
        }
        Ok(self.decline("authentication_failed", "The payment was not confirmed with your bank."))
    }

    /// Takes the authorised money; what is not taken is released.
    pub(super) fn capture(&mut self, amount: Option<i64>, now_ms: i64) -> Result<Notice, Refusal> {
        if self.status != Status::Authorized {
            return Err(self.unexpected("captured"));
        }
        let amount = amount.unwrap_or(self.amount);
        if amount < 1 || amount > self.amount {
            return Err(Refusal::invalid(
                "amount_out_of_range",
                "amount",
                format!("amount must be between 1 and the authorised {}", self.amount),
            ));
        }
        self.status = Status::Captured;
        self.amount_captured = amount;
        self.captured_ms = Some(now_ms);
        Ok(Notice::Captured)
    }

    /// Ends the payment before money moved.
    pub(super) fn cancel(&mut self, now_ms: i64) -> Result<Notice, Refusal> {
        match self.status {
            Status::RequiresPayment | Status::RequiresAction | Status::Authorized => {
                Ok(self.end(CancelReason::RequestedByMerchant, now_ms))
            }
            Status::Captured | Status::Canceled => Err(self.unexpected("canceled")),
        }
    }

    /// The bank's yes that nobody waited for any more: to a page that has closed by itself, or is still open.
    pub(super) fn succeed_late(&mut self, now_ms: i64) -> Result<Notice, Refusal> {
        let expired = self.status == Status::Canceled && self.cancel_reason == Some(CancelReason::Expired);
        if !expired && !matches!(self.status, Status::RequiresPayment | Status::RequiresAction) {
            return Err(self.unexpected("paid"));
        }
        self.canceled_ms = None;
        self.cancel_reason = None;
        let last4 = self.card_last4.take().unwrap_or_else(|| LATE_CARD_LAST4.to_owned());
        Ok(self.approve(&last4, now_ms))
    }

    /// The amount that a refund of `amount` (all that is left, if not given) gives back.
    pub(super) fn refundable(&self, amount: Option<i64>) -> Result<i64, Refusal> {
        self.portion(amount, "refunded", "refund_exceeds_captured")
    }

    /// The amount that a dispute over `amount` (all that is left, if not given) takes back.
    pub(super) fn disputable(&self, amount: Option<i64>) -> Result<i64, Refusal> {
        self.portion(amount, "disputed", "dispute_exceeds_captured")
    }

    fn portion(&self, amount: Option<i64>, verb: &str, exceeds: &'static str) -> Result<i64, Refusal> {
        if self.status != Status::Captured {
            return Err(self.unexpected(verb));
        }
        let left = self.amount_captured - self.amount_refunded - self.amount_refund_pending - self.amount_disputed;
        let amount = amount.unwrap_or(left);
        if amount < 1 || amount > left {
            let message = format!("amount must be between 1 and the {left} still captured");
            let refusal = if amount > left || left == 0 {
                Refusal::conflict(exceeds, message, Some(self.status.as_str())).with_param("amount")
            } else {
                Refusal::invalid("amount_out_of_range", "amount", message)
            };
            return Err(refusal);
        }
        Ok(amount)
    }

    fn approve(&mut self, last4: &str, now_ms: i64) -> Notice {
        self.card_last4 = Some(last4.to_owned());
        self.last_error = None;
        self.authorized_ms = Some(now_ms);
        self.status = Status::Authorized;
        match self.capture {
            CaptureMode::Manual => Notice::Authorized,
            CaptureMode::Automatic => {
                self.status = Status::Captured;
                self.amount_captured = self.amount;
                self.captured_ms = Some(now_ms);
                Notice::Captured
            }
        }
    }

    fn decline(&mut self, code: &str, message: &str) -> Notice {
        self.status = Status::RequiresPayment;
        self.card_last4 = None;
        self.last_error = Some(LastError { code: code.to_owned(), message: message.to_owned() });
        Notice::Declined
    }

    fn end(&mut self, reason: CancelReason, now_ms: i64) -> Notice {
        self.status = Status::Canceled;
        self.canceled_ms = Some(now_ms);
        self.cancel_reason = Some(reason);
        Notice::Canceled
    }

    fn unexpected(&self, verb: &str) -> Refusal {
        Refusal::conflict(
            "payment_unexpected_state",
            format!("a payment that is {} can't be {verb}", self.status.as_str()),
            Some(self.status.as_str()),
        )
    }
}

/// What the bank says about one card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Approved { last4: String },
    Challenge { last4: String },
    Declined { code: &'static str, message: &'static str },
}

impl Verdict {
    /// Reads a typed card number; `None` when it is not one (nothing was tried then).
    pub(super) fn of(card: &str, decline_all: bool) -> Option<Self> {
        let digits: String = card.chars().filter(|c| !matches!(c, ' ' | '-' | '\u{a0}')).collect();
        let readable = (12..=19).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !readable || !luhn(&digits) {
            return None;
        }
        if decline_all {
            return Some(Self::Declined { code: "card_declined", message: "Your bank declined this card." });
        }
        let last4 = digits[digits.len() - 4..].to_owned();
        Some(match digits.as_str() {
            "4242424242424242" => Self::Approved { last4 },
            "4000000000003220" => Self::Challenge { last4 },
            "4000000000009995" => {
                Self::Declined { code: "insufficient_funds", message: "There is not enough money on this card." }
            }
            "4000000000000002" => Self::Declined { code: "card_declined", message: "Your bank declined this card." },
            _ => Self::Declined {
                code: "test_mode_live_card",
                message: "This is a test page: only the test cards listed below can pay.",
            },
        })
    }
}

/// The checksum of a card number, which catches most typing mistakes.
fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(position, byte)| {
            let digit = u32::from(byte - b'0');
            match (position % 2, digit * 2) {
                (0, _) => digit,
                (_, double) if double > 9 => double - 9,
                (_, double) => double,
            }
        })
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_read_and_checked() {
        assert!(matches!(Verdict::of("4242 4242-4242 4242", false), Some(Verdict::Approved { .. })));
        assert!(matches!(Verdict::of("4242424242424242", true), Some(Verdict::Declined { .. })));
        assert!(matches!(Verdict::of("4000000000003220", false), Some(Verdict::Challenge { .. })));
        for code in ["4000000000000002", "4000000000009995", "5555555555554444"] {
            assert!(matches!(Verdict::of(code, false), Some(Verdict::Declined { .. })), "{code}");
        }
        for unreadable in ["", "4242", "4242424242424241", "４２４２ 4242 4242 4242", "not a card number"] {
            assert_eq!(Verdict::of(unreadable, false), None, "{unreadable}");
        }
    }
}
