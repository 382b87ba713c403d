//! What documents say about the organization, its invoices and credit notes as a list, and those of one order.

pub(super) mod api;

use super::frame::{Frame, Sub, Subnav, Tab, may};
use crate::components::raw_text::{Title, in_area};
use crate::components::{
    icon::{Icon, Sign},
    missing::Failure,
    notice::RefusedAs,
};
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::typed::brought_back;
use api::OrganizerDetailsSet;
use domain::Code;
use domain::document::{
    ADDRESS_MAX_CHARS, Details, DetailsView, DocumentKind, Issued, LIST_MAX, PREFIX_MAX_CHARS, TAX_ID_MAX_CHARS,
};
use domain::organizer::Action;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// Where the page is.
const PATH: &str = "/organizer/settings/details";

/// The settings of documents.
#[component]
pub fn DetailsPage() -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<OrganizerDetailsSet>::new();
    let typed = StoredValue::new(brought_back::<OrganizerDetailsSet>());
    let view = Resource::new(|| (), |()| api::organizer_details());
    let value = action.value();
    Effect::new(move |_| {
        // A refusal leaves what is typed where it is, and the version that it began from: who typed over somebody
        // else's change has to look at it before.
        if matches!(value.get(), Some(Ok(()))) {
            view.refetch();
        }
    });
    view! {
        <Title text=td_string!(lang, documents.details)/>
        <Frame tab=Tab::Settings needs=Action::EditTerms>
            <Subnav current=Sub::Details/>
            <header class="org-head">
                <h1>{td_string!(lang, documents.details)}</h1>
                <p class="quiet">{td_string!(lang, documents.details_text)}</p>
            </header>
            <Said action/>
            <Transition>
                {move || Suspend::new(async move {
                    match view.await {
                        Ok(view) => {
                            // What was answered on this page is newer.
                            let typed = typed.get_value().filter(|_| action.version().get_untracked() == 0);
                            view! { <Settings view typed action/> }.into_any()
                        }
                        Err(error) => view! { <Failure error back=PATH/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

/// How the last change went.
#[component]
fn Said(action: ServerAction<OrganizerDetailsSet>) -> impl IntoView {
    let lang = lang();
    let value = action.value();
    let saved_before = use_query_map().read_untracked().get_str("saved").is_some();
    let saved = move || match value.get() {
        Some(answer) => answer.is_ok(),
        None => saved_before,
    };
    view! {
        <RefusedAs error=Signal::derive(move || value.get().and_then(Result::err)) text=refusal_text/>
        <div class="notice-place" role="status">
            {move || saved().then(|| view! {
                <p class="notice" data-testid="saved"><Sign icon=Icon::Check/><span>{td_string!(lang, documents.saved)}</span></p>
            })}
        </div>
    }
    .into_any()
}

/// Why a change was refused, by the field that is wrong.
fn refusal_text(lang: Locale, error: &AppError) -> String {
    let about = error.0.message.split_once(':').map(|(field, _)| field);
    match (error.code(), about) {
        (Code::WrongState, _) => td_string!(lang, documents.moved).to_owned(),
        (Code::InvalidInput, Some("prefix")) => {
            format!("{} {}", td_string!(lang, documents.prefix), td_string!(lang, documents.prefix_hint))
        }
        _ => error.text(lang).to_owned(),
    }
}

#[component]
fn Settings(
    view: DetailsView,
    /// What a refused form without JavaScript brought back: it is shown with the version that it began from.
    typed: Option<OrganizerDetailsSet>,
    action: ServerAction<OrganizerDetailsSet>,
) -> impl IntoView {
    let lang = lang();
    let DetailsView { name, details, version, last_number, next, newest } = view;
    let (details, version) = match typed {
        Some(OrganizerDetailsSet { address, tax_id, prefix, version }) => {
            (Details { address, tax_id, prefix }, version)
        }
        None => (details, version),
    };
    view! {
        <section class="org-part">
            <ActionForm action attr:class="form documents-form" attr:data-testid="details-form">
                <input type="hidden" name="version" value=version.to_string()/>
                <div class="field">
                    <span>{td_string!(lang, documents.name)}</span>
                    <b>{name}</b>
                    <small>{td_string!(lang, documents.name_hint)}</small>
                </div>
                <label class="field">
                    <span>{td_string!(lang, documents.address)}</span>
                    <textarea name="address" rows="4" maxlength=ADDRESS_MAX_CHARS.to_string()>{in_area(&details.address)}</textarea>
                    <small>{td_string!(lang, documents.address_hint)}</small>
                </label>
                <label class="field">
                    <span>{td_string!(lang, documents.tax_number)}</span>
                    <input name="tax_id" maxlength=TAX_ID_MAX_CHARS.to_string() autocomplete="off" value=details.tax_id/>
                    <small>{td_string!(lang, documents.tax_number_hint)}</small>
                </label>
                <label class="field">
                    <span>{td_string!(lang, documents.prefix)}</span>
                    <input
                        name="prefix"
                        required
                        maxlength=PREFIX_MAX_CHARS.to_string()
                        pattern="[A-Za-z0-9]+"
                        autocomplete="off"
                        value=details.prefix
                    />
                    <small>
                        {td_string!(lang, documents.prefix_hint)} " "
                        <span data-testid="next-number">{td_string!(lang, documents.next, number = next)}</span>
                    </small>
                </label>
                <button class="button button-accent" type="submit" disabled=move || action.pending().get()>
                    {td_string!(lang, documents.save)}
                </button>
            </ActionForm>
        </section>
        <List last_number newest/>
    }
    .into_any()
}

/// The newest documents, and all of them as tables to keep.
#[component]
fn List(last_number: i64, newest: Vec<Issued>) -> impl IntoView {
    let lang = lang();
    if newest.is_empty() {
        return view! {
            <section class="org-part">
                <h2>{td_string!(lang, documents.list)}</h2>
                <p class="quiet" data-testid="no-documents">{td_string!(lang, documents.list_none)}</p>
            </section>
        }
        .into_any();
    }
    let count = format::number(last_number.unsigned_abs());
    let files = starts(last_number)
        .into_iter()
        .map(|after| {
            let text = if after == 0 {
                td_string!(lang, documents.download).to_owned()
            } else {
                td_string!(lang, documents.download_from, from = after + 1)
            };
            let href = format!("/api/organizer-invoices?after={after}");
            view! { <a class="button" rel="external" download="" href=href data-testid="documents-csv">{text}</a> }
        })
        .collect_view();
    view! {
        <section class="org-part">
            <h2>{td_string!(lang, documents.list)}</h2>
            <p class="quiet">{td_string!(lang, documents.list_count, count = count)}</p>
            <p class="actions">{files}</p>
            <Rows rows=newest/>
        </section>
    }
    .into_any()
}

/// The numbers before the first of each file.
fn starts(last_number: i64) -> Vec<i64> {
    std::iter::successors(Some(0), |after| Some(after + LIST_MAX).filter(|after| *after < last_number)).collect()
}

#[component]
fn Rows(rows: Vec<Issued>) -> impl IntoView {
    let lang = lang();
    let rows = rows
        .into_iter()
        .map(|row| {
            let kind = match row.kind {
                DocumentKind::Invoice => td_string!(lang, documents.invoice),
                DocumentKind::CreditNote => td_string!(lang, documents.credit_note),
            };
            view! {
                <li class="document-row" data-testid="document" data-kind=row.kind.as_str()>
                    <b>{row.label}</b>
                    <span>{kind}</span>
                    <time class="quiet" datetime=format::machine_time(&row.issued)>{format::moment(lang, &row.issued)}</time>
                    <span class="document-total">{format::money(lang, row.total)}</span>
                </li>
            }
        })
        .collect_view();
    view! { <ul class="org-rows">{rows}</ul> }.into_any()
}

/// The documents of one order, as they were read with the page that tells its story.
#[component]
pub(super) fn OrderDocuments(list: Result<Vec<Issued>, AppError>) -> impl IntoView {
    let lang = lang();
    let rows = match list {
        Ok(rows) if rows.is_empty() => {
            view! { <p class="quiet">{td_string!(lang, documents.order_none)}</p> }.into_any()
        }
        Ok(rows) => view! { <Rows rows/> }.into_any(),
        Err(error) => view! { <p class="quiet">{error.text(lang)}</p> }.into_any(),
    };
    view! {
        <section class="story-part">
            <h2>{td_string!(lang, documents.order_list)}</h2>
            {rows}
            {may(Action::EditTerms).then(|| view! { <p><a href=PATH>{td_string!(lang, documents.to_details)}</a></p> })}
        </section>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_comes_in_several_files() {
        assert_eq!(starts(1), [0]);
        assert_eq!(starts(LIST_MAX), [0]);
        assert_eq!(starts(LIST_MAX + 1), [0, LIST_MAX]);
        assert_eq!(starts(2 * LIST_MAX + 7), [0, LIST_MAX, 2 * LIST_MAX]);
    }
}
