//! What each mail says, in both languages.

use super::Mail;
use super::layout::{Block, compose};
use domain::account::Role;

/// A paragraph.
pub(super) fn text(words: impl Into<String>) -> Block {
    Block::Text(words.into())
}

/// A link.
pub(super) fn link(label: &'static str, url: &str) -> Block {
    Block::Link { label, url: url.to_owned() }
}

/// The mail with the link that confirms an address.
pub(crate) fn confirmation(to: &str, url: &str, lang: &str) -> Mail {
    let (subject, blocks) = if lang == "zh" {
        (
            "请确认您的邮箱",
            [
                text("您好！"),
                text("请打开下面的链接确认邮箱，然后就可以参加排队："),
                link("确认邮箱", url),
                text("链接 24 小时内有效。如果不是您本人注册，请忽略此邮件。"),
            ],
        )
    } else {
        (
            "Confirm your e-mail address",
            [
                text("Hello,"),
                text("open this link to confirm your address; after that you can take a place in a queue:"),
                link("Confirm the address", url),
                text("It works for 24 hours. If you did not sign up, ignore this mail."),
            ],
        )
    };
    compose(to, subject.to_owned(), lang, &blocks)
}

/// The mail that says that tickets are ready.
pub(crate) fn tickets_ready(to: &str, (event, evening): (&str, &str), seats: &[String], url: &str, lang: &str) -> Mail {
    let list = std::iter::once(evening.to_owned()).chain(seats.iter().cloned()).collect();
    let (subject, blocks) = if lang == "zh" {
        (
            format!("您的门票：{event}"),
            [
                text("付款成功，门票已出："),
                Block::Lines(list),
                text("查看门票："),
                link("查看门票", url),
                text("也可以下载可打印的门票，或把演出加入日历："),
                link("下载门票（PDF）", &format!("{url}/tickets.pdf")),
                link("加入日历", &format!("{url}/event.ics")),
            ],
        )
    } else {
        (
            format!("Your tickets: {event}"),
            [
                text("Your payment arrived and your tickets are ready:"),
                Block::Lines(list),
                text("See them here:"),
                link("See the tickets", url),
                text("Or take them along on paper, and put the evening into your calendar:"),
                link("Tickets to print (PDF)", &format!("{url}/tickets.pdf")),
                link("Calendar file", &format!("{url}/event.ics")),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that says that sold seats read differently: each so far, and from now on.
pub(crate) fn seats_renamed(to: &str, event: &str, seats: &[(String, String)], url: &str, lang: &str) -> Mail {
    let list = seats.iter().map(|(before, after)| format!("{before}  →  {after}")).collect();
    let (subject, blocks) = if lang == "zh" {
        (
            format!("座位名称变更：{event}"),
            [
                text("主办方更新了座位图。您的座位没有变，只是名称不同了："),
                Block::Lines(list),
                text("您的门票继续有效："),
                link("查看门票", url),
            ],
        )
    } else {
        (
            format!("Your seats have new names: {event}"),
            [
                text("The organizer has changed the seat map. Your seats are the same, only their names changed:"),
                Block::Lines(list),
                text("Your tickets stay valid:"),
                link("See the tickets", url),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that says that money goes back.
pub(crate) fn refunded(to: &str, event: &str, amount: &str, lang: &str) -> Mail {
    let (subject, words) = if lang == "zh" {
        (format!("退款：{event}"), format!("您的付款到达时座位已经释放。{amount} 将全额退回。"))
    } else {
        (
            format!("Refund: {event}"),
            format!("Your payment arrived after your seats had gone back. {amount} is returned to you in full."),
        )
    };
    compose(to, subject, lang, &[text(words)])
}

/// The mail that says that a refund was asked for and waits for the organizer.
pub(crate) fn refund_asked(to: &str, event: &str, amount: &str, url: &str, lang: &str) -> Mail {
    let (subject, blocks) = if lang == "zh" {
        (
            format!("退票申请已收到：{event}"),
            [
                text(format!("我们收到了您的退票申请，金额 {amount}。主办方会尽快处理。")),
                text("在此之前，您的门票继续有效。查看进度："),
                link("查看订单", url),
            ],
        )
    } else {
        (
            format!("You asked for a refund: {event}"),
            [
                text(format!("You want to give seats back for {amount}. The organizer decides about it soon.")),
                text("Until then your tickets stay valid. See how it goes on:"),
                link("See the order", url),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that says that a refund was agreed to: the seats are given back.
pub(crate) fn refund_approved(to: &str, event: &str, amount: &str, url: &str, lang: &str) -> Mail {
    let (subject, blocks) = if lang == "zh" {
        (
            format!("退票已批准：{event}"),
            [
                text(format!("退款 {amount} 正在处理。退回的座位的门票已失效。")),
                text("查看进度："),
                link("查看订单", url),
            ],
        )
    } else {
        (
            format!("Your refund was agreed to: {event}"),
            [
                text(format!(
                    "{amount} is on its way to you. The tickets of the seats that you gave back are not valid any more."
                )),
                text("See how it goes on:"),
                link("See the order", url),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that says that a refund was turned down; `note` is the organizer's, in no language.
pub(crate) fn refund_rejected(to: &str, event: &str, (amount, note): (&str, &str), url: &str, lang: &str) -> Mail {
    let (subject, first, look, label) = if lang == "zh" {
        (
            format!("退票未获批准：{event}"),
            format!("主办方没有批准您 {amount} 的退票申请。您的门票继续有效。"),
            "查看门票：",
            "查看订单",
        )
    } else {
        (
            format!("Your refund was turned down: {event}"),
            format!("The organizer did not agree to give {amount} back. Your tickets stay valid."),
            "See them here:",
            "See the order",
        )
    };
    let mut blocks = vec![text(first)];
    if !note.is_empty() {
        blocks.push(Block::Lines(vec![note.to_owned()]));
    }
    blocks.extend([text(look), link(label, url)]);
    compose(to, subject, lang, &blocks)
}

/// The mail that says that money was given back.
pub(crate) fn refund_done(to: &str, event: &str, amount: &str, lang: &str) -> Mail {
    let (subject, words) = if lang == "zh" {
        (format!("退款完成：{event}"), format!("{amount} 已退回您付款时使用的账户。银行入账可能还需要几天。"))
    } else {
        (
            format!("Your money is back: {event}"),
            format!(
                "{amount} was returned to the card or account that you paid with. Your bank may need some days to show it."
            ),
        )
    };
    compose(to, subject, lang, &[text(words)])
}

/// The mail that says that a performance does not take place, and what comes back.
pub(crate) fn performance_cancelled(to: &str, event: &str, amount: &str, url: &str, lang: &str) -> Mail {
    let (subject, blocks) = if lang == "zh" {
        (
            format!("演出取消：{event}"),
            [
                text("很抱歉，这场演出取消了。您的门票不再有效。"),
                text(format!("{amount} 将自动退回您付款时使用的账户，您无需做任何事。查看进度：")),
                link("查看订单", url),
            ],
        )
    } else {
        (
            format!("Cancelled: {event}"),
            [
                text("We are sorry: this performance does not take place. Your tickets are not valid any more."),
                text(format!(
                    "{amount} goes back by itself to the card or account that you paid with; there is nothing to do. See how it goes on:"
                )),
                link("See the order", url),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that says that tickets open no door while a dispute about their payment is open.
pub(crate) fn tickets_frozen(to: &str, event: &str, url: &str, lang: &str) -> Mail {
    let (subject, blocks) = if lang == "zh" {
        (
            format!("门票暂停使用：{event}"),
            [
                text("您的银行告知我们，有人对这笔付款提出了争议。在银行作出决定之前，这些门票暂时不能入场。"),
                text("如果不是您提出的，或只是没认出这笔付款，请尽快联系您的银行撤回争议，门票随即恢复。"),
                text("查看订单："),
                link("查看订单", url),
            ],
        )
    } else {
        (
            format!("Your tickets are on hold: {event}"),
            [
                text(
                    "Your bank told us that this payment is disputed. Until the bank has decided, the tickets open no \
                     door.",
                ),
                text(
                    "If it was not you, or you only did not recognise the payment, ask your bank to withdraw the \
                     dispute: the tickets are valid again as soon as it does.",
                ),
                text("See the order here:"),
                link("See the order", url),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that says that a dispute is over and the tickets are valid again.
pub(crate) fn tickets_restored(to: &str, event: &str, url: &str, lang: &str) -> Mail {
    let (subject, blocks) = if lang == "zh" {
        (
            format!("门票恢复有效：{event}"),
            [text("这笔付款的争议已经结束，您的门票重新有效。"), text("查看门票："), link("查看门票", url)],
        )
    } else {
        (
            format!("Your tickets are valid again: {event}"),
            [
                text("The dispute about your payment has ended, and your tickets are valid again."),
                text("See them here:"),
                link("See the tickets", url),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that says that a dispute was lost and the tickets with it.
pub(crate) fn tickets_revoked(to: &str, event: &str, url: &str, lang: &str) -> Mail {
    let (subject, blocks) = if lang == "zh" {
        (
            format!("门票已作废：{event}"),
            [
                text("您的银行已将有争议的款项退还给付款人，因此这些门票已作废，不能入场。"),
                text("如果您仍想前往，请重新购票。"),
                text("查看订单："),
                link("查看订单", url),
            ],
        )
    } else {
        (
            format!("Your tickets are revoked: {event}"),
            [
                text(
                    "The bank has given the disputed money back to its payer, so that these tickets are revoked and \
                     open no door.",
                ),
                text("If you still want to come, please buy other tickets."),
                text("See the order here:"),
                link("See the order", url),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that invites to an organization.
pub(crate) fn invitation(to: &str, organization: &str, role: Role, url: &str, lang: &str) -> Mail {
    let role = role_name(role, lang);
    let (subject, blocks) = if lang == "zh" {
        (
            format!("邀请您加入 {organization}"),
            [
                text("您好！"),
                text(format!("{organization} 邀请您以“{role}”的身份加入其 StarArena 后台。")),
                text("请用此邮箱登录，然后打开下面的链接接受邀请："),
                link("接受邀请", url),
                text("链接 7 天内有效。如果您不了解此事，请忽略此邮件。"),
            ],
        )
    } else {
        (
            format!("Invitation to {organization}"),
            [
                text("Hello,"),
                text(format!("{organization} invites you to its organizer pages on StarArena as {role}.")),
                text("Sign in with this address, then open the link to accept:"),
                link("Accept the invitation", url),
                text("It works for 7 days. If this means nothing to you, ignore this mail."),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail to owners that says that events are not sent to an address any more. `reason` is the answer of
/// their own system, in no language.
pub(crate) fn webhook_disabled(to: &str, organization: &str, endpoint: &str, reason: &str, lang: &str) -> Mail {
    let (subject, blocks) = if lang == "zh" {
        (
            format!("事件推送已停用：{organization}"),
            [
                text("以下地址长时间无法接收事件，推送已停用："),
                Block::Lines(vec![endpoint.to_owned(), reason.to_owned()]),
                text("没有送达的事件会保留 30 天。修复之后请联系系统管理员重新启用，并补发这些事件。"),
            ],
        )
    } else {
        (
            format!("Events are not sent any more: {organization}"),
            [
                text("Your system did not take our events for a long time, so that we stopped sending them to it:"),
                Block::Lines(vec![endpoint.to_owned(), reason.to_owned()]),
                text(
                    "What was not delivered is kept for 30 days. Once your system works again, ask whoever runs \
                     this installation to enable the address and to send the missing events.",
                ),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
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

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://t.example.org/somewhere";

    fn all(lang: &str) -> Vec<Mail> {
        let seats = ["Stalls, row 1, seat 2".to_owned()];
        let renamed = [("Row 1".to_owned(), "Row A".to_owned())];
        vec![
            confirmation("ana@example.org", URL, lang),
            tickets_ready("ana@example.org", ("Evening", "2026-10-25 20:00"), &seats, URL, lang),
            seats_renamed("ana@example.org", "Evening", &renamed, URL, lang),
            refunded("ana@example.org", "Evening", "12.00 EUR", lang),
            refund_asked("ana@example.org", "Evening", "12.00 EUR", URL, lang),
            refund_approved("ana@example.org", "Evening", "12.00 EUR", URL, lang),
            refund_rejected("ana@example.org", "Evening", ("12.00 EUR", "too late"), URL, lang),
            refund_rejected("ana@example.org", "Evening", ("12.00 EUR", ""), URL, lang),
            refund_done("ana@example.org", "Evening", "12.00 EUR", lang),
            performance_cancelled("ana@example.org", "Evening", "12.00 EUR", URL, lang),
            tickets_frozen("ana@example.org", "Evening", URL, lang),
            tickets_restored("ana@example.org", "Evening", URL, lang),
            tickets_revoked("ana@example.org", "Evening", URL, lang),
            invitation("ana@example.org", "City Hall", Role::Door, URL, lang),
            webhook_disabled("ana@example.org", "City Hall", "https://hooks.example.org/1", "status 500", lang),
        ]
    }

    #[test]
    fn every_mail_has_both_forms_in_both_languages() {
        for (english, chinese) in all("en").into_iter().zip(all("zh")) {
            assert_ne!(english.subject, chinese.subject);
            for mail in [english, chinese] {
                let html = mail.html.unwrap();
                assert!(mail.body.ends_with('\n') && !mail.subject.contains('\n'), "{}", mail.subject);
                for line in mail.body.lines().filter(|line| !line.is_empty() && !line.contains(['"', '\''])) {
                    assert!(html.contains(line), "`{line}` is missing in {html}");
                }
            }
        }
    }

    #[test]
    fn a_confirmation_carries_its_link_on_a_line_of_its_own() {
        let mail = confirmation("ana@example.org", URL, "en");
        assert!(mail.body.lines().any(|line| line == URL), "{}", mail.body);
    }
}
