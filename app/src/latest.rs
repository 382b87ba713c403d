//! Which answer a page with several forms tells: the latest. A refusal that stayed beside a success would be read as
//! that of what was done last.

use crate::error::AppError;
use domain::Code;
use leptos::prelude::*;
use leptos::server_fn::ServerFn;

/// The answers that a page got, whatever it asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latest {
    /// The path of the action that was answered last since the page is here.
    of: RwSignal<Option<&'static str>>,
    /// How many answers there were after which the page may show what is no longer so.
    changes: RwSignal<usize>,
}

impl Latest {
    /// That of the page that is being built.
    pub(crate) fn of_page() -> Self {
        Self { of: RwSignal::new(None), changes: RwSignal::new(0) }
    }

    /// An action of the page: one of each kind.
    pub(crate) fn action<S>(self) -> ServerAction<S>
    where
        S: ServerFn<Error = AppError> + Clone + Send + Sync + 'static,
        S::Output: Send + Sync + 'static,
    {
        let action = ServerAction::<S>::new();
        let (version, value) = (action.version(), action.value());
        Effect::new(move |before: Option<usize>| {
            let now = version.get();
            if before.is_some_and(|before| before != now) {
                self.of.set(Some(S::PATH));
                if value.with_untracked(|answer| changes(answer.as_ref())) {
                    self.changes.update(|count| *count += 1);
                }
            }
            now
        });
        action
    }

    /// Why an action was refused, until the page gets another answer.
    pub(crate) fn refusal<S>(self, action: ServerAction<S>) -> Option<AppError>
    where
        S: ServerFn<Error = AppError> + Clone + Send + Sync + 'static,
        S::Output: Send + Sync + 'static,
    {
        let told = self.of.get().is_none_or(|path| path == S::PATH);
        let value = action.value();
        value.with(|answer| answer.as_ref().and_then(|answer| answer.as_ref().err().cloned())).filter(|_| told)
    }

    /// Changes with each answer after which what is shown is to be read anew: a source for what the page reads. What
    /// was typed and can't be taken is none of them, so that it stays in its field.
    pub(crate) fn changes(self) -> usize {
        self.changes.get()
    }

    /// Whether nothing was answered yet: what was brought along with the page is the newest still.
    pub(crate) fn is_none(self) -> bool {
        self.of.with_untracked(Option::is_none)
    }
}

/// Whether there may be something new to read after an answer.
fn changes<T>(answer: Option<&Result<T, AppError>>) -> bool {
    !matches!(answer, Some(Err(error)) if error.code() == Code::InvalidInput)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Refusal;

    #[test]
    fn what_was_typed_wrongly_changes_nothing() {
        let refused = |code| changes::<()>(Some(&Err(AppError(Refusal::new(code, "name: another one is expected")))));
        assert!(!refused(Code::InvalidInput));
        assert!(refused(Code::WrongState), "somebody else was first");
        assert!(changes(Some(&Ok(()))));
    }
}
