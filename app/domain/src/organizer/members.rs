//! Members, invitations and the audit log.
