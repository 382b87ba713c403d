//! One event: what is written about it, its picture, and its performances.

use super::api;
use super::events::Performances;
use crate::components::raw_text::{Title, in_area};
use crate::components::{
    cover::Cover,
    icon::{Icon, Sign},
    missing::Failure,
    notice::Refused,
};
use crate::error::AppError;
use crate::features::organizer::frame::{Frame, Tab, may};
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::Action;
use domain::organizer::sales::{EventFields, OrganizerEvent, SLUG_MAX_BYTES};
use domain::{Code, EventId};
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};

/// Picture themes to choose from.
const COVERS: u8 = 6;

/// One event, or a new one at the id `new`.
#[component]
pub fn EventPage() -> impl IntoView {
    let params = use_params_map();
    let id = move || params.read().get("id").unwrap_or_default();
    let event = Resource::new(id, |id| async move {
        if id == "new" {
            return Ok(None);
        }
        match id.parse::<EventId>() {
            Ok(id) => api::event_of(id).await.map(Some),
            Err(_) => Err(AppError::new(Code::NotFound, "there is no such event")),
        }
    });
    let changed = Callback::new(move |()| event.refetch());
    Kept::provide();
    view! {
        <Frame tab=Tab::Events>
            <Transition>
                {move || Suspend::new(async move {
                    match event.await {
                        Ok(event) => view! { <Event event changed/> }.into_any(),
                        Err(error) => {
                            let back = format!("/organizer/events/{}", id());
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
fn Event(event: Option<OrganizerEvent>, changed: Callback<()>) -> impl IntoView {
    let lang = lang();
    let title = event.as_ref().map_or_else(|| td_string!(lang, sales.new_event).to_owned(), |e| e.line.title.clone());
    if event.is_none() && !may(Action::EditEvents) {
        return view! { <Failure error=AppError::new(Code::Forbidden, "the role does not allow this") back="/organizer"/> }
            .into_any();
    }
    let below = event.clone().map(|event| {
        view! {
            <Evenings id=event.line.id list=event.line.performances.clone()/>
            <Picture event/>
        }
    });
    view! {
        <Title text=title.clone()/>
        <nav class="sales-back"><a href="/organizer">{td_string!(lang, sales.title)}</a></nav>
        <h1>{title}</h1>
        <Writing event changed/>
        {below}
    }
    .into_any()
}

/// What is written about the event: a form for who may change it, plain text for others.
#[component]
fn Writing(event: Option<OrganizerEvent>, changed: Callback<()>) -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<api::EventSave>::new();
    let value = action.value();
    let (navigate, kept) = (use_navigate(), Kept::of_page());
    let made = event.is_none();
    Effect::new(move |_| kept.follow(action.pending().get(), matches!(value.get(), Some(Ok(_)))));
    Effect::new(move |_| {
        if let Some(Ok(id)) = value.get() {
            if made {
                navigate(&format!("/organizer/events/{id}?saved=1"), NavigateOptions::default());
            } else {
                changed.run(());
            }
        }
    });
    let (id, frozen) = (event.as_ref().map(|e| e.line.id), event.as_ref().is_some_and(|e| e.slug_frozen));
    let fields = event.map_or_else(EventFields::default, |event| EventFields {
        slug: event.line.slug,
        title: event.line.title,
        artist: event.line.artist,
        description: event.description,
        cover: event.line.cover,
    });
    if !may(Action::EditEvents) {
        return view! { <ReadOnly fields/> }.into_any();
    }
    view! {
        <Refused error=Signal::derive(move || value.get().and_then(Result::err)) detail=true/>
        <Saved/>
        <ActionForm action attr:class="form sales-form" attr:data-testid="event-form">
            {id.map(|id| view! { <input type="hidden" name="id" value=id.to_string()/> })}
            <Fields fields frozen/>
            <button class=if made { "button button-accent" } else { "button" } type="submit" disabled=move || action.pending().get()>
                {if made { td_string!(lang, sales.create_event) } else { td_string!(lang, sales.save) }}
            </button>
        </ActionForm>
    }
    .into_any()
}

/// Whether the last change of this page is kept. It belongs to the page and not to the form, which is
/// made anew with what was saved.
#[derive(Clone, Copy)]
pub(super) struct Kept(RwSignal<bool>);

impl Kept {
    /// For a page: begins with what a form without JavaScript brought back in the address.
    pub(super) fn provide() {
        let brought_back = use_query_map().read_untracked().get_str("saved").is_some();
        provide_context(Self(RwSignal::new(brought_back)));
    }

    /// That of the page around.
    pub(super) fn of_page() -> Self {
        expect_context()
    }

    /// Takes a form's state over: nothing is said while it is on its way.
    pub(super) fn follow(self, pending: bool, saved: bool) {
        if pending || saved {
            self.0.set(saved && !pending);
        }
    }
}

/// That the last change is kept.
#[component]
pub(super) fn Saved() -> impl IntoView {
    let (lang, when) = (lang(), Kept::of_page().0);
    view! {
        <div role="status" class="notice-place">
            {move || when.get().then(|| view! {
                <p class="notice" data-testid="saved"><Sign icon=Icon::Check/><span>{td_string!(lang, sales.saved)}</span></p>
            })}
        </div>
    }
    .into_any()
}

#[component]
fn Fields(fields: EventFields, frozen: bool) -> impl IntoView {
    let lang = lang();
    let hint = if frozen { td_string!(lang, sales.slug_frozen) } else { td_string!(lang, sales.slug_hint) };
    let covers = (0..COVERS)
        .map(|cover| {
            let name = td_string!(lang, sales.cover_number, number = cover + 1).to_string();
            view! { <option value=cover.to_string() selected=cover == fields.cover % COVERS>{name}</option> }
        })
        .collect_view();
    view! {
        <label class="field">
            <span>{td_string!(lang, sales.field_title)}</span>
            <input name="fields[title]" required maxlength="120" value=fields.title/>
        </label>
        <label class="field">
            <span>{td_string!(lang, sales.field_artist)}</span>
            <input name="fields[artist]" required maxlength="120" value=fields.artist/>
        </label>
        <label class="field">
            <span>{td_string!(lang, sales.field_description)}</span>
            <textarea name="fields[description]" required rows="6" maxlength="10000" >{in_area(&fields.description)}</textarea>
        </label>
        <label class="field">
            <span>{td_string!(lang, sales.field_slug)}</span>
            <input name="fields[slug]" maxlength=SLUG_MAX_BYTES.to_string() pattern="[a-z0-9-]*" value=fields.slug readonly=frozen/>
            <small>{hint}</small>
        </label>
        <label class="field">
            <span>{td_string!(lang, sales.field_cover)}</span>
            <select name="fields[cover]">{covers}</select>
        </label>
    }
    .into_any()
}

#[component]
fn ReadOnly(fields: EventFields) -> impl IntoView {
    let paragraphs = fields
        .description
        .split("\n\n")
        .filter(|text| !text.trim().is_empty())
        .map(|text| view! { <p>{text.trim().to_owned()}</p> })
        .collect_view();
    view! {
        <section class="sales-text" data-testid="event-read-only">
            <p class="quiet">{fields.artist}</p>
            {paragraphs}
        </section>
    }
    .into_any()
}

/// The event's performances, and the way to one more.
#[component]
fn Evenings(id: EventId, list: Vec<domain::organizer::sales::PerformanceLine>) -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<api::DraftNew>::new();
    let value = action.value();
    let navigate = use_navigate();
    Effect::new(move |_| {
        if let Some(Ok(id)) = value.get() {
            navigate(&format!("/organizer/performances/{id}"), NavigateOptions::default());
        }
    });
    let none = list.is_empty();
    view! {
        <section class="sales-part" aria-labelledby="performances">
            <h2 id="performances">{td_string!(lang, sales.performances)}</h2>
            {none.then(|| view! { <p class="quiet">{td_string!(lang, sales.no_performances)}</p> })}
            <Performances list/>
            <Refused error=Signal::derive(move || value.get().and_then(Result::err)) detail=true/>
            {may(Action::EditEvents).then(|| view! {
                <ActionForm action>
                    <input type="hidden" name="event" value=id.to_string()/>
                    <button class=if none { "button button-accent" } else { "button" } type="submit" data-testid="new-performance">
                        {td_string!(lang, sales.new_performance)}
                    </button>
                </ActionForm>
            })}
        </section>
    }
    .into_any()
}

/// The picture, and the form to bring another one.
#[component]
fn Picture(event: OrganizerEvent) -> impl IntoView {
    let lang = lang();
    let line = event.line;
    let upload = format!("/api/organizer-picture-upload?event={}", line.id);
    let query = use_query_map();
    let refused = move || {
        query.read().get("refused").map(|code| {
            let text = if code == Code::TooLarge.as_str() {
                td_string!(lang, sales.picture_too_large)
            } else {
                td_string!(lang, sales.picture_refused)
            };
            view! { <p class="notice notice-bad" role="alert" data-testid="refusal" data-code=code>{text}</p> }
        })
    };
    view! {
        <section class="sales-part" aria-labelledby="picture">
            <h2 id="picture">{td_string!(lang, sales.picture)}</h2>
            {refused}
            <div class="sales-picture"><Cover cover=line.cover picture=line.picture artist=line.artist/></div>
            {may(Action::EditEvents).then(|| view! {
                <form class="form sales-form" method="post" enctype="multipart/form-data" action=upload data-testid="picture-form">
                    <label class="field">
                        <span>{td_string!(lang, sales.picture_file)}</span>
                        <input type="file" name="file" required accept="image/jpeg,image/png,image/webp"/>
                        <small>{td_string!(lang, sales.picture_hint)}</small>
                    </label>
                    <button class="button" type="submit">{td_string!(lang, sales.picture_upload)}</button>
                </form>
            })}
        </section>
    }
    .into_any()
}
