//! Venue files on their way in.
