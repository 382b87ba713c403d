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
use crate::route::{Asking, here};
use crate::session::use_visitor;
use api::RoomView;
use leptos::prelude::*;
use room::Room;

/// The waiting room of one performance, as a page among others.
#[component]
pub fn QueuePage() -> impl IntoView {
    view! { <Waiting ask=|performance| Box::pin(api::queue_view(performance))/> }
}

/// The waiting room of the performance in the address.
#[component]
pub fn Waiting(
    /// Asks for what the page is made of, by the performance.
    ask: fn(String) -> Asking<RoomView>,
) -> impl IntoView {
    let (visitor, here) = (use_visitor(), here());
    // The address that is gone to comes before this page goes: until then it is the room that it was.
    let id = Memo::new(move |before: Option<&String>| {
        here.path.with(|path| performance_of(path)).or_else(|| before.cloned()).unwrap_or_default()
    });
    let view = Resource::new(move || (id.get(), visitor.changes()), move |(id, _)| ask(id));
    // The old room stays until a new one is there: who confirmed the address elsewhere sees no empty page.
    view! {
        <Transition>
            {move || Suspend::new(async move {
                match view.await {
                    Ok(view) => view! { <Room view/> }.into_any(),
                    Err(error) => {
                        let back = format!("/performances/{}/queue", id.get_untracked());
                        view! { <Failure error back/> }.into_any()
                    }
                }
            })}
        </Transition>
    }
    .into_any()
}

/// The performance in the address of a waiting room.
pub fn performance_of(path: &str) -> Option<String> {
    let mut parts = path.trim_matches('/').split('/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("performances"), Some(id), Some("queue"), None) => Some(id.to_owned()),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::performance_of;

    #[test]
    fn only_the_address_of_a_waiting_room_names_its_performance() {
        assert_eq!(performance_of("/performances/0190/queue").as_deref(), Some("0190"));
        assert_eq!(performance_of("/performances/0190/queue/").as_deref(), Some("0190"));
        for path in ["/", "/performances/0190/seats", "/organizer/performances/0190/queue", "/performances/queue", ""] {
            assert_eq!(performance_of(path), None, "{path}");
        }
    }
}
