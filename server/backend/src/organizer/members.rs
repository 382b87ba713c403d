//! Members: inviting, joining, changing roles, removing; and the log of what everybody did.
//!
//! All changes of one organization's members wait for each other ([`rows::lock`]), and the acting
//! owner is looked up once more behind that lock: of two owners who demote each other at the same
//! time one comes second, and is no owner any more.

use super::access::Member;
use crate::backend::{Backend, random_bytes};
use crate::catalog::zoned;
use crate::error::{Result, not_found, refuse};
use crate::mail;
use crate::postgres::members::{self as rows, InvitationRow};
use crate::postgres::{accounts, audit_log, detached};
use domain::account::{Role, Session, parse_email};
use domain::organizer::Action;
use domain::organizer::members::{
    AuditFilter, AuditPage, AuditRow, INVITATION_TTL_MS, InvitationView, MEMBERS_MAX, MemberList, MemberView, Offer,
    Seating, flatten,
};
use domain::{AccountId, Code, OrganizationId};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use sqlx::{Postgres, Transaction};
use std::sync::Arc;

/// Rows on a page of the log.
const AUDIT_PAGE_ROWS: usize = 50;
/// How far back the choices of the log's filters reach, in rows.
const AUDIT_CHOICES_ROWS: i64 = 10_000;
/// Most choices of one filter.
const AUDIT_CHOICES_MAX: i64 = 200;
/// Longest text of a filter, in bytes: longer than any subject.
const AUDIT_FILTER_MAX_BYTES: usize = 300;
/// The zone of times that belong to no venue.
const UTC: &str = "UTC";

impl Backend {
    /// The members and the open invitations.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn organizer_members(&self, session: &Session) -> Result<MemberList> {
        let member = self.member(session, Action::EditMembers).await?;
        let (now, most) = (self.now(), i64::from(MEMBERS_MAX));
        let members = rows::list(&self.pg, member.organization, most).await?;
        let invitations = rows::invitations(&self.pg, member.organization, most).await?;
        Ok(MemberList {
            members: members
                .into_iter()
                .map(|row| MemberView { account: row.account, email: row.email, role: row.role })
                .collect(),
            invitations: invitations
                .into_iter()
                .map(|row| {
                    Ok(InvitationView {
                        until: zoned(row.expires, UTC)?,
                        expired: row.expires <= now,
                        email: row.email,
                        role: row.role,
                    })
                })
                .collect::<Result<_>>()?,
        })
    }

    /// Invites an address by mail. An earlier link to it works no more.
    ///
    /// # Errors
    /// `invalid_input` names the field; `wrong_state` for who is a member already; `limit_exceeded`.
    pub async fn invite_member(self: &Arc<Self>, session: &Session, email: &str, role: Role, lang: &str) -> Result<()> {
        let member = self.member(session, Action::EditMembers).await?;
        let email = parse_email(email)?;
        let (this, lang) = (Arc::clone(self), lang.to_owned());
        detached(async move {
            let mut tx = this.begin_members(&member).await?;
            this.invite(&mut tx, &member, &email, role, &lang).await?;
            tx.commit().await?;
            this.wake.outbox.notify_one();
            Ok(())
        })
        .await
    }

    /// Takes an invitation back.
    ///
    /// # Errors
    /// `not_found` when there is none that is unused.
    pub async fn revoke_invitation(self: &Arc<Self>, session: &Session, email: &str) -> Result<()> {
        let member = self.member(session, Action::EditMembers).await?;
        let email = parse_email(email)?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.begin_members(&member).await?;
            this.revoke(&mut tx, &member, &email).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Gives a member another role, at once, whatever the member's cookie says.
    ///
    /// # Errors
    /// `not_found`; `wrong_state` when the role is not `from` any more, or it is the last owner's.
    pub async fn set_member_role(
        self: &Arc<Self>,
        session: &Session,
        account: AccountId,
        from: Role,
        to: Role,
    ) -> Result<()> {
        let member = self.member(session, Action::EditMembers).await?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.begin_members(&member).await?;
            this.change(&mut tx, &member, account, from, Some(to)).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Ends a membership, at once.
    ///
    /// # Errors
    /// `not_found`; `wrong_state` when the role is not `role` any more, or it is the last owner's.
    pub async fn remove_member(self: &Arc<Self>, session: &Session, account: AccountId, role: Role) -> Result<()> {
        let member = self.member(session, Action::EditMembers).await?;
        let this = Arc::clone(self);
        detached(async move {
            let mut tx = this.begin_members(&member).await?;
            this.change(&mut tx, &member, account, role, None).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// What the invitation behind a link offers to the caller. Changes nothing.
    ///
    /// # Errors
    /// `link_invalid`; `forbidden` for another address than the invited one; `email_unconfirmed`.
    pub async fn invitation(&self, session: &Session, token: &str) -> Result<Offer> {
        let row = rows::by_link(&self.pg, &digest_of(token), self.now()).await?;
        let Some(row) = row else { return link_invalid() };
        self.check_invited(session, &row).await?;
        match rows::organization_name(&self.pg, row.organization).await? {
            Some(organization) => Ok(Offer { organization, role: row.role }),
            None => link_invalid(),
        }
    }

    /// Accepts an invitation: the link works once, for the invited and confirmed address.
    ///
    /// # Errors
    /// As [`Self::invitation`]; `wrong_state` when the account is a member already, here or elsewhere.
    pub async fn join(self: &Arc<Self>, session: &Session, token: &str) -> Result<()> {
        let (this, session, digest) = (Arc::clone(self), session.clone(), digest_of(token));
        detached(async move {
            let Some(row) = rows::by_link(&this.pg, &digest, this.now()).await? else { return link_invalid() };
            let email = this.check_invited(&session, &row).await?;
            let mut tx = this.pg.begin().await?;
            rows::lock(&mut *tx, row.organization).await?;
            let Some(used) = rows::use_invitation(&mut *tx, &digest, &email, this.now()).await? else {
                return link_invalid();
            };
            this.seat(&mut tx, used.organization, session.account, used.role).await?;
            let member = Member { organization: used.organization, account: Some(session.account), role: used.role };
            let detail = json!({ "email": email, "role": used.role });
            this.record(&mut *tx, &member, "member.join", &subject(session.account), &detail).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Makes an address a member by command: an account that is confirmed at once, any other address
    /// by an invitation. A member gets the role.
    ///
    /// # Errors
    /// `invalid_input`; `wrong_state` for the last owner, or a member of another organization.
    pub async fn seat_member(self: &Arc<Self>, member: &Member, email: &str, role: Role) -> Result<Seating> {
        let email = parse_email(email)?;
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let mut tx = this.begin_members(&member).await?;
            let account = accounts::by_email(&mut *tx, &email).await?.filter(|account| account.verified);
            let Some(account) = account else {
                let link = this.invite(&mut tx, &member, &email, role, "en").await?;
                tx.commit().await?;
                return Ok(Seating::Invited(link));
            };
            match rows::of_account(&mut *tx, account.id).await? {
                Some(row) if row.organization == member.organization && row.role == role => {}
                Some(row) if row.organization == member.organization => {
                    this.change(&mut tx, &member, account.id, row.role, Some(role)).await?;
                }
                _ => {
                    this.seat(&mut tx, member.organization, account.id, role).await?;
                    // A link that is still open would only confuse from now on.
                    rows::revoke(&mut *tx, member.organization, &email).await?;
                    let detail = json!({ "email": email, "role": role });
                    this.record(&mut *tx, &member, "member.add", &subject(account.id), &detail).await?;
                }
            }
            tx.commit().await?;
            Ok(Seating::Member)
        })
        .await
    }

    /// Ends the membership or the open invitation of an address, by command.
    ///
    /// # Errors
    /// `not_found` when there is neither; `wrong_state` for the last owner.
    pub async fn unseat_member(self: &Arc<Self>, member: &Member, email: &str) -> Result<()> {
        let email = parse_email(email)?;
        let (this, member) = (Arc::clone(self), member.clone());
        detached(async move {
            let mut tx = this.begin_members(&member).await?;
            let account = accounts::by_email(&mut *tx, &email).await?;
            let row = match &account {
                Some(account) => rows::of_account(&mut *tx, account.id).await?,
                None => None,
            };
            match account.zip(row.filter(|row| row.organization == member.organization)) {
                Some((account, row)) => this.change(&mut tx, &member, account.id, row.role, None).await?,
                None => this.revoke(&mut tx, &member, &email).await?,
            }
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Begins a change of members: behind the changes before it, and by who may still do it.
    async fn begin_members(&self, member: &Member) -> Result<Transaction<'static, Postgres>> {
        let mut tx = self.pg.begin().await?;
        rows::lock(&mut *tx, member.organization).await?;
        if let Some(account) = member.account {
            let row = rows::of_account(&mut *tx, account).await?;
            let Some(row) = row.filter(|row| row.organization == member.organization) else {
                return not_found("page");
            };
            if !row.role.may(Action::EditMembers) {
                return refuse(Code::Forbidden, format!("the role {} does not allow this", row.role.as_str()));
            }
        }
        Ok(tx)
    }

    async fn invite(
        &self,
        tx: &mut Transaction<'static, Postgres>,
        member: &Member,
        email: &str,
        role: Role,
        lang: &str,
    ) -> Result<String> {
        let account = accounts::by_email(&mut **tx, email).await?;
        if let Some(account) = account
            && let Some(row) = rows::of_account(&mut **tx, account.id).await?
            && row.organization == member.organization
        {
            return refuse(Code::WrongState, "member: this address is a member already; change its role instead");
        }
        if rows::count(&mut **tx, member.organization).await? >= i64::from(MEMBERS_MAX) {
            return refuse(
                Code::LimitExceeded,
                format!("members: an organization has at most {MEMBERS_MAX} members and open invitations"),
            );
        }
        let Some(name) = rows::organization_name(&mut **tx, member.organization).await? else {
            return not_found("organization");
        };
        let secret = hex::encode(random_bytes::<24>());
        let (digest, now) = (digest_of(&secret), self.now());
        let row = InvitationRow {
            organization: member.organization,
            email: email.to_owned(),
            role,
            expires: now.plus(INVITATION_TTL_MS),
        };
        rows::invite(&mut **tx, &digest, &row, now).await?;
        let link = format!("{}/organizer/join?token={secret}", self.config.public_url);
        let mail = mail::invitation(email, &name, role, &link, lang);
        mail::enqueue(&mut **tx, &format!("invite:{}", hex::encode(&digest)), &mail, now).await?;
        let detail = json!({ "email": email, "role": role });
        self.record(&mut **tx, member, "member.invite", &format!("invitation {email}"), &detail).await?;
        Ok(link)
    }

    async fn revoke(&self, tx: &mut Transaction<'static, Postgres>, member: &Member, email: &str) -> Result<()> {
        if !rows::revoke(&mut **tx, member.organization, email).await? {
            return not_found("invitation");
        }
        let (subject, detail) = (format!("invitation {email}"), json!({ "email": email }));
        self.record(&mut **tx, member, "member.revoke", &subject, &detail).await
    }

    /// Changes a role, or ends the membership.
    async fn change(
        &self,
        tx: &mut Transaction<'static, Postgres>,
        member: &Member,
        account: AccountId,
        from: Role,
        to: Option<Role>,
    ) -> Result<()> {
        let organization = member.organization;
        let known = rows::of_account(&mut **tx, account).await?;
        let Some(known) = known.filter(|row| row.organization == organization) else { return not_found("member") };
        if known.role != from {
            return refuse(
                Code::WrongState,
                format!("member: the role is {} by now; look at the list again", known.role.as_str()),
            );
        }
        let done = match to {
            Some(to) => rows::set_role(&mut **tx, organization, account, from, to).await?,
            None => rows::remove(&mut **tx, organization, account, from).await?,
        };
        if !done {
            return refuse(
                Code::WrongState,
                "owner: an organization keeps at least one owner; make somebody else an owner first",
            );
        }
        let email = accounts::by_id(&mut **tx, account).await?.map(|account| account.email);
        let (action, detail) = match to {
            Some(to) => ("member.role", json!({ "email": email, "from": from, "to": to })),
            None => ("member.remove", json!({ "email": email, "role": from })),
        };
        self.record(&mut **tx, member, action, &subject(account), &detail).await
    }

    async fn seat(
        &self,
        tx: &mut Transaction<'static, Postgres>,
        organization: OrganizationId,
        account: AccountId,
        role: Role,
    ) -> Result<()> {
        if rows::insert(&mut **tx, organization, account, role).await? {
            return Ok(());
        }
        match rows::of_account(&mut **tx, account).await? {
            Some(row) if row.organization == organization => {
                refuse(Code::WrongState, "member: this account is a member already")
            }
            _ => refuse(
                Code::WrongState,
                "organization: this account acts for another organization, and can act for one only; use another address or leave the other one first",
            ),
        }
    }

    /// The caller's address, when it is the invited one and confirmed. The row decides, not the cookie.
    async fn check_invited(&self, session: &Session, row: &InvitationRow) -> Result<String> {
        let Some(account) = accounts::by_id(&self.pg, session.account).await? else {
            return refuse(Code::SignInRequired, "sign in first");
        };
        if account.email != row.email {
            return refuse(
                Code::Forbidden,
                "email: this invitation is for another address; sign in with the address that the mail came to",
            );
        }
        if !account.verified {
            return refuse(Code::EmailUnconfirmed, "confirm your address first, then open the invitation again");
        }
        Ok(account.email)
    }

    /// A page of the log.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `invalid_input` names the filter.
    pub async fn audit_page(&self, session: &Session, filter: &AuditFilter) -> Result<AuditPage> {
        let member = self.member(session, Action::ReadAudit).await?;
        for (name, text) in [("action", &filter.action), ("subject", &filter.subject), ("who", &filter.who)] {
            if text.as_ref().is_some_and(|text| text.len() > AUDIT_FILTER_MAX_BYTES) {
                return refuse(
                    Code::InvalidInput,
                    format!("{name}: at most {AUDIT_FILTER_MAX_BYTES} bytes are expected"),
                );
            }
        }
        let most = i64::try_from(AUDIT_PAGE_ROWS + 1).unwrap_or(i64::MAX);
        let mut found = audit_log::page(&self.pg, member.organization, filter, most).await?;
        let more = found.len() > AUDIT_PAGE_ROWS;
        found.truncate(AUDIT_PAGE_ROWS);
        let next = found.last().filter(|_| more).map(|row| row.id);
        let (actions, people) =
            audit_log::choices(&self.pg, member.organization, AUDIT_CHOICES_ROWS, AUDIT_CHOICES_MAX).await?;
        let rows = found.into_iter().map(|row| audit_row(row, UTC)).collect::<Result<_>>()?;
        Ok(AuditPage { rows, next, actions, people })
    }
}

/// A row of the log as people in a zone read it.
pub(super) fn audit_row(row: audit_log::LogRow, zone: &str) -> Result<AuditRow> {
    Ok(AuditRow {
        id: row.id,
        at: zoned(row.at, zone)?,
        who: row.who,
        action: row.action,
        subject: row.subject,
        detail: flatten(&row.detail),
    })
}

fn subject(account: AccountId) -> String {
    format!("member {account}")
}

fn digest_of(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

fn link_invalid<T>() -> Result<T> {
    refuse(Code::LinkInvalid, "this invitation was used or taken back, or has run out: ask for a new one")
}
