//! Seats kept for somebody, as organizers make, change and release them.
//!
//! Names, codes and accounts are rows alone. What moves seats changes both stores, in `moving`.

mod moving;
mod sold_out;

use moving::{By, Change};

use super::venue_time::{local_text, venue_instant};
use crate::allocations::code_digest;
use crate::backend::{Backend, random_bytes};
use crate::catalog::{Sale, zoned};
use crate::error::{Result, not_found, refuse};
use crate::organizer::Member;
use crate::postgres::allocations::{self as rows, AllocationRow};
use crate::postgres::grants::{self, CodeInsert, CodeRow};
use crate::postgres::{accounts, detached, events};
use domain::account::{Session, parse_email};
use domain::allocation::{AllocationKind, normal_code};
use domain::hold::{SeatByte, SeatState};
use domain::organizer::Action;
use domain::organizer::allocations::{
    AllocationForm, AllocationView, AllocationsView, CODES_MAX, CodeForm, CodeView, KeptCounts, KeptStep, ReleasedView,
    check_name, check_release,
};
use domain::organizer::pricing::{SeatSet, tell_seats};
use domain::{AllocationCodeId, AllocationId, Code, Millis, PerformanceId, Refusal};
use serde_json::json;
use std::sync::Arc;

/// Lines in which the page tells where the seats of an allocation are.
const PLACES_MAX: usize = 6;
/// Released allocations in the list.
const RELEASED_MAX: i64 = 20;
/// Letters and digits of codes that are made here: none that looks like another.
const CODE_ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Their length: 80 bits, with hyphens every four characters.
const CODE_CHARS: usize = 16;

/// A code that nobody can guess.
fn new_code() -> String {
    let bytes = random_bytes::<CODE_CHARS>();
    let letters = bytes.iter().map(|byte| char::from(CODE_ALPHABET[usize::from(byte % 32)]));
    let mut code = String::new();
    for (at, letter) in letters.enumerate() {
        if at > 0 && at % 4 == 0 {
            code.push('-');
        }
        code.push(letter);
    }
    code
}

fn gone<T>() -> Result<T> {
    not_found("allocation")
}

impl Backend {
    /// The allocations of a performance with their seats, codes and accounts.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `wrong_state` for a performance that is not published.
    pub async fn allocations(&self, session: &Session, id: PerformanceId) -> Result<AllocationsView> {
        let member = self.member(session, Action::ReadEvents).await?;
        let sale = self.own_sale(&member, id).await?;
        let open = rows::open(&self.pg, id).await?;
        let codes = grants::codes(&self.pg, id).await?;
        let accounts = grants::accounts(&self.pg, id).await?;
        let states = self.seats.snapshot(&sale.keys, sale.row.epoch).await.ok().flatten().map(|read| read.bytes);
        let mut views = Vec::with_capacity(open.len());
        for row in open {
            let seats: SeatSet = rows::seats(&self.pg, row.id).await?.into_iter().collect();
            let places = tell_seats(seats.list(), |seat| sale.seats.seat_label(seat), PLACES_MAX);
            let counts = states.as_ref().map(|states| count(&seats, states));
            let granted = accounts.iter().find(|(of, _)| *of == row.id).map_or(0, |(_, accounts)| *accounts);
            views.push(AllocationView {
                id: row.id,
                release: row.release.map(|at| local_text(at, &sale.row.time_zone)).transpose()?,
                codes: codes.iter().filter(|code| code.allocation == row.id).map(code_view).collect(),
                name: row.name,
                kind: row.kind,
                version: row.version,
                seats,
                places,
                counts,
                accounts: u32::try_from(granted).unwrap_or(u32::MAX),
            });
        }
        let released = rows::released(&self.pg, id, RELEASED_MAX).await?;
        Ok(AllocationsView {
            performance: id,
            title: sale.row.title.clone(),
            time_zone: sale.row.time_zone.clone(),
            open: views,
            released: released
                .into_iter()
                .map(|(name, kind, at)| Ok(ReleasedView { name, kind, at: zoned(at, &sale.row.time_zone)? }))
                .collect::<Result<_>>()?,
            suggested: new_code(),
        })
    }

    /// The sale of a published performance of the member's organization.
    async fn own_sale(&self, member: &Member, id: PerformanceId) -> Result<Arc<Sale>> {
        if events::owns_performance(&self.pg, member.organization, id).await? {
            return self.reload_sale(id).await;
        }
        match crate::postgres::drafts::get(&self.pg, member.organization, id).await? {
            Some(_) => refuse(Code::WrongState, "this performance is not published yet"),
            None => not_found("performance"),
        }
    }

    /// Keeps the chosen seats: all of them, or none.
    ///
    /// # Errors
    /// `invalid_input` names the field; `seat_taken` names seats that are held, sold or kept already;
    /// `unknown_seat`; `wrong_state` when as many allocations as there can be keep seats; `not_found`,
    /// `forbidden`, `unavailable`.
    pub async fn create_allocation(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        form: AllocationForm,
    ) -> Result<AllocationId> {
        let member = self.member(session, Action::EditEvents).await?;
        let sale = self.own_sale(&member, id).await?;
        let seats = chosen(&sale, &form.picked, &form.typed)?;
        let release = self.instant(&sale, &form.release)?;
        self.create_allocation_as(&member, &sale, (&form.name, form.kind.parse()?), seats, release).await
    }

    /// [`Backend::create_allocation`] for who was checked, such as the command line: seats by number.
    ///
    /// # Errors
    /// As there.
    pub async fn create_allocation_for(
        self: &Arc<Self>,
        member: &Member,
        id: PerformanceId,
        (name, kind): (&str, AllocationKind),
        seats: SeatSet,
        release: Option<Millis>,
    ) -> Result<AllocationId> {
        let sale = self.own_sale(member, id).await?;
        self.create_allocation_as(member, &sale, (name, kind), seats, release).await
    }

    async fn create_allocation_as(
        self: &Arc<Self>,
        member: &Member,
        sale: &Arc<Sale>,
        (name, kind): (&str, AllocationKind),
        seats: SeatSet,
        release: Option<Millis>,
    ) -> Result<AllocationId> {
        let name = check_name("name", name)?.to_owned();
        let release = check_release(release, self.now())?;
        let id = AllocationId(uuid::Uuid::now_v7());
        let change = Change::Create { name, kind, release, seats };
        self.move_kept(sale, id, change, By::Member(member.clone())).await?;
        Ok(id)
    }

    fn instant(&self, sale: &Sale, text: &str) -> Result<Option<Millis>> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        Ok(Some(venue_instant("release", text, &sale.row.time_zone)?))
    }

    /// Adds seats to an allocation, or takes them out of it in whatever state they are: all, or none.
    ///
    /// # Errors
    /// Those of [`Backend::create_allocation`]; `invalid_input` when seats to be taken out are not in it.
    pub async fn change_allocation_seats(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        allocation: AllocationId,
        step: KeptStep,
        (picked, typed): (&str, &str),
    ) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        let sale = self.own_sale(&member, id).await?;
        let seats = chosen(&sale, picked, typed)?;
        let change = match step {
            KeptStep::Add => Change::Add(seats),
            KeptStep::Remove => Change::Remove(seats),
        };
        self.move_kept(&sale, allocation, change, By::Member(member)).await
    }

    /// Puts all seats of an allocation on general sale now. Held seats stay held and sold ones sold. One
    /// that was released before is as it should be.
    ///
    /// # Errors
    /// `invalid_input` unless it is `sure`; `not_found`, `forbidden`, `unavailable`.
    pub async fn release_allocation(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        allocation: AllocationId,
        sure: bool,
    ) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        if !sure {
            return refuse(Code::InvalidInput, "sure: releasing can't be taken back, so it is to be confirmed");
        }
        self.release_allocation_for(&member, id, allocation).await
    }

    /// [`Backend::release_allocation`] for who was checked.
    ///
    /// # Errors
    /// As there.
    pub async fn release_allocation_for(
        self: &Arc<Self>,
        member: &Member,
        id: PerformanceId,
        allocation: AllocationId,
    ) -> Result<()> {
        let sale = self.own_sale(member, id).await?;
        self.move_kept(&sale, allocation, Change::Release, By::Member(member.clone())).await
    }

    /// The allocation of that name that keeps seats.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn allocation_by_name(&self, member: &Member, id: PerformanceId, name: &str) -> Result<AllocationId> {
        self.own_sale(member, id).await?;
        match rows::open(&self.pg, id).await?.into_iter().find(|row| row.name == name) {
            Some(row) => Ok(row.id),
            None => gone(),
        }
    }

    /// Gives an allocation another name and another instant of release.
    ///
    /// # Errors
    /// `invalid_input` names the field; `wrong_state` when it was changed since that version; `not_found`,
    /// `forbidden`.
    pub async fn edit_allocation(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        allocation: AllocationId,
        version: i32,
        (name, release): (&str, &str),
    ) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        let sale = self.own_sale(&member, id).await?;
        let name = check_name("name", name)?.to_owned();
        let release = check_release(self.instant(&sale, release)?, self.now())?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            rows::begin_change(&mut *tx, id).await?;
            let Some(before) = rows::one(&mut *tx, id, allocation).await? else { return gone() };
            if !rows::edit(&mut *tx, id, allocation, version, &name, release).await? {
                return refuse(Code::WrongState, "version: somebody changed this meanwhile; look at it again");
            }
            let detail = json!({ "old": told(&before), "new": { "name": name, "release_ms": release.map(|at| at.0) } });
            this.record(&mut *tx, &member, "allocation.edit", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Adds a code to an allocation. It is known to who made it alone: a digest is stored.
    ///
    /// # Errors
    /// `invalid_input` names the field; `wrong_state` for a kind without codes, or for too many of them;
    /// `not_found`, `forbidden`.
    pub async fn add_code(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        allocation: AllocationId,
        form: CodeForm,
    ) -> Result<AllocationCodeId> {
        let member = self.member(session, Action::EditEvents).await?;
        self.own_sale(&member, id).await?;
        self.add_code_as(member, id, allocation, form).await
    }

    /// [`Backend::add_code`] for who was checked: the code, one that is made here when `code` is none.
    ///
    /// # Errors
    /// As there.
    pub async fn add_code_for(
        self: &Arc<Self>,
        member: &Member,
        id: PerformanceId,
        allocation: AllocationId,
        code: Option<&str>,
    ) -> Result<String> {
        self.own_sale(member, id).await?;
        let code = code.map_or_else(new_code, str::to_owned);
        let form = CodeForm { code: code.clone(), label: String::new(), uses_max: String::new() };
        self.add_code_as(member.clone(), id, allocation, form).await?;
        Ok(code)
    }

    async fn add_code_as(
        self: &Arc<Self>,
        member: Member,
        id: PerformanceId,
        allocation: AllocationId,
        form: CodeForm,
    ) -> Result<AllocationCodeId> {
        let most = form.most()?;
        let normal = normal_code(&form.code)?;
        let label = match form.label.trim() {
            "" => None,
            label => Some(check_name("label", label)?.to_owned()),
        };
        let (this, code) = (Arc::clone(self), AllocationCodeId(uuid::Uuid::now_v7()));
        detached(async move {
            let mut tx = this.pg.begin().await?;
            rows::begin_change(&mut *tx, id).await?;
            let Some(row) = rows::one(&mut *tx, id, allocation).await? else { return gone() };
            if !row.kind.has_codes() {
                return refuse(Code::WrongState, format!("an allocation of the kind {} has no codes", row.kind));
            }
            let count = grants::count_codes(&mut *tx, allocation).await?;
            if usize::try_from(count).unwrap_or(usize::MAX) >= CODES_MAX {
                return refuse(Code::WrongState, format!("code: an allocation has at most {CODES_MAX} codes"));
            }
            let label = label.unwrap_or_else(|| format!("#{}", count + 1));
            let insert = CodeInsert {
                id: code,
                allocation,
                digest: &code_digest(allocation, &normal),
                label: &label,
                uses_max: most.and_then(|most| i32::try_from(most).ok()),
                now: this.now(),
            };
            if !grants::insert_code(&mut *tx, &insert).await? {
                return refuse(Code::InvalidInput, "code: this allocation has, or had, the same code");
            }
            let detail = json!({ "allocation": row.name, "label": label, "uses_max": most });
            this.record(&mut *tx, &member, "allocation.code", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(code)
        })
        .await
    }

    /// Revokes a code, with what it opened: who used it takes no further seat by it, and keeps what is
    /// held or bought.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn revoke_code(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        code: AllocationCodeId,
    ) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        self.own_sale(&member, id).await?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let Some((allocation, label)) = grants::revoke_code(&mut tx, id, code, this.now()).await? else {
                return not_found("code");
            };
            let name = rows::one(&mut *tx, id, allocation).await?.map(|row| row.name);
            let detail = json!({ "allocation": name, "label": label });
            this.record(&mut *tx, &member, "allocation.revoke", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Lets one account take from an allocation, whatever its kind.
    ///
    /// # Errors
    /// `invalid_input` when no account has that address; `not_found`, `forbidden`.
    pub async fn grant_allocation(
        self: &Arc<Self>,
        session: &Session,
        id: PerformanceId,
        allocation: AllocationId,
        email: &str,
    ) -> Result<()> {
        let member = self.member(session, Action::EditEvents).await?;
        self.own_sale(&member, id).await?;
        let email = parse_email(email)?;
        let Some(account) = accounts::by_email(&self.pg, &email).await? else {
            return refuse(Code::InvalidInput, "email: no account has this address");
        };
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.pg.begin().await?;
            let Some(row) = rows::one(&mut *tx, id, allocation).await? else { return gone() };
            grants::insert_grant(&mut *tx, allocation, account.id, None, this.now()).await?;
            let detail = json!({ "allocation": row.name, "email": email });
            this.record(&mut *tx, &member, "allocation.grant", &format!("performance {id}"), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }
}

fn told(row: &AllocationRow) -> serde_json::Value {
    json!({ "name": row.name, "release_ms": row.release.map(|at| at.0) })
}

fn code_view(code: &CodeRow) -> CodeView {
    let whole = |number: i32| u32::try_from(number).unwrap_or(0);
    CodeView {
        id: code.id,
        label: code.label.clone(),
        uses: whole(code.uses),
        uses_max: code.uses_max.map(whole),
        revoked: code.revoked,
    }
}

/// The seats that were picked and those that were typed.
fn chosen(sale: &Sale, picked: &str, typed: &str) -> Result<SeatSet> {
    let picked: SeatSet = picked.parse().map_err(|e| Refusal::new(Code::InvalidInput, format!("seats: {e}")))?;
    let typed = sale.seats.typed(typed)?;
    Ok(picked.list().iter().copied().chain(typed).collect())
}

fn count(seats: &SeatSet, states: &[u8]) -> KeptCounts {
    let mut counts = KeptCounts::default();
    for byte in seats.list().iter().filter_map(|seat| states.get(seat.0 as usize)) {
        match SeatByte(*byte).state() {
            SeatState::Available => counts.free += 1,
            SeatState::Held => counts.held += 1,
            SeatState::Sold => counts.sold += 1,
            SeatState::Blocked => counts.blocked += 1,
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_is_made_here_is_a_code_and_never_the_same() {
        let codes: std::collections::BTreeSet<String> = (0..200).map(|_| normal_code(&new_code()).unwrap()).collect();
        assert_eq!(codes.len(), 200);
        assert!(codes.iter().all(|code| code.len() == CODE_CHARS));
    }
}
