//! Idempotency keys: where their randomness comes from differs between browser and server.

/// A new key. Called where requests are prepared, never while a view is built.
#[cfg(feature = "ssr")]
pub(super) fn fresh_key() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// A new key. Called where requests are prepared, never while a view is built.
#[cfg(not(feature = "ssr"))]
pub(super) fn fresh_key() -> String {
    crate::browser::random_uuid()
}
