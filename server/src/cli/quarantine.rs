//! `stararena quarantine`: what fits no payment of ours, of all organizations and of none.

use super::{print, with_backend};
use backend::SetAsideMoney;
use clap::Subcommand;
use domain::Millis;

#[derive(Subcommand)]
pub(super) enum QuarantineCommand {
    /// List what waits, with its number
    List {
        /// What has ended as well
        #[arg(long)]
        ended: bool,
    },
    /// Give money back now, rather than when its time comes
    Return {
        /// Its number
        #[arg(value_name = "NUMBER")]
        id: i64,
    },
    /// Say that it was settled another way
    Settle {
        /// Its number
        #[arg(value_name = "NUMBER")]
        id: i64,
        /// How it was settled
        #[arg(long)]
        note: String,
    },
}

pub(super) async fn run(command: QuarantineCommand) -> anyhow::Result<()> {
    with_backend(async |backend| {
        match command {
            QuarantineCommand::List { ended } => {
                for row in backend.set_aside(ended).await? {
                    print(&line(&row));
                }
            }
            QuarantineCommand::Return { id } => {
                backend.return_by_command(id).await?;
                print(&format!("{id} goes back as soon as a worker runs"));
            }
            QuarantineCommand::Settle { id, note } => {
                backend.settle_by_command(id, &note).await?;
                print(&format!("{id} is settled"));
            }
        }
        Ok(())
    })
    .await
}

/// A row in one line. Others wrote its texts: as literals they move no cursor and start no line.
fn line(row: &SetAsideMoney) -> String {
    let (kind, state, reason) = (row.kind.as_str(), row.state.as_str(), &row.reason);
    let mut text = format!("{} {kind:<8} {state:<9} since {}", row.id, instant(row.since));
    if let Some(returns) = row.returns {
        text.push_str(&format!(", returns {}", instant(returns)));
    }
    text.push_str(&format!(" {} {:?}", row.provider, row.reference));
    match row.order {
        Some(order) => text.push_str(&format!(" order {order}")),
        None => text.push_str(" no order"),
    }
    if let Some(amount) = row.amount {
        text.push_str(&format!(" {amount}"));
    }
    text.push_str(&format!(": {reason:?}"));
    for (name, value) in [("error", &row.error), ("note", &row.note)] {
        if let Some(value) = value {
            text.push_str(&format!(" ({name} {value:?})"));
        }
    }
    text
}

/// An instant in seconds since 1970, which every shell can turn into a time of its own.
fn instant(at: Millis) -> String {
    format!("@{}", at.0.div_euclid(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::organizer::disputes::{SetAsideKind, SetAsideState};

    #[test]
    fn a_row_is_one_line_whatever_its_texts_are() {
        let row = SetAsideMoney {
            id: 7,
            kind: SetAsideKind::Payment,
            state: SetAsideState::Waiting,
            order: None,
            provider: "sandbox".to_owned(),
            reference: "pay_1\n\u{1b}[2J".to_owned(),
            reason: "another amount".to_owned(),
            amount: None,
            since: Millis(1_000),
            returns: Some(Millis(3_601_000)),
            note: None,
            error: Some("no\nanswer".to_owned()),
        };
        let text = line(&row);
        assert!(!text.contains(['\n', '\u{1b}']), "{text}");
        assert!(text.starts_with("7 payment  waiting   since @1, returns @3601 sandbox "), "{text}");
        assert!(text.contains("no order") && text.contains("another amount"), "{text}");
    }
}
