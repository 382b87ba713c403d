//! How side effects leave the house: mail by a relay, webhooks to organizers' systems.

use super::{ConfigError, Environment, wrong};
use lettre::message::Mailbox;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use url::Url;

/// When the connection to the mail relay is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpTls {
    /// From its first byte on (RFC 8314).
    FromStart,
    /// After `STARTTLS`, without which nothing is sent (RFC 3207).
    StartTls,
    /// Never: to a relay on this machine alone.
    Never,
}

/// The relay that takes our mail.
#[derive(Clone)]
pub struct SmtpSettings {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Encryption on the way to it.
    pub tls: SmtpTls,
    /// Who sends.
    pub(crate) from: Mailbox,
    /// Name and password.
    pub(crate) credentials: Option<(String, String)>,
}

/// Deliveries of one process.
#[derive(Clone, Debug)]
pub struct DeliverySettings {
    /// The mail relay; none puts mails into the mailbox page of development.
    pub smtp: Option<SmtpSettings>,
    /// Longest that one mail may take.
    pub smtp_timeout_ms: i64,
    /// Longest that one webhook may take.
    pub webhook_timeout_ms: i64,
    /// Whether webhooks may go to this machine, and there without TLS: for tests.
    pub webhook_loopback: bool,
    /// How long a worker has a side effect in hand before others take it for dead.
    pub lease_ms: i64,
}

/// The password is never printed.
impl fmt::Debug for SmtpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmtpSettings")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("tls", &self.tls)
            .field("from", &self.from.to_string())
            .field("credentials", &self.credentials.as_ref().map(|_| "(set)"))
            .finish()
    }
}

/// Reads the settings of deliveries.
pub(super) fn read(
    environment: Environment,
    get: impl Fn(&str) -> Option<String>,
    number: impl Fn(&str, i64, RangeInclusive<i64>) -> Result<i64, ConfigError>,
) -> Result<DeliverySettings, ConfigError> {
    let production = environment == Environment::Production;
    let smtp = match get("STARARENA_SMTP_URL") {
        Some(url) => Some(read_smtp(&url, get("STARARENA_MAIL_FROM"), production)?),
        None if production => {
            return wrong(
                "STARARENA_SMTP_URL is not set: without a mail relay nobody can confirm an address, so that \
                 production refuses to start",
            );
        }
        None => None,
    };
    let webhook_loopback = match get("STARARENA_WEBHOOK_LOOPBACK").as_deref() {
        None | Some("no") => false,
        Some("yes") if production => {
            return wrong(
                "STARARENA_WEBHOOK_LOOPBACK is `yes`: it is for tests, where organizers can't reach into this \
                 machine; production refuses to start",
            );
        }
        Some("yes") => true,
        Some(other) => return wrong(format!("STARARENA_WEBHOOK_LOOPBACK is `{other}`: `yes` or `no` is expected")),
    };
    let settings = DeliverySettings {
        smtp,
        smtp_timeout_ms: number("STARARENA_SMTP_TIMEOUT_MS", 30_000, 100..=600_000)?,
        webhook_timeout_ms: number("STARARENA_WEBHOOK_TIMEOUT_MS", 10_000, 100..=60_000)?,
        webhook_loopback,
        lease_ms: number("STARARENA_DELIVERY_LEASE_MS", 60_000, 200..=3_600_000)?,
    };
    // With a shorter lease a second worker would begin what the first is about to end.
    if settings.lease_ms < 2 * settings.smtp_timeout_ms.max(settings.webhook_timeout_ms) {
        return wrong(
            "STARARENA_DELIVERY_LEASE_MS: at least twice STARARENA_SMTP_TIMEOUT_MS and twice \
             STARARENA_WEBHOOK_TIMEOUT_MS is expected",
        );
    }
    Ok(settings)
}

/// What an address of a relay looks like. The address itself is not repeated: it carries a password.
const FORM: &str = "STARARENA_SMTP_URL: smtps://name:password@host, smtp://name:password@host (STARTTLS) or \
                    smtp://127.0.0.1?tls=none is expected";

fn read_smtp(text: &str, from: Option<String>, production: bool) -> Result<SmtpSettings, ConfigError> {
    let Ok(url) = Url::parse(text) else { return wrong(FORM) };
    let wanted = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
    let (tls, usual_port) = match (url.scheme(), wanted.as_deref()) {
        ("smtps", None) => (SmtpTls::FromStart, 465),
        ("smtp", None | Some("required")) => (SmtpTls::StartTls, 587),
        ("smtp", Some("none")) => (SmtpTls::Never, 25),
        _ => return wrong(FORM),
    };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let credentials = match (decoded(url.username()), url.password().map(decoded)) {
        (Some(name), None) if name.is_empty() => None,
        (Some(name), Some(Some(password))) if !name.is_empty() => Some((name, password)),
        _ => return wrong(FORM),
    };
    if host.is_empty() {
        return wrong(FORM);
    }
    if tls == SmtpTls::Never && !is_here(&host) && (production || credentials.is_some()) {
        return wrong(
            "STARARENA_SMTP_URL: without TLS only a relay on this machine is used; leave `tls=none` out, or use \
             smtps://",
        );
    }
    let Some(from) = from else {
        return wrong("STARARENA_MAIL_FROM is not set: the address that mails come from is expected");
    };
    let Ok(from) = from.parse::<Mailbox>() else {
        return wrong("STARARENA_MAIL_FROM: an address such as `StarArena <tickets@example.org>` is expected");
    };
    Ok(SmtpSettings { host, port: url.port().unwrap_or(usual_port), tls, from, credentials })
}

fn decoded(part: &str) -> Option<String> {
    percent_decode_str(part).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// Whether a host is this machine: what is sent there does not leave it.
fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use std::collections::HashMap;

    const FROM: (&str, &str) = ("STARARENA_MAIL_FROM", "StarArena <tickets@example.org>");

    fn settings(pairs: &[(&str, &str)]) -> Result<DeliverySettings, ConfigError> {
        let map: HashMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Config::read(|name| map.get(name).cloned()).map(|config| config.delivery)
    }

    fn relay(url: &str) -> Result<SmtpSettings, ConfigError> {
        settings(&[("STARARENA_SMTP_URL", url), FROM]).map(|settings| settings.smtp.unwrap())
    }

    #[test]
    fn the_address_of_a_relay_says_how_it_is_reached() {
        let found = |url: &str| {
            let relay = relay(url).unwrap();
            (relay.host, relay.port, relay.tls)
        };
        assert_eq!(found("smtps://a:b@mail.example.org"), ("mail.example.org".to_owned(), 465, SmtpTls::FromStart));
        assert_eq!(found("smtp://mail.example.org"), ("mail.example.org".to_owned(), 587, SmtpTls::StartTls));
        assert_eq!(found("smtp://m.example.org:2525?tls=required").1, 2525);
        assert_eq!(found("smtp://127.0.0.1?tls=none"), ("127.0.0.1".to_owned(), 25, SmtpTls::Never));
        assert_eq!(found("smtp://[::1]:1025?tls=none").0, "::1");
        let secrets = relay("smtps://ana%40example.org:p%20w@mail.example.org").unwrap().credentials;
        assert_eq!(secrets, Some(("ana@example.org".to_owned(), "p w".to_owned())));
    }

    #[test]
    fn what_can_not_be_used_is_refused_and_no_password_is_repeated() {
        for url in [
            "mail.example.org",
            "http://mail.example.org",
            "smtps://",
            "smtps://ana@mail.example.org",
            "smtps://:secret@mail.example.org",
            "smtps://mail.example.org?tls=none",
            "smtp://ana:secret@mail.example.org?tls=none",
            "smtp://mail.example.org?tls=maybe",
        ] {
            let error = relay(url).unwrap_err();
            assert!(error.0.contains("STARARENA_SMTP_URL") && !error.0.contains("secret"), "{url}: {error}");
        }
        let url = ("STARARENA_SMTP_URL", "smtps://a:secret@mail.example.org");
        for from in ["", "nobody", "two@example.org, three@example.org"] {
            let error = settings(&[url, ("STARARENA_MAIL_FROM", from)]).unwrap_err();
            assert!(error.0.contains("STARARENA_MAIL_FROM"), "{from}: {error}");
        }
        let printed = format!("{:?}", settings(&[url, FROM]).unwrap());
        assert!(printed.contains("mail.example.org") && !printed.contains("secret"), "{printed}");
    }

    #[test]
    fn a_lease_outlasts_what_it_is_for() {
        let error = settings(&[("STARARENA_DELIVERY_LEASE_MS", "59999")]).unwrap_err();
        assert!(error.0.contains("STARARENA_DELIVERY_LEASE_MS"), "{error}");
        assert_eq!(settings(&[]).unwrap().lease_ms, 60_000);
    }

    #[test]
    fn production_needs_a_relay_and_keeps_webhooks_outside() {
        let production = ("STARARENA_ENV", "production");
        assert!(settings(&[production]).unwrap_err().0.contains("STARARENA_SMTP_URL"));
        let relay = ("STARARENA_SMTP_URL", "smtps://mail.example.org");
        let loopback = ("STARARENA_WEBHOOK_LOOPBACK", "yes");
        let error = settings(&[production, relay, FROM, loopback]).unwrap_err();
        assert!(error.0.contains("STARARENA_WEBHOOK_LOOPBACK"), "{error}");
        let plain = ("STARARENA_SMTP_URL", "smtp://mail.example.org?tls=none");
        assert!(settings(&[production, plain, FROM]).unwrap_err().0.contains("STARARENA_SMTP_URL"));
        assert!(settings(&[loopback]).unwrap().webhook_loopback);
        assert!(settings(&[("STARARENA_WEBHOOK_LOOPBACK", "true")]).is_err());
    }
}
