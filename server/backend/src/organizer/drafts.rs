//! Performances in the making, their checklist, and publishing.
