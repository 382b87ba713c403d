//! Who is signed in, as every page sees it, and the way out. Signing in belongs to the account feature.

use crate::error::AppError;
use crate::route::Asking;
use domain::account::Me;
use leptos::prelude::*;

/// The signed-in person, asked for anew after signing in or out.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    me: Resource<Result<Option<Me>, AppError>>,
    changes: RwSignal<u32>,
}

/// Makes the visitor for all pages. `ask` finds out who it is.
pub fn provide(ask: fn() -> Asking<Option<Me>>) {
    let changes = RwSignal::new(0);
    provide_context(Visitor { me: Resource::new(move || changes.get(), move |_| ask()), changes });
}

/// The visitor of this page.
///
/// # Panics
/// Panics outside of the application, which provides it.
pub fn use_visitor() -> Visitor {
    expect_context()
}

impl Visitor {
    /// Who is signed in: `None` while it is being asked. Read inside `Suspense` or `Transition`.
    pub fn me(self) -> Option<Option<Me>> {
        self.me.get().map(|answer| answer.ok().flatten())
    }

    /// How often the sign-in changed on this page: a source for resources that depend on it.
    pub fn changes(self) -> u32 {
        self.changes.get()
    }

    /// Says that the sign-in changed.
    pub fn changed(self) {
        self.changes.update(|n| *n += 1);
    }
}

/// Who is signed in.
#[server(endpoint = "me")]
pub async fn who_am_i() -> Result<Option<Me>, AppError> {
    use crate::context;
    Ok(context::caller().and_then(|caller| caller.session).map(|session| context::me_of(&session)))
}

/// Ends this sign-in.
#[server(endpoint = "sign-out")]
pub async fn sign_out() -> Result<(), AppError> {
    use crate::context;
    let backend = context::backend()?;
    // Signing out twice is no fault: there is nothing left to end.
    if let Some(session) = context::caller().and_then(|caller| caller.session) {
        backend.sign_out(&session).await?;
    }
    context::clear_session(&backend);
    context::redirect_form("/");
    Ok(())
}
