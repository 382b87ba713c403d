//! `stararena payout`: what was transferred to an organization, noted by who runs the installation.

use super::{print, with_backend};
use backend::day_text;
use clap::Subcommand;
use domain::PayoutId;
use domain::organizer::payouts::{PayoutForm, PayoutView};

#[derive(clap::Args)]
pub(super) struct Whose {
    /// Name of the organization
    #[arg(long)]
    organization: String,
}

#[derive(Subcommand)]
pub(super) enum PayoutCommand {
    /// Note a transfer, once under its reference, and print its id
    Record {
        #[command(flatten)]
        whose: Whose,
        /// In major units, such as 1234.50
        #[arg(long)]
        amount: String,
        /// Three letters, such as EUR
        #[arg(long)]
        currency: String,
        /// When the bank made it, such as 2026-01-31
        #[arg(long)]
        day: String,
        /// What the bank's statement says
        #[arg(long)]
        reference: String,
    },
    /// List what is owed, and every transfer, the newest first
    List {
        #[command(flatten)]
        whose: Whose,
    },
    /// Reverse a payout that came back or was noted wrongly
    Reverse {
        #[command(flatten)]
        whose: Whose,
        /// Its id
        #[arg(value_name = "ID")]
        id: PayoutId,
        /// Why
        #[arg(long)]
        reason: String,
    },
}

pub(super) async fn run(command: PayoutCommand) -> anyhow::Result<()> {
    with_backend(async |backend| {
        match command {
            PayoutCommand::Record { whose, amount, currency, day, reference } => {
                let member = backend.command_line(&whose.organization).await?;
                let form = PayoutForm { amount, currency, day, reference };
                print(&format!("payout {}", backend.record_payout_for(&member, &form).await?));
            }
            PayoutCommand::List { whose } => {
                let member = backend.command_line(&whose.organization).await?;
                let mut page = backend.payouts_of(&member, None).await?;
                for amount in &page.owed {
                    print(&format!("owed {amount}"));
                }
                loop {
                    for payout in &page.payouts {
                        print(&line(payout)?);
                    }
                    let Some(next) = page.next else { break };
                    page = backend.payouts_of(&member, Some(next)).await?;
                }
            }
            PayoutCommand::Reverse { whose, id, reason } => {
                let member = backend.command_line(&whose.organization).await?;
                backend.reverse_payout_for(&member, id, &reason).await?;
                print(&format!("payout {id} is reversed"));
            }
        }
        Ok(())
    })
    .await
}

/// A payout in one line. People wrote its texts: as literals they move no cursor.
fn line(payout: &PayoutView) -> anyhow::Result<String> {
    let PayoutView { id, amount, day, reference, .. } = payout;
    let mut text = format!("{id} {} {amount} {reference:?}", day_text(day.at)?);
    if let Some(reversal) = &payout.reversed {
        text.push_str(&format!(" (reversed: {:?})", reversal.reason));
    }
    Ok(text)
}
