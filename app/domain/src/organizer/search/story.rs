//! One order with all that happened to it, and its one timeline.

use super::super::members::AuditRow;
use crate::account::Role;
use crate::ids::{AttemptId, OrderId, PerformanceId, TicketId};
use crate::money::Money;
use crate::money::summary::Summary;
use crate::order::{AttemptStatus, OrderItem, OrderStatus};
use crate::time::ZonedTime;
use serde::{Deserialize, Serialize};

/// The order itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryHead {
    /// The order.
    pub id: OrderId,
    /// Where it stands.
    pub status: OrderStatus,
    /// Address of its account.
    pub email: String,
    /// Role of the account, when it is itself a member of an organization.
    pub role: Option<Role>,
    /// The performance.
    pub performance: PerformanceId,
    /// Who plays.
    pub artist: String,
    /// Name of the event.
    pub event: String,
    /// Name of the venue.
    pub venue: String,
    /// When the performance begins.
    pub starts: ZonedTime,
    /// What the total is made of; none where it is the prices of the seats alone.
    #[serde(default)]
    pub charges: Option<Summary>,
    /// The sum.
    pub total: Money,
    /// When its row says that the hold was made.
    pub created: ZonedTime,
    /// When its hold ends or ended.
    pub expires: ZonedTime,
    /// When the money was captured.
    pub paid: Option<ZonedTime>,
    /// When the seats were marked as sold on the map.
    pub confirmed: Option<ZonedTime>,
    /// When the seats of an ended order were given back on the map.
    pub released: Option<ZonedTime>,
}

/// A step of the order machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryStep {
    /// What happened, as it was written down.
    pub event: String,
    /// The state that was left.
    pub from: OrderStatus,
    /// The state that was entered.
    pub to: OrderStatus,
    /// When.
    pub at: ZonedTime,
}

/// A try to pay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryAttempt {
    /// The attempt.
    pub id: AttemptId,
    /// From 1.
    pub number: i32,
    /// Where it stands.
    pub status: AttemptStatus,
    /// Who takes the money.
    pub provider: String,
    /// What the provider calls it.
    pub reference: Option<String>,
    /// How much.
    pub amount: Money,
    /// Why the last card was declined.
    pub last_error: Option<String>,
    /// How often the provider was asked about it by schedule.
    pub queries: i32,
    /// When it began.
    pub created: ZonedTime,
    /// When the provider stops taking it.
    pub deadline: ZonedTime,
    /// When the provider is asked next, while it is open.
    pub next_query: Option<ZonedTime>,
}

/// What a provider told us.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryWebhook {
    /// Who told it.
    pub provider: String,
    /// The provider's id of the event.
    pub event: String,
    /// What kind of event it says it is.
    pub kind: String,
    /// When it was stored and acknowledged.
    pub received: ZonedTime,
    /// When it was acted upon.
    pub applied: Option<ZonedTime>,
    /// How often that was tried.
    pub tries: i32,
    /// Why it can't be acted upon yet.
    pub error: Option<String>,
    /// All of it, as indented JSON.
    pub body: String,
}

/// Money on its way back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryRefund {
    /// Number of the attempt whose money it is.
    pub attempt: i32,
    /// How much.
    pub amount: Money,
    /// Why.
    pub reason: String,
    /// `requested`, `submitted`, `succeeded` or `failed`.
    pub status: String,
    /// What the provider calls it.
    pub reference: Option<String>,
    /// How often it was submitted or asked about.
    pub tries: i32,
    /// When it was decided.
    pub created: ZonedTime,
}

/// Money that did not fit and was set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    /// What the provider calls the payment.
    pub reference: String,
    /// What does not fit.
    pub reason: String,
    /// The evidence, as indented JSON.
    pub evidence: String,
    /// When it was set aside.
    pub created: ZonedTime,
    /// When people were done with it.
    pub resolved: Option<ZonedTime>,
}

/// A ticket. Its code is masked before it leaves the server: who reads this can't forge entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryTicket {
    /// The ticket.
    pub id: TicketId,
    /// Section, row and seat.
    pub seat: (String, String, String),
    /// 0 for the first issue.
    pub issue: i16,
    /// Beginning and end of the code.
    pub code: String,
    /// When it was issued.
    pub created: ZonedTime,
    /// When it was revoked.
    pub revoked: Option<ZonedTime>,
    /// Why it was revoked, in a word.
    pub reason: Option<String>,
    /// Whether it is frozen.
    pub frozen: bool,
    /// Address of who holds it, when that is not who bought it.
    pub holder: Option<String>,
}

/// A mail about the order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoryMail {
    /// What it is about: `tickets`, `refund`.
    pub kind: String,
    /// Receiver.
    pub to: String,
    /// Subject line.
    pub subject: String,
    /// Failed tries to send it.
    pub tries: i32,
    /// When it was written.
    pub created: ZonedTime,
    /// When it was sent.
    pub sent: Option<ZonedTime>,
}

/// Everything about one order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderStory {
    /// The order itself.
    pub head: StoryHead,
    /// Its seats with their prices.
    pub items: Vec<OrderItem>,
    /// Steps of the order machine, in their order.
    pub steps: Vec<StoryStep>,
    /// Tries to pay, in their order.
    pub attempts: Vec<StoryAttempt>,
    /// What providers told us about them, in their order.
    pub webhooks: Vec<StoryWebhook>,
    /// Whether more was told than is listed.
    pub webhooks_left_out: bool,
    /// Money on its way back.
    pub refunds: Vec<StoryRefund>,
    /// Money that was set aside.
    pub set_aside: Vec<SetAside>,
    /// Tickets, by seat.
    pub tickets: Vec<StoryTicket>,
    /// Mails, in their order.
    pub mails: Vec<StoryMail>,
    /// What members did to it, newest first.
    pub notes: Vec<AuditRow>,
}

/// What happened at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The seats were held.
    Held,
    /// The order moved.
    Step(StoryStep),
    /// A try to pay began: its number.
    AttemptBegan(i32),
    /// A provider told something: its kind.
    Told(String),
    /// What a provider told was acted upon: its kind.
    Applied(String),
    /// A refund was decided: amount and reason.
    RefundDecided(Money, String),
    /// A payment was set aside: the reason.
    SetAside(String),
    /// So many tickets were issued.
    Issued(usize),
    /// So many tickets were revoked.
    Revoked(usize),
    /// A mail was written: its subject.
    MailWritten(String),
    /// A mail was sent: its subject.
    MailSent(String),
    /// The seats were marked as sold on the map.
    Confirmed,
    /// The seats were given back on the map.
    Released,
    /// A member did something: action and address.
    Did(String, Option<String>),
}

/// A moment of an order's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When.
    pub at: ZonedTime,
    /// What.
    pub what: What,
}

impl OrderStory {
    /// All that happened in one line of time, oldest first; what happened in the same millisecond
    /// stays in the order of cause and effect: hold, payment, webhook, step, tickets, mail.
    pub fn timeline(&self) -> Vec<Moment> {
        let mut out = vec![moment(&self.head.created, What::Held)];
        out.extend(self.attempts.iter().map(|attempt| moment(&attempt.created, What::AttemptBegan(attempt.number))));
        out.extend(self.webhooks.iter().map(|webhook| moment(&webhook.received, What::Told(webhook.kind.clone()))));
        out.extend(self.notes.iter().map(|note| moment(&note.at, What::Did(note.action.clone(), note.who.clone()))));
        out.extend(self.steps.iter().map(|step| moment(&step.at, What::Step(step.clone()))));
        out.extend(
            self.webhooks.iter().filter_map(|webhook| {
                webhook.applied.as_ref().map(|at| moment(at, What::Applied(webhook.kind.clone())))
            }),
        );
        out.extend(self.set_aside.iter().map(|money| moment(&money.created, What::SetAside(money.reason.clone()))));
        out.extend(
            self.refunds
                .iter()
                .map(|refund| moment(&refund.created, What::RefundDecided(refund.amount, refund.reason.clone()))),
        );
        out.extend(counted(self.tickets.iter().map(|ticket| &ticket.created), What::Issued));
        out.extend(counted(self.tickets.iter().filter_map(|ticket| ticket.revoked.as_ref()), What::Revoked));
        out.extend(self.head.confirmed.iter().map(|at| moment(at, What::Confirmed)));
        out.extend(self.head.released.iter().map(|at| moment(at, What::Released)));
        out.extend(self.mails.iter().map(|mail| moment(&mail.created, What::MailWritten(mail.subject.clone()))));
        out.extend(
            self.mails
                .iter()
                .filter_map(|mail| mail.sent.as_ref().map(|at| moment(at, What::MailSent(mail.subject.clone())))),
        );
        out.sort_by_key(|moment| moment.at.at);
        out
    }
}

fn moment(at: &ZonedTime, what: What) -> Moment {
    Moment { at: at.clone(), what }
}

/// What happened to several things in the same instant is one moment.
fn counted<'a>(times: impl Iterator<Item = &'a ZonedTime>, what: impl Fn(usize) -> What) -> Vec<Moment> {
    let mut groups: Vec<(&ZonedTime, usize)> = Vec::new();
    for at in times {
        match groups.iter_mut().find(|(known, _)| known.at == at.at) {
            Some((_, count)) => *count += 1,
            None => groups.push((at, 1)),
        }
    }
    groups.into_iter().map(|(at, count)| moment(at, what(count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Millis;
    use uuid::Uuid;

    fn at(ms: i64) -> ZonedTime {
        ZonedTime {
            at: Millis(ms),
            zone: "UTC".into(),
            year: 1970,
            month: 1,
            day: 1,
            hour: 0,
            minute: 0,
            weekday: 4,
            offset_min: 0,
        }
    }

    fn step(event: &str, from: OrderStatus, to: OrderStatus, ms: i64) -> StoryStep {
        StoryStep { event: event.into(), from, to, at: at(ms) }
    }

    fn ticket(ms: i64) -> StoryTicket {
        let seat = ("A".into(), "1".into(), "1".into());
        StoryTicket {
            id: TicketId(Uuid::from_u128(1)),
            seat,
            issue: 0,
            code: "AE…QQ".into(),
            created: at(ms),
            revoked: None,
            reason: None,
            frozen: false,
            holder: None,
        }
    }

    #[test]
    fn the_timeline_is_sorted_and_keeps_cause_before_effect() {
        let euro = |minor| Money::new(minor, "EUR".parse().unwrap());
        let head = StoryHead {
            id: OrderId(Uuid::from_u128(1)),
            status: OrderStatus::Fulfilled,
            email: "ana@example.org".into(),
            role: None,
            performance: PerformanceId(Uuid::from_u128(2)),
            artist: "A".into(),
            event: "E".into(),
            venue: "V".into(),
            starts: at(1_000_000),
            charges: None,
            total: euro(100),
            created: at(10),
            expires: at(900),
            paid: Some(at(40)),
            confirmed: Some(at(60)),
            released: None,
        };
        let webhook = StoryWebhook {
            provider: "sandbox".into(),
            event: "evt".into(),
            kind: "payment.captured".into(),
            received: at(30),
            applied: Some(at(41)),
            tries: 1,
            error: None,
            body: "{}".into(),
        };
        let mail = StoryMail {
            kind: "tickets".into(),
            to: "a".into(),
            subject: "S".into(),
            tries: 0,
            created: at(50),
            sent: None,
        };
        let paid = step("captured", OrderStatus::PaymentProcessing, OrderStatus::Paid, 40);
        let issued = step("issued", OrderStatus::Paid, OrderStatus::Fulfilled, 50);
        let story = OrderStory {
            head,
            items: Vec::new(),
            steps: vec![paid.clone(), issued.clone()],
            attempts: Vec::new(),
            webhooks: vec![webhook],
            webhooks_left_out: false,
            refunds: Vec::new(),
            set_aside: Vec::new(),
            tickets: vec![ticket(50), ticket(50)],
            mails: vec![mail],
            notes: Vec::new(),
        };
        let told: Vec<What> = story.timeline().into_iter().map(|moment| moment.what).collect();
        assert_eq!(
            told,
            [
                What::Held,
                What::Told("payment.captured".into()),
                What::Step(paid),
                What::Applied("payment.captured".into()),
                What::Step(issued),
                What::Issued(2),
                What::MailWritten("S".into()),
                What::Confirmed,
            ]
        );
    }
}
