//! The server as a child process, with the sandbox provider as another, and a folder for its data that
//! goes away: what a simulation or a benchmark drives.

use super::{ProviderProcess, StoreAccess, free_address};
use anyhow::Context as _;
use backend::Config;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// How long the server may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the server may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A folder that goes away with this value. Others may pass through: the stores of a run by root
/// belong to another user.
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Makes one, named after its purpose.
    ///
    /// # Errors
    /// When the system's folder for such files can't be written to.
    pub fn new(purpose: &str) -> anyhow::Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = std::env::temp_dir().join(format!("stararena-{purpose}-{}", uuid::Uuid::now_v7().simple()));
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &std::path::Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "a temporary folder could not be removed");
        }
    }
}

/// The server under load: a process of its own, with the provider as another.
pub struct ServerProcess {
    /// Its origin.
    pub url: String,
    child: Child,
    provider: ProviderProcess,
}

impl ServerProcess {
    /// Starts web server and workers over the given stores, with further settings, and waits until it
    /// listens.
    ///
    /// # Errors
    /// When it does not listen in time.
    pub async fn start(config: &Config, stores: &StoreAccess, settings: &[(&str, &str)]) -> anyhow::Result<Self> {
        // The port is chosen here, since the provider must know where its webhooks go.
        let address = free_address(std::process::id())?;
        let url = format!("http://{address}");
        let provider = ProviderProcess::start(&Config { public_url: url.clone(), ..config.clone() }).await?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg("all")
            .env("STARARENA_LISTEN", address.to_string())
            .env("STARARENA_PUBLIC_URL", &url)
            .env("STARARENA_DATA_DIR", &config.data_dir)
            .env("STARARENA_PSP_URL", &provider.url)
            .env("DATABASE_URL", &stores.database_url)
            .env("REDIS_URL", &stores.redis_url)
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .context("starting the server")?;
        let stdout = child.stdout.take().context("the server has no standard output")?;
        let mut lines = BufReader::new(stdout).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await? {
                if line.contains("listening on ") {
                    return Ok(());
                }
            }
            anyhow::bail!("the server ended before it listened")
        };
        tokio::time::timeout(START_TIMEOUT, listening).await.context("the server did not listen in time")??;
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { url, child, provider })
    }

    /// The base address of its provider.
    pub fn provider_url(&self) -> &str {
        &self.provider.url
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Ends it in good order, and the provider after it.
    pub async fn stop(mut self) {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            let told = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM);
            if told.is_err() || tokio::time::timeout(STOP_TIMEOUT, self.child.wait()).await.is_err() {
                drop(self.child.kill().await);
            }
        }
        self.provider.stop().await;
    }
}
