//! The choices about a file as its form sends them, and what they mean.

use super::COLUMNS;
use crate::refusal::{Code, Refusal};
use crate::venue::import::{Format, Options};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Encodings that can be chosen; UTF-8 and UTF-16 are detected by themselves where they announce it.
pub const ENCODINGS: [&str; 7] =
    ["utf-8", "utf-16le", "utf-16be", "windows-1251", "windows-1252", "gb18030", "shift_jis"];
/// Separators that can be chosen, by the word that a form sends.
pub const SEPARATORS: [(&str, char); 4] = [("comma", ','), ("semicolon", ';'), ("tab", '\t'), ("pipe", '|')];

/// What a column of the file is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnChoice {
    /// Its header in the file.
    pub header: String,
    /// Our name for it; empty when it is set aside.
    #[serde(default)]
    pub ours: String,
}

/// The fields of the form; an empty one leaves it to detection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// `pretix`, `csv` or `svg`.
    pub format: String,
    /// Repair what can be repaired without loss.
    pub tolerant: bool,
    /// One of [`ENCODINGS`].
    pub encoding: String,
    /// A word of [`SEPARATORS`].
    pub separator: String,
    /// What each column is.
    pub columns: Vec<ColumnChoice>,
    /// Pattern of ids of a drawing.
    pub id_pattern: String,
}

impl Choices {
    /// The choices as the check takes them.
    ///
    /// # Errors
    /// `invalid_input` names the field.
    pub fn options(self) -> Result<Options, Refusal> {
        let wrong = |text: String| Refusal::new(Code::InvalidInput, text);
        let format = match self.format.as_str() {
            "" => None,
            "pretix" => Some(Format::Pretix),
            "csv" => Some(Format::Csv),
            "svg" => Some(Format::Svg),
            other => return Err(wrong(format!("format: `{other}` is none of pretix, csv, svg"))),
        };
        let encoding = Some(self.encoding).filter(|label| !label.is_empty());
        if let Some(label) = encoding.as_deref().filter(|label| !ENCODINGS.contains(label)) {
            return Err(wrong(format!("encoding: `{label}` is none of {}", ENCODINGS.join(", "))));
        }
        let separator = match self.separator.as_str() {
            "" => None,
            word => match SEPARATORS.iter().find(|(known, _)| *known == word) {
                Some((_, separator)) => Some(*separator),
                None => return Err(wrong(format!("separator: `{word}` is none of comma, semicolon, tab, pipe"))),
            },
        };
        let mut columns = BTreeMap::new();
        for column in self.columns.into_iter().filter(|column| !column.ours.is_empty()) {
            if !COLUMNS.contains(&column.ours.as_str()) {
                return Err(wrong(format!("columns: `{}` is no column of ours", column.ours)));
            }
            if let Some(other) = columns.insert(column.ours.clone(), column.header) {
                return Err(wrong(format!("columns: `{}` was chosen for `{other}` and for another", column.ours)));
            }
        }
        let id_pattern = Some(self.id_pattern.trim().to_owned()).filter(|pattern| !pattern.is_empty());
        Ok(Options { format, tolerant: self.tolerant, encoding, separator, columns, id_pattern })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(header: &str, ours: &str) -> ColumnChoice {
        ColumnChoice { header: header.to_owned(), ours: ours.to_owned() }
    }

    #[test]
    fn empty_fields_leave_everything_to_detection() {
        assert_eq!(Choices::default().options(), Ok(Options::default()));
    }

    #[test]
    fn each_choice_arrives() {
        let choices = Choices {
            format: "csv".to_owned(),
            tolerant: true,
            encoding: "windows-1251".to_owned(),
            separator: "semicolon".to_owned(),
            columns: vec![column("Ряд", "row"), column("Цвет", ""), column("Место", "seat")],
            id_pattern: " seat-(?<seat>[0-9]+) ".to_owned(),
        };
        let options = choices.options().unwrap();
        assert_eq!((options.format, options.separator, options.tolerant), (Some(Format::Csv), Some(';'), true));
        assert_eq!(options.columns.get("row").map(String::as_str), Some("Ряд"));
        assert_eq!(options.columns.len(), 2, "what is set aside is no column");
        assert_eq!(options.id_pattern.as_deref(), Some("seat-(?<seat>[0-9]+)"));
    }

    #[test]
    fn what_is_no_choice_is_refused_by_the_name_of_its_field() {
        let field = |choices: Choices| choices.options().unwrap_err().message.split(':').next().map(str::to_owned);
        let text = |text: &str| text.to_owned();
        assert_eq!(field(Choices { format: text("pdf"), ..Choices::default() }), Some(text("format")));
        assert_eq!(field(Choices { encoding: text("ebcdic"), ..Choices::default() }), Some(text("encoding")));
        assert_eq!(field(Choices { separator: text("x"), ..Choices::default() }), Some(text("separator")));
        let twice = vec![column("a", "seat"), column("b", "seat")];
        assert_eq!(field(Choices { columns: twice, ..Choices::default() }), Some(text("columns")));
        let foreign = vec![column("a", "password")];
        assert_eq!(field(Choices { columns: foreign, ..Choices::default() }), Some(text("columns")));
    }
}
