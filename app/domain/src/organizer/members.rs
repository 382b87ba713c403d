//! Members, invitations and the log of what everybody did, as pages show them.

use crate::account::Role;
use crate::ids::AccountId;
use crate::time::ZonedTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How long an invitation works.
pub const INVITATION_TTL_MS: i64 = 7 * 24 * 3_600_000;
/// Most members and open invitations of an organization: its list is one page.
pub const MEMBERS_MAX: u32 = 500;
/// Most entries that are shown of what a row of the log details.
pub const DETAIL_ENTRIES_MAX: usize = 60;
/// Most characters that are shown of one entry.
pub const DETAIL_VALUE_MAX_CHARS: usize = 400;

/// A member in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// The account.
    pub account: AccountId,
    /// Its address.
    pub email: String,
    /// What it may do.
    pub role: Role,
}

/// An invitation that was not used yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvitationView {
    /// The invited address.
    pub email: String,
    /// The role that waits.
    pub role: Role,
    /// When its link stops working, in UTC.
    pub until: ZonedTime,
    /// Whether that has happened.
    pub expired: bool,
}

/// Everybody who acts for an organization, and who may soon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberList {
    /// Members, owners first, then by address.
    pub members: Vec<MemberView>,
    /// Invitations, the newest first.
    pub invitations: Vec<InvitationView>,
}

/// What an invitation offers to the one who opened its link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Name of the organization.
    pub organization: String,
    /// The role.
    pub role: Role,
}

/// How an address became a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seating {
    /// It has a confirmed account, which is a member now.
    Member,
    /// It was invited: this is the link that was mailed.
    Invited(String),
}

/// One thing that was done for an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Its place in the log.
    pub id: i64,
    /// When.
    pub at: ZonedTime,
    /// The member's address; none for the command line.
    pub who: Option<String>,
    /// A stable word such as `performance.publish`.
    pub action: String,
    /// Kind and id of what it was done to.
    pub subject: String,
    /// What else was written down, flat.
    pub detail: Vec<(String, String)>,
}

/// What of the log is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Rows before this one only.
    pub before: Option<i64>,
    /// Rows of this action only.
    pub action: Option<String>,
    /// Rows whose subject contains this only.
    pub subject: Option<String>,
    /// Rows of this address only; empty for those of the command line.
    pub who: Option<String>,
}

/// A page of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPage {
    /// The rows, newest first.
    pub rows: Vec<AuditRow>,
    /// Where the next page begins, when there is one.
    pub next: Option<i64>,
    /// Every action of the log, for the filter.
    pub actions: Vec<String>,
    /// Everybody in the log by address, for the filter.
    pub people: Vec<String>,
}

/// The fields of a JSON value as paths with their values: `{"a": {"b": [1, 2]}}` gives `a.b.0` and
/// `a.b.1`. Cut to [`DETAIL_ENTRIES_MAX`] entries of [`DETAIL_VALUE_MAX_CHARS`] characters.
pub fn flatten(value: &Value) -> Vec<(String, String)> {
    let mut out = Vec::new();
    walk("", value, &mut out);
    out
}

fn walk(path: &str, value: &Value, out: &mut Vec<(String, String)>) {
    if out.len() >= DETAIL_ENTRIES_MAX {
        return;
    }
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| walk(&below(key), value, out)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, value)| walk(&below(&i.to_string()), value, out));
        }
        Value::String(text) => out.push((path.to_owned(), short(text))),
        other => out.push((path.to_owned(), other.to_string())),
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(DETAIL_VALUE_MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn details_become_flat_and_bounded() {
        let value = json!({ "from": "owner", "seats": [1, { "row": null }], "deep": { "a": { "b": true } } });
        let pairs: Vec<String> = flatten(&value).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(pairs, ["deep.a.b=true", "from=owner", "seats.0=1", "seats.1.row=null"]);
        assert_eq!(flatten(&json!("text")), [(String::new(), "text".to_owned())]);
        assert!(flatten(&json!({})).is_empty());
        let long = flatten(&json!({ "x": "座".repeat(5_000) }));
        assert_eq!(long[0].1.chars().count(), DETAIL_VALUE_MAX_CHARS + 1);
        assert_eq!(flatten(&json!((0..5_000).collect::<Vec<_>>())).len(), DETAIL_ENTRIES_MAX);
    }
}
