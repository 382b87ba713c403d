//! The waiting room: countdown, place, progress, estimate, and entry by itself when it's the turn.
//!
//! The page says the truth: refreshing costs nothing and loses nothing. The place is computed here
//! from one small object that is the same for everybody.
//!
//! Links out of it load whole pages (`rel="external"`): this page may come with scripts of its own, far
//! fewer than those of the map.

mod announce;
pub mod api;
mod call;
mod draw;
mod line;
mod polling;
mod requests;
mod room;
mod stages;
mod state;
mod steps;
mod tries;

use crate::components::missing::Failure;
use crate::session::use_visitor;
use api::RoomView;
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use room::Room;

/// The waiting room of one performance.
#[component]
pub fn QueuePage() -> impl IntoView {
    let (visitor, params) = (use_visitor(), use_params_map());
    let id = move || params.read().get("id").unwrap_or_default();
    let view = Resource::new(move || (id(), visitor.changes()), |(id, _)| api::queue_view(id));
    // The old room stays until a new one is there: who confirmed the address elsewhere sees no empty page.
    view! {
        <Transition>
            {move || Suspend::new(async move {
                match view.await {
                    Ok(view) => view! { <Room view/> }.into_any(),
                    Err(error) => {
                        let back = format!("/performances/{}/queue", id());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Transition>
    }
    .into_any()
}

/// Whom the page is for: what has to be done before a place can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guest {
    /// Nobody is signed in.
    SignedOut,
    /// The address is not confirmed.
    Unconfirmed,
    /// May take part.
    Ready,
}

impl Guest {
    fn of(view: &RoomView) -> Self {
        match &view.me {
            None => Self::SignedOut,
            Some(me) if !me.verified => Self::Unconfirmed,
            Some(_) => Self::Ready,
        }
    }
}
