//! Until when fans may change the names on their tickets, with the form that sets it.

use crate::components::notice::Refused;
use crate::error::AppError;
use crate::features::organizer::frame::may;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::PerformanceId;
use domain::organizer::Action;
use domain::organizer::sales::NameTerms;
use leptos::prelude::*;

/// Sets how many hours before the start names are fixed.
#[server(endpoint = "organizer-names-set")]
pub async fn organizer_names_set(
    /// The performance.
    id: PerformanceId,
    /// The hours that were shown; empty for none.
    from: String,
    /// The new hours; empty for none.
    hours: String,
) -> Result<(), AppError> {
    use crate::context;
    context::backend()?.set_name_terms(&context::session()?, id, &from, &hours).await?;
    context::redirect_form(&format!("/organizer/performances/{id}"));
    Ok(())
}

/// The part of a published performance's page. What it shows comes with the page; `changed` reads that anew.
#[component]
pub(super) fn NamesPart(performance: PerformanceId, terms: NameTerms, changed: Callback<()>) -> impl IntoView {
    let lang = lang();
    let set = ServerAction::<OrganizerNamesSet>::new();
    let value = set.value();
    Effect::new(move |_| {
        if matches!(value.get(), Some(Ok(()))) {
            changed.run(());
        }
    });
    view! {
        <section class="sales-part" aria-labelledby="names" data-testid="names">
            <h2 id="names">{td_string!(lang, tickets.names_title)}</h2>
            <Refused error=Signal::derive(move || value.get().and_then(Result::err)) detail=true/>
            <Terms performance terms set/>
        </section>
    }
    .into_any()
}

#[component]
fn Terms(performance: PerformanceId, terms: NameTerms, set: ServerAction<OrganizerNamesSet>) -> impl IntoView {
    let lang = lang();
    let hours = terms.hours.map(|hours| hours.to_string()).unwrap_or_default();
    let until = format::zoned_moment(lang, &terms.until);
    view! {
        <p data-testid="names-until">{td_string!(lang, tickets.names_until, until = until)}</p>
        {may(Action::EditEvents).then(|| view! {
            <ActionForm action=set attr:class="form names-form">
                <input type="hidden" name="id" value=performance.to_string()/>
                <input type="hidden" name="from" value=hours.clone()/>
                <label class="field">
                    <span>{td_string!(lang, tickets.names_hours)}</span>
                    <input type="number" name="hours" min="0" max="8760" step="1" inputmode="numeric" value=hours/>
                    <small>{td_string!(lang, tickets.names_hint)}</small>
                </label>
                <button class="button" type="submit">{td_string!(lang, tickets.names_save)}</button>
            </ActionForm>
        })}
    }
    .into_any()
}
