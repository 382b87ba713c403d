//! Kept seats of a published performance: a map to choose on, what is kept for whom, and its codes.
//!
//! Everything is also a form without JavaScript: seats as typed text, a code as it is offered in its
//! field, releasing behind a box to tick.

mod card;
mod codes;

use super::allocations_api::{
    self as api, AllocationCodeAdd, AllocationCodeRevoke, AllocationCreate, AllocationEdit, AllocationGrant,
    AllocationRelease, AllocationSeats, organizer_allocations,
};
use super::prices::{FieldError, Why, paint_of, price_zones};
use super::prices_api::organizer_prices;
use crate::components::missing::Failure;
use crate::components::raw_text::Title;
use crate::error::AppError;
use crate::features::organizer::frame::{Frame, Tab, may};
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::seatmap::{PlanCanvas, SeatMark, Tone};
use card::Card;
use domain::allocation::AllocationKind;
use domain::organizer::Action;
use domain::organizer::allocations::{AllocationsView, NAME_MAX_CHARS, ReleasedView};
use domain::organizer::pricing::{PricingView, SeatSet};
use domain::{Code, PerformanceId, SeatNo};
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_params_map;
use std::collections::BTreeSet;

/// What can be done with allocations that there are. One of each for the page: a refusal that the
/// address brings back is told once, above the list.
#[derive(Clone, Copy)]
struct Acts {
    edit: ServerAction<AllocationEdit>,
    seats: ServerAction<AllocationSeats>,
    release: ServerAction<AllocationRelease>,
    grant: ServerAction<AllocationGrant>,
    code: ServerAction<AllocationCodeAdd>,
    revoke: ServerAction<AllocationCodeRevoke>,
}

impl Acts {
    fn new() -> Self {
        Self {
            edit: ServerAction::new(),
            seats: ServerAction::new(),
            release: ServerAction::new(),
            grant: ServerAction::new(),
            code: ServerAction::new(),
            revoke: ServerAction::new(),
        }
    }

    /// Why the last one was refused.
    fn error(self) -> Option<AppError> {
        let of = |answer: Option<Result<(), AppError>>| answer.and_then(Result::err);
        of(self.edit.value().get())
            .or_else(|| of(self.seats.value().get()))
            .or_else(|| of(self.release.value().get()))
            .or_else(|| of(self.grant.value().get()))
            .or_else(|| self.code.value().get().and_then(Result::err))
            .or_else(|| of(self.revoke.value().get()))
    }
}

/// What the parts of the page share.
#[derive(Clone, Copy)]
struct Board {
    /// As the server told last.
    view: RwSignal<AllocationsView>,
    /// Seats that are picked on the map.
    selection: RwSignal<BTreeSet<SeatNo>>,
    /// Set it, and the map goes there.
    focus: RwSignal<Option<SeatNo>>,
    /// What can be done.
    acts: Acts,
    /// The code that was just added.
    added: RwSignal<Option<String>>,
    /// Whether the member may change anything.
    editing: bool,
}

impl Board {
    fn new(view: AllocationsView) -> Self {
        Self {
            view: RwSignal::new(view),
            selection: RwSignal::default(),
            focus: RwSignal::default(),
            acts: Acts::new(),
            added: RwSignal::default(),
            editing: may(Action::EditEvents),
        }
    }

    fn id(self) -> PerformanceId {
        self.view.read_untracked().performance
    }

    /// The picked seats in the form that forms send.
    fn picked(self) -> String {
        self.selection.read().iter().copied().collect::<SeatSet>().to_string()
    }

    /// Asks for the present state whenever this answer is a success, after doing what else is to be done.
    fn refresh_after<T: 'static>(
        self,
        value: impl Fn() -> Option<Result<T, AppError>> + 'static,
        then: impl Fn() + 'static,
    ) {
        Effect::new(move |_| {
            if let Some(Ok(_)) = value() {
                then();
                spawn_local(async move {
                    if let Ok(fresh) = organizer_allocations(self.id()).await {
                        self.view.try_set(fresh);
                    }
                });
            }
        });
    }
}

impl Board {
    /// Brings the page up to each success.
    fn start(self) {
        let acts = self.acts;
        let clear = move || self.selection.update(BTreeSet::clear);
        self.refresh_after(move || acts.edit.value().get(), || ());
        self.refresh_after(move || acts.seats.value().get(), clear);
        self.refresh_after(move || acts.release.value().get(), || ());
        self.refresh_after(move || acts.grant.value().get(), || ());
        self.refresh_after(move || acts.revoke.value().get(), || ());
        let code = move || acts.code.value().get();
        self.refresh_after(code, move || self.added.set(acts.code.value().get_untracked().and_then(Result::ok)));
    }
}

/// A kind in words.
fn kind_text(lang: Locale, kind: AllocationKind) -> &'static str {
    match kind {
        AllocationKind::Channel => td_string!(lang, sales.kept_channel),
        AllocationKind::Presale => td_string!(lang, sales.kept_presale),
        AllocationKind::House => td_string!(lang, sales.kept_house),
        AllocationKind::Accessible => td_string!(lang, sales.kept_accessible),
    }
}

async fn load(id: Option<PerformanceId>) -> Result<(AllocationsView, PricingView), AppError> {
    let id = id.ok_or_else(|| AppError::new(Code::NotFound, "id: a performance is expected"))?;
    Ok((organizer_allocations(id).await?, organizer_prices(id).await?))
}

/// The allocations of one performance.
#[component]
pub fn AllocationsPage() -> impl IntoView {
    let params = use_params_map();
    let id = move || params.read().get("id").and_then(|id| id.parse::<PerformanceId>().ok());
    let data = Resource::new(id, load);
    view! {
        <Frame tab=Tab::Events>
            <Suspense>
                {move || Suspend::new(async move {
                    match data.await {
                        Ok((view, house)) => view! { <Allocations view house/> }.into_any(),
                        Err(error) => {
                            let back = id().map_or_else(|| "/organizer".to_owned(), api::page_of);
                            view! { <Failure error back/> }.into_any()
                        }
                    }
                })}
            </Suspense>
        </Frame>
    }
    .into_any()
}

#[component]
fn Allocations(view: AllocationsView, house: PricingView) -> impl IntoView {
    let lang = lang();
    let title = view.title.clone();
    let base = format!("/organizer/performances/{}", view.performance);
    let heading = td_string!(lang, sales.kept_title);
    let board = Board::new(view);
    board.start();
    view! {
        <Title text=format!("{heading} – {title}")/>
        <div class="prices" data-testid="allocations-page">
            <header>
                <p><a href=base.clone() data-testid="to-performance">{title}</a></p>
                <h1>{heading}</h1>
                <p>{td_string!(lang, sales.kept_intro)}</p>
                <nav class="kept-links">
                    <a href=format!("{base}/desk") data-testid="to-desk">{td_string!(lang, sales.kept_to_desk)}</a>
                    <a href=format!("{base}/prices") data-testid="to-prices">{td_string!(lang, sales.to_prices)}</a>
                </nav>
                {(!board.editing).then(|| view! { <p class="notice" data-testid="read-only">{td_string!(lang, sales.kept_read_only)}</p> })}
            </header>
            <div class="prices-body">
                <div class="prices-map"><House board house/></div>
                <div class="prices-side">{board.editing.then(|| view! { <Create board/> })}</div>
            </div>
            <div class="prices-below">
                <Open board/>
                <Released board/>
            </div>
        </div>
    }
    .into_any()
}

/// The map with the live states; kept seats have a ring.
#[component]
fn House(board: Board, house: PricingView) -> impl IntoView {
    let digest = house.map_digest.clone().unwrap_or_default();
    let zones = price_zones(&house.zones);
    let paint = paint_of(&house.zones);
    let moved: Vec<(SeatNo, u8)> =
        house.moved.iter().flat_map(|(zone, seats)| seats.list().iter().map(|seat| (*seat, *zone))).collect();
    let marks = Memo::new(move |_| {
        let view = board.view.read();
        let seats = view.open.iter().flat_map(|one| one.seats.list().iter().copied());
        seats.map(|seat| SeatMark { seat, tone: Tone::Note }).collect::<Vec<_>>()
    });
    let live = house.performance;
    let focus = board.focus;
    if board.editing {
        view! { <PlanCanvas digest zones paint moved marks live selection=board.selection focus/> }.into_any()
    } else {
        view! { <PlanCanvas digest zones paint moved marks live focus/> }.into_any()
    }
}

/// How many seats are picked on the map.
#[component]
fn Picked(board: Board) -> impl IntoView {
    let lang = lang();
    let count = move || board.selection.read().len();
    let text = move || match count() {
        0 => td_string!(lang, sales.block_selected_none).to_owned(),
        1 => td_string!(lang, sales.block_selected_one).to_owned(),
        count => {
            td_string!(lang, sales.block_selected, count = format::number(u32::try_from(count).unwrap_or(u32::MAX)))
        }
    };
    let clear = move || {
        (count() > 0).then(|| {
            view! {
                <button class="link" type="button" data-testid="clear-selection"
                    on:click=move |_| board.selection.update(BTreeSet::clear)>
                    {td_string!(lang, sales.block_clear)}
                </button>
            }
        })
    };
    view! { <p class="prices-selected" role="status" data-testid="selected"><span>{text}</span>{clear}</p> }.into_any()
}

/// The field for an instant of release.
#[component]
fn ReleaseField(
    board: Board,
    /// Its name in the form.
    name: &'static str,
    /// What stands in it.
    #[prop(into)]
    value: String,
    /// Why the form was refused, where that is told beneath its fields.
    #[prop(optional, into)]
    error: Signal<Option<AppError>>,
) -> impl IntoView {
    let lang = lang();
    let zone = board.view.read_untracked().time_zone.clone();
    view! {
        <label class="field">
            <span>{td_string!(lang, sales.kept_release)}</span>
            <input type="text" name=name value=value maxlength="40" autocomplete="off" placeholder="2027-03-28T20:00" data-testid="release-at"/>
            <small>{td_string!(lang, sales.kept_release_hint, zone = zone)}</small>
            <FieldError error field="release"/>
        </label>
    }
    .into_any()
}

/// The form that keeps the chosen seats.
#[component]
fn Create(board: Board) -> impl IntoView {
    let lang = lang();
    let action = ServerAction::<AllocationCreate>::new();
    let error = Signal::derive(move || action.value().get().and_then(Result::err));
    let form = NodeRef::<html::Form>::new();
    board.refresh_after(
        move || action.value().get(),
        move || {
            board.selection.update(BTreeSet::clear);
            if let Some(form) = form.get_untracked() {
                form.reset();
            }
        },
    );
    let kinds = AllocationKind::ALL
        .map(|kind| view! { <option value=kind.as_str()>{kind_text(lang, kind)}</option> })
        .collect_view();
    view! {
        <section aria-labelledby="keep-title">
            <h2 id="keep-title">{td_string!(lang, sales.kept_new)}</h2>
            <Picked board/>
            <ActionForm action node_ref=form attr:class="form" attr:data-testid="keep-form">
                <Why error/>
                <input type="hidden" name="id" value=board.id().to_string()/>
                <input type="hidden" name="form[picked]" value=move || board.picked() data-testid="picked"/>
                <label class="field">
                    <span>{td_string!(lang, sales.block_typed)}</span>
                    <textarea name="form[typed]" rows="3" data-testid="typed-seats"></textarea>
                    <small>{td_string!(lang, sales.block_typed_hint)}</small>
                    <FieldError error field="seats"/>
                </label>
                <label class="field">
                    <span>{td_string!(lang, sales.kept_name)}</span>
                    <input type="text" name="form[name]" required maxlength=NAME_MAX_CHARS.to_string() autocomplete="off" data-testid="name"/>
                    <FieldError error field="name"/>
                </label>
                <label class="field">
                    <span>{td_string!(lang, sales.kept_kind)}</span>
                    <select name="form[kind]" data-testid="kind">{kinds}</select>
                    <small>{td_string!(lang, sales.kept_kind_hint)}</small>
                    <FieldError error field="kind"/>
                </label>
                <ReleaseField board name="form[release]" value="" error/>
                <button class="button button-accent" type="submit" data-testid="keep" disabled=move || action.pending().get()>
                    {td_string!(lang, sales.kept_keep)}
                </button>
            </ActionForm>
        </section>
    }
    .into_any()
}

/// The allocations that keep seats.
#[component]
fn Open(board: Board) -> impl IntoView {
    let lang = lang();
    let error = Signal::derive(move || board.acts.error());
    let added = move || {
        let code = board.added.get()?;
        let text = td_string!(lang, sales.kept_code_added, code = code);
        Some(view! { <p class="notice" role="status" data-testid="code-added">{text}</p> })
    };
    let cards = move || {
        let open = board.view.get().open;
        if open.is_empty() {
            return view! { <p data-testid="nothing-kept">{td_string!(lang, sales.kept_none)}</p> }.into_any();
        }
        view! { <ul class="kept-list">{open.into_iter().map(|one| view! { <Card board one/> }).collect_view()}</ul> }
            .into_any()
    };
    view! {
        <section aria-labelledby="kept-list-title">
            <h2 id="kept-list-title">{td_string!(lang, sales.kept_list)}</h2>
            <Why error/>
            {added}
            {cards}
        </section>
    }
    .into_any()
}

/// What was released, and when.
#[component]
fn Released(board: Board) -> impl IntoView {
    let lang = lang();
    let line = move |one: ReleasedView| {
        let when = td_string!(lang, sales.kept_released_at, time = format::moment(lang, &one.at));
        view! { <li data-testid="released"><b>{one.name}</b> " · " {kind_text(lang, one.kind)} " · " {when}</li> }
    };
    move || {
        let released = board.view.get().released;
        (!released.is_empty()).then(|| {
            view! {
                <section aria-labelledby="released-title">
                    <h2 id="released-title">{td_string!(lang, sales.kept_released)}</h2>
                    <ul class="prices-places">{released.into_iter().map(line).collect_view()}</ul>
                </section>
            }
        })
    }
}
