//! Text that the libraries write into a page as it is: its title, and what stands in a text area.
//!
//! **Architecture invariant:** no other module uses the library's own `Title`, and no text area has
//! children but by [`in_area`]; a test looks.

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

/// What stands in a text area when the page comes.
pub fn in_area(text: &str) -> String {
    // A line break at the very beginning is dropped by parsers: one more keeps it.
    let lead = if text.starts_with('\n') && cfg!(feature = "ssr") { "\n" } else { "" };
    format!("{lead}{}", written(text))
}

/// As markup needs it. The browser sets both as text, where nothing is to be escaped.
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
    fn a_text_never_ends_its_element() {
        assert_eq!(written("</title><script>alert(1)</script>"), "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;");
        assert_eq!(in_area("</textarea>Tide & Stone"), "&lt;/textarea&gt;Tide &amp; Stone");
        assert_eq!(in_area("\nafter a line"), "\n\nafter a line");
    }
}
