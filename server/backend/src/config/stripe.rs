//! The settings of Stripe.

use super::{ConfigError, Environment, wrong};

/// Where Stripe's interface is.
const API: &str = "https://api.stripe.com";
/// Longest time to pay with Stripe: its page lives for at most a day, half an hour beyond our own deadline, and
/// it remembers the keys of calls for a day.
const DEADLINE_MAX_MS: i64 = 12 * 3_600_000;

/// How to reach Stripe.
#[derive(Clone)]
pub struct StripeSettings {
    /// Base address of the interface, without a slash at the end.
    pub url: String,
    /// Secret or restricted key of the account; it says whether money is real.
    pub api_key: String,
    /// Secrets that verify webhooks; two while rotating.
    pub webhook_secrets: Vec<String>,
}

impl StripeSettings {
    /// Whether the key moves real money.
    pub fn is_live(&self) -> bool {
        is_of(&self.api_key, "live")
    }
}

/// Whether a key is a secret (`sk_`) or a restricted one (`rk_`) of a mode.
fn is_of(key: &str, mode: &str) -> bool {
    ["sk", "rk"].iter().any(|kind| key.strip_prefix(kind).is_some_and(|rest| rest.starts_with(&format!("_{mode}_"))))
}

/// Reads them; none where there is no key.
pub(super) fn read(
    get: impl Fn(&str) -> Option<String>,
    environment: Environment,
    provider_deadline_ms: i64,
) -> Result<Option<StripeSettings>, ConfigError> {
    let secrets = get("STARARENA_STRIPE_WEBHOOK_SECRETS");
    let Some(api_key) = get("STARARENA_STRIPE_API_KEY") else {
        return match secrets {
            Some(_) => wrong("STARARENA_STRIPE_WEBHOOK_SECRETS is set, but STARARENA_STRIPE_API_KEY is not"),
            None => Ok(None),
        };
    };
    let mode = match environment {
        Environment::Production => "live",
        Environment::Development => "test",
    };
    if !is_of(&api_key, mode) {
        return wrong(format!(
            "STARARENA_STRIPE_API_KEY: a key that begins with sk_{mode}_ or rk_{mode}_ is expected, for this is {}",
            if mode == "live" { "production" } else { "no production, where no money may move" }
        ));
    }
    let url = get("STARARENA_STRIPE_URL").unwrap_or_else(|| API.to_owned()).trim_end_matches('/').to_owned();
    let encrypted = url.starts_with("https://");
    if !encrypted && (environment == Environment::Production || !url.starts_with("http://")) {
        return wrong(format!("STARARENA_STRIPE_URL is `{url}`: an https:// address is expected"));
    }
    let webhook_secrets: Vec<String> = secrets
        .iter()
        .flat_map(|list| list.split(','))
        .map(|secret| secret.trim().to_owned())
        .filter(|secret| !secret.is_empty())
        .collect();
    if webhook_secrets.is_empty() || !webhook_secrets.iter().all(|secret| secret.starts_with("whsec_")) {
        return wrong(
            "STARARENA_STRIPE_WEBHOOK_SECRETS: one secret that begins with whsec_ is expected, or two while rotating",
        );
    }
    if provider_deadline_ms > DEADLINE_MAX_MS {
        return wrong(format!(
            "STARARENA_PROVIDER_DEADLINE_MS is {provider_deadline_ms}: at most {DEADLINE_MAX_MS} is possible with STARARENA_STRIPE_API_KEY"
        ));
    }
    Ok(Some(StripeSettings { url, api_key, webhook_secrets }))
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use std::collections::HashMap;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let map: HashMap<&str, &str> = pairs.iter().copied().collect();
        Config::read(|name| map.get(name).map(|value| (*value).to_owned()))
    }

    const KEY: (&str, &str) = ("STARARENA_STRIPE_API_KEY", "sk_test_51secret");
    const SECRETS: (&str, &str) = ("STARARENA_STRIPE_WEBHOOK_SECRETS", "whsec_new, whsec_old");

    #[test]
    fn a_key_and_a_secret_are_enough() {
        assert!(with(&[]).unwrap().stripe.is_none());
        let settings = with(&[KEY, SECRETS]).unwrap().stripe.unwrap();
        assert_eq!(settings.url, "https://api.stripe.com");
        assert_eq!(settings.webhook_secrets, ["whsec_new", "whsec_old"]);
        assert!(!settings.is_live());
        let elsewhere =
            with(&[KEY, SECRETS, ("STARARENA_STRIPE_URL", "http://127.0.0.1:8420/")]).unwrap().stripe.unwrap();
        assert_eq!(elsewhere.url, "http://127.0.0.1:8420");
    }

    #[test]
    fn wrong_values_name_their_variable() {
        for (pairs, name) in [
            (&[SECRETS][..], "STARARENA_STRIPE_API_KEY is not"),
            (&[KEY][..], "STARARENA_STRIPE_WEBHOOK_SECRETS"),
            (&[KEY, ("STARARENA_STRIPE_WEBHOOK_SECRETS", " , ")][..], "STARARENA_STRIPE_WEBHOOK_SECRETS"),
            (&[KEY, ("STARARENA_STRIPE_WEBHOOK_SECRETS", "sk_test_1")][..], "STARARENA_STRIPE_WEBHOOK_SECRETS"),
            (&[("STARARENA_STRIPE_API_KEY", "pk_test_1"), SECRETS][..], "STARARENA_STRIPE_API_KEY"),
            (&[("STARARENA_STRIPE_API_KEY", "sk_live_1"), SECRETS][..], "no production"),
            (&[KEY, SECRETS, ("STARARENA_STRIPE_URL", "api.stripe.com")][..], "STARARENA_STRIPE_URL"),
            (&[KEY, SECRETS, ("STARARENA_PROVIDER_DEADLINE_MS", "46800000")][..], "STARARENA_PROVIDER_DEADLINE_MS"),
        ] {
            let error = with(pairs).unwrap_err();
            assert!(error.0.contains(name), "{error}");
            assert!(!error.0.contains("51secret"), "secrets are not printed: {error}");
        }
    }

    #[test]
    fn production_wants_real_money_over_an_encrypted_way_and_then_starts() {
        let hex = "11".repeat(32);
        let base = [
            ("STARARENA_ENV", "production"),
            ("STARARENA_PUBLIC_URL", "https://tickets.example.org"),
            ("STARARENA_TOKEN_KEYS", "0123456789abcdef0123456789abcdef"),
            ("STARARENA_TICKET_KEY", hex.as_str()),
            ("STARARENA_SMTP_URL", "smtps://mail.example.org"),
            ("STARARENA_MAIL_FROM", "tickets@example.org"),
        ];
        let and = |further: &[(&'static str, &'static str)]| {
            let mut all = base.to_vec();
            all.extend_from_slice(further);
            with(&all)
        };
        let live = ("STARARENA_STRIPE_API_KEY", "rk_live_1");
        assert!(and(&[KEY, SECRETS]).unwrap_err().0.contains("sk_live_"));
        assert!(
            and(&[live, SECRETS, ("STARARENA_STRIPE_URL", "http://stripe.example")]).unwrap_err().0.contains("https")
        );
        assert!(and(&[live, SECRETS, ("STARARENA_PSP_URL", "http://127.0.0.1:1")]).unwrap_err().0.contains("sandbox"));
        assert!(and(&[live, SECRETS]).unwrap().stripe.unwrap().is_live());
        assert!(and(&[]).unwrap_err().0.contains("STARARENA_STRIPE_API_KEY"));
    }

    #[test]
    fn secrets_are_not_printed() {
        let printed = format!("{:?}", with(&[KEY, SECRETS]).unwrap());
        assert!(!printed.contains("51secret") && !printed.contains("whsec_"), "{printed}");
    }
}
