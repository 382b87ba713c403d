//! What a page or a server function says about its answer besides the body: status and headers.
//!
//! Only the server has an answer to shape; in the browser these are empty. This is one of the few
//! files where the two builds differ.

#[cfg(feature = "ssr")]
pub use server::{page_status, set_status_of};

#[cfg(not(feature = "ssr"))]
pub use browser::{page_status, set_status_of};

#[cfg(not(feature = "ssr"))]
mod browser {
    use domain::Refusal;

    /// Sets the status of the page being rendered: nothing to do in a browser.
    pub fn page_status(_status: u16) {}

    /// Sets the status that belongs to a refusal: nothing to do in a browser.
    pub fn set_status_of(_refusal: &Refusal) {}
}

#[cfg(feature = "ssr")]
mod server {
    use crate::context;
    use domain::Refusal;
    use http::{HeaderName, HeaderValue, StatusCode};
    use leptos::prelude::use_context;
    use leptos_axum::ResponseOptions;

    /// Sets the status of the page being rendered.
    pub fn page_status(status: u16) {
        if let (Some(options), Ok(status)) = (use_context::<ResponseOptions>(), StatusCode::from_u16(status)) {
            options.set_status(status);
        }
    }

    /// Sets the status and the waiting time that belong to a refusal, but only for callers of the
    /// API: a page that is being rendered has its own status, and a form post without JavaScript is
    /// redirected to where the refusal is shown.
    pub fn set_status_of(refusal: &Refusal) {
        if !context::is_api_call() || context::is_form_post() {
            return;
        }
        page_status(refusal.code.http_status());
        if let (Some(options), Some(wait_ms)) = (use_context::<ResponseOptions>(), refusal.retry_after_ms) {
            let seconds = HeaderValue::from(wait_ms.div_ceil(1_000));
            options.insert_header(HeaderName::from_static("retry-after"), seconds);
        }
    }
}
