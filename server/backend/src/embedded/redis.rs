//! The private Redis: its settings and its life. Holds no key and no connection.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::time::{Instant, timeout};
use url::Url;

use super::error::EmbeddedError;
use super::folder::{Folder, Log, Sockets};
use super::process::{self, Kind, PROBE_LIMIT, Process, START_LIMIT};
use super::programs::Places;
use super::server::{Server, Start};

const KIND: Kind = Kind {
    name: "Redis",
    program: "redis-server",
    gentle: nix::sys::signal::Signal::SIGTERM,
    firm: nix::sys::signal::Signal::SIGKILL,
};

/// The settings that don't depend on the folder.
const SETTINGS: [(&str, &str); 11] = [
    ("daemonize", "no"),
    // No TCP at all; the socket is for this user alone.
    ("port", "0"),
    ("unixsocketperm", "700"),
    // A second of hot state may be lost with the machine, none with the process; Postgres decides.
    ("appendonly", "yes"),
    ("appendfsync", "everysec"),
    // Snapshots beside the append-only file would only cost.
    ("save", ""),
    // Losing a key silently would free a held seat: refuse writes instead.
    ("maxmemory-policy", "noeviction"),
    ("loglevel", "notice"),
    ("always-show-logo", "no"),
    // Its arguments name its folder, by which an orphan is recognised.
    ("set-proc-title", "no"),
    // A log, not a file of its own: standard output.
    ("logfile", ""),
];

/// A running Redis.
pub(super) type Redis = Server<Plan>;

/// All that is needed to start it, again and again.
#[derive(Debug)]
pub(super) struct Plan {
    program: PathBuf,
    home: PathBuf,
    socket: PathBuf,
    log: Log,
    url: String,
}

impl Server<Plan> {
    /// Starts it and waits until it answers.
    pub(super) async fn start(folder: &Folder, sockets: &Sockets, places: &Places) -> Result<Self, EmbeddedError> {
        let program = places.redis()?;
        let socket = sockets.redis();
        let plan =
            Plan { program, home: folder.redis_home()?, url: url_of(&socket), socket, log: folder.log("redis")? };
        Self::launch(plan).await
    }
}

impl Plan {
    /// Ends what a killed parent left behind, and removes its traces.
    async fn clear_up(&self) -> Result<(), EmbeddedError> {
        let pid_file = self.pid_file();
        if let Some(pid) = read_pid(&pid_file) {
            process::end_orphan(KIND, pid, &self.home).await?;
        }
        for trace in [&pid_file, &self.socket] {
            match fs::remove_file(trace) {
                Ok(()) => {}
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(EmbeddedError::file("remove", trace)(e)),
            }
        }
        Ok(())
    }

    /// Waits until a real connection gets its answer: while the append-only file is read, the
    /// socket is there but every command is refused.
    async fn answers(&self, process: &mut Process) -> Result<(), EmbeddedError> {
        let deadline = Instant::now() + START_LIMIT;
        loop {
            if let Ok(Ok(())) = timeout(PROBE_LIMIT, ping(&self.url)).await {
                return Ok(());
            }
            process.pause(&self.log, deadline).await?;
        }
    }

    fn pid_file(&self) -> PathBuf {
        self.home.join("redis.pid")
    }
}

impl Start for Plan {
    fn url(&self) -> &str {
        &self.url
    }

    async fn launch(&self) -> Result<Process, EmbeddedError> {
        self.clear_up().await?;
        let mut command = process::command(&self.program, &self.home, None);
        for (name, value) in SETTINGS {
            command.arg(format!("--{name}")).arg(value);
        }
        command.arg("--dir").arg(&self.home);
        command.arg("--unixsocket").arg(&self.socket);
        command.arg("--pidfile").arg(self.pid_file());
        let mut process = Process::spawn(KIND, command, &self.log)?;
        match self.answers(&mut process).await {
            Ok(()) => Ok(process),
            Err(error) => {
                process.stop().await?;
                Err(error)
            }
        }
    }
}

async fn ping(url: &str) -> ::redis::RedisResult<()> {
    let client = ::redis::Client::open(url)?;
    let mut connection = client.get_multiplexed_async_connection().await?;
    ::redis::cmd("PING").query_async(&mut connection).await
}

fn read_pid(path: &Path) -> Option<u32> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// `unix:///path`, with what a path may contain and an address may not written in percents.
fn url_of(socket: &Path) -> String {
    let file = Url::from_file_path(socket).expect("the data folder's path is absolute");
    format!("unix://{}", file.path())
}
