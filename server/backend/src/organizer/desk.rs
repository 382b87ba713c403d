//! The on-sale desk: live numbers, samples, and the controls of a running sale.
