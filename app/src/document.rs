//! The document around the interface, as the server sends it, and which of the browser's entries brings it to life.

use crate::door::DoorApp;
use crate::features::queue;
use crate::{App, lang};
use http::request::Parts;
use leptos::prelude::*;
use leptos_i18n::Locale as _;
use leptos_meta::{HashedStylesheet, MetaTags};

/// Where the small entry's files are: the server gives it where the site was built with one.
#[derive(Clone, Debug)]
pub struct DoorEntry(pub LeptosOptions);

/// The document.
pub fn shell(options: LeptosOptions) -> impl IntoView {
    let path = use_context::<Parts>().map(|parts| parts.uri.path().to_owned()).unwrap_or_default();
    let small = use_context::<DoorEntry>().filter(|_| queue::performance_of(&path).is_some());
    let lang = lang::provide();
    let entry = small.as_ref().map_or_else(|| options.clone(), |DoorEntry(options)| options.clone());
    // Both sides must render the same: which entry comes along decides which interface is rendered.
    let page = if small.is_some() { view! { <DoorApp/> }.into_any() } else { view! { <App/> }.into_any() };
    view! {
        <!DOCTYPE html>
        <html lang=lang.as_str() dir=lang.direction().as_str()>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover"/>
                <meta name="theme-color" content="#f7f3ea" media="(prefers-color-scheme: light)"/>
                <meta name="theme-color" content="#100e13" media="(prefers-color-scheme: dark)"/>
                <link rel="icon" type="image/svg+xml" href="/favicon.svg"/>
                <link rel="manifest" href="/site.webmanifest"/>
                <link rel="preload" r#as="font" type="font/woff2" href="/fonts/archivo-latin.woff2" crossorigin="anonymous"/>
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
