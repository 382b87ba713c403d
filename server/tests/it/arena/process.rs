//! The program as processes: the server that is talked to, and commands that run to their end.

use super::SOON;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};

/// A process in production takes less than two seconds; the machine of the tests is busy.
const START_LIMIT: Duration = Duration::from_secs(30);
/// How much of a failed server's log is shown.
const LOG_TAIL_LINES: usize = 30;

/// The program with nothing of the caller's own settings.
pub(crate) fn program(settings: &HashMap<String, String>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stararena"));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("STARARENA_")
            || text.starts_with("LEPTOS_")
            || text == "DATABASE_URL"
            || text == "REDIS_URL"
        {
            command.env_remove(&name);
        }
    }
    command.envs(settings).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs a command to its end: exit code, standard output, standard error.
pub(crate) async fn run_to_end(mut command: Command) -> (Option<i32>, String, String) {
    let output =
        tokio::time::timeout(START_LIMIT, command.output()).await.expect("the command ends by itself").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A port that nobody has; the server is started on it again and again. Drawn at random, since many
/// tests choose at the same time.
pub(super) fn free_port() -> u16 {
    let draw = uuid::Uuid::new_v4().as_u128() as u32;
    server::run::free_address(draw).unwrap().port()
}

/// Waits for the line that names the address.
pub(super) async fn address(stdout: ChildStdout, log: &Path) -> String {
    came_up(announced(stdout, "listening on ").await, log)
}

fn came_up(url: Option<String>, log: &Path) -> String {
    let Some(url) = url else { panic!("the process did not come up:\n{}", tail(log)) };
    url
}

/// Waits for a line with these words, answers what follows them, and reads on behind it, so that the
/// pipe never fills; none when no such line came.
async fn announced(stdout: ChildStdout, words: &str) -> Option<String> {
    let mut lines = BufReader::new(stdout).lines();
    let found = async {
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some((_, url)) = line.split_once(words) {
                return Some(url.trim().to_owned());
            }
        }
        None
    };
    let found = tokio::time::timeout(START_LIMIT, found).await.ok().flatten();
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    found
}

pub(super) fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n")
}

/// One process of the program: the web, the workers, or both.
pub(crate) struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts a role (`all`, `serve` or `worker`) and waits until it says that it works.
    pub(super) async fn start(role: &str, settings: &HashMap<String, String>, log: &Path) -> Self {
        let (server, url) = Self::spawn(role, settings, log).await;
        came_up(url, log);
        server
    }

    /// Starts a role that may end before it says that it works.
    pub(super) async fn start_doomed(role: &str, settings: &HashMap<String, String>, log: &Path) -> Self {
        Self::spawn(role, settings, log).await.0
    }

    /// The process, and what it said once it works.
    async fn spawn(role: &str, settings: &HashMap<String, String>, log: &Path) -> (Self, Option<String>) {
        let file = OpenOptions::new().append(true).create(true).open(log).unwrap();
        let mut command = program(settings);
        // No site is built for these tests: pages name their files without hashes.
        command.env("LEPTOS_OUTPUT_NAME", "stararena").env("LEPTOS_SITE_ROOT", log.with_file_name("site"));
        let mut child = command.arg(role).stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let words = if role == "worker" { "working" } else { "listening on " };
        let url = announced(child.stdout.take().unwrap(), words).await;
        (Self { child, log: log.to_owned() }, url)
    }

    /// How it ended by itself; none while it runs.
    pub(crate) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Sends it a signal, such as one that stops it in its tracks.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.child.id().expect("the process runs");
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
    }

    /// The most memory that it ever had, in KiB, as Linux counts it.
    pub(crate) fn peak_kib(&self) -> u64 {
        self.status_kib("VmHWM:")
    }

    /// The memory that it has now, in KiB, as Linux counts it.
    pub(crate) fn memory_kib(&self) -> u64 {
        self.status_kib("VmRSS:")
    }

    fn status_kib(&self, field: &str) -> u64 {
        let pid = self.child.id().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Asks it to end, as a supervisor does.
    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap());
        kill(pid, Signal::SIGTERM).unwrap();
    }

    /// Ends it as a power cut would.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits until it ended by itself.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        tokio::time::timeout(SOON, self.child.wait()).await.expect("the server ends by itself").unwrap()
    }

    /// Ends it in good order, which it must manage within its own deadlines.
    pub(super) async fn stop(mut self) {
        if let Some(pid) = self.child.id() {
            kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGTERM).unwrap();
        }
        let status = tokio::time::timeout(Duration::from_secs(30), self.child.wait())
            .await
            .expect("a graceful shutdown has a deadline")
            .unwrap();
        assert!(status.success(), "{status}\n{}", tail(&self.log));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the server's last words ---\n{}", tail(&self.log));
        }
    }
}
