//! Orders as organizers look for them.
