//! Price zones, prices and blocked seats.
