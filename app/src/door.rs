//! The pages that a crowd opens at the same moment, as an interface of their own: built into a second, small entry
//! for the browser, so that a million fans don't load seat maps and organizers' desks in order to wait.
//!
//! Any other address that is followed from here is loaded from the server, which sends the whole interface.

use crate::components::chrome::{Footer, Header};
use crate::features::{draw, queue};
use crate::{browser, clock, interface, session};
use leptos::prelude::*;
use leptos_router::{
    SsrMode,
    components::{FlatRoutes, Route, Router},
    path,
};

/// The interface of the door.
#[component]
pub fn DoorApp() -> impl IntoView {
    interface(|| view! { <Page/> }.into_any())
}

#[component]
fn Page() -> impl IntoView {
    clock::provide();
    session::provide();
    view! {
        <Router>
            <Header/>
            <main id="main">
                <FlatRoutes fallback=Elsewhere>
                    <Route path=path!("/performances/:id/queue") view=queue::QueuePage ssr=SsrMode::Async/>
                    <Route path=path!("/performances/:id/draw") view=draw::DrawPage ssr=SsrMode::Async/>
                </FlatRoutes>
            </main>
            <Footer/>
        </Router>
    }
    .into_any()
}

/// An address of the whole interface, followed from here: the address is in the bar already, and loading it
/// brings the page.
#[component]
fn Elsewhere() -> impl IntoView {
    Effect::new(move |_| browser::load_anew());
}
