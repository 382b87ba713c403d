//! Fees and tax: one form for each currency, with an example that follows what is typed.

mod api;
mod form;

use self::form::{Card, refusal_text};
use super::frame::{Frame, Sub, Subnav, Tab};
use crate::components::icon::{Icon, Sign};
use crate::components::missing::Failure;
use crate::components::notice::RefusedAs;
use crate::components::raw_text::Title;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::typed::brought_back;
use api::FeesSave;
use domain::Currency;
use domain::organizer::Action;
use domain::organizer::fees::{FeesEntry, FeesForm};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// The organization's fees.
#[component]
pub fn FeesPage() -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<FeesSave>::new();
    let typed = StoredValue::new(brought_back::<FeesSave>());
    let list = Resource::new(|| (), |()| api::organizer_fees());
    let value = action.value();
    Effect::new(move |_| {
        // A refusal leaves what is typed where it is.
        if matches!(value.get(), Some(Ok(_))) {
            list.refetch();
        }
    });
    view! {
        <Title text=td_string!(lang, fees.title)/>
        <Frame tab=Tab::Settings needs=Action::EditTerms>
            <header class="org-head">
                <h1>{td_string!(lang, fees.title)}</h1>
                <p class="quiet">{td_string!(lang, fees.intro)}</p>
            </header>
            <Subnav current=Sub::Fees/>
            <Told action/>
            <Transition>
                {move || Suspend::new(async move {
                    match list.await {
                        Ok(list) => {
                            // What was answered on this page is newer.
                            let typed = typed.get_value().filter(|_| action.version().get_untracked() == 0);
                            view! { <Cards list typed action/> }.into_any()
                        }
                        Err(error) => view! { <Failure error back="/organizer/settings/fees"/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

/// What became of the last form: kept, or why not.
#[component]
fn Told(action: ServerAction<FeesSave>) -> impl IntoView {
    let lang = lang();
    let value = action.value();
    // A form without JavaScript brings it back in the address.
    let saved_before = use_query_map().read_untracked().get_str("saved").and_then(|code| code.parse::<Currency>().ok());
    let saved = move || match value.get() {
        Some(answer) => answer.ok(),
        None => saved_before.map(|currency| currency.code().to_owned()),
    };
    view! {
        <RefusedAs error=Signal::derive(move || value.get().and_then(Result::err)) text=refusal_text/>
        <div class="notice-place" role="status">
            {move || saved().map(|currency| view! {
                <p class="notice" data-testid="saved">
                    <Sign icon=Icon::Check/>
                    <span><b>{currency}</b> " " {td_string!(lang, fees.saved)}</span>
                </p>
            })}
        </div>
    }
    .into_any()
}

#[component]
fn Cards(
    list: Vec<FeesEntry>,
    /// What a refused form without JavaScript brought back: it is shown with the version that it began from.
    typed: Option<FeesSave>,
    action: ServerAction<FeesSave>,
) -> impl IntoView {
    let lang = lang();
    let known: Vec<String> = list.iter().map(|entry| entry.schedule.currency.code().to_owned()).collect();
    let none = list.is_empty();
    let (changed, added) = match typed {
        Some(typed) if typed.version == 0 => (None, Some(typed.form)),
        other => (other, None),
    };
    let (open, new) = added.map_or_else(|| (none, FeesForm::default()), |form| (true, form));
    let cards = list
        .into_iter()
        .map(|FeesEntry { version, schedule }| {
            let name = schedule.currency.code().to_owned();
            let (shown, label) = (name.clone(), name.clone());
            let (version, form) = match &changed {
                Some(typed) if typed.form.currency == name => (typed.version, typed.form.clone()),
                _ => (version, FeesForm::of(&schedule)),
            };
            view! {
                <section class="org-part fees-part" data-testid="fees" data-currency=name aria-label=label>
                    <h2>{shown}</h2>
                    <Card version form action/>
                </section>
            }
        })
        .collect_view();
    view! {
        {none.then(|| view! { <p class="fees-none" data-testid="fees-none">{td_string!(lang, fees.none)}</p> })}
        {cards}
        <details class="org-part fees-part fees-new" data-testid="fees-new" open=open>
            <summary><h2>{td_string!(lang, fees.add)}</h2></summary>
            <Card version=0 form=new action known/>
        </details>
    }
    .into_any()
}
