//! Where the reader is within this site, and the addresses that pages hand to each other.

use crate::error::AppError;
use leptos::prelude::*;
use leptos_router::hooks::use_location;
use std::pin::Pin;

/// What a page asks of its server: the value comes with the page, and is asked for anew when it changes.
pub type Asking<T> = Pin<Box<dyn Future<Output = Result<T, AppError>> + Send>>;

/// Where the reader is.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    /// The path.
    pub path: Signal<String>,
    /// The query behind it, with or without its question mark.
    pub query: Signal<String>,
}

/// Where the reader of this page is.
///
/// # Panics
/// Panics outside of the application, which provides it.
pub fn here() -> Here {
    expect_context()
}

/// For pages below a router, which changes them without loading.
pub(crate) fn follow_router() {
    let location = use_location();
    provide_context(Here { path: location.pathname.into(), query: location.search.into() });
}

/// For a page without a router: it stays where it is until another one is loaded.
pub(crate) fn stay() {
    let (path, query) = address();
    provide_context(Here { path: Signal::stored(path), query: Signal::stored(query) });
}

/// Path and query of this page.
#[cfg(feature = "ssr")]
fn address() -> (String, String) {
    let parts = use_context::<http::request::Parts>();
    let uri = parts.as_ref().map(|parts| &parts.uri);
    let query = uri.and_then(|uri| uri.query()).unwrap_or_default();
    (uri.map(|uri| uri.path().to_owned()).unwrap_or_default(), query.to_owned())
}

/// Path and query of this page.
#[cfg(not(feature = "ssr"))]
fn address() -> (String, String) {
    let location = window().location();
    (location.pathname().unwrap_or_default(), location.search().unwrap_or_default())
}

/// A path of this site from what a query or a form named, else the home page: never another site.
pub fn local_path(next: Option<&str>) -> String {
    next.filter(|path| {
        path.starts_with('/') && !path.starts_with("//") && path.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
    })
    .unwrap_or("/")
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::local_path;

    #[test]
    fn only_paths_of_this_site_are_followed() {
        assert_eq!(local_path(Some("/orders/1?x=y")), "/orders/1?x=y");
        for bad in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "",
            "/a b",
            "/\r\nSet-Cookie:x",
        ] {
            assert_eq!(local_path(Some(bad)), "/", "{bad}");
        }
        assert_eq!(local_path(None), "/");
    }
}
