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

/// Where the picture of that digest is.
pub fn picture_path(digest: &str) -> String {
    format!("/pictures/{digest}.jpg")
}

/// The poster of an event.
#[component]
pub fn Cover(
    /// Picture theme.
    cover: u8,
    /// Who plays: set large on the poster.
    artist: String,
    /// Digest of the event's own picture, shown in place of the drawing.
    #[prop(default = None)]
    picture: Option<String>,
    /// Whether the poster is seen at once: those further down the page load later.
    #[prop(optional)]
    first: bool,
) -> impl IntoView {
    let cover = theme(cover);
    let loading = if first { "eager" } else { "lazy" };
    if let Some(picture) = picture {
        return view! {
            <div class=format!("cover cover-own cover-{cover}")>
                <img src=picture_path(&picture) alt="" width="600" height="800" loading=loading/>
            </div>
        }
        .into_any();
    }
    view! {
        <div class=format!("cover cover-{cover}")>
            <img
                src=format!("/covers/{cover}.svg")
                alt=""
                width="600"
                height="800"
                loading=loading
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
    /// Digest of the event's own picture.
    #[prop(default = None)]
    picture: Option<String>,
) -> impl IntoView {
    let cover = theme(cover);
    let source = picture.map_or_else(|| format!("/covers/{cover}.svg"), |picture| picture_path(&picture));
    view! {
        <div class=format!("cover-strip cover-{cover}")>
            <img src=source alt="" width="600" height="800" loading="lazy"/>
        </div>
    }
    .into_any()
}
