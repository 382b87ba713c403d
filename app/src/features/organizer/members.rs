//! Members, invitations and the audit log.

use super::frame::{Frame, Tab};
use leptos::prelude::*;

/// A page.
#[component]
pub fn MembersPage() -> impl IntoView {
    view! { <Frame tab=Tab::Members>{|| ()}</Frame> }
}

/// A page.
#[component]
pub fn AuditPage() -> impl IntoView {
    view! { <Frame tab=Tab::Audit>{|| ()}</Frame> }
}

/// A page.
#[component]
pub fn JoinPage() -> impl IntoView {
    view! { <Frame tab=Tab::Members>{|| ()}</Frame> }
}
