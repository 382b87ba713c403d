//! Reading what callers send: bodies and queries, with the name of the field that is wrong.

use axum::body::Bytes;
use axum::extract::Query;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;

use super::refusal::Refusal;

/// Reads a JSON body; an empty one counts as `{}`.
pub(super) fn parse<T: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Result<T, Refusal> {
    read(&bytes(body)?)
}

/// The bytes of a body, if it is short enough.
pub(super) fn bytes(body: Result<Bytes, BytesRejection>) -> Result<Bytes, Refusal> {
    body.map_err(|rejection| Refusal::of(rejection.status(), "body_unreadable", rejection.body_text()))
}

/// Reads JSON; nothing at all counts as `{}`.
pub(super) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, Refusal> {
    let json: &[u8] = if json.is_empty() { b"{}" } else { json };
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let refusal = invalid(error.into_inner().to_string());
        // `.` and `?` are paths to nowhere: then the message itself may name the field.
        if path == "." || path.contains('?') { refusal } else { refusal.with_param(path) }
    })?;
    reader.end().map_err(|error| invalid(error.to_string()))?;
    Ok(value)
}

/// Reads a query.
pub(super) fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    match query {
        Ok(Query(query)) => Ok(query),
        Err(rejection) => Err(invalid(rejection.body_text())),
    }
}

/// At most so many characters, on one line.
pub(super) fn is_line(text: &str, max_chars: usize) -> bool {
    text.chars().count() <= max_chars && !text.chars().any(char::is_control)
}

fn invalid(message: String) -> Refusal {
    let param = field_in(&message).map(str::to_owned);
    let refusal = Refusal::of(StatusCode::BAD_REQUEST, "invalid_request", message);
    match param {
        Some(param) => refusal.with_param(param),
        None => refusal,
    }
}

/// The field that a message names as missing, unknown or twice there.
fn field_in(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("field `")?;
    rest.split_once('`').map(|(field, _)| field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        amount: i64,
        note: Option<String>,
    }

    #[test]
    fn a_wrong_field_is_named() {
        for (json, param) in [
            ("", "amount"),
            ("{}", "amount"),
            (r#"{"amount": "many"}"#, "amount"),
            (r#"{"amount": 1, "note": 7}"#, "note"),
            (r#"{"amount": 1, "nota": 7}"#, "nota"),
            (r#"{"amount": 1, "amount": 2}"#, "amount"),
        ] {
            let refusal = read::<Wanted>(json.as_bytes()).unwrap_err();
            assert_eq!(refusal.body()["error"]["param"], param, "{json}");
        }
        for json in ["{", "[]", "{\"amount\": 1} x"] {
            assert_eq!(read::<Wanted>(json.as_bytes()).unwrap_err().code, "invalid_request", "{json}");
        }
        let read = read::<Wanted>(br#"{"amount": 1, "note": "x"}"#).unwrap();
        assert_eq!((read.amount, read.note.as_deref()), (1, Some("x")));
        assert!(is_line("a b", 3) && !is_line("a b", 2) && !is_line("a\nb", 9));
    }
}
