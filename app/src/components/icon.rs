//! The kept set of icons: drawn on a grid of 24, one stroke width, coloured by the text around them.

use leptos::prelude::*;

/// Which drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    /// Goes on.
    Arrow,
    /// Went well.
    Check,
    /// Needs care.
    Attention,
    /// The waiting room: a clock.
    Clock,
    /// A ticket.
    Ticket,
    /// A place on the map.
    Place,
    /// A letter.
    Mail,
}

impl Icon {
    fn path(self) -> &'static str {
        match self {
            Self::Arrow => "M5 12h14M13 6l6 6-6 6",
            Self::Check => "M5 13l4.5 4.5L19 7",
            Self::Attention => "M12 7v6M12 16.5v.5M12 3l9.5 17h-19z",
            Self::Clock => "M12 7v5l3.5 2M12 3a9 9 0 100 18 9 9 0 000-18z",
            Self::Ticket => "M4 7h16v3.5a1.5 1.5 0 000 3V17H4v-3.5a1.5 1.5 0 000-3zM14.5 7v2M14.5 11v2M14.5 15v2",
            Self::Place => {
                "M12 21s-6.5-6-6.5-11a6.5 6.5 0 0113 0c0 5-6.5 11-6.5 11zM12 7.5a2.5 2.5 0 100 5 2.5 2.5 0 000-5z"
            }
            Self::Mail => "M4 6h16v12H4zM4 7l8 6 8-6",
        }
    }
}

/// An icon beside a text that says the same: hidden from screen readers.
#[component]
pub fn Sign(
    /// Which drawing.
    icon: Icon,
) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
            <path d=icon.path()></path>
        </svg>
    }
    .into_any()
}
