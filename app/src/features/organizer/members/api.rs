//! Server functions of members, invitations and the log.

use crate::error::AppError;
use domain::AccountId;
use domain::account::Role;
use domain::organizer::members::{AuditPage, MemberList, Offer};
use leptos::prelude::*;

/// Where the list of members is.
#[cfg(feature = "ssr")]
const MEMBERS: &str = "/organizer/members";

/// Members and open invitations.
#[server(endpoint = "organizer-members")]
pub async fn organizer_members() -> Result<MemberList, AppError> {
    use crate::context;
    Ok(context::backend()?.organizer_members(&context::session()?).await?)
}

/// Invites an address.
#[server(endpoint = "organizer-member-invite")]
pub async fn organizer_member_invite(
    /// The address.
    email: String,
    /// The role that waits.
    role: Role,
) -> Result<(), AppError> {
    use crate::context;
    let session = context::session()?;
    context::backend()?.invite_member(&session, &email, role, context::mail_lang()).await?;
    context::redirect_form("/organizer/members?sent=1");
    Ok(())
}

/// Takes an invitation back.
#[server(endpoint = "organizer-invitation-revoke")]
pub async fn organizer_invitation_revoke(
    /// The invited address.
    email: String,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.revoke_invitation(&context::session()?, &email).await?;
    context::redirect_form(MEMBERS);
    Ok(())
}

/// Gives a member another role.
#[server(endpoint = "organizer-member-role")]
pub async fn organizer_member_role(
    /// The member.
    account: AccountId,
    /// The role that was shown.
    from: Role,
    /// The new role.
    role: Role,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.set_member_role(&context::session()?, account, from, role).await?;
    renew_own(account).await?;
    context::redirect_form(MEMBERS);
    Ok(())
}

/// Ends a membership.
#[server(endpoint = "organizer-member-remove")]
pub async fn organizer_member_remove(
    /// The member.
    account: AccountId,
    /// The role that was shown.
    role: Role,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.remove_member(&context::session()?, account, role).await?;
    renew_own(account).await?;
    context::redirect_form(MEMBERS);
    Ok(())
}

/// What the invitation of a link offers.
#[server(endpoint = "organizer-invitation")]
pub async fn organizer_invitation(
    /// What the link carries.
    token: String,
) -> Result<Offer, AppError> {
    use crate::context;
    Ok(context::backend()?.invitation(&context::session()?, &token).await?)
}

/// Accepts the invitation of a link.
#[server(endpoint = "organizer-join")]
pub async fn organizer_join(
    /// What the link carries.
    token: String,
) -> Result<(), AppError> {
    use crate::context;
    let session = context::session()?;
    context::backend()?.join(&session, &token).await?;
    renew_own(session.account).await?;
    context::redirect_form("/organizer");
    Ok(())
}

/// A page of the log.
#[server(endpoint = "organizer-audit")]
pub async fn organizer_audit(
    /// Rows before this one only.
    before: Option<i64>,
    /// Rows of this action only.
    action: Option<String>,
    /// Rows whose subject contains this only.
    subject: Option<String>,
    /// Rows of this address only; `-` for those of the command line.
    who: Option<String>,
) -> Result<AuditPage, AppError> {
    use crate::context;
    use domain::organizer::members::AuditFilter;
    let some = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let filter = AuditFilter {
        before,
        action: some(action),
        subject: some(subject),
        who: some(who).map(|who| if who == super::audit::COMMAND_LINE { String::new() } else { who }),
    };
    Ok(context::backend()?.audit_page(&context::session()?, &filter).await?)
}

/// After a change of one's own role this browser's session says so at once, not in ten minutes.
#[cfg(feature = "ssr")]
async fn renew_own(account: AccountId) -> Result<(), AppError> {
    use crate::context;
    let (backend, session) = (context::backend()?, context::session()?);
    if session.account == account {
        context::set_session(&backend, backend.renew_session(session.session).await?.token);
    }
    Ok(())
}
