//! Performances in the making.
