//! Who acts, for whom, and the trace that it leaves.

use crate::backend::Backend;
use crate::error::{Result, not_found, refuse};
use crate::postgres::{audit_log, members};
use domain::account::{Role, Session};
use domain::organizer::{Action, Desk};
use domain::{AccountId, Code, OrganizationId};
use serde_json::{Value, json};
use sqlx::PgExecutor;

/// Longest name of an organization: it stands in the subject of mails.
const ORGANIZATION_NAME_MAX_CHARS: usize = 120;

/// A member who was checked for one action. Only [`Backend::member`] and
/// [`Backend::command_line`] make one.
#[derive(Clone, Debug)]
pub struct Member {
    pub(crate) organization: OrganizationId,
    /// None for the command line.
    pub(crate) account: Option<AccountId>,
    pub(crate) role: Role,
}

impl Member {
    /// Whom it acts for.
    pub fn organization(&self) -> OrganizationId {
        self.organization
    }
}

impl Backend {
    /// The member behind a session, if the role allows the action. The row decides, not the cookie:
    /// a role that was taken away is gone at once.
    ///
    /// # Errors
    /// `not_found` for who is no member of any organization (the pages don't exist for them);
    /// `forbidden` when the role does not allow it.
    pub async fn member(&self, session: &Session, action: Action) -> Result<Member> {
        let Some(row) = members::of_account(&self.pg, session.account).await? else { return not_found("page") };
        if !row.role.may(action) {
            return refuse(Code::Forbidden, format!("the role {} does not allow this", row.role.as_str()));
        }
        Ok(Member { organization: row.organization, account: Some(session.account), role: row.role })
    }

    /// Whom the signed-in member acts for.
    ///
    /// # Errors
    /// `not_found` for who is no member.
    pub async fn organizer_desk(&self, session: &Session) -> Result<Desk> {
        let member = self.member(session, Action::ReadEvents).await?;
        match members::organization_name(&self.pg, member.organization).await? {
            Some(name) => {
                Ok(Desk { organization: member.organization, name, email: session.email.clone(), role: member.role })
            }
            None => not_found("page"),
        }
    }

    /// Makes an organization, or finds the one of that name; for who runs commands on the machine.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub async fn create_organization(&self, name: &str) -> Result<Member> {
        let name = name.trim();
        let count = name.chars().count();
        if !(1..=ORGANIZATION_NAME_MAX_CHARS).contains(&count) || name.chars().any(char::is_control) {
            return refuse(
                Code::InvalidInput,
                format!("name: 1 to {ORGANIZATION_NAME_MAX_CHARS} characters on one line are expected"),
            );
        }
        let organization = OrganizationId(uuid::Uuid::now_v7());
        let made = Member { organization, account: None, role: Role::Owner };
        let mut tx = self.pg.begin().await?;
        if members::insert_organization(&mut *tx, organization, name, self.now()).await? {
            let (subject, detail) = (format!("organization {organization}"), json!({ "name": name }));
            self.record(&mut *tx, &made, "organization.create", &subject, &detail).await?;
            tx.commit().await?;
            return Ok(made);
        }
        tx.rollback().await?;
        self.command_line(name).await
    }

    /// Who runs commands on the machine acts for an organization as its owner.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn command_line(&self, organization: &str) -> Result<Member> {
        match members::organization_by_name(&self.pg, organization).await? {
            Some(organization) => Ok(Member { organization, account: None, role: Role::Owner }),
            None => not_found("organization"),
        }
    }

    /// Writes down what a member does; `db` is the transaction of the change itself.
    pub(crate) async fn record(
        &self,
        db: impl PgExecutor<'_>,
        member: &Member,
        action: &str,
        subject: &str,
        detail: &Value,
    ) -> Result<()> {
        Ok(audit_log::insert(db, member.organization, member.account, action, subject, detail, self.now()).await?)
    }
}
