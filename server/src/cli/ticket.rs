//! `stararena ticket`: what a door would say about a code, and what a machine's people may do to tickets.

use super::{print, with_backend};
use clap::Subcommand;
use domain::ticket::change::Verdict;
use domain::{OrderId, PerformanceId};
use std::process::ExitCode;

#[derive(Subcommand)]
pub(super) enum TicketCommand {
    /// Say what a door says about a code; ends with 1 when it would not let its holder in
    Verify {
        /// What the QR code says
        #[arg(allow_hyphen_values = true)]
        code: String,
        /// The performance at whose door it is shown; the one that the code names otherwise
        #[arg(long)]
        performance: Option<PerformanceId>,
    },
    /// Make doors refuse the tickets of an order for now
    Freeze {
        /// The order
        order: OrderId,
    },
    /// Make frozen tickets of an order valid again
    Thaw {
        /// The order
        order: OrderId,
    },
}

pub(super) async fn run(command: TicketCommand) -> anyhow::Result<ExitCode> {
    with_backend(async |backend| {
        let (order, frozen) = match command {
            TicketCommand::Verify { code, performance } => {
                let found = backend.examine_ticket(&code, performance).await?;
                print(words(found.verdict));
                if let Some(code) = found.code {
                    print(&format!("performance {}", code.performance));
                    print(&format!("ticket {}, issue {}, key {}", code.ticket, code.issue, code.key_id));
                }
                if let Some(reason) = found.reason {
                    print(&format!("revoked because of: {reason}"));
                }
                if let Some(name) = found.name {
                    print(&format!("name: {name}"));
                }
                let valid = found.verdict == Verdict::Valid;
                return Ok(if valid { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
            TicketCommand::Freeze { order } => (order, true),
            TicketCommand::Thaw { order } => (order, false),
        };
        let count = backend.freeze_tickets(order, frozen).await?;
        print(&format!("{count} tickets {}", if frozen { "frozen" } else { "valid again" }));
        Ok(ExitCode::SUCCESS)
    })
    .await
}

/// A verdict, and what it means at a door.
fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::Revoked => "revoked: another ticket took its place, or the money went back",
        Verdict::Frozen => "frozen: the payment is disputed",
        Verdict::Pending => "pending: it is offered to somebody who has not answered",
        Verdict::Unknown => "unknown: rightly signed, and no ticket of this installation",
        Verdict::UnknownKey => "unknown key: it is none of STARARENA_TICKET_KEYS",
        Verdict::Forged => "forged: the signature is wrong",
        Verdict::OtherPerformance => "other performance: not for this door",
        Verdict::Malformed => "malformed: not a ticket code",
    }
}
