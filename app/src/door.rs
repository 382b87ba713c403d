//! The page that a crowd opens at the same moment, as an interface of its own: built into a second, small entry
//! for the browser, so that a million fans don't load seat maps and organizers' desks in order to wait.
//!
//! It has no router and calls no server function: every link and form out of it loads a page from the server,
//! which sends the whole interface. What it polls it asks for with plain requests.

use crate::components::chrome::{Footer, Header};
use crate::features::queue::Waiting;
use crate::{provide, route};
use leptos::prelude::*;

/// The interface of the door.
#[component]
pub fn DoorApp() -> impl IntoView {
    provide(asking::who);
    route::stay();
    view! {
        <Header/>
        <main id="main"><Waiting ask=asking::room/></main>
        <Footer/>
    }
    .into_any()
}

/// What the page is made of, on the server.
#[cfg(feature = "ssr")]
mod asking {
    use crate::features::queue::api::{RoomView, queue_view};
    use crate::route::Asking;
    use crate::session::who_am_i;
    use domain::account::Me;

    pub(super) fn who() -> Asking<Option<Me>> {
        Box::pin(who_am_i())
    }

    pub(super) fn room(performance: String) -> Asking<RoomView> {
        Box::pin(queue_view(performance))
    }
}

/// In the browser it came with the page. Where it has changed, the page is loaded anew.
#[cfg(not(feature = "ssr"))]
mod asking {
    use crate::browser;
    use crate::features::queue::api::RoomView;
    use crate::route::Asking;
    use domain::account::Me;

    /// A page that is younger is not loaded anew: where what came with it can't be read, it would never end.
    const AGE_MIN_MS: f64 = 3_000.0;

    pub(super) fn who() -> Asking<Option<Me>> {
        anew()
    }

    pub(super) fn room(_performance: String) -> Asking<RoomView> {
        anew()
    }

    fn anew<T: 'static>() -> Asking<T> {
        // This clock begins with the page. Without a network the browser's own page of errors would take its place.
        if browser::monotonic_ms() > AGE_MIN_MS && browser::has_network() {
            browser::load_anew();
        }
        Box::pin(std::future::pending())
    }
}
