//! Accounts: sign-up, sign-in, sign-out, confirmation of the address.
//!
//! The session is a signed cookie. For ten minutes it is believed without asking a store, except
//! that each process keeps the few sessions that were revoked lately; after that the row decides.

use crate::backend::Backend;
use crate::error::{Error, Result, not_found, refuse};
use crate::mail;
use crate::postgres::{accounts as rows, detached, outbox};
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash};
use domain::account::{self, MailView, SESSION_PURPOSE, Session};
use domain::{AccountId, Code, Millis, SessionId};
use sha2::{Digest as _, Sha256};
use std::net::IpAddr;
use std::sync::Arc;

/// How long a session cookie is believed without a look at its row.
const SESSION_FRESH_MS: i64 = 10 * 60_000;
/// How long a confirmation link works.
const CONFIRMATION_TTL_MS: i64 = 24 * 3_600_000;
/// How many mails the mailbox page shows.
const MAILBOX_MAX: i64 = 100;

/// Who is calling, for limits by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// The address of the caller.
    pub ip: IpAddr,
}

/// A successful sign-in.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// The cookie's value.
    pub token: String,
    /// What it says.
    pub session: Session,
}

impl Backend {
    /// Makes an account and signs it in; a confirmation link is mailed.
    ///
    /// # Errors
    /// `invalid_input` names the field; `email_taken`; `too_many_requests`.
    pub async fn sign_up(
        self: &Arc<Self>,
        email: &str,
        password: &str,
        lang: &str,
        client: &Client,
    ) -> Result<SignedIn> {
        self.limit_sign_in(client)?;
        let email = account::parse_email(email)?;
        account::check_password(password)?;
        let hash = self.hash_password(password.to_owned()).await?;
        let (this, lang) = (Arc::clone(self), lang.to_owned());
        detached(async move {
            let (id, now) = (AccountId(uuid::Uuid::now_v7()), this.now());
            let mut tx = this.pg.begin().await?;
            if !rows::insert(&mut *tx, id, &email, &hash, &lang, None, now).await? {
                return refuse(Code::EmailTaken, "this address has an account already: sign in instead");
            }
            this.mail_confirmation(&mut tx, id, &email, &lang).await?;
            let session = SessionId(uuid::Uuid::now_v7());
            rows::insert_session(&mut *tx, session, id, now).await?;
            tx.commit().await?;
            this.wake.outbox.notify_one();
            Ok(this.issue_session(Session {
                account: id,
                session,
                email,
                verified: false,
                role: None,
                created: now,
                fresh_until: now,
            }))
        })
        .await
    }

    /// Signs in. Unknown accounts cost the same work as wrong passwords, so that the time taken tells nothing.
    ///
    /// # Errors
    /// `wrong_credentials`; `too_many_requests`.
    pub async fn sign_in(self: &Arc<Self>, email: &str, password: &str, client: &Client) -> Result<SignedIn> {
        self.limit_sign_in(client)?;
        let wrong = || refuse(Code::WrongCredentials, "e-mail and password do not belong together");
        let Ok(email) = account::parse_email(email) else { return wrong() };
        if password.len() > account::PASSWORD_MAX_BYTES {
            return wrong();
        }
        let row = rows::by_email(&self.pg, &email).await?;
        let hash = row.as_ref().map_or(self.dummy_hash.clone(), |row| row.password_hash.clone());
        let fits = self.verify_password(password.to_owned(), hash).await?;
        let Some(row) = row.filter(|_| fits) else { return wrong() };
        let session = SessionId(uuid::Uuid::now_v7());
        rows::insert_session(&self.pg, session, row.id, self.now()).await?;
        Ok(self.issue_session(session_of(row, session)))
    }

    /// Ends a session: at once on this process, within seconds on every other.
    ///
    /// # Errors
    /// Outages only.
    pub async fn sign_out(self: &Arc<Self>, session: &Session) -> Result<()> {
        rows::revoke_session(&self.pg, session.session, self.now()).await?;
        self.revoked.write().unwrap_or_else(std::sync::PoisonError::into_inner).insert(session.session);
        Ok(())
    }

    /// Uses a confirmation link.
    ///
    /// # Errors
    /// `link_invalid` when it was used, ran out or never was.
    pub async fn confirm_email(self: &Arc<Self>, token: &str) -> Result<AccountId> {
        let digest = Sha256::digest(token.as_bytes());
        match rows::confirm(&self.pg, digest.as_slice(), self.now()).await? {
            Some(account) => Ok(account),
            None => refuse(Code::LinkInvalid, "this link was used already or has run out: ask for a new one"),
        }
    }

    /// A fresh cookie for the same session, after something about the account changed.
    ///
    /// # Errors
    /// `sign_in_required` when the session was ended.
    pub async fn renew_session(&self, session: SessionId) -> Result<SignedIn> {
        match rows::by_session(&self.pg, session).await? {
            Some(row) => Ok(self.issue_session(session_of(row, session))),
            None => refuse(Code::SignInRequired, "this session was ended: sign in again"),
        }
    }

    /// Mails a new confirmation link.
    ///
    /// # Errors
    /// `wrong_state` when the address is confirmed already.
    pub async fn resend_confirmation(self: &Arc<Self>, session: &Session, client: &Client) -> Result<()> {
        self.limit_sign_in(client)?;
        let (this, account) = (Arc::clone(self), session.account);
        detached(async move {
            let Some(row) = rows::by_id(&this.pg, account).await? else { return not_found("account") };
            if row.verified {
                return refuse(Code::WrongState, "the address is confirmed already");
            }
            let mut tx = this.pg.begin().await?;
            this.mail_confirmation(&mut tx, row.id, &row.email, &row.lang).await?;
            tx.commit().await?;
            this.wake.outbox.notify_one();
            Ok(())
        })
        .await
    }

    /// The mails that the development mailer delivered, newest first.
    ///
    /// # Errors
    /// `not_found` outside development.
    pub async fn mailbox(&self) -> Result<Vec<MailView>> {
        if !self.config.is_development() {
            return not_found("page");
        }
        Ok(outbox::mailbox(&self.pg, MAILBOX_MAX).await?)
    }

    /// Reads a session cookie. `None` for no session; a renewed cookie comes with a stale one.
    ///
    /// # Errors
    /// Outages only: a cookie that can't be checked is not believed.
    pub async fn read_session(&self, cookie: &str) -> Result<Option<(Session, Option<String>)>> {
        let Ok(session) = self.tokens.read::<Session>(SESSION_PURPOSE, cookie) else { return Ok(None) };
        let revoked = self.revoked.read().unwrap_or_else(std::sync::PoisonError::into_inner).contains(&session.session);
        if revoked {
            return Ok(None);
        }
        if self.now() < session.fresh_until {
            return Ok(Some((session, None)));
        }
        match self.renew_session(session.session).await {
            Ok(signed) => Ok(Some((signed.session, Some(signed.token)))),
            Err(Error::Refused(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(crate) fn issue_session(&self, mut session: Session) -> SignedIn {
        session.fresh_until = self.now().plus(SESSION_FRESH_MS);
        SignedIn { token: self.tokens.sign(SESSION_PURPOSE, &session), session }
    }

    /// Reads again which sessions were revoked while cookies could still look fresh.
    pub(crate) async fn refresh_revoked(&self) -> Result<()> {
        let since = self.now().plus(-SESSION_FRESH_MS - 60_000);
        let list = rows::revoked_since(&self.pg, since).await?;
        *self.revoked.write().unwrap_or_else(std::sync::PoisonError::into_inner) = list.into_iter().collect();
        Ok(())
    }

    async fn mail_confirmation(
        &self,
        tx: &mut sqlx::Transaction<'_, sqlx::Postgres>,
        account: AccountId,
        email: &str,
        lang: &str,
    ) -> Result<()> {
        let secret = hex::encode(crate::backend::random_bytes::<24>());
        let digest = Sha256::digest(secret.as_bytes());
        let now = self.now();
        rows::insert_confirmation(&mut **tx, digest.as_slice(), account, now.plus(CONFIRMATION_TTL_MS)).await?;
        let link = format!("{}/confirm?token={secret}", self.config.public_url);
        mail::enqueue(
            &mut **tx,
            &format!("confirm:{}", hex::encode(digest)),
            &mail::confirmation(email, &link, lang),
            now,
        )
        .await
    }

    fn limit_sign_in(&self, client: &Client) -> Result<()> {
        self.sign_in_limit.check(client.ip)
    }

    pub(crate) async fn hash_password(&self, password: String) -> Result<String> {
        let _permit =
            self.hashing.acquire().await.map_err(|_| Error::Broken("the hashing semaphore was closed".to_owned()))?;
        tokio::task::spawn_blocking(move || {
            let hash = argon2::Argon2::default().hash_password(password.as_bytes());
            hash.map(|hash| hash.to_string()).map_err(|e| Error::Broken(format!("a password could not be hashed: {e}")))
        })
        .await
        .map_err(|e| Error::Broken(format!("hashing ended early: {e}")))?
    }

    async fn verify_password(&self, password: String, hash: String) -> Result<bool> {
        let _permit =
            self.hashing.acquire().await.map_err(|_| Error::Broken("the hashing semaphore was closed".to_owned()))?;
        tokio::task::spawn_blocking(move || {
            PasswordHash::new(&hash)
                .is_ok_and(|hash| argon2::Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
        })
        .await
        .map_err(|e| Error::Broken(format!("hashing ended early: {e}")))
    }
}

fn session_of(row: rows::AccountRow, session: SessionId) -> Session {
    Session {
        account: row.id,
        session,
        email: row.email,
        verified: row.verified,
        role: row.role,
        created: row.created,
        fresh_until: Millis(0),
    }
}
