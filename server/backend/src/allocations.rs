//! Kept seats as fans meet them: codes, accessible places, and what an account may take beside the
//! seats on general sale.
//!
//! Redis decides by the number in a seat's byte. This module says which numbers an account may take:
//! a question to Postgres that is asked only where a wished seat is kept.

use crate::accounts::Client;
use crate::backend::Backend;
use crate::catalog::Sale;
use crate::error::{Result, not_found, refuse};
use crate::postgres::allocations::{self as rows, AllocationRow};
use crate::postgres::{detached, grants};
use domain::account::Session;
use domain::allocation::{AllocationKind, Opened, Openings, check_companions, normal_code};
use domain::hold::{HoldRequest, SeatByte, SeatState};
use domain::organizer::pricing::SeatSet;
use domain::{AccountId, AllocationId, Code, PerformanceId, SeatNo};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

/// Codes that one account may try a minute. The shortest code has 36⁶ forms.
pub(crate) const CODES_PER_MIN: u32 = 10;

/// Which seats of a performance are kept, as of one version of its allocations.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    version: i64,
    /// Number of its allocation by seat.
    numbers: HashMap<u32, u8>,
    pub(crate) rows: Vec<AllocationRow>,
}

impl Kept {
    fn number(&self, seat: SeatNo) -> Option<u8> {
        self.numbers.get(&seat.0).copied()
    }

    fn is_accessible(&self, number: u8) -> bool {
        self.rows.iter().any(|row| row.number == number && row.kind == AllocationKind::Accessible)
    }

    /// Whether any place that a request may come to is kept.
    fn touches(&self, sale: &Sale, request: &HoldRequest) -> bool {
        let in_area = |area: u32| {
            let ranges = sale.seats.areas.get(&area);
            ranges
                .into_iter()
                .flatten()
                .any(|(first, last)| self.numbers.keys().any(|seat| (first..=last).contains(&seat)))
        };
        !self.numbers.is_empty()
            && (request.seats.iter().any(|seat| self.number(*seat).is_some())
                || request.areas.iter().any(|wish| in_area(wish.area)))
    }
}

/// What is stored of a code: it opens this allocation alone, and can't be read back.
pub(crate) fn code_digest(allocation: AllocationId, normal: &str) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(allocation.0.as_bytes());
    hash.update(normal.as_bytes());
    hash.finalize().to_vec()
}

impl Backend {
    /// The kept seats of a sale: read again only when its allocations changed.
    pub(crate) async fn kept(&self, sale: &Sale) -> Result<Arc<Kept>> {
        let (id, version) = (sale.id(), sale.row.allocation_version);
        if version == 0 {
            return Ok(Arc::default());
        }
        let cached = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(kept) = cached.filter(|kept| kept.version >= version) {
            return Ok(kept);
        }
        let open = rows::open(&self.pg, id).await?;
        let numbers = rows::kept(&self.pg, id).await?.into_iter().collect();
        let kept = Arc::new(Kept { version, numbers, rows: open });
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&kept));
        Ok(kept)
    }

    /// Numbers of the allocations that an account may take from, as far as the request needs any.
    ///
    /// # Errors
    /// `limit_exceeded` for more companions than come with accessible places.
    pub(crate) async fn may_take(&self, sale: &Sale, account: AccountId, request: &HoldRequest) -> Result<Vec<u8>> {
        let kept = self.kept(sale).await?;
        if !kept.touches(sale, request) {
            return Ok(Vec::new());
        }
        let numbers = grants::numbers(&self.pg, account, sale.id()).await?;
        let mine = request.seats.iter().filter(|seat| {
            kept.number(**seat).is_some_and(|number| numbers.contains(&number) && kept.is_accessible(number))
        });
        let (accessible, others): (Vec<SeatNo>, Vec<SeatNo>) =
            mine.partition(|seat| sale.seats.seats.get(seat.0 as usize).is_some_and(|row| row.accessible));
        check_companions(accessible.len(), others.len())?;
        Ok(numbers)
    }

    /// Whether a refusal of kept seats came as a surprise: allocations changed within the last second.
    pub(crate) async fn is_news(&self, sale: &Sale, reserved: &[SeatNo]) -> Result<bool> {
        let kept = self.kept(sale).await?;
        Ok(reserved.iter().any(|seat| kept.number(*seat).is_none()))
    }

    /// What of the kept seats concerns this fan, or somebody who isn't signed in.
    ///
    /// # Errors
    /// `not_found`; `unavailable` while the seats are being rebuilt, for who may take some.
    pub async fn openings(&self, session: Option<&Session>, id: PerformanceId) -> Result<Openings> {
        let sale = self.sale(id).await?;
        let kept = self.kept(&sale).await?;
        let mut openings = Openings {
            codes: kept.rows.iter().any(|row| row.kind.has_codes()),
            accessible: kept.rows.iter().any(|row| row.kind == AllocationKind::Accessible),
            opened: Vec::new(),
        };
        let Some(session) = session.filter(|_| !kept.rows.is_empty()) else { return Ok(openings) };
        let numbers = grants::numbers(&self.pg, session.account, id).await?;
        if numbers.is_empty() {
            return Ok(openings);
        }
        let Some(read) = self.seats.snapshot(&sale.keys, sale.row.epoch).await? else {
            return crate::holds::rebuilding();
        };
        let mut found: HashMap<u8, (Vec<SeatNo>, Vec<SeatNo>)> = HashMap::new();
        for (seat, byte) in (0_u32..).map(SeatNo).zip(read.bytes.into_iter().map(SeatByte)) {
            if byte.allocation() != 0 && byte.state() != SeatState::Blocked {
                let (seats, free) = found.entry(byte.allocation()).or_default();
                seats.push(seat);
                if byte.state() == SeatState::Available {
                    free.push(seat);
                }
            }
        }
        openings.opened = kept
            .rows
            .iter()
            .filter(|row| numbers.contains(&row.number))
            .map(|row| {
                let (seats, free) = found.remove(&row.number).unwrap_or_default();
                let set = |seats: Vec<SeatNo>| seats.into_iter().collect::<SeatSet>();
                Opened { name: row.name.clone(), kind: row.kind, seats: set(seats), free: set(free) }
            })
            .collect();
        Ok(openings)
    }

    /// The free seats that are open to this fan beside those on general sale, by number.
    pub(crate) async fn opened_free(&self, session: Option<&Session>, id: PerformanceId) -> Result<HashSet<usize>> {
        let Some(session) = session else { return Ok(HashSet::new()) };
        Ok(self.openings(Some(session), id).await?.free().list().iter().map(|seat| seat.0 as usize).collect())
    }

    /// Opens the seats that a code is for. Entering it again changes nothing.
    ///
    /// # Errors
    /// `code_invalid`, the same whether there is no such code, it was revoked, was used up, or belongs to
    /// another performance; `too_many_requests`; `not_found` for an unknown performance.
    pub async fn open_by_code(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        code: &str,
        client: &Client,
    ) -> Result<()> {
        self.code_address_limit.check(client.ip)?;
        self.code_account_limit.check(session.account)?;
        let wrong = || refuse(Code::CodeInvalid, "this code opens no seats of this performance");
        let Ok(normal) = normal_code(code) else { return wrong() };
        self.sale(id).await?;
        // Not from the cache: a code that was made a moment ago is good.
        let open: Vec<_> =
            rows::open(&self.pg, id).await?.into_iter().filter(|row| row.kind.has_codes()).map(|row| row.id).collect();
        let digests: Vec<Vec<u8>> = open.iter().map(|allocation| code_digest(*allocation, &normal)).collect();
        let open: Vec<uuid::Uuid> = open.into_iter().map(|allocation| allocation.0).collect();
        let Some((allocation, code)) = grants::find_code(&self.pg, &open, &digests).await? else { return wrong() };
        let (this, account, now) = (Arc::clone(self), session.account, self.now());
        let counted = detached(async move {
            let mut tx = this.pg.begin().await?;
            if !grants::insert_grant(&mut *tx, allocation, account, Some(code), now).await? {
                return Ok(true);
            }
            // The row of the code is locked from here on: fans who use it at once are counted one by one.
            if !grants::count_use(&mut *tx, code).await? {
                tx.rollback().await?;
                return Ok(false);
            }
            tx.commit().await?;
            Ok(true)
        })
        .await?;
        if counted { Ok(()) } else { wrong() }
    }

    /// Opens the accessible places to who says that they need one. No proof is asked for.
    ///
    /// # Errors
    /// `invalid_input` when nothing was declared; `not_found` where no such places are kept.
    pub async fn open_accessible(self: &Arc<Self>, session: &Session, id: PerformanceId, declared: bool) -> Result<()> {
        if !declared {
            return refuse(Code::InvalidInput, "need: say that somebody of yours needs an accessible seat");
        }
        self.sale(id).await?;
        let open = rows::open(&self.pg, id).await?;
        let open: Vec<_> = open.into_iter().filter(|row| row.kind == AllocationKind::Accessible).collect();
        if open.is_empty() {
            return not_found("allocation of accessible seats");
        }
        let (this, account, now) = (Arc::clone(self), session.account, self.now());
        detached(async move {
            for row in open {
                grants::insert_grant(&this.pg, row.id, account, None, now).await?;
            }
            Ok(())
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_another_digest_in_each_allocation() {
        let (a, b) = (AllocationId(uuid::Uuid::from_u128(1)), AllocationId(uuid::Uuid::from_u128(2)));
        assert_ne!(code_digest(a, "ABCDEF"), code_digest(b, "ABCDEF"));
        assert_eq!(code_digest(a, "ABCDEF"), code_digest(a, "ABCDEF"));
        assert_eq!(code_digest(a, "ABCDEF").len(), 32);
    }
}
