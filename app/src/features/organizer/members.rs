//! Members, invitations and the audit log.

mod api;
mod audit;
mod join;

pub use audit::AuditPage;
pub(super) use audit::{Trail, action_text};
pub use join::JoinPage;

use super::frame::{Frame, Tab, role_name};
use crate::components::raw_text::Title;
use crate::components::{
    icon::Icon,
    missing::Failure,
    notice::{RefusedAs, Remark},
};
use crate::error::AppError;
use crate::format;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use api::{OrganizerInvitationRevoke, OrganizerMemberInvite, OrganizerMemberRemove, OrganizerMemberRole};
use domain::Code;
use domain::account::{EMAIL_MAX_BYTES, Role};
use domain::organizer::Desk;
use domain::organizer::members::{InvitationView, MemberList, MemberView};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// What can be done on the page.
#[derive(Clone, Copy)]
struct Actions {
    invite: ServerAction<OrganizerMemberInvite>,
    revoke: ServerAction<OrganizerInvitationRevoke>,
    role: ServerAction<OrganizerMemberRole>,
    remove: ServerAction<OrganizerMemberRemove>,
}

impl Actions {
    fn new() -> Self {
        Self {
            invite: ServerAction::new(),
            revoke: ServerAction::new(),
            role: ServerAction::new(),
            remove: ServerAction::new(),
        }
    }

    /// Changes with each answer: the list is read anew.
    fn versions(self) -> [usize; 4] {
        [
            self.invite.version().get(),
            self.revoke.version().get(),
            self.role.version().get(),
            self.remove.version().get(),
        ]
    }
}

/// Who acts for the organization, and who may soon.
#[component]
pub fn MembersPage() -> impl IntoView {
    let lang = lang();
    let actions = Actions::new();
    let list = Resource::new(move || actions.versions(), |_| api::organizer_members());
    view! {
        <Title text=td_string!(lang, organizer.tab_members)/>
        <Frame tab=Tab::Members>
            <header class="org-head">
                <h1>{td_string!(lang, organizer.tab_members)}</h1>
                <p class="quiet">{td_string!(lang, organizer.members_text)}</p>
            </header>
            <Invite action=actions.invite/>
            <Transition>
                {move || Suspend::new(async move {
                    match list.await {
                        Ok(list) => view! { <Lists list actions/> }.into_any(),
                        Err(error) => view! { <Failure error back="/organizer/members"/> }.into_any(),
                    }
                })}
            </Transition>
        </Frame>
    }
    .into_any()
}

#[component]
fn Invite(action: ServerAction<OrganizerMemberInvite>) -> impl IntoView {
    let lang = lang();
    let value = action.value();
    let sent_before = use_query_map().read_untracked().get_str("sent").is_some();
    let sent = move || match value.get() {
        Some(answer) => answer.is_ok(),
        None => sent_before,
    };
    view! {
        <section class="org-part">
            <h2>{td_string!(lang, organizer.invite)}</h2>
            <Refusal error=Signal::derive(move || value.get().and_then(Result::err))/>
            <div aria-live="polite">
                {move || sent().then(|| view! {
                    <div data-testid="invited">
                        <Remark icon=Icon::Mail><p>{td_string!(lang, organizer.invited)}</p></Remark>
                    </div>
                })}
            </div>
            <ActionForm action attr:class="org-line" attr:data-testid="invite">
                <label class="field">
                    <span>{td_string!(lang, account.email)}</span>
                    <input type="email" name="email" required autocomplete="off" inputmode="email" maxlength=EMAIL_MAX_BYTES.to_string()/>
                </label>
                <label class="field">
                    <span>{td_string!(lang, organizer.role)}</span>
                    <Roles chosen=Role::Operator/>
                </label>
                <button class="button button-accent" type="submit" disabled=move || action.pending().get()>
                    {td_string!(lang, organizer.invite_send)}
                </button>
            </ActionForm>
            <details class="org-more">
                <summary>{td_string!(lang, organizer.roles_what)}</summary>
                <dl class="org-roles">
                    {Role::ALL
                        .iter()
                        .map(|role| view! { <dt>{role_name(lang, *role)}</dt><dd>{role_text(lang, *role)}</dd> })
                        .collect_view()}
                </dl>
            </details>
        </section>
    }
    .into_any()
}

/// The choice of a role.
#[component]
fn Roles(
    /// The one that is chosen at first.
    chosen: Role,
    /// Its name, where no label stands beside it.
    #[prop(optional, into)]
    label: Option<String>,
) -> impl IntoView {
    let lang = lang();
    view! {
        <select name="role" aria-label=label>
            {Role::ALL
                .iter()
                .map(|role| view! {
                    <option value=role.as_str() selected=*role == chosen>{role_name(lang, *role)}</option>
                })
                .collect_view()}
        </select>
    }
    .into_any()
}

#[component]
fn Lists(list: MemberList, actions: Actions) -> impl IntoView {
    let lang = lang();
    let own = use_context::<Desk>().map(|desk| desk.email);
    let (role, remove, revoke) = (actions.role.value(), actions.remove.value(), actions.revoke.value());
    let no_invitations = list.invitations.is_empty();
    view! {
        <section class="org-part">
            <h2>{td_string!(lang, organizer.members_now)}</h2>
            <Refusal error=Signal::derive(move || {
                role.get().and_then(Result::err).or_else(|| remove.get().and_then(Result::err))
            })/>
            <ul class="org-rows">
                {list
                    .members
                    .into_iter()
                    .map(|member| {
                        let own = own.as_ref() == Some(&member.email);
                        view! { <li><MemberLine member own actions/></li> }
                    })
                    .collect_view()}
            </ul>
        </section>
        <section class="org-part">
            <h2>{td_string!(lang, organizer.invitations)}</h2>
            <Refusal error=Signal::derive(move || revoke.get().and_then(Result::err))/>
            {no_invitations.then(|| view! { <p class="quiet">{td_string!(lang, organizer.invitations_none)}</p> })}
            <ul class="org-rows">
                {list
                    .invitations
                    .into_iter()
                    .map(|invitation| view! { <li><InvitationLine invitation actions/></li> })
                    .collect_view()}
            </ul>
        </section>
    }
    .into_any()
}

#[component]
fn MemberLine(member: MemberView, own: bool, actions: Actions) -> impl IntoView {
    let lang = lang();
    let MemberView { account, email, role } = member;
    let label = td_string!(lang, organizer.role_of, email = email.clone());
    let row = email.clone();
    view! {
        <div class="org-row" data-testid="member" data-email=row data-role=role.as_str()>
            <p class="org-row-who">
                <b>{email}</b>
                {own.then(|| view! { <span class="quiet">{td_string!(lang, organizer.you)}</span> })}
            </p>
            <ActionForm action=actions.role attr:class="org-row-form">
                <input type="hidden" name="account" value=account.to_string()/>
                <input type="hidden" name="from" value=role.as_str()/>
                <Roles chosen=role label/>
                <button class="button" type="submit">{td_string!(lang, organizer.role_change)}</button>
            </ActionForm>
            <details class="org-more">
                <summary>{td_string!(lang, organizer.remove)}</summary>
                <ActionForm action=actions.remove>
                    <input type="hidden" name="account" value=account.to_string()/>
                    <input type="hidden" name="role" value=role.as_str()/>
                    <button class="button" type="submit">{td_string!(lang, organizer.remove_sure)}</button>
                </ActionForm>
            </details>
        </div>
    }
    .into_any()
}

#[component]
fn InvitationLine(invitation: InvitationView, actions: Actions) -> impl IntoView {
    let lang = lang();
    let InvitationView { email, role, until, expired } = invitation;
    let (row, hidden) = (email.clone(), email.clone());
    let until = if expired {
        td_string!(lang, organizer.invitation_over).to_owned()
    } else {
        td_string!(lang, organizer.invitation_until, until = format::moment(lang, &until))
    };
    view! {
        <div class="org-row" data-testid="invitation" data-email=row>
            <p class="org-row-who">
                <b>{email}</b>
                <span class="quiet">{role_name(lang, role)} " · " {until}</span>
            </p>
            <ActionForm action=actions.revoke>
                <input type="hidden" name="email" value=hidden/>
                <button class="button" type="submit">{td_string!(lang, organizer.revoke)}</button>
            </ActionForm>
        </div>
    }
    .into_any()
}

/// What a role is for.
fn role_text(lang: Locale, role: Role) -> &'static str {
    match role {
        Role::Owner => td_string!(lang, organizer.role_owner_text),
        Role::Operator => td_string!(lang, organizer.role_operator_text),
        Role::Finance => td_string!(lang, organizer.role_finance_text),
        Role::Risk => td_string!(lang, organizer.role_risk_text),
        Role::Door => td_string!(lang, organizer.role_door_text),
    }
}

/// Why a change of members was refused, more closely than its code says.
fn refusal_text(lang: Locale, error: &AppError) -> &'static str {
    let about = error.0.message.split_once(':').map(|(field, _)| field);
    match (error.code(), about) {
        (Code::WrongState, Some("owner")) => td_string!(lang, organizer.last_owner),
        (Code::WrongState, Some("organization")) => td_string!(lang, organizer.other_organization),
        (Code::WrongState, _) => td_string!(lang, organizer.member_moved),
        (Code::LimitExceeded, _) => td_string!(lang, organizer.members_full),
        (Code::Forbidden, Some("email")) => td_string!(lang, organizer.other_address),
        (Code::LinkInvalid, _) => td_string!(lang, organizer.join_over),
        _ => error.text(lang),
    }
}

/// A refusal of this page, announced when it appears.
#[component]
fn Refusal(#[prop(into)] error: Signal<Option<AppError>>) -> impl IntoView {
    view! { <RefusedAs error text=refusal_text/> }.into_any()
}
