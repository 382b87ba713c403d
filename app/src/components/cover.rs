//! Posters: the picture theme of an event, a number, becomes one of six drawings with the artist's
//! name set on it. The drawings are files of their own (`public/covers`), so that they cost the WASM
//! nothing and every cache keeps them.

use leptos::prelude::*;

/// How many drawings there are.
const COVERS: u8 = 6;

/// The drawing of a picture theme.
pub fn theme(cover: u8) -> u8 {
    cover % COVERS
}

/// The poster of an event.
#[component]
pub fn Cover(
    /// Picture theme.
    cover: u8,
    /// Who plays: set large on the poster.
    artist: String,
    /// Whether the poster is seen at once: those further down the page load later.
    #[prop(optional)]
    first: bool,
) -> impl IntoView {
    let cover = theme(cover);
    view! {
        <div class=format!("cover cover-{cover}")>
            <img
                src=format!("/covers/{cover}.svg")
                alt=""
                width="600"
                height="800"
                loading=if first { "eager" } else { "lazy" }
            />
            <span class="cover-name" aria-hidden="true">{artist}</span>
        </div>
    }
    .into_any()
}

/// A narrow strip of the poster, for tickets and lists.
#[component]
pub fn CoverStrip(
    /// Picture theme.
    cover: u8,
) -> impl IntoView {
    let cover = theme(cover);
    view! {
        <div class=format!("cover-strip cover-{cover}")>
            <img src=format!("/covers/{cover}.svg") alt="" width="600" height="800" loading="lazy"/>
        </div>
    }
    .into_any()
}
