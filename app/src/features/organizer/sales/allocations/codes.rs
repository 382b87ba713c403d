//! The codes of an allocation. A code is seen once: in the field in which it is offered.

use super::Board;
use super::card::Of;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::allocations::{AllocationView, CodeView, NAME_MAX_CHARS};
use leptos::prelude::*;

/// Codes: those there are, and another one.
#[component]
pub(super) fn Codes(board: Board, one: AllocationView) -> impl IntoView {
    let lang = lang();
    let count = u32::try_from(one.codes.iter().filter(|code| !code.revoked).count()).unwrap_or(u32::MAX);
    let none = count == 0;
    let list = one.codes.iter().map(|code| view! { <CodeLine board code=code.clone()/> }).collect_view();
    view! {
        <details class="kept-step" data-testid="codes" open=none>
            <summary>{td_string!(lang, sales.kept_codes, count = format::number(count))}</summary>
            <ul class="kept-codes">{list}</ul>
            <Add board one/>
        </details>
    }
    .into_any()
}

#[component]
fn CodeLine(board: Board, code: CodeView) -> impl IntoView {
    let lang = lang();
    let uses = match code.uses_max {
        Some(most) => {
            td_string!(lang, sales.kept_uses_of, count = format::number(code.uses), most = format::number(most))
        }
        None => td_string!(lang, sales.kept_uses, count = format::number(code.uses)),
    };
    let state = if code.revoked {
        view! { <span data-testid="revoked">{td_string!(lang, sales.kept_revoked)}</span> }.into_any()
    } else {
        view! {
            <ActionForm action=board.acts.revoke>
                <input type="hidden" name="id" value=board.id().to_string()/>
                <input type="hidden" name="code" value=code.id.to_string()/>
                <button class="link" type="submit" data-testid="revoke">{td_string!(lang, sales.kept_revoke)}</button>
            </ActionForm>
        }
        .into_any()
    };
    view! { <li data-testid="code-line"><b>{code.label}</b> " · " {uses} " · " {state}</li> }.into_any()
}

/// Another code: the one that is offered, or a word of one's own.
#[component]
fn Add(board: Board, one: AllocationView) -> impl IntoView {
    let lang = lang();
    let action = board.acts.code;
    let suggested = board.view.read_untracked().suggested.clone();
    view! {
        <ActionForm action attr:class="form" attr:data-testid="code-form">
            <Of board allocation=one.id/>
            <label class="field">
                <span>{td_string!(lang, sales.kept_code)}</span>
                <input type="text" name="form[code]" required value=suggested maxlength="80" autocomplete="off" spellcheck="false" data-testid="code"/>
                <small>{td_string!(lang, sales.kept_code_hint)}</small>
            </label>
            <label class="field">
                <span>{td_string!(lang, sales.kept_label)}</span>
                <input type="text" name="form[label]" maxlength=NAME_MAX_CHARS.to_string() autocomplete="off" data-testid="label"/>
            </label>
            <label class="field">
                <span>{td_string!(lang, sales.kept_uses_max)}</span>
                <input type="text" name="form[uses_max]" inputmode="numeric" maxlength="7" autocomplete="off" data-testid="uses-max"/>
            </label>
            <button class="button" type="submit" data-testid="add-code">{td_string!(lang, sales.kept_code_add)}</button>
        </ActionForm>
    }
    .into_any()
}
