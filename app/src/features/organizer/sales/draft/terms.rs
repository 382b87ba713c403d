//! Which fees and taxes a performance has, or will have, on one line.

use crate::components::fees;
use crate::features::organizer::frame::may;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::money::fees::FeeSchedule;
use domain::organizer::Action;
use leptos::prelude::*;

/// The line, and for who may set them the way there.
#[component]
pub(in crate::features::organizer::sales) fn Terms(
    /// The schedule; none where orders come to their prices.
    schedule: Option<FeeSchedule>,
    /// Whether they can still be others: before publication.
    #[prop(optional)]
    open: bool,
) -> impl IntoView {
    let lang = lang();
    let text = match &schedule {
        Some(schedule) => td_string!(lang, fees.applies, terms = fees::terms(lang, schedule)).to_string(),
        None => td_string!(lang, fees.applies_none).to_owned(),
    };
    let link = (open && may(Action::EditTerms)).then(|| {
        view! { " " <a href="/organizer/settings/fees" data-testid="to-fees">{td_string!(lang, fees.to_settings)}</a> }
    });
    view! { <p class="quiet" data-testid="terms">{text} {link}</p> }.into_any()
}
