//! The cryptography of outgoing TLS, for the provider of the sandbox: an outside system, which knows nothing else of
//! `backend`.

pub use backend::use_tls;
