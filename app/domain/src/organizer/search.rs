//! Orders, found and told in full.
