//! The words on paper, in both languages.

use app::format;
use app::i18n::Locale;
use domain::ZonedTime;

/// The words of one language.
pub(super) struct Words {
    /// As a file names it (RFC 3066).
    pub(super) lang: &'static str,
    pub(super) when: &'static str,
    pub(super) venue: &'static str,
    pub(super) section: &'static str,
    pub(super) row: &'static str,
    pub(super) seat: &'static str,
    pub(super) name: &'static str,
    pub(super) ticket: &'static str,
    pub(super) order: &'static str,
    pub(super) issue: &'static str,
    /// What the code is good for.
    pub(super) once: &'static str,
    /// That the door does not take the ticket for now.
    pub(super) frozen: &'static str,
    /// In place of what can't be drawn.
    pub(super) elsewhere: &'static str,
    /// Day and time at the venue, with zone.
    pub(super) moment: fn(&ZonedTime) -> String,
}

const ENGLISH: Words = Words {
    lang: "en",
    when: "Date",
    venue: "Venue",
    section: "Section",
    row: "Row",
    seat: "Seat",
    name: "Name",
    ticket: "Ticket",
    order: "Order",
    issue: "Issue",
    once: "Valid once, for one person. Whoever comes second with a copy is not let in.",
    frozen: "The payment of this ticket is disputed. It is not valid for now.",
    elsewhere: "(see the page of your ticket)",
    moment: |at| format::zoned_moment(Locale::en, at),
};

const CHINESE: Words = Words {
    lang: "zh-CN",
    when: "日期",
    venue: "场馆",
    section: "区域",
    row: "排",
    seat: "座",
    name: "姓名",
    ticket: "门票",
    order: "订单",
    issue: "版次",
    once: "仅限一人入场一次。复制的门票后到者不得入场。",
    frozen: "此门票的付款存在争议，暂时无效。",
    elsewhere: "（见门票页面）",
    moment: |at| format::zoned_moment(Locale::zh, at),
};

/// The words of an account's language.
pub(super) fn of(lang: &str) -> &'static Words {
    if lang == "zh" { &CHINESE } else { &ENGLISH }
}
