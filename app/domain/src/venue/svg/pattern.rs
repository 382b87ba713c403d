//! Ids that tell seats: a pattern that the organizer gives, or a guess to offer.
//!
//! Owns the two written forms of a pattern and their bounds. The engine is linear in the text, so
//! only the size of the pattern and of the ids has to be limited.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use regex::{Regex, RegexBuilder};

/// Bytes of a pattern.
const MAX_PATTERN_BYTES: usize = 1_024;
/// Memory of a compiled pattern; one with three Unicode classes takes a third.
const MAX_COMPILED_BYTES: usize = 512 * 1_024;
/// Groups within each other in a pattern.
const MAX_NESTING: u32 = 32;
/// Bytes of an id that is matched at all.
pub(super) const MAX_ID_BYTES: usize = 256;
const NAMES: [&str; 3] = ["seat", "row", "section"];

/// A pattern of ids.
pub(super) struct Pattern(Regex);

/// What an id tells.
pub(super) struct Named<'t> {
    pub(super) seat: &'t str,
    pub(super) row: Option<&'t str>,
    pub(super) section: Option<&'t str>,
}

impl Pattern {
    /// Reads either form; an error says in words what is wrong.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if text.len() > MAX_PATTERN_BYTES {
            return Err(format!("a pattern of {} bytes, the limit is {MAX_PATTERN_BYTES}", text.len()));
        }
        let source = if text.contains("{seat}") { from_placeholders(text) } else { text.to_owned() };
        let build = |source: &str| {
            RegexBuilder::new(source)
                .size_limit(MAX_COMPILED_BYTES)
                .dfa_size_limit(2 * MAX_COMPILED_BYTES)
                .nest_limit(MAX_NESTING)
                .build()
                .map_err(|error| format!("the pattern can't be read: {error}"))
        };
        // By itself first: a pattern that only makes sense inside the anchors is none.
        build(&source)?;
        let regex = build(&format!(r"\A(?:{source})\z"))?;
        if regex.capture_names().flatten().all(|name| name != "seat") {
            return Err("the pattern has neither {seat} nor a group named seat, such as (?P<seat>[0-9]+)".to_owned());
        }
        Ok(Self(regex))
    }

    /// What the whole id tells, if it is one of a seat.
    pub(super) fn read<'t>(&self, id: &'t str) -> Option<Named<'t>> {
        if id.len() > MAX_ID_BYTES {
            return None;
        }
        let found = self.0.captures(id)?;
        let group = |name: &str| found.name(name).map(|group| group.as_str());
        let seat = group("seat").filter(|seat| !seat.is_empty())?;
        Some(Named { seat, row: group("row"), section: group("section") })
    }
}

/// Each placeholder takes as little as it can, the last one the rest.
fn from_placeholders(text: &str) -> String {
    let mut source = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let next = NAMES
            .iter()
            .filter_map(|name| rest.find(&format!("{{{name}}}")).map(|at| (at, *name)))
            .min_by_key(|(at, _)| *at);
        let Some((at, name)) = next else { break };
        source.push_str(&regex::escape(&rest[..at]));
        // Writing to a String cannot fail.
        let _ = write!(source, "(?P<{name}>.+?)");
        rest = &rest[at + name.len() + 2..];
    }
    source.push_str(&regex::escape(rest));
    source
}

/// A run of one kind of characters.
fn tokens(id: &str) -> Vec<&str> {
    let kind = |c: char| if c.is_numeric() { 0 } else { 1 + u8::from(!c.is_alphabetic()) };
    let mut list = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in id.char_indices() {
        if last.is_some_and(|last| last != kind(c)) {
            list.push(&id[start..at]);
            start = at;
        }
        last = Some(kind(c));
    }
    list.push(&id[start..]);
    list
}

/// A pattern that most ids seem to follow.
pub(super) fn guess(ids: &[&str]) -> Option<String> {
    const LEAST: usize = 3;
    const MOST_TOKENS: usize = 24;
    let mut shapes: BTreeMap<(usize, &str), Vec<Vec<&str>>> = BTreeMap::new();
    for id in ids.iter().filter(|id| id.len() <= MAX_ID_BYTES && !id.is_empty()) {
        let tokens = tokens(id);
        if let Some(first) = tokens.first().copied().filter(|_| tokens.len() <= MOST_TOKENS) {
            // Ids that begin with a number or a letter of their own have nothing in common there.
            let first = if first.len() > 1 && first.chars().all(char::is_alphabetic) { first } else { "" };
            shapes.entry((tokens.len(), first)).or_default().push(tokens);
        }
    }
    let alike = shapes.into_values().filter(|alike| alike.len() >= LEAST).max_by_key(Vec::len)?;
    let columns: Vec<BTreeSet<&str>> = (0..alike.first()?.len())
        .map(|column| alike.iter().filter_map(|tokens| tokens.get(column).copied()).collect())
        .collect();
    let names = name_columns(&columns)?;
    let mut pattern = String::new();
    for (column, name) in columns.iter().zip(names) {
        match name {
            Some(name) => drop(write!(pattern, "{{{name}}}")),
            None => pattern.push_str(column.first()?),
        }
    }
    Some(pattern)
}

/// Which column is what: by the word before it, then letters for rows, then the numbers.
fn name_columns(columns: &[BTreeSet<&str>]) -> Option<Vec<Option<&'static str>>> {
    let varying: Vec<usize> = (0..columns.len()).filter(|column| columns[*column].len() > 1).collect();
    if varying.is_empty() || varying.len() > NAMES.len() {
        return None;
    }
    let mut names: Vec<Option<&'static str>> = vec![None; columns.len()];
    let mut left: Vec<&'static str> = NAMES[..varying.len()].to_vec();
    for &column in &varying {
        let word = columns[..column]
            .iter()
            .rev()
            .find(|set| set.iter().all(|token| token.chars().any(char::is_alphabetic)) && set.len() == 1);
        let directly = column >= 1 && columns[column.saturating_sub(2)..column].iter().any(|set| Some(set) == word);
        let told = word.filter(|_| directly).and_then(|set| told_by(set.first()?.to_lowercase().as_str()));
        if let Some(name) = told {
            if let Some(at) = left.iter().position(|other| *other == name) {
                left.remove(at);
            } else if let Some(last) = left.len().checked_sub(1).filter(|_| !names.contains(&Some(name))) {
                left.remove(last);
            } else {
                continue;
            }
            names[column] = Some(name);
        }
    }
    let lettered = |column: usize| columns[column].iter().all(|token| token.chars().all(char::is_alphabetic));
    for &column in varying.iter().filter(|column| lettered(**column)) {
        if names[column].is_none() && left.contains(&"row") {
            names[column] = Some("row");
            left.retain(|name| *name != "row");
        }
    }
    for &column in &varying {
        if names[column].is_none() {
            names[column] = Some(left.remove(0));
        }
    }
    names.contains(&Some("seat")).then_some(names)
}

fn told_by(word: &str) -> Option<&'static str> {
    match word {
        "seat" | "s" | "place" | "platz" | "asiento" | "siege" | "место" => Some("seat"),
        "row" | "r" | "reihe" | "fila" | "rang" | "ряд" => Some("row"),
        "section" | "sec" | "sector" | "block" | "zone" | "screen" | "stand" | "сектор" => Some("section"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_follows_words_letters_and_order() {
        let cases: [(&[&str], Option<&str>); 6] = [
            (&["seat-1-A-1", "seat-2-A-1", "seat-1-B-2", "bg"], Some("seat-{seat}-{row}-{section}")),
            (&["row-A-seat-1", "row-A-seat-2", "row-B-seat-1"], Some("row-{row}-seat-{seat}")),
            (
                &["block_1_row_2_seat_3", "block_2_row_1_seat_4", "block_3_row_3_seat_5"],
                Some("block_{section}_row_{row}_seat_{seat}"),
            ),
            (&["A1", "A2", "B1"], Some("{row}{seat}")),
            (&["seat1", "seat2", "seat3"], Some("seat{seat}")),
            (&["a", "stage"], None),
        ];
        for (ids, expected) in cases {
            assert_eq!(guess(ids).as_deref(), expected, "{ids:?}");
            if let Some(guess) = guess(ids) {
                let pattern = Pattern::new(&guess).expect("a guess is a pattern");
                assert!(pattern.read(ids[0]).is_some(), "{guess}");
            }
        }
    }

    #[test]
    fn a_pattern_is_bounded_and_must_name_a_seat() {
        for bad in ["(", "seat", "(?P<row>.+)", "(?P<seat>(a{1000}){1000})", &"(".repeat(500), &"x".repeat(2_000)] {
            assert!(Pattern::new(bad).is_err(), "{}", &bad[..bad.len().min(40)]);
        }
        let pattern = Pattern::new("(?<seat>a|ab)").expect("valid");
        assert_eq!(pattern.read("ab").map(|named| named.seat), Some("ab"), "the whole id counts");
        assert!(pattern.read(&"a".repeat(10_000)).is_none());
    }
}
