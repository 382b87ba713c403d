//! Every refusal has its own sentence in both languages.

use app::{error::AppError, i18n::Locale};
use domain::{Code, Refusal};
use std::collections::HashSet;

#[test]
fn every_code_has_a_sentence_of_its_own_in_both_languages() {
    let mut seen = HashSet::new();
    for code in Code::ALL {
        let error = AppError(Refusal::new(*code, "for programs"));
        for lang in [Locale::en, Locale::zh] {
            let text = error.text(lang);
            assert!(text.ends_with(['.', '。']), "{code:?}: {text}");
            assert!(seen.insert(text), "{code:?} says the same as another: {text}");
        }
    }
}

#[test]
fn a_refused_field_is_named() {
    let of = |message: &str| AppError(Refusal::new(Code::InvalidInput, message)).text(Locale::en);
    assert_ne!(of("email: an address is expected"), of("key: printable characters are expected"));
    assert_ne!(of("password: at least 10 characters are expected"), of("email: an address is expected"));
}
