//! What can be checked of the interface without a browser.

mod contrast;
mod errors;
