//! Deciding on one refund: each answer is a second step that names the amount.

use super::api::{OrganizerRefundDecide, OrganizerRefundRetry, OrganizerRefundRule};
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::latest::Latest;
use crate::typed::brought_back;
use domain::{Money, RefundId};
use leptos::prelude::*;

/// Longest note, in characters: what fits into a glance.
pub(super) const NOTE_MAX_CHARS: u32 = 500;

/// What can be done on the list. One of each for the page: a refusal that the address brings back is
/// told once, above it.
#[derive(Clone, Copy)]
pub(super) struct Acts {
    latest: Latest,
    decide: ServerAction<OrganizerRefundDecide>,
    retry: ServerAction<OrganizerRefundRetry>,
    /// The rule of who has to agree.
    pub(super) rule: ServerAction<OrganizerRefundRule>,
    /// What a refused rule without JavaScript brought back.
    ruled: StoredValue<Option<OrganizerRefundRule>>,
}

impl Acts {
    /// Those of a page: made where it is built, and not inside of its waiting parts.
    pub(super) fn new() -> Self {
        let latest = Latest::of_page();
        Self {
            latest,
            decide: latest.action(),
            retry: latest.action(),
            rule: latest.action(),
            ruled: StoredValue::new(brought_back()),
        }
    }

    /// Changes with the answers after which what is shown is to be asked for anew.
    pub(super) fn changes(self) -> usize {
        self.latest.changes()
    }

    /// Why the last one was refused.
    pub(super) fn error(self) -> Option<AppError> {
        let Self { latest, decide, retry, rule, .. } = self;
        latest.refusal(decide).or_else(|| latest.refusal(retry)).or_else(|| latest.refusal(rule))
    }

    /// The rule that was refused just now.
    pub(super) fn typed_rule(self) -> Option<OrganizerRefundRule> {
        self.ruled.get_value().filter(|_| self.latest.is_none())
    }
}

/// What can be done about a refund.
#[component]
pub(super) fn Decision(
    /// Which.
    id: RefundId,
    /// How much it is about.
    amount: Money,
    /// Who gets it.
    email: String,
    /// Whether it can be decided.
    decides: bool,
    /// Whether it can be tried again.
    retries: bool,
    /// The list to return to.
    here: String,
    acts: Acts,
) -> impl IntoView {
    let lang = lang();
    let amount = format::money(lang, amount);
    let answers = decides.then(|| {
        let (agreed, kept) = (email.clone(), amount.clone());
        view! {
            <Answer
                id
                answer="approve"
                summary=td_string!(lang, refunds.approve)
                text=td_string!(lang, refunds.approve_text, amount = amount.clone(), email = agreed)
                button=td_string!(lang, refunds.approve_now, amount = kept)
                here=here.clone()
                acts
            />
            <Answer
                id
                answer="reject"
                summary=td_string!(lang, refunds.reject)
                text=td_string!(lang, refunds.reject_text, amount = amount.clone(), email = email.clone())
                button=td_string!(lang, refunds.reject_now, amount = amount.clone())
                here=here.clone()
                acts
            />
        }
    });
    let action = acts.retry;
    let retry = retries.then(|| {
        view! {
            <ActionForm action>
                <input type="hidden" name="refund" value=id.to_string()/>
                <input type="hidden" name="next" value=here.clone()/>
                <button class="button" type="submit" data-testid="retry">{td_string!(lang, refunds.retry)}</button>
            </ActionForm>
        }
    });
    view! { <div class="refunds-decision">{answers}{retry}</div> }.into_any()
}

/// One answer, closed until it is wanted: what it means, a note, and the button.
#[component]
fn Answer(
    id: RefundId,
    /// The word that is sent.
    answer: &'static str,
    summary: &'static str,
    text: String,
    button: String,
    here: String,
    acts: Acts,
) -> impl IntoView {
    let lang = lang();
    let action = acts.decide;
    view! {
        <details class="org-more" data-testid=answer>
            <summary>{summary}</summary>
            <ActionForm action attr:class="form">
                <p>{text}</p>
                <input type="hidden" name="refund" value=id.to_string()/>
                <input type="hidden" name="answer" value=answer/>
                <input type="hidden" name="next" value=here/>
                <label class="field">
                    <span>{td_string!(lang, refunds.note)}</span>
                    <textarea name="note" rows="2" maxlength=NOTE_MAX_CHARS.to_string() data-testid="note"></textarea>
                </label>
                <button class="button" type="submit" disabled=move || action.pending().get() data-testid="decide-now">{button}</button>
            </ActionForm>
        </details>
    }
    .into_any()
}
