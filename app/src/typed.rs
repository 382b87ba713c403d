//! What was typed into a form without JavaScript that was refused: it stands in its fields again, once, beside the
//! reason. The server hands it over in a cookie; secrets are never among it.

use leptos::server::SharedValue;
use leptos::server_fn::ServerFn;
use serde::{Serialize, de::DeserializeOwned};

/// What the form before this page said, where it was this one and was refused.
///
/// It comes with the page, as a resource does: to be asked for where the page is built, and not inside of its waiting
/// parts.
pub(crate) fn brought_back<S>() -> Option<S>
where
    S: ServerFn + Serialize + DeserializeOwned,
{
    SharedValue::new(handed_over::<S>).into_inner()
}

#[cfg(feature = "ssr")]
fn handed_over<S: ServerFn + DeserializeOwned>() -> Option<S> {
    crate::context::typed()
}

/// In the browser: a form with JavaScript never leaves its page.
#[cfg(not(feature = "ssr"))]
fn handed_over<S>() -> Option<S> {
    None
}
