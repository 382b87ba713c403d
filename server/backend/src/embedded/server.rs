//! A private server and its life, whichever it is: its address, its process, and a new start at the same address.

use super::error::EmbeddedError;
use super::process::Process;

/// All that is needed to start a server, again and again.
pub(super) trait Start {
    /// Its address.
    fn url(&self) -> &str;

    /// Starts it and waits until it answers.
    async fn launch(&self) -> Result<Process, EmbeddedError>;
}

/// A running server.
#[derive(Debug)]
pub(super) struct Server<P> {
    plan: P,
    process: Process,
}

impl<P: Start> Server<P> {
    /// Starts it and waits until it answers.
    pub(super) async fn launch(plan: P) -> Result<Self, EmbeddedError> {
        let process = plan.launch().await?;
        Ok(Self { plan, process })
    }

    /// Its address.
    pub(super) fn url(&self) -> &str {
        self.plan.url()
    }

    /// Its process id, while it runs.
    pub(super) fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Whether it is gone.
    pub(super) fn has_ended(&mut self) -> Result<bool, EmbeddedError> {
        Ok(self.process.ended()?.is_some())
    }

    /// Ends it, if it runs, and starts it at the same address.
    pub(super) async fn restart(&mut self) -> Result<(), EmbeddedError> {
        self.process.stop().await?;
        self.process = self.plan.launch().await?;
        Ok(())
    }

    /// Ends it.
    pub(super) async fn stop(&mut self) -> Result<(), EmbeddedError> {
        self.process.stop().await
    }
}
