//! The document around the interface, as the server sends it, and which of the browser's entries brings it to life.

use crate::App;
use crate::door::DoorApp;
use http::request::Parts;
use leptos::prelude::*;
use leptos_meta::{HashedStylesheet, MetaTags};

/// The parts of an address behind a performance that are in this interface.
const PAGES: [&str; 2] = ["queue", "draw"];

/// Whether a path is one of this interface's.
fn is_at_the_door(path: &str) -> bool {
    let mut parts = path.trim_matches('/').split('/');
    matches!(
        (parts.next(), parts.next(), parts.next(), parts.next()),
        (Some("performances"), Some(_), Some(page), None) if PAGES.contains(&page)
    )
}

/// Where the small entry's files are: the server gives it where the site was built with one.
#[derive(Clone, Debug)]
pub struct DoorEntry(pub LeptosOptions);

/// The document.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    let path = use_context::<Parts>().map(|parts| parts.uri.path().to_owned()).unwrap_or_default();
    let small = use_context::<DoorEntry>().filter(|_| is_at_the_door(&path));
    let entry = small.as_ref().map_or_else(|| options.clone(), |DoorEntry(options)| options.clone());
    // Both sides must render the same: which entry comes along decides which interface is rendered.
    let page = if small.is_some() { view! { <DoorApp/> }.into_any() } else { view! { <App/> }.into_any() };
    view! {
        <!DOCTYPE html>
        <html>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover"/>
                <meta name="theme-color" content="#f7f3ea" media="(prefers-color-scheme: light)"/>
                <meta name="theme-color" content="#100e13" media="(prefers-color-scheme: dark)"/>
                <AutoReload options=options.clone()/>
                <HashedStylesheet options=options/>
                <HydrationScripts options=entry/>
                <MetaTags/>
            </head>
            <body>{page}</body>
        </html>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::is_at_the_door;

    #[test]
    fn only_the_pages_of_the_door_are_at_the_door() {
        assert!(is_at_the_door("/performances/0190/queue"));
        assert!(is_at_the_door("/performances/0190/draw/"));
        for path in ["/", "/performances/0190/seats", "/organizer/performances/0190/queue", "/performances/queue", ""] {
            assert!(!is_at_the_door(path), "{path}");
        }
    }
}
