//! The pages of StarArena and the server functions behind them, compiled twice: with `ssr` into the
//! server, with `hydrate` into the browser's WASM.
//!
//! A server function here is a thin adapter: context, caller, one use-case of `backend`, error
//! mapping. Rules are in `domain`, input and output in `backend`.
//!
//! **Architecture invariants:** nothing here names a store or its driver; features never import each
//! other; views read no clock, no locale of the machine and no randomness, so that both sides
//! render the same HTML.

// The types of nested views are deeper than the compiler expects of types.
#![recursion_limit = "512"]
#![expect(unreachable_pub, reason = "the component macro makes the properties of private components public")]

mod alive;
mod browser;
pub mod clock;
pub mod components;
#[cfg(feature = "ssr")]
pub mod context;
#[cfg(feature = "ssr")]
pub mod document;
mod door;
pub mod error;
pub mod features;
pub mod format;
pub mod lang;
mod latest;
pub mod response;
pub mod route;
pub mod seatmap;
pub mod session;
mod typed;

include!(concat!(env!("OUT_DIR"), "/i18n.rs"));

#[cfg(feature = "ssr")]
pub use document::shell;
pub use door::DoorApp;

use components::chrome::{Footer, Header};
use features::{account, draw, event, home, orders, organizer, queue, seats};
use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::{
    SsrMode,
    components::{FlatRoutes, Route, Router},
    path,
};

/// The whole interface. Does no input or output by itself: the server also runs it once, without a
/// request, to list its routes.
#[component]
pub fn App() -> impl IntoView {
    provide(|| Box::pin(session::who_am_i()));
    view! { <Router><Pages/></Router> }.into_any()
}

/// What the views of all pages need. `who` finds out who reads them.
fn provide(who: fn() -> route::Asking<Option<domain::account::Me>>) {
    provide_meta_context();
    lang::provide();
    clock::provide();
    session::provide(who);
}

#[component]
fn Pages() -> impl IntoView {
    route::follow_router();
    view! {
        <Header/>
        <main id="main">
            <FlatRoutes fallback=components::missing::Missing>
                <Route path=path!("/") view=home::HomePage ssr=SsrMode::Async/>
                <Route path=path!("/events/:slug") view=event::EventPage ssr=SsrMode::Async/>
                <Route path=path!("/performances/:id/queue") view=queue::QueuePage ssr=SsrMode::Async/>
                <Route path=path!("/performances/:id/draw") view=draw::DrawPage ssr=SsrMode::Async/>
                <Route path=path!("/performances/:id/seats") view=seats::SeatMapPage ssr=SsrMode::Async/>
                <Route path=path!("/performances/:id/list") view=seats::SeatListPage ssr=SsrMode::Async/>
                <Route path=path!("/orders") view=orders::OrdersPage ssr=SsrMode::Async/>
                <Route path=path!("/orders/:id") view=orders::OrderPage ssr=SsrMode::Async/>
                <Route path=path!("/orders/:id/refund") view=orders::RefundPage ssr=SsrMode::Async/>
                <Route path=path!("/orders/:id/receipt") view=orders::ReceiptPage ssr=SsrMode::Async/>
                <Route path=path!("/tickets") view=orders::TicketsPage ssr=SsrMode::Async/>
                <Route path=path!("/transfers/:token") view=orders::TransferPage ssr=SsrMode::Async/>
                <Route path=path!("/sign-in") view=account::SignInPage ssr=SsrMode::Async/>
                <Route path=path!("/sign-up") view=account::SignUpPage ssr=SsrMode::Async/>
                <Route path=path!("/confirm") view=account::ConfirmPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer") view=organizer::EventsPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/events/:id") view=organizer::EventPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/performances/:id") view=organizer::DraftPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/performances/:id/prices") view=organizer::PricesPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/performances/:id/allocations") view=organizer::AllocationsPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/performances/:id/plan") view=organizer::ReplanPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/performances/:id/desk") view=organizer::DeskPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/performances/:id/refunds") view=organizer::TermsPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/plans") view=organizer::PlansPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/plans/:id") view=organizer::PlanPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/imports/:id") view=organizer::ImportPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/settings") view=organizer::SettingsPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/settings/webhooks/:id") view=organizer::WebhookPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/orders") view=organizer::OrdersPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/orders/:id") view=organizer::OrderPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/money/disputes") view=organizer::DisputesPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/orders/:id/refund") view=organizer::OrderRefundPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/money/refunds") view=organizer::RefundsPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/money/payouts") view=organizer::PayoutsPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/settings/details") view=organizer::DetailsPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/money") view=organizer::MoneyPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/money/reconciliation") view=organizer::ReconciliationPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/members") view=organizer::MembersPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/settings/fees") view=organizer::FeesPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/audit") view=organizer::AuditPage ssr=SsrMode::Async/>
                <Route path=path!("/organizer/join") view=organizer::JoinPage ssr=SsrMode::Async/>
                <Route path=path!("/dev/mailbox") view=account::MailboxPage ssr=SsrMode::Async/>
            </FlatRoutes>
        </main>
        <Footer/>
    }
    .into_any()
}
