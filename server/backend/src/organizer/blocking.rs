//! Seats off sale in a published performance: one change of Postgres and Redis.
//!
//! The row of the performance is locked against a new epoch while Redis is asked, so that a rebuild
//! either comes first, and then Redis refuses, or reads what was committed here. When the process
//! dies between the two stores, Redis has the seats blocked and Postgres doesn't, or the reverse of
//! it while unblocking: in either case doing the same again makes both agree.

use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Error, Result, not_found, refuse};
use crate::organizer::Member;
use crate::postgres::{catalog, detached, prices};
use crate::redis::ShortAnswer;
use domain::hold::SeatState;
use domain::organizer::pricing::{SeatSet, check_name};
use domain::{Code, PerformanceId, Refusal, SeatNo};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Most seats in one change: one script runs over all of them while fans wait behind it.
const SEATS_AT_ONCE_MAX: usize = 5_000;
/// Longest wait for Redis inside of the transaction, far below the time after which Postgres ends it.
const REDIS_TIMEOUT: Duration = Duration::from_secs(2);
/// Most seats that a refusal names by section, row and number.
const NAMED_MAX: usize = 10;

/// What is done with seats.
#[derive(Clone, Debug)]
pub(super) enum BlockChange {
    /// Off sale, for this reason.
    Block(String),
    /// Back on sale.
    Unblock,
}

impl Backend {
    /// Takes seats off sale or puts them back, all or none, and writes down who did.
    pub(super) async fn change_blocked(
        self: &Arc<Self>,
        id: PerformanceId,
        seats: SeatSet,
        change: BlockChange,
        member: &Member,
    ) -> Result<()> {
        if let BlockChange::Block(reason) = &change {
            check_name("reason", reason)?;
        }
        if seats.is_empty() || seats.len() > SEATS_AT_ONCE_MAX {
            return refuse(Code::InvalidInput, format!("seats: 1 to {SEATS_AT_ONCE_MAX} seats are expected at once"));
        }
        let sale = self.sale(id).await?;
        let unknown: Vec<SeatNo> = seats.list().iter().copied().filter(|s| s.0 >= sale.row.seat_count).collect();
        if !unknown.is_empty() {
            let text = format!("seats: there is no seat {} in this performance", domain::ids::join_seats(&unknown));
            return Err(Error::Refused(Refusal::new(Code::UnknownSeat, text).with_seats(unknown)));
        }
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move { this.change_blocked_now(&sale, &seats, &change, &member).await }).await
    }

    async fn change_blocked_now(
        &self,
        sale: &Sale,
        seats: &SeatSet,
        change: &BlockChange,
        member: &Member,
    ) -> Result<()> {
        let id = sale.id();
        let numbers: Vec<i32> = seats.list().iter().filter_map(|s| i32::try_from(s.0).ok()).collect();
        let mut tx = self.pg.begin().await?;
        let Some(epoch) = prices::hold_epoch(&mut *tx, id).await? else { return not_found("performance") };
        let (word, reason) = match change {
            BlockChange::Block(reason) => {
                catalog::insert_blocked(&mut *tx, id, &numbers, reason.trim()).await?;
                ("seats.block", Some(reason.trim()))
            }
            BlockChange::Unblock => {
                if catalog::delete_blocked(&mut *tx, id, &numbers).await? == 0 {
                    return refuse(Code::InvalidInput, "seats: none of them is blocked");
                }
                ("seats.unblock", None)
            }
        };
        let detail = json!({ "seats": seats.len(), "reason": reason, "numbers": seats });
        self.record(&mut *tx, member, word, &format!("performance {id}"), &detail).await?;
        // Dropping the transaction on any refusal takes the rows back.
        tokio::time::timeout(REDIS_TIMEOUT, self.move_bytes(sale, epoch, seats, change)).await.map_err(|_| {
            Refusal::new(Code::Unavailable, "the seats can't be reached right now; try the same again")
        })??;
        tx.commit().await?;
        Ok(())
    }

    async fn move_bytes(&self, sale: &Sale, epoch: i64, seats: &SeatSet, change: &BlockChange) -> Result<()> {
        let (available, blocked) = (SeatState::Available, SeatState::Blocked);
        // A seat without a price stays off sale, whatever is said about it.
        let (list, from, to): (Vec<SeatNo>, SeatState, SeatState) = match change {
            BlockChange::Block(_) => (seats.list().to_vec(), available, blocked),
            BlockChange::Unblock => {
                let priced = seats.list().iter().copied().filter(|seat| sale.price(*seat).is_some());
                (priced.collect(), blocked, available)
            }
        };
        match self.seats.block(&sale.keys, epoch, &list, from, to).await? {
            ShortAnswer::Done | ShortAnswer::Again => Ok(()),
            ShortAnswer::Rebuilding => crate::holds::rebuilding(),
            // Sold or held: not blocked in Redis any more, so that only the row was left to go.
            ShortAnswer::No(word, taken) if word == "taken" && matches!(change, BlockChange::Unblock) => {
                let rest: Vec<SeatNo> = list.into_iter().filter(|seat| !taken.contains(seat)).collect();
                match self.seats.block(&sale.keys, epoch, &rest, from, to).await? {
                    ShortAnswer::Done | ShortAnswer::Again => Ok(()),
                    _ => crate::holds::rebuilding(),
                }
            }
            ShortAnswer::No(word, seats) => {
                let code = if word == "unknown" { Code::UnknownSeat } else { Code::SeatTaken };
                let text = format!("seats: held or sold already: {}", name_seats(sale, &seats));
                Err(Error::Refused(Refusal::new(code, text).with_seats(seats)))
            }
        }
    }
}

/// Section, row and number of the first few seats.
pub(super) fn name_seats(sale: &Sale, seats: &[SeatNo]) -> String {
    let mut names: Vec<String> = seats
        .iter()
        .filter_map(|seat| sale.seats.seats.get(seat.0 as usize))
        .take(NAMED_MAX)
        .map(|seat| format!("{} {} {}", seat.section, seat.row, seat.label))
        .collect();
    if seats.len() > NAMED_MAX {
        names.push(format!("and {} more", seats.len() - NAMED_MAX));
    }
    names.join(", ")
}
