//! The controls of a sale. Each asks first and says what will happen: in a dialog, or without
//! JavaScript on the same page under an address of its own (`?confirm=…`).

use super::{
    api::{SaleClose, SaleMaximum, SaleOpen, SalePause, SaleRate, SaleResume},
    board::State,
    path, polling,
};
use crate::alive::Alive;
use crate::components::notice::Refused;
use crate::error::AppError;
use crate::format;
use crate::i18n::td_string;
use crate::lang::lang;
use domain::organizer::desk::{RATE_MAX, SHOPPERS_MAX};
use domain::queue::Phase;
use leptos::{html, prelude::*};
use leptos_router::hooks::use_query_map;

/// A control that waits for its confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Open,
    Pause,
    Resume,
    Rate(u32),
    Maximum(u32),
    Close,
}

impl Ask {
    /// What the address of the page asks for.
    pub(super) fn of_address() -> Option<Self> {
        let query = use_query_map();
        let query = query.read_untracked();
        Self::read(query.get_str("confirm")?, query.get_str("to").unwrap_or_default())
    }

    fn read(word: &str, to: &str) -> Option<Self> {
        let number = |most: u32| to.trim().parse::<u32>().ok().filter(|value| (1..=most).contains(value));
        match word {
            "open" => Some(Self::Open),
            "pause" => Some(Self::Pause),
            "resume" => Some(Self::Resume),
            "rate" => number(RATE_MAX).map(Self::Rate),
            "maximum" => number(SHOPPERS_MAX).map(Self::Maximum),
            "close" => Some(Self::Close),
            _ => None,
        }
    }
}

/// The actions behind the controls.
#[derive(Clone, Copy)]
struct Actions {
    open: ServerAction<SaleOpen>,
    pause: ServerAction<SalePause>,
    resume: ServerAction<SaleResume>,
    rate: ServerAction<SaleRate>,
    maximum: ServerAction<SaleMaximum>,
    close: ServerAction<SaleClose>,
}

type Outcome = Option<Result<(), AppError>>;

impl Actions {
    fn new() -> Self {
        Self {
            open: ServerAction::new(),
            pause: ServerAction::new(),
            resume: ServerAction::new(),
            rate: ServerAction::new(),
            maximum: ServerAction::new(),
            close: ServerAction::new(),
        }
    }

    fn outcomes(self) -> [Outcome; 6] {
        [
            self.open.value().get(),
            self.pause.value().get(),
            self.resume.value().get(),
            self.rate.value().get(),
            self.maximum.value().get(),
            self.close.value().get(),
        ]
    }

    /// Forgets what was answered before: a refusal belongs to what was asked last.
    fn clear(self) {
        self.open.clear();
        self.pause.clear();
        self.resume.clear();
        self.rate.clear();
        self.maximum.clear();
        self.close.clear();
    }
}

/// Buttons, numbers, and the confirmation.
#[component]
pub(super) fn Controls(state: State) -> impl IntoView {
    let lang = lang();
    let (actions, alive) = (Actions::new(), Alive::until_cleanup());
    // While the confirmation is shown it says so itself.
    let refusal = Signal::derive(move || {
        let refused = actions.outcomes().into_iter().flatten().find_map(Result::err);
        refused.filter(|_| state.asked.with(Option::is_none))
    });
    Effect::new(move |_| {
        if actions.outcomes().into_iter().flatten().any(|outcome| outcome.is_ok()) {
            state.asked.set(None);
            polling::refresh(state, alive.clone());
        }
    });
    let ask = move |asked: Option<Ask>| {
        if asked.is_some() {
            actions.clear();
            state.asked.set(asked);
        }
    };
    let stands = Memo::new(move |_| state.view.with(|view| (view.phase, view.settings.paused)));
    let (rate, most) = state.view.with_untracked(|view| (view.settings.rate_per_min, view.settings.shoppers_max));
    view! {
        <section class="desk-controls" aria-labelledby="desk-controls-title">
            <h2 id="desk-controls-title">{td_string!(lang, desk.controls)}</h2>
            <Refused error=refusal/>
            {move || if stands.get().0 == Phase::Ended {
                view! { <p>{td_string!(lang, desk.ended_text)}</p> }.into_any()
            } else {
                view! {
                    <div class="desk-buttons">
                        {move || {
                            let (phase, paused) = stands.get();
                            let lobby = matches!(phase, Phase::Announced | Phase::Lobby);
                            let button = |shown: bool, word: &'static str, text: &'static str| {
                                shown.then(|| view! { <Button state word text ask=Callback::new(ask)/> })
                            };
                            view! {
                                {button(lobby, "open", td_string!(lang, desk.open_now))}
                                {button(!paused, "pause", td_string!(lang, desk.pause))}
                                {button(paused, "resume", td_string!(lang, desk.resume))}
                                {button(!lobby, "close", td_string!(lang, desk.close))}
                            }
                        }}
                    </div>
                    <div class="desk-settings">
                        <Number state word="rate" name=td_string!(lang, desk.rate) value=rate most=RATE_MAX ask=Callback::new(ask)/>
                        <Number state word="maximum" name=td_string!(lang, desk.maximum) value=most most=SHOPPERS_MAX ask=Callback::new(ask)/>
                    </div>
                }
                .into_any()
            }}
            <Confirmation state actions/>
        </section>
    }
    .into_any()
}

/// A control without a number.
#[component]
fn Button(state: State, word: &'static str, text: &'static str, ask: Callback<Option<Ask>>) -> impl IntoView {
    let on_submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        ask.run(Ask::read(word, ""));
    };
    view! {
        <form method="get" action=path(&state.id()) on:submit=on_submit>
            <button class="button" type="submit" name="confirm" value=word data-testid=format!("desk-{word}")>{text}</button>
        </form>
    }
    .into_any()
}

/// A control that sets a number.
#[component]
fn Number(
    state: State,
    word: &'static str,
    name: &'static str,
    value: u32,
    most: u32,
    ask: Callback<Option<Ask>>,
) -> impl IntoView {
    let lang = lang();
    let typed = RwSignal::new(value.to_string());
    let on_submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        ask.run(typed.with_untracked(|typed| Ask::read(word, typed)));
    };
    view! {
        <form class="desk-number" method="get" action=path(&state.id()) on:submit=on_submit>
            <label class="field">
                <span>{name}</span>
                <input
                    type="number"
                    name="to"
                    min="1"
                    max=most.to_string()
                    required
                    inputmode="numeric"
                    value=value.to_string()
                    on:input=move |event| typed.set(event_target_value(&event))
                    data-testid=format!("desk-{word}-to")
                />
            </label>
            <button class="button" type="submit" name="confirm" value=word data-testid=format!("desk-{word}")>
                {td_string!(lang, desk.set)}
            </button>
        </form>
    }
    .into_any()
}

/// Says what will happen, and asks.
#[component]
fn Confirmation(state: State, actions: Actions) -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    // Without JavaScript the server shows it, as part of the page.
    let shown_at_first = state.asked.with_untracked(Option::is_some);
    Effect::new(move |_| {
        let wanted = state.asked.get().is_some();
        let Some(dialog) = dialog.get() else { return };
        if wanted && !dialog.open() {
            // A dialog that can't be modal any more belongs to a page that goes away.
            drop(dialog.show_modal());
        } else if !wanted && dialog.open() {
            dialog.close();
        }
    });
    view! {
        <dialog
            node_ref=dialog
            class="desk-dialog"
            open=shown_at_first
            aria-labelledby="desk-dialog-title"
            on:close=move |_| state.asked.set(None)
            data-testid="desk-dialog"
        >
            {move || state.asked.get().map(|ask| view! { <Question state actions ask/> })}
        </dialog>
    }
    .into_any()
}

#[component]
fn Question(state: State, actions: Actions, ask: Ask) -> impl IntoView {
    let lang = lang();
    let (rate, most) = state.view.with_untracked(|view| (view.settings.rate_per_min, view.settings.shoppers_max));
    let change = |from: u32, to: u32| {
        td_string!(lang, desk.from_to, from = format::number(from), to = format::number(to)).to_string()
    };
    let (title, text, detail) = match ask {
        Ask::Open => (td_string!(lang, desk.open_now), td_string!(lang, desk.open_text), None),
        Ask::Pause => (td_string!(lang, desk.pause), td_string!(lang, desk.pause_text), None),
        Ask::Resume => (td_string!(lang, desk.resume), td_string!(lang, desk.resume_text), None),
        Ask::Close => (td_string!(lang, desk.close), td_string!(lang, desk.close_text), None),
        Ask::Rate(to) => (td_string!(lang, desk.rate), td_string!(lang, desk.rate_text), Some(change(rate, to))),
        Ask::Maximum(to) => {
            (td_string!(lang, desk.maximum), td_string!(lang, desk.maximum_text), Some(change(most, to)))
        }
    };
    let form = match ask {
        Ask::Open => view! { <ActionForm action=actions.open><Confirm state numbers=None/></ActionForm> }.into_any(),
        Ask::Pause => view! { <ActionForm action=actions.pause><Confirm state numbers=None/></ActionForm> }.into_any(),
        Ask::Resume => {
            view! { <ActionForm action=actions.resume><Confirm state numbers=None/></ActionForm> }.into_any()
        }
        Ask::Close => view! { <ActionForm action=actions.close><Confirm state numbers=None/></ActionForm> }.into_any(),
        Ask::Rate(to) => {
            view! { <ActionForm action=actions.rate><Confirm state numbers=Some((rate, to))/></ActionForm> }.into_any()
        }
        Ask::Maximum(to) => {
            view! { <ActionForm action=actions.maximum><Confirm state numbers=Some((most, to))/></ActionForm> }
                .into_any()
        }
    };
    let refusal = Signal::derive(move || actions.outcomes().into_iter().flatten().find_map(Result::err));
    view! {
        <h2 id="desk-dialog-title">{title}</h2>
        {detail.map(|detail| view! { <p><b>{detail}</b></p> })}
        <p>{text}</p>
        <Refused error=refusal/>
        <div class="actions">
            {form}
            <a
                class="button"
                href=path(&state.id())
                on:click=move |event| {
                    event.prevent_default();
                    state.asked.set(None);
                }
            >
                {td_string!(lang, desk.not_now)}
            </a>
        </div>
    }
    .into_any()
}

/// What a confirmed change sends along, and its button.
#[component]
fn Confirm(state: State, numbers: Option<(u32, u32)>) -> impl IntoView {
    let lang = lang();
    view! {
        <input type="hidden" name="performance" value=state.id()/>
        {numbers.map(|(from, to)| view! {
            <input type="hidden" name="from" value=from.to_string()/>
            <input type="hidden" name="to" value=to.to_string()/>
        })}
        <button class="button button-accent" type="submit" data-testid="desk-confirm">
            {td_string!(lang, desk.confirm)}
        </button>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_asks_for_what_a_control_can_do_and_nothing_else() {
        assert_eq!(Ask::read("pause", ""), Some(Ask::Pause));
        assert_eq!(Ask::read("rate", " 300 "), Some(Ask::Rate(300)));
        for (word, to) in [("rate", ""), ("rate", "0"), ("maximum", "1000001"), ("maximum", "<b>"), ("delete", "1")] {
            assert_eq!(Ask::read(word, to), None, "{word} {to}");
        }
    }
}
