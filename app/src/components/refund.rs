//! Refunds in words: a policy as fans read it, where a refund stands, and why money goes back. The same
//! for fans and for the staff.

use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::money::fees::Rate;
use domain::refund::policy::Tier;
use domain::refund::stages::{Stage, stages};
use domain::refund::typed::rate_text;
use domain::refund::{Cause, RefundStatus};
use domain::{Millis, ZonedTime};
use leptos::prelude::*;

/// Where a refund stands.
pub fn status_text(lang: Locale, status: RefundStatus) -> &'static str {
    match status {
        RefundStatus::Requested => td_string!(lang, refunds.status_requested),
        RefundStatus::Approved => td_string!(lang, refunds.status_approved),
        RefundStatus::Submitted => td_string!(lang, refunds.status_submitted),
        RefundStatus::Succeeded => td_string!(lang, refunds.status_succeeded),
        RefundStatus::Failed => td_string!(lang, refunds.status_failed),
        RefundStatus::Rejected => td_string!(lang, refunds.status_rejected),
    }
}

/// Why money goes back.
pub fn cause_text(lang: Locale, cause: Cause) -> &'static str {
    match cause {
        Cause::Wish => td_string!(lang, refunds.cause_wish),
        Cause::Cancelled => td_string!(lang, refunds.cause_cancelled),
        Cause::Goodwill => td_string!(lang, refunds.cause_goodwill),
        Cause::LateMoney => td_string!(lang, refunds.cause_late_money),
    }
}

/// What comes next for the fan.
pub fn next_text(lang: Locale, status: RefundStatus) -> &'static str {
    match status {
        RefundStatus::Requested => td_string!(lang, refunds.next_requested),
        RefundStatus::Approved => td_string!(lang, refunds.next_approved),
        RefundStatus::Submitted => td_string!(lang, refunds.next_submitted),
        RefundStatus::Succeeded => td_string!(lang, refunds.next_succeeded),
        RefundStatus::Failed => td_string!(lang, refunds.next_failed),
        RefundStatus::Rejected => td_string!(lang, refunds.next_rejected),
    }
}

/// A step of a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Asked,
    Agreed,
    Sent,
    Done,
    Failed,
    Rejected,
}

impl Step {
    fn text(self, lang: Locale) -> &'static str {
        match self {
            Self::Asked => td_string!(lang, refunds.step_asked),
            Self::Agreed => td_string!(lang, refunds.step_agreed),
            Self::Sent => td_string!(lang, refunds.step_sent),
            Self::Done => td_string!(lang, refunds.step_done),
            Self::Failed => td_string!(lang, refunds.step_failed),
            Self::Rejected => td_string!(lang, refunds.step_rejected),
        }
    }
}

/// The steps of a refund, and which of them it is at. Whether one that failed was sent before isn't
/// known from its state, so nothing is said about it.
fn steps(status: RefundStatus) -> (&'static [Step], usize) {
    const WAY: &[Step] = &[Step::Asked, Step::Agreed, Step::Sent, Step::Done];
    match status {
        RefundStatus::Requested => (WAY, 0),
        RefundStatus::Approved => (WAY, 1),
        RefundStatus::Submitted => (WAY, 2),
        RefundStatus::Succeeded => (WAY, 3),
        RefundStatus::Failed => (&[Step::Asked, Step::Failed], 1),
        RefundStatus::Rejected => (&[Step::Asked, Step::Rejected], 1),
    }
}

/// A refund as a small line of time: what was reached, where it is, what is ahead.
#[component]
pub fn Steps(
    /// Where it stands.
    status: RefundStatus,
) -> impl IntoView {
    let lang = lang();
    let (steps, at) = steps(status);
    let points = steps
        .iter()
        .enumerate()
        .map(|(number, step)| {
            let mark = match number.cmp(&at) {
                std::cmp::Ordering::Less => "past",
                std::cmp::Ordering::Equal => "now",
                std::cmp::Ordering::Greater => "ahead",
            };
            let current = (number == at).then_some("step");
            view! { <li data-mark=mark aria-current=current>{step.text(lang)}</li> }
        })
        .collect_view();
    view! { <ol class="refund-steps" data-status=status.as_str()>{points}</ol> }.into_any()
}

/// A policy as fans read it: until when how much is kept, and which fees come back.
#[component]
pub fn Policy(
    /// What is kept, the most days first.
    tiers: Vec<Tier>,
    /// When giving back ends.
    ends: Millis,
    /// When the performance begins, at the venue.
    starts: ZonedTime,
    /// Whether the service fee comes back.
    service_fee: bool,
    /// Whether the order's fee comes back, where that is known.
    #[prop(optional)]
    order_fee: Option<bool>,
    /// The server's time when it made the page, to mark what applies now.
    #[prop(optional)]
    now: Option<Millis>,
) -> impl IntoView {
    let lang = lang();
    let stages = stages(&tiers, ends, starts.at);
    let current = now.and_then(|now| stages.iter().position(|stage| now <= stage.until));
    let lines = stages
        .into_iter()
        .enumerate()
        .map(|(at, stage)| {
            let applies = current == Some(at);
            let remark =
                applies.then(|| view! { " " <span class="refund-now">{td_string!(lang, refunds.policy_now)}</span> });
            view! { <li data-now=applies.then_some("")>{stage_text(lang, stage, &starts)} {remark}</li> }
        })
        .collect_view();
    let service = if service_fee {
        td_string!(lang, refunds.policy_fee_returns)
    } else {
        td_string!(lang, refunds.policy_fee_stays)
    };
    let order = order_fee.map(|returns| {
        let text = if returns {
            td_string!(lang, refunds.policy_order_fee_returns)
        } else {
            td_string!(lang, refunds.policy_order_fee_stays)
        };
        view! { <li>{text}</li> }
    });
    let after = td_string!(lang, refunds.policy_after, time = moment(lang, ends, &starts));
    view! {
        <ul class="refund-policy" data-testid="policy">
            {lines}
            <li>{after}</li>
            <li>{service}</li>
            {order}
        </ul>
    }
    .into_any()
}

/// An instant on the venue's clock.
pub fn moment(lang: Locale, at: Millis, starts: &ZonedTime) -> String {
    format::moment(lang, &format::beside(at, starts))
}

fn stage_text(lang: Locale, stage: Stage, starts: &ZonedTime) -> String {
    let time = moment(lang, stage.until, starts);
    match stage.kept {
        Rate::NONE => td_string!(lang, refunds.policy_whole, time = time),
        Rate::WHOLE => td_string!(lang, refunds.policy_none, time = time),
        kept => td_string!(lang, refunds.policy_kept, time = time, rate = rate_text(kept)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refund_is_at_one_of_its_steps_and_its_end_is_the_last() {
        for status in RefundStatus::ALL {
            let (steps, at) = steps(*status);
            assert!(at < steps.len(), "{status:?}");
            assert_eq!(at + 1 == steps.len(), status.is_settled(), "{status:?}");
            assert_eq!(steps[0], Step::Asked);
        }
    }

    #[test]
    fn a_stage_says_its_instant_and_what_is_kept() {
        let starts = ZonedTime {
            at: Millis(1_796_497_200_000),
            zone: "Europe/Berlin".to_owned(),
            year: 2026,
            month: 12,
            day: 5,
            hour: 20,
            minute: 0,
            weekday: 6,
            offset_min: 60,
        };
        let stage = |points: u32| Stage { until: starts.at.plus(-86_400_000), kept: Rate::try_from(points).unwrap() };
        let text = |points: u32| stage_text(Locale::en, stage(points), &starts);
        assert_eq!(
            text(1_250),
            "Until Fri, 4 Dec 2026, 20:00 (UTC+1): 12.5% of the ticket price is kept, the rest comes back."
        );
        assert_eq!(text(0), "Until Fri, 4 Dec 2026, 20:00 (UTC+1): the whole ticket price comes back.");
        assert_eq!(text(10_000), "Until Fri, 4 Dec 2026, 20:00 (UTC+1): nothing of the ticket price comes back.");
    }
}
