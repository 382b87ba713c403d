//! The language of the interface: a cookie, else what the browser asks for; fixed while a page lives.
//!
//! The switch is a form that works without JavaScript. It loads the page anew, so that nothing in
//! the views has to follow the language, and the WASM stays small.

use crate::error::AppError;
use crate::i18n::Locale;
use leptos::prelude::*;

/// The language of a page, for all of its views.
#[derive(Clone, Copy, Debug)]
struct PageLang(Locale);

/// Decides the language, for all views below. The translations' own context follows changes of the language
/// while a page lives, which none of ours does, and brings a parser of locales into the browser.
pub(crate) fn provide() -> Locale {
    // The document decides before the views inside it do.
    if let Some(PageLang(lang)) = use_context() {
        return lang;
    }
    let lang = of_page();
    provide_context(PageLang(lang));
    lang
}

/// The language of this page.
///
/// # Panics
/// Panics outside of the application, which provides it.
pub fn lang() -> Locale {
    expect_context::<PageLang>().0
}

/// The server goes by the request.
#[cfg(feature = "ssr")]
fn of_page() -> Locale {
    wished(crate::context::preferred_languages().as_deref())
}

/// The language that a list of wishes, in the form of an Accept-Language header, comes to. The first that there
/// is counts: browsers write them in the order of their weights.
#[cfg(feature = "ssr")]
pub fn wished(list: Option<&str>) -> Locale {
    use leptos_i18n::Locale as _;
    let name = |wish: &str| wish.split_once(';').map_or(wish, |(name, _)| name).trim().to_owned();
    let wishes: Vec<String> = list.unwrap_or_default().split(',').map(name).collect();
    Locale::find_locale(&wishes)
}

/// The browser goes by the page that the server rendered.
#[cfg(not(feature = "ssr"))]
fn of_page() -> Locale {
    let told = document().document_element().and_then(|html| html.get_attribute("lang"));
    told.and_then(|lang| lang.parse().ok()).unwrap_or_default()
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
