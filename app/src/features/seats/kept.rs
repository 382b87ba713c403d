//! Kept seats on the fan's pages: "I have a code", "I need an accessible seat", and what was opened.
//!
//! Both forms work without JavaScript. Where nothing is kept, nothing is shown.

use super::kept_api::{self as api, CodeOpen, NeedOpen};
use super::model::Notice;
use super::room::Room;
use crate::components::notice::Refused;
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use crate::session::use_visitor;
use domain::allocation::{AllocationKind, CODE_MAX_CHARS, COMPANIONS_MAX, Opened, Openings};
use domain::{Code, PerformanceId};
use leptos::prelude::*;
use leptos::task::spawn_local;

/// Longest text of the field for a code: with hyphens and spaces.
const CODE_FIELD_MAX: usize = 2 * CODE_MAX_CHARS;

/// The panel beside the map: it asks by itself, again when something was opened, after a refusal of a
/// seat, and when somebody else signs in.
#[component]
pub fn RoomKept(
    /// The page's state.
    room: Room,
) -> impl IntoView {
    let refresh = move || {
        spawn_local(async move {
            if let Ok(fresh) = api::seat_openings(room.performance).await {
                room.openings.try_set(fresh);
            }
        });
    };
    let visitor = use_visitor();
    Effect::new(move |_| {
        visitor.changes();
        refresh();
    });
    Effect::new(move |_| {
        if room.notice.with(|notice| notice.as_ref().is_some_and(tells_of_seats)) {
            refresh();
        }
    });
    Effect::new(move |_| {
        room.scene.charts.track();
        let opened = room.openings.read().seats().list().iter().copied().collect();
        room.scene.update(|house| house.set_opened(opened));
        room.scene.touch();
    });
    view! { <Kept performance=room.performance path="seats" openings=room.openings then=Callback::new(move |()| refresh())/> }
        .into_any()
}

/// Whether a notice means that seats are not what they were taken for.
fn tells_of_seats(notice: &Notice) -> bool {
    match notice {
        Notice::Taken { .. } => true,
        Notice::Refused(refusal) => matches!(refusal.code, Code::SeatNotForSale | Code::SeatTaken),
        _ => false,
    }
}

/// Forms and what they opened; nothing where nothing is kept.
#[component]
pub fn Kept(
    /// Which performance.
    performance: PerformanceId,
    /// The page that it is part of: `seats` or `list`.
    path: &'static str,
    /// What concerns this fan.
    #[prop(into)]
    openings: Signal<Openings>,
    /// Called when something was opened.
    then: Callback<()>,
) -> impl IntoView {
    let (code, need) = (ServerAction::<CodeOpen>::new(), ServerAction::<NeedOpen>::new());
    Effect::new(move |_| {
        if code.value().with(|answer| matches!(answer, Some(Ok(())))) {
            then.run(());
        }
    });
    Effect::new(move |_| {
        if need.value().with(|answer| matches!(answer, Some(Ok(())))) {
            then.run(());
        }
    });
    let codes = Memo::new(move |_| openings.read().codes);
    let accessible = Memo::new(move |_| {
        let openings = openings.read();
        openings.accessible && !openings.has(AllocationKind::Accessible)
    });
    let opened = move || openings.get().opened.into_iter().map(|one| view! { <Yours one/> }).collect_view();
    view! {
        <div class="kept" data-testid="kept">
            {move || openings.read().any().then(|| view! { <ul class="kept-yours" data-testid="kept-yours">{opened()}</ul> })}
            {move || codes.get().then(|| view! { <CodeForm performance path action=code/> })}
            {move || accessible.get().then(|| view! { <NeedForm performance path action=need/> })}
        </div>
    }
    .into_any()
}

/// What was opened, and how much of it is free.
#[component]
fn Yours(one: Opened) -> impl IntoView {
    let lang = lang();
    let name = td_string!(lang, seats.kept_yours, name = one.name);
    let free = match u32::try_from(one.free.len()).unwrap_or(u32::MAX) {
        0 => td_string!(lang, seats.kept_yours_none).to_owned(),
        count => td_string!(lang, seats.kept_yours_free, count = format::number(count)),
    };
    let rule = (one.kind == AllocationKind::Accessible)
        .then(|| view! { <small>{td_string!(lang, seats.need_rule, count = COMPANIONS_MAX)}</small> });
    view! { <li><b>{name}</b> " · " {free} {rule}</li> }.into_any()
}

/// Why a form was refused, with the way to sign in where that is why.
#[component]
fn Why(performance: PerformanceId, path: &'static str, #[prop(into)] error: Signal<Option<AppError>>) -> impl IntoView {
    let lang = lang();
    let sign_in = format!("/sign-in?next=/performances/{performance}/{path}");
    let link = move || {
        let signed_out = error.read().as_ref().is_some_and(|error| error.code() == Code::SignInRequired);
        signed_out.then(|| view! {
            <p><a href=sign_in.clone() data-testid="kept-sign-in">{td_string!(lang, seats.sign_in)}</a> " " {td_string!(lang, seats.kept_sign_in)}</p>
        })
    };
    view! {
        <Refused error/>
        {link}
    }
    .into_any()
}

#[component]
fn CodeForm(performance: PerformanceId, path: &'static str, action: ServerAction<CodeOpen>) -> impl IntoView {
    let lang = lang();
    let error = Signal::derive(move || action.value().get().and_then(Result::err));
    let refused = error.with_untracked(Option::is_some);
    view! {
        <details class="kept-form" data-testid="have-code" open=refused>
            <summary>{td_string!(lang, seats.code_title)}</summary>
            <ActionForm action attr:class="form" attr:data-testid="code-form">
                <Why performance path error/>
                <input type="hidden" name="performance" value=performance.to_string()/>
                <label class="field">
                    <span>{td_string!(lang, seats.code_label)}</span>
                    <input type="text" name="code" required maxlength=CODE_FIELD_MAX.to_string() autocomplete="off" autocapitalize="characters" spellcheck="false" data-testid="code"/>
                    <small>{td_string!(lang, seats.code_hint)}</small>
                </label>
                <button class="button" type="submit" data-testid="open-code" disabled=move || action.pending().get()>
                    {td_string!(lang, seats.code_open)}
                </button>
            </ActionForm>
        </details>
    }
    .into_any()
}

#[component]
fn NeedForm(performance: PerformanceId, path: &'static str, action: ServerAction<NeedOpen>) -> impl IntoView {
    let lang = lang();
    let error = Signal::derive(move || action.value().get().and_then(Result::err));
    let refused = error.with_untracked(Option::is_some);
    view! {
        <details class="kept-form" data-testid="need-accessible" open=refused>
            <summary>{td_string!(lang, seats.need_title)}</summary>
            <ActionForm action attr:class="form" attr:data-testid="need-form">
                <Why performance path error/>
                <p>{td_string!(lang, seats.need_intro)} " " {td_string!(lang, seats.need_rule, count = COMPANIONS_MAX)}</p>
                <input type="hidden" name="performance" value=performance.to_string()/>
                <label class="kept-check">
                    <input type="checkbox" name="sure" value="true" required data-testid="need-sure"/>
                    <span>{td_string!(lang, seats.need_sure)}</span>
                </label>
                <button class="button" type="submit" data-testid="open-need" disabled=move || action.pending().get()>
                    {td_string!(lang, seats.need_open)}
                </button>
            </ActionForm>
        </details>
    }
    .into_any()
}
