//! The cryptography of outgoing TLS of this process, for the parts of it that are outside systems to the others.

/// Chooses it. Needed before an HTTP client is built; whoever comes later finds it chosen, which is no fault.
pub fn choose() {
    drop(rustls::crypto::ring::default_provider().install_default());
}
