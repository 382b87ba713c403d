//! The `stararena` program: the web server around the pages, the workers, the sandbox payment
//! provider, the load simulator, the benchmarks and the command line.
//!
//! **Architecture invariants:** no SQL and no Redis key here, and no rule of the sale: those are in
//! `backend` and `domain`. Nothing here knows a simulated fan from a real one.

pub mod bench;
pub mod cli;
pub mod http;
pub mod paper;
pub mod psp;
pub mod run;
pub mod rush;
pub mod telemetry;
pub mod tls;
