//! The frame of all organizer pages: whom one acts for, and the way between the parts.

use crate::components::missing::{Failure, Missing};
use crate::error::AppError;
use crate::i18n::{Locale, td_string};
use crate::lang::lang;
use crate::response;
use crate::session::use_visitor;
use domain::Code;
use domain::account::Role;
use domain::organizer::{Action, Desk};
use leptos::prelude::*;
use leptos_router::hooks::use_location;

/// A part of the organizer's half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tab {
    Events,
    Plans,
    Orders,
    Money,
    Members,
    Settings,
    Audit,
}

impl Tab {
    const ALL: [Self; 7] =
        [Self::Events, Self::Plans, Self::Orders, Self::Money, Self::Members, Self::Settings, Self::Audit];

    fn href(self) -> &'static str {
        match self {
            Self::Events => "/organizer",
            Self::Plans => "/organizer/plans",
            Self::Orders => "/organizer/orders",
            Self::Money => "/organizer/money",
            Self::Members => "/organizer/members",
            Self::Settings => "/organizer/settings",
            Self::Audit => "/organizer/audit",
        }
    }

    fn needs(self) -> Action {
        match self {
            Self::Events => Action::ReadEvents,
            Self::Plans => Action::ReadPlans,
            Self::Orders => Action::ReadOrders,
            Self::Money => Action::ReadMoney,
            Self::Members => Action::EditMembers,
            Self::Settings => Action::EditSettings,
            Self::Audit => Action::ReadAudit,
        }
    }

    /// Where the way into the part begins for a role; none where it sees no page of it.
    fn entry(self, role: Role) -> Option<&'static str> {
        if role.may(self.needs()) {
            return Some(self.href());
        }
        (self == Self::Settings && role.may(Sub::Fees.needs())).then(|| Sub::Fees.href())
    }

    fn name(self, lang: Locale) -> &'static str {
        match self {
            Self::Events => td_string!(lang, organizer.tab_events),
            Self::Plans => td_string!(lang, organizer.tab_plans),
            Self::Orders => td_string!(lang, organizer.tab_orders),
            Self::Money => td_string!(lang, money.title),
            Self::Members => td_string!(lang, organizer.tab_members),
            Self::Settings => td_string!(lang, settings.title),
            Self::Audit => td_string!(lang, organizer.tab_audit),
        }
    }
}

/// A page of a part that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sub {
    Report,
    Payouts,
    Refunds,
    Disputes,
    Reconciliation,
    General,
    Fees,
    Details,
}

impl Sub {
    fn href(self) -> &'static str {
        match self {
            Self::Report => "/organizer/money",
            Self::Payouts => "/organizer/money/payouts",
            Self::Refunds => "/organizer/money/refunds",
            Self::Disputes => "/organizer/money/disputes",
            Self::Reconciliation => "/organizer/money/reconciliation",
            Self::General => "/organizer/settings",
            Self::Fees => "/organizer/settings/fees",
            Self::Details => "/organizer/settings/details",
        }
    }

    fn name(self, lang: Locale) -> &'static str {
        match self {
            Self::Report => td_string!(lang, money.report),
            Self::Payouts => td_string!(lang, payouts.title),
            Self::Refunds => td_string!(lang, refunds.title),
            Self::Disputes => td_string!(lang, disputes.title),
            Self::Reconciliation => td_string!(lang, reconciliation.title),
            Self::General => td_string!(lang, settings.general),
            Self::Fees => td_string!(lang, fees.title),
            Self::Details => td_string!(lang, documents.details),
        }
    }

    fn needs(self) -> Action {
        match self {
            Self::Report | Self::Payouts | Self::Refunds | Self::Disputes | Self::Reconciliation => Action::ReadMoney,
            Self::General => Action::EditSettings,
            Self::Fees | Self::Details => Action::EditTerms,
        }
    }

    /// The pages beside it.
    fn all(self) -> &'static [Self] {
        match self {
            Self::Report | Self::Payouts | Self::Refunds | Self::Disputes | Self::Reconciliation => {
                &[Self::Report, Self::Payouts, Self::Refunds, Self::Disputes, Self::Reconciliation]
            }
            Self::General | Self::Fees | Self::Details => &[Self::General, Self::Fees, Self::Details],
        }
    }
}

/// The way between the pages of a part that has several.
#[component]
pub(super) fn Subnav(
    /// The page that is shown.
    current: Sub,
) -> impl IntoView {
    let lang = lang();
    let links = current
        .all()
        .iter()
        .filter(|each| may(each.needs()))
        .map(|each| {
            let here = (*each == current).then_some("page");
            view! { <li><a href=each.href() aria-current=here>{each.name(lang)}</a></li> }
        })
        .collect_view();
    view! { <nav class="org-sub" aria-label=td_string!(lang, money.subnav)><ul class="org-subtabs">{links}</ul></nav> }
        .into_any()
}

/// The name of a role.
pub(super) fn role_name(lang: Locale, role: Role) -> &'static str {
    match role {
        Role::Owner => td_string!(lang, organizer.role_owner),
        Role::Operator => td_string!(lang, organizer.role_operator),
        Role::Finance => td_string!(lang, organizer.role_finance),
        Role::Risk => td_string!(lang, organizer.role_risk),
        Role::Door => td_string!(lang, organizer.role_door),
    }
}

/// Whom the caller acts for.
#[server(endpoint = "organizer-desk")]
pub async fn organizer_desk() -> Result<Desk, AppError> {
    use crate::context;
    Ok(context::backend()?.organizer_desk(&context::session()?).await?)
}

/// What the member of this page may do; read inside of [`Frame`].
pub(super) fn may(action: Action) -> bool {
    use_context::<Desk>().is_some_and(|desk| desk.role.may(action))
}

/// The frame: strangers are asked to sign in, fans find nothing here, and members whose role does
/// not allow the page are told which role does.
#[component]
pub(super) fn Frame(
    /// The part that the page belongs to.
    tab: Tab,
    /// What the page needs, where that is more than its part does.
    #[prop(optional)]
    needs: Option<Action>,
    /// The page; made once the member is known, with [`Desk`] as context.
    children: ChildrenFn,
) -> impl IntoView {
    let visitor = use_visitor();
    let desk = Resource::new(move || visitor.changes(), |_| organizer_desk());
    let path = use_location().pathname;
    let children = StoredValue::new(children);
    let needs = needs.unwrap_or_else(|| tab.needs());
    view! {
        <Suspense>
            {move || Suspend::new(async move {
                match desk.await {
                    Ok(desk) if desk.role.may(needs) => {
                        view! { <Framed desk tab>{children.get_value()()}</Framed> }.into_any()
                    }
                    Ok(desk) => {
                        let role = desk.role;
                        view! { <Framed desk tab><Barred needs role/></Framed> }.into_any()
                    }
                    Err(error) if error.code() == Code::NotFound => view! { <Missing/> }.into_any(),
                    Err(error) => view! { <Failure error back=path.get_untracked()/> }.into_any(),
                }
            })}
        </Suspense>
    }
    .into_any()
}

/// The page exists, but not for this role.
#[component]
fn Barred(needs: Action, role: Role) -> impl IntoView {
    response::page_status(Code::Forbidden.http_status());
    let lang = lang();
    let comma = if lang == Locale::en { ", " } else { "、" };
    let allowed: Vec<&str> =
        Role::ALL.iter().filter(|role| role.may(needs)).map(|role| role_name(lang, *role)).collect();
    view! {
        <section class="org-barred" data-testid="barred">
            <h1>{td_string!(lang, organizer.barred)}</h1>
            <p>{td_string!(lang, organizer.barred_text, roles = allowed.join(comma), role = role_name(lang, role))}</p>
        </section>
    }
    .into_any()
}

#[component]
fn Framed(desk: Desk, tab: Tab, children: Children) -> impl IntoView {
    let lang = lang();
    let role = desk.role;
    let (name, acts) = (desk.name.clone(), role_name(lang, role));
    provide_context(desk);
    let links = Tab::ALL
        .into_iter()
        .filter_map(|each| {
            let href = each.entry(role)?;
            let current = (each == tab).then_some("page");
            Some(view! { <li><a href=href aria-current=current>{each.name(lang)}</a></li> })
        })
        .collect_view();
    view! {
        <div class="org">
            <div class="org-side">
                <p class="org-who">
                    <strong data-testid="organization">{name}</strong>
                    <span class="org-role" data-testid="role">{acts}</span>
                </p>
                <nav class="org-nav" aria-label=td_string!(lang, organizer.nav)>
                    <ul class="org-tabs">{links}</ul>
                </nav>
            </div>
            <div class="org-page">{children()}</div>
        </div>
    }
    .into_any()
}
