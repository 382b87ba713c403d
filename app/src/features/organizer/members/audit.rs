//! The log of what everybody did.

mod words;

use super::super::frame::{Frame, Tab};
use super::api;
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::members::{AuditPage as Page, AuditRow};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
pub(in crate::features::organizer) use words::action_text;
use words::page_of;

/// What the filter says for the command line.
pub(super) const COMMAND_LINE: &str = "-";

/// What the address of the page asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Query {
    before: Option<i64>,
    action: Option<String>,
    subject: Option<String>,
    who: Option<String>,
}

impl Query {
    fn of(query: &ParamsMap) -> Self {
        let text = |name| query.get(name).filter(|text| !text.is_empty());
        Self {
            before: query.get_str("before").and_then(|text| text.parse().ok()),
            action: text("action"),
            subject: text("subject"),
            who: text("who"),
        }
    }

    /// The address of the page that goes on there.
    fn address(&self, before: Option<i64>) -> String {
        let mut query = ParamsMap::new();
        let before = before.map(|before| before.to_string());
        let fields = [("action", &self.action), ("subject", &self.subject), ("who", &self.who), ("before", &before)];
        for (name, value) in fields {
            if let Some(value) = value {
                query.insert(name, value.clone());
            }
        }
        format!("/organizer/audit{}", query.to_query_string())
    }
}

/// The log, newest first.
#[component]
pub fn AuditPage() -> impl IntoView {
    let lang = lang();
    let query = use_query_map();
    let query = Memo::new(move |_| Query::of(&query.read()));
    let page = Resource::new(
        move || query.get(),
        |query| api::organizer_audit(query.before, query.action, query.subject, query.who),
    );
    view! {
        <Title text=td_string!(lang, organizer.tab_audit)/>
        <Frame tab=Tab::Audit>
            <header class="org-head">
                <h1>{td_string!(lang, organizer.tab_audit)}</h1>
                <p class="quiet">{td_string!(lang, organizer.audit_text)}</p>
            </header>
            <Transition>
                {move || Suspend::new(async move {
                    match page.await {
                        Ok(page) => view! { <Shown page query=query.get_untracked()/> }.into_any(),
                        Err(error) => view! { <Failure error back="/organizer/audit"/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Shown(page: Page, query: Query) -> impl IntoView {
    let lang = lang();
    let empty = page.rows.is_empty();
    let older = page.next.map(|next| query.address(Some(next)));
    let newest = query.before.map(|_| query.address(None));
    view! {
        <Filter actions=page.actions people=page.people query/>
        {empty.then(|| view! { <p data-testid="empty">{td_string!(lang, organizer.audit_none)}</p> })}
        <Trail rows=page.rows/>
        <nav class="org-pager" aria-label=td_string!(lang, organizer.pages)>
            {newest.map(|href| view! { <a class="button" href=href>{td_string!(lang, organizer.newest)}</a> })}
            {older.map(|href| view! { <a class="button" href=href data-testid="older">{td_string!(lang, organizer.older)}</a> })}
        </nav>
    }
    .into_any()
}

#[component]
fn Filter(actions: Vec<String>, people: Vec<String>, query: Query) -> impl IntoView {
    let lang = lang();
    let any = || td_string!(lang, organizer.any);
    let chosen = |value: &str, of: &Option<String>| of.as_deref() == Some(value);
    let actions = actions
        .into_iter()
        .map(|action| {
            let selected = chosen(&action, &query.action);
            let text = action_text(lang, &action).map_or_else(|| action.clone(), str::to_owned);
            view! { <option value=action selected=selected>{text}</option> }
        })
        .collect_view();
    let people = people
        .into_iter()
        .map(|email| {
            let selected = chosen(&email, &query.who);
            let text = email.clone();
            view! { <option value=email selected=selected>{text}</option> }
        })
        .collect_view();
    view! {
        <form class="org-line" method="get" action="/organizer/audit">
            <label class="field">
                <span>{td_string!(lang, organizer.audit_action)}</span>
                <select name="action"><option value="">{any()}</option>{actions}</select>
            </label>
            <label class="field">
                <span>{td_string!(lang, organizer.audit_who)}</span>
                <select name="who">
                    <option value="">{any()}</option>
                    <option value=COMMAND_LINE selected=chosen(COMMAND_LINE, &query.who)>
                        {td_string!(lang, organizer.command_line)}
                    </option>
                    {people}
                </select>
            </label>
            <label class="field">
                <span>{td_string!(lang, organizer.audit_subject)}</span>
                <input type="search" name="subject" maxlength="120" value=query.subject.clone().unwrap_or_default()/>
            </label>
            <button class="button" type="submit">{td_string!(lang, organizer.filter)}</button>
        </form>
    }
    .into_any()
}

/// Rows of the log.
#[component]
pub(in super::super) fn Trail(
    /// The rows, in the order in which they are shown.
    rows: Vec<AuditRow>,
) -> impl IntoView {
    view! {
        <ol class="trail">{rows.into_iter().map(|row| view! { <li><Line row/></li> }).collect_view()}</ol>
    }
    .into_any()
}

#[component]
fn Line(row: AuditRow) -> impl IntoView {
    let lang = lang();
    let AuditRow { at, who, action, subject, detail, .. } = row;
    let text = action_text(lang, &action).map_or_else(|| action.clone(), str::to_owned);
    let who = who.unwrap_or_else(|| td_string!(lang, organizer.command_line).to_owned());
    let subject = match page_of(&subject) {
        Some(href) => view! { <a href=href>{subject}</a> }.into_any(),
        None => view! { <span>{subject}</span> }.into_any(),
    };
    view! {
        <article class="trail-row" data-testid="audit-row" data-action=action>
            <p class="trail-what"><b>{text}</b> <span class="trail-subject">{subject}</span></p>
            <p class="facts">
                <time datetime=format::machine_time(&at)>{format::exact(lang, &at)}</time>
                <span>{who}</span>
            </p>
            {(!detail.is_empty()).then(|| view! {
                <dl class="pairs">
                    {detail
                        .into_iter()
                        .map(|(key, value)| view! { <div><dt>{key}</dt><dd>{value}</dd></div> })
                        .collect_view()}
                </dl>
            })}
        </article>
    }
    .into_any()
}
