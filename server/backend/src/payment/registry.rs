//! The payment providers that are configured here, by name.

use super::PaymentProvider;
use super::sandbox::SandboxProvider;
use super::stripe::StripeProvider;
use crate::config::Config;
use crate::error::Result;
use std::sync::Arc;

/// Providers that payments can be made with, several at once.
pub(crate) struct Registry(Vec<Arc<dyn PaymentProvider>>);

impl Registry {
    /// Those that the settings name. The sandbox moves no money, so production has none.
    pub(crate) fn from_settings(config: &Config) -> Result<Self> {
        let mut list: Vec<Arc<dyn PaymentProvider>> = Vec::new();
        if config.is_development() {
            list.push(Arc::new(SandboxProvider::new(&config.psp)?));
        }
        if let Some(settings) = &config.stripe {
            list.push(Arc::new(StripeProvider::new(settings)?));
        }
        Ok(Self(list))
    }

    /// The provider of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn PaymentProvider>> {
        self.0.iter().find(|provider| provider.name() == name)
    }

    /// The names of all.
    pub(crate) fn all(&self) -> Vec<&'static str> {
        self.0.iter().map(|provider| provider.name()).collect()
    }

    /// The names of all, for people.
    pub(crate) fn names(&self) -> String {
        self.all().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn registry(pairs: &[(&str, &str)]) -> Registry {
        let map: HashMap<&str, &str> = pairs.iter().copied().collect();
        let config = Config::read(|name| map.get(name).map(|value| (*value).to_owned())).unwrap();
        Registry::from_settings(&config).unwrap()
    }

    #[test]
    fn several_providers_are_on_at_once_and_found_by_name() {
        let both =
            registry(&[("STARARENA_STRIPE_API_KEY", "sk_test_1"), ("STARARENA_STRIPE_WEBHOOK_SECRETS", "whsec_1")]);
        assert_eq!(both.names(), "sandbox, stripe");
        assert_eq!(both.get("stripe").map(|provider| provider.name()), Some("stripe"));
        assert!(both.get("paypal").is_none());
        assert_eq!(registry(&[]).names(), "sandbox");
    }

    #[test]
    fn production_has_no_sandbox() {
        let live = registry(&[
            ("STARARENA_ENV", "production"),
            ("STARARENA_PUBLIC_URL", "https://tickets.example.org"),
            ("STARARENA_TOKEN_KEYS", "0123456789abcdef0123456789abcdef"),
            ("STARARENA_TICKET_KEY", &"11".repeat(32)),
            ("STARARENA_SMTP_URL", "smtps://mail.example.org"),
            ("STARARENA_MAIL_FROM", "tickets@example.org"),
            ("STARARENA_STRIPE_API_KEY", "rk_live_1"),
            ("STARARENA_STRIPE_WEBHOOK_SECRETS", "whsec_1"),
        ]);
        assert_eq!(live.names(), "stripe");
        assert!(live.get("sandbox").is_none());
    }
}
