//! What mails about tickets that change hands say, in both languages.

use super::Mail;
use super::kinds::{link, text};
use super::layout::{Block, compose};

/// The mail that says that a ticket got another code, because its holder wished so or changed the name on it.
pub(crate) fn ticket_replaced(to: &str, event: &str, seat: &str, url: &str, lang: &str) -> Mail {
    let lines = Block::Lines(vec![seat.to_owned()]);
    let (subject, blocks) = if lang == "zh" {
        (
            format!("门票已更新：{event}"),
            [
                text("您的门票换了新的二维码，旧的二维码不再有效，包括已打印或已发送的："),
                lines,
                link("查看新门票", url),
                text("如果不是您本人操作，请修改密码并联系主办方。"),
            ],
        )
    } else {
        (
            format!("Your ticket has a new code: {event}"),
            [
                text("Your ticket has a new code. The old one works no more, also where it was printed or sent:"),
                lines,
                link("See the new ticket", url),
                text("If this was not you, change your password and write to the organizer."),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that offers a ticket.
pub(crate) fn transfer_offered(
    to: &str,
    from: &str,
    (event, evening): (&str, &str),
    seat: &str,
    url: &str,
    lang: &str,
) -> Mail {
    let lines = Block::Lines(vec![event.to_owned(), evening.to_owned(), seat.to_owned()]);
    let (subject, blocks) = if lang == "zh" {
        (
            format!("有人向您转让门票：{event}"),
            [
                text(format!("{from} 想把一张门票转让给您：")),
                lines,
                text("请用此邮箱登录或注册，然后打开下面的链接接受或拒绝："),
                link("查看门票转让", url),
                text("链接 7 天内有效，最晚到演出开始。如果您不了解此事，请忽略此邮件。"),
            ],
        )
    } else {
        (
            format!("A ticket is offered to you: {event}"),
            [
                text(format!("{from} offers you a ticket:")),
                lines,
                text("Sign in or sign up with this address, then open the link to accept or to decline:"),
                link("See the offer", url),
                text(
                    "It works for 7 days, and no longer than until the performance begins. If this means nothing \
                     to you, ignore this mail.",
                ),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// How an offer ended, as its maker is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfferEnd {
    Accepted,
    Declined,
    Expired,
}

/// The mail that says how an offer ended.
pub(crate) fn transfer_ended(to: &str, whom: &str, event: &str, seat: &str, end: OfferEnd, lang: &str) -> Mail {
    let (subject, words) = match (lang, end) {
        ("zh", OfferEnd::Accepted) => (
            format!("门票已转让：{event}"),
            format!("{whom} 接受了您的门票。您手中的旧门票不再有效；订单和退款权利仍归您所有。"),
        ),
        ("zh", OfferEnd::Declined) => {
            (format!("门票转让被拒绝：{event}"), format!("{whom} 没有接受您的门票，门票仍归您所有，可以正常使用。"))
        }
        ("zh", OfferEnd::Expired) => {
            (format!("门票转让已过期：{event}"), format!("{whom} 没有及时回应，门票仍归您所有，可以正常使用。"))
        }
        (_, OfferEnd::Accepted) => (
            format!("Your ticket has changed hands: {event}"),
            format!(
                "{whom} has accepted your ticket. The one that you have works no more. The order, and what is refunded for it, stay yours."
            ),
        ),
        (_, OfferEnd::Declined) => (
            format!("Your ticket was declined: {event}"),
            format!("{whom} does not take your ticket. It is yours and works again."),
        ),
        (_, OfferEnd::Expired) => (
            format!("Your offer of a ticket is over: {event}"),
            format!("{whom} did not answer in time. The ticket is yours and works again."),
        ),
    };
    compose(to, subject, lang, &[text(words), Block::Lines(vec![seat.to_owned()])])
}

/// The mail that brings the recipient of an offer to the ticket.
pub(crate) fn ticket_received(to: &str, (event, evening): (&str, &str), seat: &str, url: &str, lang: &str) -> Mail {
    let lines = Block::Lines(vec![evening.to_owned(), seat.to_owned()]);
    let (subject, blocks) = if lang == "zh" {
        (format!("您的门票：{event}"), [text("这张门票现在归您所有："), lines, link("查看门票", url)])
    } else {
        (format!("Your ticket: {event}"), [text("This ticket is yours now:"), lines, link("See the ticket", url)])
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that says that a ticket which somebody else had bought opens no door for now. Why is the buyer's alone.
pub(crate) fn ticket_frozen(to: &str, event: &str, seat: &str, lang: &str) -> Mail {
    let lines = Block::Lines(vec![seat.to_owned()]);
    let (subject, blocks) = if lang == "zh" {
        (
            format!("门票暂停使用：{event}"),
            [
                text("转让给您的门票暂时不能入场，因为购买它的订单有问题尚未解决："),
                lines,
                text("您无需做任何事。有结果后我们会再发邮件通知您。如有疑问，请联系转让人。"),
            ],
        )
    } else {
        (
            format!("Your ticket is on hold: {event}"),
            [
                text(
                    "The ticket that was given to you opens no door for now: a question about the order that it was \
                     bought with is not settled yet.",
                ),
                lines,
                text(
                    "There is nothing to do for you. A mail follows when it is settled. If you have questions, ask who \
                     gave it to you.",
                ),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

/// The mail that says that a ticket which somebody else had bought opens the door again.
pub(crate) fn ticket_restored(to: &str, event: &str, seat: &str, lang: &str) -> Mail {
    let lines = Block::Lines(vec![seat.to_owned()]);
    let (subject, words) = if lang == "zh" {
        (format!("门票恢复有效：{event}"), "订单的问题已经解决，转让给您的门票重新有效，二维码不变：")
    } else {
        (
            format!("Your ticket is valid again: {event}"),
            "The question about its order is settled: the ticket that was given to you is valid again, with the same \
             code.",
        )
    };
    compose(to, subject, lang, &[text(words), lines])
}

/// The mail that says that a ticket which somebody else had bought ended with its order.
pub(crate) fn ticket_ended(to: &str, event: &str, seat: &str, lang: &str) -> Mail {
    let lines = Block::Lines(vec![seat.to_owned()]);
    let (subject, blocks) = if lang == "zh" {
        (
            format!("门票已失效：{event}"),
            [text("转让给您的门票不再有效，因为购买它的订单已退款或被取消："), lines, text("如有疑问，请联系转让人。")],
        )
    } else {
        (
            format!("Your ticket is no longer valid: {event}"),
            [
                text(
                    "The ticket that was given to you is no longer valid: the order that it was bought with was refunded or ended.",
                ),
                lines,
                text("If you have questions, ask who gave it to you."),
            ],
        )
    };
    compose(to, subject, lang, &blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://t.example.org/somewhere";
    const TO: &str = "ana@example.org";
    const SEAT: &str = "Stalls, row 1, seat 2";

    fn all(lang: &str) -> Vec<Mail> {
        let event = ("Evening", "2026-10-25 20:00");
        vec![
            ticket_replaced(TO, "Evening", SEAT, URL, lang),
            transfer_offered(TO, "ben@example.org", event, SEAT, URL, lang),
            transfer_ended(TO, "ben@example.org", "Evening", SEAT, OfferEnd::Accepted, lang),
            transfer_ended(TO, "ben@example.org", "Evening", SEAT, OfferEnd::Declined, lang),
            transfer_ended(TO, "ben@example.org", "Evening", SEAT, OfferEnd::Expired, lang),
            ticket_received(TO, event, SEAT, URL, lang),
            ticket_ended(TO, "Evening", SEAT, lang),
            ticket_frozen(TO, "Evening", SEAT, lang),
            ticket_restored(TO, "Evening", SEAT, lang),
        ]
    }

    #[test]
    fn every_mail_names_event_and_seat_in_both_languages() {
        for (english, chinese) in all("en").into_iter().zip(all("zh")) {
            assert_ne!(english.subject, chinese.subject);
            for mail in [english, chinese] {
                assert!(mail.subject.contains("Evening") && mail.body.contains(SEAT), "{}", mail.body);
                assert!(mail.html.is_some_and(|html| html.contains(SEAT)));
            }
        }
    }

    #[test]
    fn an_offer_carries_its_link_and_who_makes_it() {
        let mail = transfer_offered(TO, "ben@example.org", ("Evening", "8 pm"), SEAT, URL, "en");
        assert!(mail.body.lines().any(|line| line == URL) && mail.body.contains("ben@example.org"), "{}", mail.body);
    }
}
