//! What the holder of a ticket can do with it: another code, a name, an offer to somebody. All are forms that
//! work without JavaScript.

use super::tickets_api::{TicketOffer, TicketReissue, TicketRename, TicketTakeBack};
use crate::components::notice::RefusedAs;
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::latest::Latest;
use crate::typed::brought_back;
use domain::Code;
use domain::TicketId;
use domain::account::EMAIL_MAX_BYTES;
use domain::ticket::change::HeldTicket;
use leptos::prelude::*;

/// Longest name, in characters, as the server bounds it.
const NAME_MAX_CHARS: usize = 80;

/// What can be done on a page with tickets.
#[derive(Clone, Copy)]
pub(super) struct Actions {
    latest: Latest,
    reissue: ServerAction<TicketReissue>,
    rename: ServerAction<TicketRename>,
    offer: ServerAction<TicketOffer>,
    take_back: ServerAction<TicketTakeBack>,
    /// What forms without JavaScript brought back.
    renamed: StoredValue<Option<TicketRename>>,
    offered: StoredValue<Option<TicketOffer>>,
}

impl Actions {
    /// Those of a page: made where it is built, and not inside of its waiting parts.
    pub(super) fn new() -> Self {
        let latest = Latest::of_page();
        Self {
            latest,
            reissue: latest.action(),
            rename: latest.action(),
            offer: latest.action(),
            take_back: latest.action(),
            renamed: StoredValue::new(brought_back()),
            offered: StoredValue::new(brought_back()),
        }
    }

    /// Changes with the answers after which the tickets are to be read anew.
    pub(super) fn changes(self) -> usize {
        self.latest.changes()
    }

    /// The name that was refused for a ticket just now.
    fn typed_name(self, ticket: TicketId) -> Option<String> {
        let typed = self.renamed.get_value().filter(|typed| typed.ticket == ticket && self.latest.is_none());
        typed.map(|typed| typed.name)
    }

    /// The address that a ticket could not be offered to just now.
    fn typed_email(self, ticket: TicketId) -> Option<String> {
        let typed = self.offered.get_value().filter(|typed| typed.ticket == ticket && self.latest.is_none());
        typed.map(|typed| typed.email)
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

/// What was refused last, if that is the latest answer.
#[component]
pub(super) fn Refusals(actions: Actions) -> impl IntoView {
    let Actions { latest, reissue, rename, offer, take_back, .. } = actions;
    view! {
        <NotDone error=Signal::derive(move || latest.refusal(reissue))/>
        <NotDone error=Signal::derive(move || latest.refusal(rename))/>
        <NotDone error=Signal::derive(move || latest.refusal(offer))/>
        <NotDone error=Signal::derive(move || latest.refusal(take_back))/>
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
    // A refused form is to be seen with what was typed.
    let open = actions.typed_name(id).is_some() || actions.typed_email(id).is_some();
    view! {
        <details class="ticket-manage" data-testid="manage" data-for=id.to_string() open=open>
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
    let name = actions.typed_name(ticket.id).or(ticket.holder).unwrap_or_default();
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
                    value=name
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
    let email = actions.typed_email(ticket.id);
    view! {
        <ActionForm action=actions.offer attr:class="form ticket-form" attr:data-testid="offer">
            <input type="hidden" name="ticket" value=ticket.id.to_string()/>
            <input type="hidden" name="back" value=back/>
            <label class="field">
                <span>{td_string!(lang, tickets.offer_to)}</span>
                <input
                    type="email"
                    name="email"
                    required
                    autocomplete="off"
                    inputmode="email"
                    maxlength=EMAIL_MAX_BYTES.to_string()
                    value=email
                />
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
