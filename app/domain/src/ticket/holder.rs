//! The name on a ticket, as it is typed.

use crate::refusal::{Code, Refusal};
use unicode_normalization::UnicodeNormalization as _;

/// Longest name, in characters.
pub const NAME_MAX_CHARS: usize = 80;

/// A typed name: trimmed, runs of white space as one space, in Unicode's form C, so that one name has one
/// spelling; `None` for an empty field, which takes the name off.
///
/// # Errors
/// `invalid_input` for a name that is too long, or has characters that show nothing or turn the writing around.
pub fn parse_name(text: &str) -> Result<Option<String>, Refusal> {
    // Bounded before it is worked on: one character can become several.
    if text.len() > NAME_MAX_CHARS * 16 {
        return Err(too_long());
    }
    let name: String = text.split_whitespace().collect::<Vec<_>>().join(" ").nfc().collect();
    if name.chars().count() > NAME_MAX_CHARS {
        return Err(too_long());
    }
    if name.chars().any(is_hidden) {
        return Err(Refusal::new(Code::InvalidInput, "name: it has a character that can't be shown"));
    }
    Ok((!name.is_empty()).then_some(name))
}

fn too_long() -> Refusal {
    Refusal::new(Code::InvalidInput, format!("name: at most {NAME_MAX_CHARS} characters are expected"))
}

/// Controls, and marks that turn the direction of what follows: with those a name could cover its neighbours.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_spelling() {
        let name = |text: &str| parse_name(text).unwrap();
        assert_eq!(name("  Ana   Müller \n").as_deref(), Some("Ana Müller"));
        assert_eq!(name("Jose\u{301}").as_deref(), Some("Jos\u{e9}"));
        assert_eq!(name("李雷").as_deref(), Some("李雷"));
        assert_eq!(name(" \t "), None);
        assert_eq!(name(&"é".repeat(80)).map(|name| name.chars().count()), Some(80));
        // Eighty characters of two code points each are eighty characters.
        assert_eq!(name(&"e\u{301}".repeat(80)).map(|name| name.chars().count()), Some(80));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "x".repeat(81),
            "x".repeat(5_000),
            "a\0b".to_owned(),
            "a\u{202e}b".to_owned(),
            "\u{feff}".to_owned(),
            "\u{61c}a".to_owned(),
        ] {
            let refusal = parse_name(&text).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidInput, "{text:?}");
            assert!(refusal.message.starts_with("name: "), "{}", refusal.message);
        }
    }
}
