//! The language of the interface: a cookie, else what the browser asks for; fixed while a page lives.
//!
//! The switch is a form that works without JavaScript. It loads the page anew, so that nothing in
//! the views has to follow the language, and the WASM stays small.

use crate::error::AppError;
use crate::i18n::{Locale, use_i18n};
use leptos::prelude::*;
use leptos_i18n::context::UseLocalesOptions;

/// The language of this page.
pub fn lang() -> Locale {
    use_i18n().get_locale_untracked()
}

/// Where the server finds the language of a request.
#[cfg(feature = "ssr")]
pub(crate) fn preferred() -> UseLocalesOptions {
    UseLocalesOptions::default().ssr_lang_header_getter(crate::context::preferred_languages)
}

/// The browser takes the language from the page that the server rendered.
#[cfg(not(feature = "ssr"))]
pub(crate) fn preferred() -> UseLocalesOptions {
    UseLocalesOptions::default()
}

/// Keeps the chosen language and returns to the page.
#[server(endpoint = "language")]
pub async fn choose_language(
    /// `en` or `zh`.
    language: String,
    /// Where to return to.
    next: Option<String>,
) -> Result<(), AppError> {
    use crate::context;
    use leptos_i18n::Locale as _;
    let locale: Locale =
        language.parse().map_err(|_| AppError::new(domain::Code::InvalidInput, "language: en or zh is expected"))?;
    let backend = context::backend()?;
    context::set_lang(&backend, locale.as_str());
    context::redirect_form(&crate::route::local_path(next.as_deref()));
    Ok(())
}
