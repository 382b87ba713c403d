//! Server functions of accounts.

use crate::error::AppError;
use domain::account::{MailView, Me};
use leptos::prelude::*;

/// Makes an account and signs in to it.
#[server(endpoint = "sign-up")]
pub async fn sign_up(
    /// The address.
    email: String,
    /// The new password.
    password: String,
    /// Where a form without JavaScript goes on.
    next: Option<String>,
) -> Result<Me, AppError> {
    use crate::{context, route::local_path};
    let backend = context::backend()?;
    let signed_in = backend.sign_up(&email, &password, context::mail_lang(), &context::client()?).await?;
    context::set_session(&backend, signed_in.token);
    context::redirect_form(&local_path(next.as_deref()));
    Ok(context::me_of(&signed_in.session))
}

/// Signs in.
#[server(endpoint = "sign-in")]
pub async fn sign_in(
    /// The address.
    email: String,
    /// The password.
    password: String,
    /// Where a form without JavaScript goes on.
    next: Option<String>,
) -> Result<Me, AppError> {
    use crate::{context, route::local_path};
    let backend = context::backend()?;
    let signed_in = backend.sign_in(&email, &password, &context::client()?).await?;
    context::set_session(&backend, signed_in.token);
    context::redirect_form(&local_path(next.as_deref()));
    Ok(context::me_of(&signed_in.session))
}

/// Confirms the address to which the link with this token was sent.
#[server(endpoint = "confirm-email")]
pub async fn confirm_email(
    /// What the link carries.
    token: String,
) -> Result<(), AppError> {
    use crate::context;
    let backend = context::backend()?;
    let account = backend.confirm_email(&token).await?;
    // Confirmed in the browser of the sign-in: its session says so from now on, not in ten minutes.
    if let Some(own) = context::caller().and_then(|caller| caller.session).filter(|session| session.account == account)
    {
        context::set_session(&backend, backend.renew_session(own.session).await?.token);
    }
    context::redirect_form("/confirm?done=1");
    Ok(())
}

/// Sends the link again.
#[server(endpoint = "resend-confirmation")]
pub async fn resend_confirmation() -> Result<(), AppError> {
    use crate::context;
    context::backend()?.resend_confirmation(&context::session()?, &context::client()?).await?;
    context::redirect_form("/confirm?sent=1");
    Ok(())
}

/// The mails that were sent, in development.
#[server(endpoint = "mailbox")]
pub async fn mailbox() -> Result<Vec<MailView>, AppError> {
    Ok(crate::context::backend()?.mailbox().await?)
}
