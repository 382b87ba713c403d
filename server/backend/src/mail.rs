//! Mail: written into the outbox with the change that causes it, delivered by a worker.

use crate::error::Result;
use crate::postgres::outbox;
use domain::Millis;
use domain::account::{MailView, Role};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::{PgExecutor, PgPool};

/// The outbox kind of mails.
pub(crate) const MAIL: &str = "mail";

/// A mail to be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Mail {
    pub(crate) to: String,
    pub(crate) subject: String,
    pub(crate) body: String,
}

/// An outside service that delivers mail.
pub(crate) trait Mailer: Send + Sync {
    /// Delivers one mail; `outbox` is the same for every try of it.
    fn deliver(&self, outbox: i64, mail: Mail, now: Millis) -> BoxFuture<'_, Result<()>>;
}

/// Delivers into the mailbox that the development page shows.
pub(crate) struct DevelopmentMailer(pub(crate) PgPool);

impl Mailer for DevelopmentMailer {
    fn deliver(&self, outbox: i64, mail: Mail, now: Millis) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let view = MailView { to: mail.to, subject: mail.subject, body: mail.body, sent: now };
            Ok(outbox::deliver(&self.0, outbox, &view).await?)
        })
    }
}

/// Writes a mail into the outbox; `dedupe` makes it be sent once.
pub(crate) async fn enqueue(db: impl PgExecutor<'_>, dedupe: &str, mail: &Mail, now: Millis) -> Result<()> {
    Ok(outbox::insert(db, MAIL, dedupe, &json!(mail), now).await?)
}

/// The mail with the link that confirms an address.
pub(crate) fn confirmation(to: &str, link: &str, lang: &str) -> Mail {
    let (subject, body) = if lang == "zh" {
        (
            "请确认您的邮箱",
            format!(
                "您好！\n\n请打开下面的链接确认邮箱，然后就可以参加排队：\n\n{link}\n\n链接 24 小时内有效。如果不是您本人注册，请忽略此邮件。\n"
            ),
        )
    } else {
        (
            "Confirm your e-mail address",
            format!(
                "Hello,\n\nopen this link to confirm your address; after that you can take a place in a queue:\n\n{link}\n\nIt works for 24 hours. If you did not sign up, ignore this mail.\n"
            ),
        )
    };
    Mail { to: to.to_owned(), subject: subject.to_owned(), body }
}

/// The mail that says that tickets are ready.
pub(crate) fn tickets_ready(
    to: &str,
    (event, evening): (&str, &str),
    seats: &[String],
    link: &str,
    lang: &str,
) -> Mail {
    let list = format!("{evening}\n{}", seats.join("\n"));
    let (subject, body) = if lang == "zh" {
        (format!("您的门票：{event}"), format!("付款成功，门票已出：\n\n{list}\n\n查看门票：\n\n{link}\n"))
    } else {
        (
            format!("Your tickets: {event}"),
            format!("Your payment arrived and your tickets are ready:\n\n{list}\n\nSee them here:\n\n{link}\n"),
        )
    };
    Mail { to: to.to_owned(), subject, body }
}

/// The mail that says that sold seats read differently: each so far, and from now on.
pub(crate) fn seats_renamed(to: &str, event: &str, seats: &[(String, String)], link: &str, lang: &str) -> Mail {
    let list = seats.iter().map(|(before, after)| format!("{before}  →  {after}")).collect::<Vec<_>>().join("\n");
    let (subject, body) = if lang == "zh" {
        (
            format!("座位名称变更：{event}"),
            format!("主办方更新了座位图。您的座位没有变，只是名称不同了：\n\n{list}\n\n您的门票继续有效：\n\n{link}\n"),
        )
    } else {
        (
            format!("Your seats have new names: {event}"),
            format!(
                "The organizer has changed the seat map. Your seats are the same, only their names changed:\n\n{list}\n\nYour tickets stay valid:\n\n{link}\n"
            ),
        )
    };
    Mail { to: to.to_owned(), subject, body }
}

/// The mail that says that money goes back.
pub(crate) fn refunded(to: &str, event: &str, amount: &str, lang: &str) -> Mail {
    let (subject, body) = if lang == "zh" {
        (format!("退款：{event}"), format!("您的付款到达时座位已经释放。{amount} 将全额退回。\n"))
    } else {
        (
            format!("Refund: {event}"),
            format!("Your payment arrived after your seats had gone back. {amount} is returned to you in full.\n"),
        )
    };
    Mail { to: to.to_owned(), subject, body }
}

/// The mail that invites to an organization.
pub(crate) fn invitation(to: &str, organization: &str, role: Role, link: &str, lang: &str) -> Mail {
    let (subject, body) = if lang == "zh" {
        (
            format!("邀请您加入 {organization}"),
            format!(
                "您好！\n\n{organization} 邀请您以“{}”的身份加入其 StarArena 后台。\n\n请用此邮箱登录，然后打开下面的链接接受邀请：\n\n{link}\n\n链接 7 天内有效。如果您不了解此事，请忽略此邮件。\n",
                role_name(role, lang)
            ),
        )
    } else {
        (
            format!("Invitation to {organization}"),
            format!(
                "Hello,\n\n{organization} invites you to its organizer pages on StarArena as {}.\n\nSign in with this address, then open the link to accept:\n\n{link}\n\nIt works for 7 days. If this means nothing to you, ignore this mail.\n",
                role_name(role, lang)
            ),
        )
    };
    Mail { to: to.to_owned(), subject, body }
}

fn role_name(role: Role, lang: &str) -> &'static str {
    match (role, lang) {
        (Role::Owner, "zh") => "所有者",
        (Role::Operator, "zh") => "运营",
        (Role::Finance, "zh") => "财务",
        (Role::Risk, "zh") => "风控",
        (Role::Door, "zh") => "检票",
        (role, _) => role.as_str(),
    }
}
