//! The on-sale desk: live numbers, their history, and the controls.
