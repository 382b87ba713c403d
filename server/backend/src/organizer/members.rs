//! Members and their invitations, and what everybody did.
