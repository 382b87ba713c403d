//! Which addresses webhooks may go to: public ones, checked where the connection is made.
//!
//! Organizers type the addresses, and this program stands inside a network that they don't. A name is resolved
//! here, every address that it has is checked, and the connection goes to just those: asking twice would let the
//! name lead elsewhere in between.

use domain::organizer::settings::URL_MAX_BYTES;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// Networks of IPv4 that are not reached from everywhere, with the bits that name them (IANA's registry of
/// special purposes), multicast, and what is reserved.
const SPECIAL_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];
/// The one network of IPv6 from which public addresses are given. What stands for an address of IPv4 in
/// another notation (mapped, or translated by 64:ff9b::/96) is outside of it, and so is everything private.
const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// Networks within that one that are not public: protocols (Teredo among them), documentation, 6to4.
const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

fn within_v4(ip: Ipv4Addr, (network, bits): (Ipv4Addr, u32)) -> bool {
    (ip.to_bits() ^ network.to_bits()) >> (32 - bits) == 0
}

fn within_v6(ip: Ipv6Addr, (network, bits): (Ipv6Addr, u32)) -> bool {
    (ip.to_bits() ^ network.to_bits()) >> (128 - bits) == 0
}

/// Whether an address is reached from everywhere.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !SPECIAL_V4.iter().any(|network| within_v4(ip, *network)),
        IpAddr::V6(ip) => within_v6(ip, PUBLIC_V6) && !SPECIAL_V6.iter().any(|network| within_v6(ip, *network)),
    }
}

/// How far webhooks may go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// Also to this machine, and without TLS: for tests.
    pub(super) loopback: bool,
}

impl Reach {
    fn allows(self, ip: IpAddr) -> bool {
        is_public(ip) || (self.loopback && ip.is_loopback())
    }

    /// Reads the address of an endpoint. One that is written in numbers is checked here, since nobody resolves it.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub(super) fn check(self, text: &str) -> Result<Url, String> {
        if text.len() > URL_MAX_BYTES {
            return Err(format!("at most {URL_MAX_BYTES} bytes are allowed"));
        }
        let url = Url::parse(text).map_err(|e| format!("an https:// address is expected: {e}"))?;
        if url.scheme() != "https" && !(self.loopback && url.scheme() == "http") {
            return Err("an https:// address is expected".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err("an address without name, password and fragment is expected".to_owned());
        }
        let literal = match url.host() {
            Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            Some(Host::Domain(_)) => None,
            None => return Err("an address with a host is expected".to_owned()),
        };
        match literal {
            Some(ip) if !self.allows(ip) => Err(format!("{ip} is not a public address")),
            _ => Ok(url),
        }
    }
}

/// Resolves names by the system and answers public addresses alone.
pub(super) struct CheckedResolver(pub(super) Reach);

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(resolve(self.0, name.as_str().to_owned()))
    }
}

/// A name with one address inside is refused as a whole: nobody needs such a name for an honest purpose.
async fn resolve(reach: Reach, name: String) -> Result<Addrs, Box<dyn std::error::Error + Send + Sync>> {
    let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
    if let Some(inside) = found.iter().find(|address| !reach.allows(address.ip())) {
        return Err(format!("`{name}` leads to {}, which is not a public address", inside.ip()).into());
    }
    Ok(Box::new(found.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: Reach = Reach { loopback: false };
    const HERE: Reach = Reach { loopback: true };

    #[test]
    fn addresses_inside_are_not_public_in_any_notation() {
        for inside in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.0.170",
            "198.19.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "fe80::1",
            "fc00::1",
            "fdff::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
        ] {
            assert!(!OUT.allows(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["8.8.8.8", "100.63.255.255", "100.128.0.0", "172.32.0.1", "2001:4860::8888", "2a00:1450::1"] {
            assert!(OUT.allows(outside.parse().unwrap()), "{outside}");
        }
        assert!(HERE.allows("127.0.0.1".parse().unwrap()) && HERE.allows("::1".parse().unwrap()));
        assert!(!HERE.allows("10.0.0.1".parse().unwrap()) && !HERE.allows("::ffff:127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn an_address_is_https_and_names_nobody_inside() {
        for good in ["https://hooks.example.org/a?b=1", "https://hooks.example.org:8443", "https://8.8.8.8/"] {
            assert!(OUT.check(good).is_ok(), "{good}");
        }
        for bad in [
            "hooks.example.org",
            "http://hooks.example.org/",
            "file:///etc/passwd",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://ana:secret@hooks.example.org/",
            "https://hooks.example.org/#part",
        ] {
            assert!(OUT.check(bad).is_err(), "{bad}");
        }
        assert!(OUT.check(&format!("https://hooks.example.org/{}", "a".repeat(URL_MAX_BYTES))).is_err());
        assert!(HERE.check("http://127.0.0.1:8080/").is_ok());
        assert!(HERE.check("http://192.168.0.1/").is_err());
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_not_resolved() {
        let refused = resolve(OUT, "localhost".to_owned()).await.err().unwrap().to_string();
        assert!(refused.contains("not a public address"), "{refused}");
        let mut found = resolve(HERE, "localhost".to_owned()).await.unwrap();
        assert!(found.next().is_some_and(|address| address.ip().is_loopback()));
    }
}
