//! What the holder of a ticket can do with it: another code, a name, an offer to somebody. All are forms that
//! work without JavaScript.

use super::tickets_api::{TicketOffer, TicketReissue, TicketRename, TicketTakeBack};
use crate::components::notice::RefusedAs;
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use domain::Code;
use domain::account::EMAIL_MAX_BYTES;
use domain::ticket::change::HeldTicket;
use leptos::prelude::*;

/// Longest name, in characters, as the server bounds it.
const NAME_MAX_CHARS: usize = 80;

/// What can be done on a page with tickets.
#[derive(Clone, Copy)]
pub(super) struct Actions {
    reissue: ServerAction<TicketReissue>,
    rename: ServerAction<TicketRename>,
    offer: ServerAction<TicketOffer>,
    take_back: ServerAction<TicketTakeBack>,
}

impl Actions {
    pub(super) fn new() -> Self {
        Self {
            reissue: ServerAction::new(),
            rename: ServerAction::new(),
            offer: ServerAction::new(),
            take_back: ServerAction::new(),
        }
    }

    /// Changes with each answer: the tickets are read anew.
    pub(super) fn versions(self) -> [usize; 4] {
        [
            self.reissue.version().get(),
            self.rename.version().get(),
            self.offer.version().get(),
            self.take_back.version().get(),
        ]
    }
}

/// Why something was refused, more closely than its code says.
fn refusal_text(lang: Locale, error: &AppError) -> &'static str {
    let about = error.0.message.split_once(':').map(|(field, _)| field);
    match (error.code(), about) {
        (Code::LimitExceeded, _) => td_string!(lang, tickets.refused_limit),
        (Code::InvalidInput, Some("name")) => td_string!(lang, tickets.refused_name),
        (Code::InvalidInput, Some("recipient")) => td_string!(lang, tickets.refused_own),
        (Code::WrongState, Some("name")) => td_string!(lang, tickets.refused_name_late),
        (Code::LinkInvalid, _) => td_string!(lang, tickets.offer_over),
        _ => error.text(lang),
    }
}

/// A refusal of what was to be done with a ticket, announced when it appears.
#[component]
pub(super) fn NotDone(
    /// The refusal, while there is one.
    error: Signal<Option<AppError>>,
) -> impl IntoView {
    view! { <RefusedAs error text=refusal_text/> }.into_any()
}

/// What was refused last, of each thing that can be done.
#[component]
pub(super) fn Refusals(actions: Actions) -> impl IntoView {
    let (reissue, rename) = (actions.reissue.value(), actions.rename.value());
    let (offer, take_back) = (actions.offer.value(), actions.take_back.value());
    view! {
        <NotDone error=Signal::derive(move || reissue.get().and_then(Result::err))/>
        <NotDone error=Signal::derive(move || rename.get().and_then(Result::err))/>
        <NotDone error=Signal::derive(move || offer.get().and_then(Result::err))/>
        <NotDone error=Signal::derive(move || take_back.get().and_then(Result::err))/>
    }
    .into_any()
}

/// What can be done with one ticket.
#[component]
pub(super) fn Manage(ticket: HeldTicket, actions: Actions, back: String) -> impl IntoView {
    if ticket.is_offered() {
        return view! { <Offered ticket actions back/> }.into_any();
    }
    let nothing = !(ticket.may_reissue || ticket.may_rename || ticket.may_offer);
    if nothing {
        return ().into_any();
    }
    let lang = lang();
    let id = ticket.id;
    view! {
        <details class="ticket-manage" data-testid="manage" data-for=id.to_string()>
            <summary>{td_string!(lang, tickets.manage)}</summary>
            <div class="ticket-forms">
                <p>
                    <a class="button" rel="external" href=format!("/tickets/{id}.pdf") data-testid="ticket-pdf">
                        {td_string!(lang, tickets.pdf_one)}
                    </a>
                </p>
                {ticket.may_rename.then(|| view! { <Rename ticket=ticket.clone() actions back=back.clone()/> })}
                {ticket.may_offer.then(|| view! { <Offer ticket=ticket.clone() actions back=back.clone()/> })}
                {ticket.may_reissue.then(|| view! { <Reissue ticket=ticket.clone() actions back=back.clone()/> })}
            </div>
        </details>
    }
    .into_any()
}

#[component]
fn Rename(ticket: HeldTicket, actions: Actions, back: String) -> impl IntoView {
    let lang = lang();
    let until = format::zoned_moment(lang, &ticket.names_until);
    view! {
        <ActionForm action=actions.rename attr:class="form ticket-form" attr:data-testid="rename">
            <input type="hidden" name="ticket" value=ticket.id.to_string()/>
            <input type="hidden" name="back" value=back/>
            <label class="field">
                <span>{td_string!(lang, tickets.name)}</span>
                <input
                    type="text"
                    name="name"
                    autocomplete="name"
                    maxlength=NAME_MAX_CHARS.to_string()
                    value=ticket.holder.unwrap_or_default()
                />
                <small>{td_string!(lang, tickets.name_hint, until = until)}</small>
            </label>
            <button class="button" type="submit">{td_string!(lang, tickets.name_save)}</button>
        </ActionForm>
    }
    .into_any()
}

#[component]
fn Offer(ticket: HeldTicket, actions: Actions, back: String) -> impl IntoView {
    let lang = lang();
    view! {
        <ActionForm action=actions.offer attr:class="form ticket-form" attr:data-testid="offer">
            <input type="hidden" name="ticket" value=ticket.id.to_string()/>
            <input type="hidden" name="back" value=back/>
            <label class="field">
                <span>{td_string!(lang, tickets.offer_to)}</span>
                <input type="email" name="email" required autocomplete="off" inputmode="email" maxlength=EMAIL_MAX_BYTES.to_string()/>
                <small>
                    {if ticket.bought { td_string!(lang, tickets.offer_hint) } else { td_string!(lang, tickets.offer_hint_held) }}
                </small>
            </label>
            <button class="button" type="submit">{td_string!(lang, tickets.offer_send)}</button>
        </ActionForm>
    }
    .into_any()
}

#[component]
fn Reissue(ticket: HeldTicket, actions: Actions, back: String) -> impl IntoView {
    let lang = lang();
    view! {
        <ActionForm action=actions.reissue attr:class="form ticket-form" attr:data-testid="reissue">
            <input type="hidden" name="ticket" value=ticket.id.to_string()/>
            <input type="hidden" name="back" value=back/>
            <p class="quiet">{td_string!(lang, tickets.reissue_text)}</p>
            <button class="button" type="submit">{td_string!(lang, tickets.reissue)}</button>
        </ActionForm>
    }
    .into_any()
}

/// A ticket on its way to somebody.
#[component]
fn Offered(ticket: HeldTicket, actions: Actions, back: String) -> impl IntoView {
    let lang = lang();
    let until = ticket.transfer.as_ref().map(|transfer| {
        let until = format::beside(transfer.until, &ticket.starts);
        td_string!(lang, tickets.offered_until, until = format::moment(lang, &until))
    });
    view! {
        <ActionForm action=actions.take_back attr:class="ticket-offered" attr:data-testid="take-back">
            <input type="hidden" name="ticket" value=ticket.id.to_string()/>
            <input type="hidden" name="back" value=back/>
            <p>{until}</p>
            <button class="button" type="submit">{td_string!(lang, tickets.take_back)}</button>
        </ActionForm>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Refusal;

    #[test]
    fn refusals_are_told_as_they_concern_tickets() {
        for (code, message) in [
            (Code::LimitExceeded, "ticket: a code is made anew at most 5 times"),
            (Code::InvalidInput, "name: at most 80 characters are expected"),
            (Code::InvalidInput, "recipient: this ticket is yours already"),
            (Code::WrongState, "name: it can't be changed any more"),
            (Code::LinkInvalid, "this offer was answered"),
        ] {
            let error = AppError(Refusal::new(code, message));
            for lang in [Locale::en, Locale::zh] {
                assert_ne!(refusal_text(lang, &error), error.text(lang), "{message}");
            }
        }
    }
}
