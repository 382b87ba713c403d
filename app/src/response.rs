//! What a page or a server function says about its answer besides the body: status, headers, nonce.
//!
//! Only the server has an answer to shape; in the browser these are empty. This is one of the few
//! files where the two builds differ.

#[cfg(feature = "ssr")]
pub use server::{page_status, protect_page, set_status_of};

#[cfg(not(feature = "ssr"))]
pub use browser::{page_status, protect_page, set_status_of};

#[cfg(not(feature = "ssr"))]
mod browser {
    use domain::Refusal;

    /// Sets the status of the page being rendered: nothing to do in a browser.
    pub fn page_status(_status: u16) {}

    /// Sets the content security policy of the page: nothing to do in a browser.
    pub fn protect_page() {}

    /// Sets the status that belongs to a refusal: nothing to do in a browser.
    pub fn set_status_of(_refusal: &Refusal) {}
}

#[cfg(feature = "ssr")]
mod server {
    use crate::context;
    use domain::Refusal;
    use http::{HeaderName, HeaderValue, StatusCode, header};
    use leptos::{nonce::use_nonce, prelude::use_context};
    use leptos_axum::ResponseOptions;

    /// Sets the status of the page being rendered.
    pub fn page_status(status: u16) {
        if let (Some(options), Ok(status)) = (use_context::<ResponseOptions>(), StatusCode::from_u16(status)) {
            options.set_status(status);
        }
    }

    /// Scripts run by nonce only, styles come from our files only. There is no `form-action`: a form
    /// without JavaScript is redirected to the payment provider's page, and browsers apply that
    /// directive to redirects as well.
    pub fn protect_page() {
        let (Some(options), Some(nonce)) = (use_context::<ResponseOptions>(), use_nonce()) else { return };
        let policy = format!(
            "default-src 'self'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; \
             img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
        );
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            options.insert_header(header::CONTENT_SECURITY_POLICY, policy);
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
