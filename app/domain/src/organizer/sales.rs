//! Events and performances as organizers see them.
