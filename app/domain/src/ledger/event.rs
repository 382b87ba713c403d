//! The business events that move money, and the posting of each; the table is in [`super`].

use super::{Account, LedgerError, Move, Origin, Posting, Shares, Subject};
use crate::ids::{AttemptId, DisputeId, OrderId, OrganizationId, RefundId};
use crate::money::{Currency, Money};
use serde::{Deserialize, Serialize};

/// What happened to money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The money of an order that owns its seats was captured.
    OrderCaptured {
        /// The attempt that was captured.
        attempt: AttemptId,
        /// Its order.
        order: OrderId,
        /// Currency of the shares.
        currency: Currency,
        /// Whose it is.
        shares: Shares,
    },
    /// Money was captured without a right to seats: it is to be returned.
    LateMoney {
        /// The attempt that was captured.
        attempt: AttemptId,
        /// Its order.
        order: OrderId,
        /// How much.
        amount: Money,
    },
    /// The seats of late money could be claimed again: it is a sale after all.
    LateMoneyReclaimed {
        /// The attempt that was captured.
        attempt: AttemptId,
        /// Its order.
        order: OrderId,
        /// Currency of the shares.
        currency: Currency,
        /// Whose it is.
        shares: Shares,
    },
    /// A refund was requested: its amount waits.
    RefundReserved {
        /// The refund.
        refund: RefundId,
        /// Its order.
        order: OrderId,
        /// Currency of the amount.
        currency: Currency,
        /// From where.
        origin: Origin,
    },
    /// The provider gave the money back.
    RefundSucceeded {
        /// The refund.
        refund: RefundId,
        /// Its order.
        order: OrderId,
        /// How much.
        amount: Money,
    },
    /// The refund ended without money going back, or was rejected.
    RefundFailed {
        /// The refund.
        refund: RefundId,
        /// Its order.
        order: OrderId,
        /// Currency of the amount.
        currency: Currency,
        /// From where it was reserved.
        origin: Origin,
    },
    /// The money came back from the fan's bank. Stripe books it to the merchant's balance.
    RefundReturned {
        /// The refund.
        refund: RefundId,
        /// Its order.
        order: OrderId,
        /// Currency of the amount.
        currency: Currency,
        /// From where it was reserved.
        origin: Origin,
    },
    /// The provider withdrew what is disputed. Stripe and Adyen do so when a dispute opens.
    DisputeOpened {
        /// The dispute.
        dispute: DisputeId,
        /// The order that was paid with it.
        order: OrderId,
        /// How much, without the provider's fee.
        amount: Money,
    },
    /// The provider returned what it had withdrawn.
    DisputeWon {
        /// The dispute.
        dispute: DisputeId,
        /// The order that was paid with it.
        order: OrderId,
        /// How much.
        amount: Money,
    },
    /// What was withdrawn stays with the payer.
    DisputeLost {
        /// The dispute.
        dispute: DisputeId,
        /// The order that was paid with it.
        order: OrderId,
        /// Currency of the amount.
        currency: Currency,
        /// Who bears it.
        origin: Origin,
    },
    /// The provider charged a fee, or, below zero, gave one back.
    ProviderFee {
        /// Name of the provider.
        provider: String,
        /// Key of the line in its settlement.
        line: String,
        /// How much.
        amount: Money,
    },
    /// The provider paid out to the bank, or, below zero, collected from it.
    ProviderPayout {
        /// Name of the provider.
        provider: String,
        /// Id of the payout there.
        payout: String,
        /// How much.
        amount: Money,
    },
    /// A payout of the provider did not reach the bank: it is at the provider again.
    ProviderPayoutFailed {
        /// Name of the provider.
        provider: String,
        /// Id of the payout there.
        payout: String,
        /// How much; below zero where it was to be collected.
        amount: Money,
    },
    /// An organizer was paid out from the bank.
    OrganizerPayout {
        /// Id of the payout.
        payout: String,
        /// The organizer.
        organization: OrganizationId,
        /// How much.
        amount: Money,
    },
    /// A payout to an organizer did not happen after all, or came back.
    OrganizerPayoutReversed {
        /// Id of the payout.
        payout: String,
        /// The organizer.
        organization: OrganizationId,
        /// How much.
        amount: Money,
    },
}

/// Which way the money of an event goes.
#[derive(Clone, Copy)]
enum Way {
    /// The first account is debited.
    Debit,
    /// The first account is credited.
    Credit,
}

fn moves(account: Account, way: Way, others: impl IntoIterator<Item = (Account, i64)>) -> Vec<Move> {
    let one = |(other, minor)| match way {
        Way::Debit => Move { debit: account, credit: other, minor },
        Way::Credit => Move { debit: other, credit: account, minor },
    };
    others.into_iter().map(one).collect()
}

impl Event {
    /// The balanced posting of the event.
    ///
    /// # Errors
    /// [`LedgerError`] names the source key of an event that moves nothing, or less than nothing where
    /// money goes one way.
    pub fn posting(&self) -> Result<Posting, LedgerError> {
        let (source, subject, currency, moves) = self.parts();
        let both_ways =
            matches!(self, Self::ProviderFee { .. } | Self::ProviderPayout { .. } | Self::ProviderPayoutFailed { .. });
        if !both_ways && moves.iter().any(|one| one.minor < 0) {
            return Err(LedgerError::Negative(source));
        }
        Posting::of(source, subject, currency, moves)
    }

    fn parts(&self) -> (String, Subject, Currency, Vec<Move>) {
        use Account as A;
        use Way::{Credit, Debit};
        match self {
            Self::OrderCaptured { attempt, order, currency, shares } => {
                let moves = moves(A::ProviderClearing, Debit, shares.accounts());
                (format!("capture:{attempt}"), Subject::Order(*order), *currency, moves)
            }
            Self::LateMoney { attempt, order, amount } => {
                let moves = moves(A::ProviderClearing, Debit, [(A::OrderReceivable, amount.minor)]);
                (format!("capture:{attempt}"), Subject::Order(*order), amount.currency, moves)
            }
            Self::LateMoneyReclaimed { attempt, order, currency, shares } => {
                let moves = moves(A::OrderReceivable, Debit, shares.accounts());
                (format!("reclaim:{attempt}"), Subject::Order(*order), *currency, moves)
            }
            Self::RefundReserved { refund, order, currency, origin } => {
                let moves = moves(A::RefundsPayable, Credit, origin.accounts());
                (format!("refund-reserved:{refund}"), Subject::Order(*order), *currency, moves)
            }
            Self::RefundSucceeded { refund, order, amount } => {
                let moves = moves(A::RefundsPayable, Debit, [(A::ProviderClearing, amount.minor)]);
                (format!("refund:{refund}"), Subject::Order(*order), amount.currency, moves)
            }
            Self::RefundFailed { refund, order, currency, origin } => {
                let moves = moves(A::RefundsPayable, Debit, origin.accounts());
                (format!("refund-failed:{refund}"), Subject::Order(*order), *currency, moves)
            }
            Self::RefundReturned { refund, order, currency, origin } => {
                let moves = moves(A::ProviderClearing, Debit, origin.accounts());
                (format!("refund-returned:{refund}"), Subject::Order(*order), *currency, moves)
            }
            Self::DisputeOpened { dispute, order, amount } => {
                let moves = moves(A::Disputes, Debit, [(A::ProviderClearing, amount.minor)]);
                (format!("dispute:{dispute}"), Subject::Order(*order), amount.currency, moves)
            }
            Self::DisputeWon { dispute, order, amount } => {
                let moves = moves(A::ProviderClearing, Debit, [(A::Disputes, amount.minor)]);
                (format!("dispute-won:{dispute}"), Subject::Order(*order), amount.currency, moves)
            }
            Self::DisputeLost { dispute, order, currency, origin } => {
                let moves = moves(A::Disputes, Credit, origin.accounts());
                (format!("dispute-lost:{dispute}"), Subject::Order(*order), *currency, moves)
            }
            Self::ProviderFee { provider, line, amount } => {
                let moves = moves(A::ProviderFees, Debit, [(A::ProviderClearing, amount.minor)]);
                (format!("provider-fee:{provider}:{line}"), Subject::Provider, amount.currency, moves)
            }
            Self::ProviderPayout { provider, payout, amount } => {
                let moves = moves(A::Bank, Debit, [(A::ProviderClearing, amount.minor)]);
                (format!("provider-payout:{provider}:{payout}"), Subject::Provider, amount.currency, moves)
            }
            Self::ProviderPayoutFailed { provider, payout, amount } => {
                let moves = moves(A::ProviderClearing, Debit, [(A::Bank, amount.minor)]);
                (format!("provider-payout-failed:{provider}:{payout}"), Subject::Provider, amount.currency, moves)
            }
            Self::OrganizerPayout { payout, organization, amount } => {
                let moves = moves(A::OrganizerPayable, Debit, [(A::Bank, amount.minor)]);
                (format!("organizer-payout:{payout}"), Subject::Organization(*organization), amount.currency, moves)
            }
            Self::OrganizerPayoutReversed { payout, organization, amount } => {
                let moves = moves(A::Bank, Debit, [(A::OrganizerPayable, amount.minor)]);
                let source = format!("organizer-payout-reversed:{payout}");
                (source, Subject::Organization(*organization), amount.currency, moves)
            }
        }
    }
}
