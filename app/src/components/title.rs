//! The title of a page, escaped: the library writes it into the page's head as it is.
//!
//! **Architecture invariant:** no other module uses the library's own `Title`; a test looks.

use leptos::prelude::*;
use leptos::text_prop::TextProp;
use std::borrow::Cow;

/// The title of the page.
#[component]
pub fn Title(
    /// The text, as people typed it.
    #[prop(into)]
    text: TextProp,
) -> impl IntoView {
    view! { <leptos_meta::Title text=move || written(&text.get()).into_owned()/> }.into_any()
}

/// As the head needs it. The browser sets a title as text, where nothing is to be escaped.
fn written(text: &str) -> Cow<'_, str> {
    #[cfg(feature = "ssr")]
    return html_escape::encode_text(text);
    #[cfg(not(feature = "ssr"))]
    Cow::Borrowed(text)
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;

    #[test]
    fn a_title_never_ends_its_element() {
        assert_eq!(written("</title><script>alert(1)</script>"), "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
        assert_eq!(written("Tide & Stone"), "Tide &amp; Stone");
    }
}
