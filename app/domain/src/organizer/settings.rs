//! Settings of an organization as its pages show them: who takes its payments, and which of its own systems
//! are told of events.

use crate::ids::EndpointId;
use crate::time::ZonedTime;
use serde::{Deserialize, Serialize};

/// How many deliveries of an endpoint are shown, the newest.
pub const DELIVERIES_SHOWN: u32 = 50;
/// Longest address of an endpoint, in bytes.
pub const URL_MAX_BYTES: usize = 2_000;

/// The payment providers to choose from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderChoice {
    /// Name of the one through which the organization is paid.
    pub current: String,
    /// Names of those that are configured here. The current one may be missing.
    pub all: Vec<String>,
}

impl ProviderChoice {
    /// Whether payments can be made: the current provider is configured here.
    pub fn is_configured(&self) -> bool {
        self.all.contains(&self.current)
    }
}

/// An address that is told of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointView {
    /// Its id.
    pub id: EndpointId,
    /// The address.
    pub url: String,
    /// What it is told, in the text form of events.
    pub kinds: Vec<String>,
    /// Whether it is told.
    pub enabled: bool,
    /// Why it is not, in English.
    pub reason: Option<String>,
    /// Since when it fails; none while it works.
    pub failing_since: Option<ZonedTime>,
    /// When it was added.
    pub created: ZonedTime,
    /// How many deliveries have not ended.
    pub waiting: u32,
    /// The delivery that ended last.
    pub last: Option<LastDelivery>,
}

/// How the delivery went that ended last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastDelivery {
    /// When it ended.
    pub at: ZonedTime,
    /// Whether the other side took it.
    pub delivered: bool,
}

/// The endpoints of an organization, and what one can be told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookList {
    /// The endpoints, in the order in which they were added.
    pub endpoints: Vec<EndpointView>,
    /// Every kind of event, in its text form.
    pub kinds: Vec<String>,
}

/// The key of an endpoint's signatures, on its way to its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointSecret {
    /// Whose it is.
    pub endpoint: EndpointId,
    /// `whsec_` and base64.
    pub secret: String,
}

/// The page of settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsView {
    /// Who takes payments.
    pub provider: ProviderChoice,
    /// Who is told of events.
    pub webhooks: WebhookList,
    /// A secret that was made just now.
    pub secret: Option<EndpointSecret>,
}

/// How far a delivery has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It is tried.
    Waiting,
    /// The other side has it.
    Delivered,
    /// It is not tried any more.
    GivenUp,
}

impl DeliveryState {
    /// The text form.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::GivenUp => "given_up",
        }
    }
}

/// One event on its way to one endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryView {
    /// Its number.
    pub id: i64,
    /// The `webhook-id`, the same in every try.
    pub message: String,
    /// The event, in its text form.
    pub kind: String,
    /// When it happened.
    pub created: ZonedTime,
    /// How far it has come.
    pub state: DeliveryState,
    /// Why the last try failed, in English.
    pub error: Option<String>,
    /// When it is tried next; none once it has ended.
    pub next_try: Option<ZonedTime>,
    /// How often it was tried.
    pub tries: u32,
}

/// One try of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryView {
    /// When it began.
    pub at: ZonedTime,
    /// HTTP status; none where no answer came.
    pub status: Option<u16>,
    /// How long it took, ms.
    pub duration_ms: u64,
    /// The beginning of the answer, which others wrote.
    pub answer: String,
    /// What went wrong on the way, in English.
    pub error: Option<String>,
}

/// A delivery in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedDelivery {
    /// Its number.
    pub id: i64,
    /// What is sent: JSON.
    pub body: String,
    /// Every try, in their order.
    pub tries: Vec<TryView>,
}

/// The page of one endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointPage {
    /// The endpoint.
    pub endpoint: EndpointView,
    /// Its newest deliveries, at most [`DELIVERIES_SHOWN`].
    pub deliveries: Vec<DeliveryView>,
    /// The one of them that was asked for.
    pub opened: Option<OpenedDelivery>,
    /// A secret that was made just now.
    pub secret: Option<EndpointSecret>,
}

/// JSON as one value a line, for people: only the spaces between its parts change. What is no JSON comes out
/// readable as far as it goes.
pub fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        if in_text {
            out.push(c);
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == '"' {
                in_text = false;
            }
            continue;
        }
        match c {
            '"' => {
                in_text = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                match chars.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        begin_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                begin_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                begin_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            space if space.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
    out
}

/// The deepest level that is set off by spaces: a hostile text nests as deep as it is long.
const DEPTH_MAX: usize = 20;

fn begin_line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth.min(DEPTH_MAX) {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn a_body_is_shown_one_value_a_line_in_its_own_order() {
        let body = r#"{"type" : "order.paid","data":{"seats":[ ],"row": {},"b":[1,2],"a":"x, {y}: \"z\\"}}"#;
        let expected = "{\n  \"type\": \"order.paid\",\n  \"data\": {\n    \"seats\": [],\n    \"row\": {},\n    \"b\": [\n      1,\n      2\n    ],\n    \"a\": \"x, {y}: \\\"z\\\\\"\n  }\n}";
        assert_eq!(indented(body), expected);
        assert_eq!(indented(""), "");
        assert!(indented(&"[".repeat(10_000)).len() < 1_000_000);
        assert_eq!(indented("\"座"), "\"座", "what is cut short stays as it is");
    }

    #[test]
    fn a_provider_that_is_configured_no_more_is_told_apart() {
        let choice = |current: &str| ProviderChoice { current: current.to_owned(), all: vec!["stripe".to_owned()] };
        assert!(choice("stripe").is_configured());
        assert!(!choice("sandbox").is_configured());
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".{0,6}", inner, 0..5).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_but_spaces_changes(value in values()) {
            let text = value.to_string();
            prop_assert_eq!(serde_json::from_str::<Value>(&indented(&text)).unwrap(), value.clone());
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&indented(&pretty)).unwrap(), value);
        }
    }
}
