//! The sandbox provider as a child process: its own process and its own storage, as a real one is.

use anyhow::Context as _;
use backend::Config;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// How long the provider may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(15);
/// How long it may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(8);

/// The running child. It ends by itself when this process goes away: its standard input closes.
pub struct ProviderProcess {
    /// Its base address.
    pub url: String,
    child: Child,
    stdin: ChildStdin,
}

impl ProviderProcess {
    /// Starts the provider on a free port, with its storage under the data folder and its webhooks
    /// addressed to our public address.
    ///
    /// # Errors
    /// When it does not listen in time.
    pub async fn start(config: &Config) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut child = Command::new(program)
            .args(["psp", "--with-parent", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(config.data_dir.join("psp"))
            .args(["--webhook-url", &format!("{}/webhooks/sandbox", config.public_url)])
            .args(["--merchant", &config.psp.merchant])
            .env("STARARENA_PSP_API_KEY", &config.psp.api_key)
            .env("STARARENA_PSP_WEBHOOK_SECRET", config.psp.webhook_secrets.join(","))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A group of its own: Ctrl-C reaches this process, which ends the child in its turn.
            .process_group(0)
            .spawn()
            .context("starting the sandbox provider")?;
        let stdin = child.stdin.take().context("the provider has no standard input")?;
        let stdout = child.stdout.take().context("the provider has no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let address = async {
            while let Some(line) = lines.next_line().await? {
                if let Some(url) = line.split_once("listening on ").map(|(_, url)| url.trim().to_owned()) {
                    return Ok(url);
                }
            }
            anyhow::bail!("the sandbox provider ended before it listened")
        };
        let url = tokio::time::timeout(START_TIMEOUT, address)
            .await
            .context("the sandbox provider did not listen in time")??;
        // Read on, so that the child never waits for a full pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { url, child, stdin })
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Ends it and waits.
    pub async fn stop(mut self) {
        drop(self.stdin);
        if tokio::time::timeout(STOP_TIMEOUT, self.child.wait()).await.is_err() {
            tracing::warn!("the sandbox provider did not end in time and is killed");
            if let Err(error) = self.child.kill().await {
                tracing::warn!(%error, "the sandbox provider could not be killed");
            }
        }
    }
}
