//! The terms of a performance: what fans may give back, and its end before its time.

mod cancel;
mod editor;
mod preview;

use super::Refusal;
use super::api::{OrganizerPerformanceCancel, OrganizerTermsSave, organizer_terms, page_of};
use crate::components::icon::{Icon, Sign};
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::features::organizer::frame::{Frame, Tab, may};
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::latest::Latest;
use crate::typed::brought_back;
use cancel::Cancelling;
use domain::Code;
use domain::organizer::Action;
use domain::refund::typed::TermsForm;
use domain::refund::view::PerformanceTerms;
use editor::Editor;
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};

/// What can be done on the page.
#[derive(Clone, Copy)]
struct Acts {
    latest: Latest,
    save: ServerAction<OrganizerTermsSave>,
    cancel: ServerAction<OrganizerPerformanceCancel>,
    /// What refused terms without JavaScript brought back.
    typed: StoredValue<Option<OrganizerTermsSave>>,
}

impl Acts {
    /// Those of a page: made where it is built, and not inside of its waiting parts.
    fn new() -> Self {
        let latest = Latest::of_page();
        Self { latest, save: latest.action(), cancel: latest.action(), typed: StoredValue::new(brought_back()) }
    }
}

/// The terms of one performance.
#[component]
pub fn TermsPage() -> impl IntoView {
    let params = use_params_map();
    let id = move || params.read().get("id").unwrap_or_default();
    let acts = Acts::new();
    let terms = Resource::new(id, organizer_terms);
    // A refused form keeps what was typed; a change is shown as it is kept.
    Effect::new(move |_| {
        if matches!(acts.save.value().get(), Some(Ok(()))) {
            terms.refetch();
        }
    });
    Effect::new(move |_| match acts.cancel.value().get() {
        Some(Ok(_)) => terms.refetch(),
        Some(Err(error)) if error.code() == Code::WrongState => terms.refetch(),
        Some(Err(_)) | None => (),
    });
    view! {
        <Frame tab=Tab::Events needs=Action::ReadMoney>
            <Transition>
                {move || Suspend::new(async move {
                    match terms.await {
                        Ok(terms) => view! { <Terms terms acts/> }.into_any(),
                        Err(error) => {
                            let back = page_of(&id());
                            view! { <Failure error back/> }.into_any()
                        }
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Terms(terms: PerformanceTerms, acts: Acts) -> impl IntoView {
    let lang = lang();
    let heading = td_string!(lang, refunds.terms);
    let title = format!("{heading} – {}", terms.event);
    let name = format!("{} · {}", terms.artist, terms.event);
    let back = format!("/organizer/performances/{}", terms.performance);
    let starts = terms.starts.clone();
    view! {
        <Title text=title/>
        <header class="org-head" data-testid="terms-page">
            <p class="overline"><a href=back data-testid="to-performance">{name}</a></p>
            <h1>{heading}</h1>
            <p class="facts">
                <time datetime=format::machine_time(&starts)>{format::zoned_moment(lang, &starts)}</time>
            </p>
        </header>
        <section class="org-part" aria-labelledby="terms-policy">
            <h2 id="terms-policy">{td_string!(lang, refunds.terms_policy)}</h2>
            <p class="quiet">{td_string!(lang, refunds.terms_text)}</p>
            <Policy terms=terms.clone() acts/>
        </section>
        <Cancelling terms acts/>
    }
    .into_any()
}

/// The editor for who may change the policy, the fan's words for who may not.
#[component]
fn Policy(terms: PerformanceTerms, acts: Acts) -> impl IntoView {
    let lang = lang();
    let kept = TermsForm::of(&terms.policy, terms.resells);
    let currency = terms.paid.currency;
    let starts = terms.starts.clone();
    if !may(Action::EditTerms) {
        let form = RwSignal::new(kept);
        return view! {
            <p class="notice" data-testid="read-only">{td_string!(lang, refunds.terms_read_only)}</p>
            <preview::Preview form starts currency/>
        }
        .into_any();
    }
    let value = acts.save.value();
    // What was saved since is newer than what came with the page.
    let open = !matches!(value.get_untracked(), Some(Ok(())));
    // Refused terms come back with the version that they began from.
    let typed = acts.typed.get_value().filter(|typed| acts.latest.is_none() && typed.id == terms.performance);
    let version = typed.as_ref().map_or(terms.version, |typed| typed.version);
    let (asked, saved_before) = {
        let query = use_query_map();
        let query = query.read_untracked();
        (editor::of_query(&query).filter(|_| open), query.get_str("saved").is_some())
    };
    let saved = move || match value.get() {
        Some(answer) => answer.is_ok(),
        None => saved_before,
    };
    let form = RwSignal::new(typed.map(|typed| typed.form).or(asked).unwrap_or(kept));
    let error = Signal::derive(move || acts.latest.refusal(acts.save));
    view! {
        <Conflict error/>
        <div role="status" class="notice-place">
            {move || saved().then(|| view! {
                <p class="notice" data-testid="saved"><Sign icon=Icon::Check/><span>{td_string!(lang, refunds.saved)}</span></p>
            })}
        </div>
        <div class="terms-columns">
            <Editor id=terms.performance version form action=acts.save/>
            <preview::Preview form starts currency/>
        </div>
    }
    .into_any()
}

/// Why it was not saved; where somebody else saved first, with the way to what there is now.
#[component]
fn Conflict(error: Signal<Option<AppError>>) -> impl IntoView {
    let lang = lang();
    let conflict = Memo::new(move |_| error.with(|error| error.as_ref().is_some_and(|e| e.code() == Code::WrongState)));
    let other = Signal::derive(move || error.get().filter(|_| !conflict.get()));
    let here = use_params_map().read_untracked().get("id").map(|id| page_of(&id)).unwrap_or_default();
    view! {
        <Refusal error=other/>
        <div role="alert" class="notice-place">
            {move || conflict.get().then(|| view! {
                <p class="notice notice-care" data-testid="conflict">
                    <Sign icon=Icon::Attention/>
                    <span>
                        {td_string!(lang, refunds.conflict)} " "
                        <a href=here.clone() rel="external">{td_string!(lang, refunds.reload)}</a>
                    </span>
                </p>
            })}
        </div>
    }
    .into_any()
}
