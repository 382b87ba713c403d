//! Venue files on their way in, and stored plans.
