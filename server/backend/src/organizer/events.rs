//! Events and their pictures.
