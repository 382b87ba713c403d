//! "My tickets": what the account holds, whoever bought it.

use super::actions::{Actions, Refusals};
use super::ticket::Sheets;
use super::tickets_api::{self, TicketSheet};
use crate::components::raw_text::Title;
use crate::components::{
    icon::{Icon, Sign},
    missing::{Failure, Missing},
};
use crate::i18n::td_string;
use crate::lang::lang;
use crate::session::use_visitor;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// All tickets of the account; one alone, when the address names it.
#[component]
pub fn TicketsPage() -> impl IntoView {
    let (lang, visitor, query) = (lang(), use_visitor(), use_query_map());
    let actions = Actions::new();
    let sheets = Resource::new(move || (visitor.changes(), actions.changes()), |_| tickets_api::my_tickets());
    let wanted = move || query.read().get("ticket").filter(|id| !id.is_empty());
    let declined = query.read_untracked().get_str("declined").is_some();
    view! {
        <Title text=td_string!(lang, tickets.title)/>
        <section class="order my-tickets" data-status="fulfilled">
            <header>
                <h1>{td_string!(lang, tickets.title)}</h1>
                <p class="quiet">{td_string!(lang, tickets.title_text)}</p>
            </header>
            <div role="status" class="notice-place">
                {declined.then(|| view! {
                    <p class="notice" data-testid="declined"><Sign icon=Icon::Check/><span>{td_string!(lang, tickets.declined)}</span></p>
                })}
            </div>
            <Refusals actions/>
            <Transition>
                {move || {
                    let wanted = wanted();
                    Suspend::new(async move {
                        match sheets.await {
                            Ok(list) => view! { <Held list wanted actions/> }.into_any(),
                            Err(error) => view! { <Failure error back="/tickets"/> }.into_any(),
                        }
                    })
                }}
            </Transition>
        </section>
    }
    .into_any()
}

#[component]
fn Held(list: Vec<TicketSheet>, wanted: Option<String>, actions: Actions) -> impl IntoView {
    let lang = lang();
    let back = "/tickets".to_owned();
    let Some(wanted) = wanted else {
        if list.is_empty() {
            return view! {
                <p data-testid="no-tickets">{td_string!(lang, tickets.none)}</p>
                <p><a class="button" href="/orders">{td_string!(lang, common.my_orders)}</a></p>
            }
            .into_any();
        }
        return view! { <Sheets list actions back/> }.into_any();
    };
    // A code or a name that was changed makes a ticket of another number: all are shown then.
    let one: Vec<TicketSheet> = list.iter().filter(|sheet| sheet.ticket.id.to_string() == wanted).cloned().collect();
    if one.is_empty() && list.is_empty() {
        return view! { <Missing/> }.into_any();
    }
    let alone = !one.is_empty();
    let list = if alone { one } else { list };
    view! {
        <Sheets list actions back/>
        {alone.then(|| view! { <p><a href="/tickets">{td_string!(lang, tickets.all)}</a></p> })}
    }
    .into_any()
}
