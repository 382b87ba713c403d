//! A server as a process: started in its own group, asked to end before it is made to, and
//! recognised again after we were killed. Knows nothing of what the server stores.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};

use super::error::EmbeddedError;
use super::folder::Log;
use super::user::ServerUser;

/// How long a server may take until it answers: the recovery of a killed Postgres or the reading
/// of a long append-only file takes seconds.
pub(super) const START_LIMIT: Duration = Duration::from_secs(30);
/// How long one attempt to connect may take.
pub(super) const PROBE_LIMIT: Duration = Duration::from_secs(2);
/// The pause between attempts: unnoticeable at the start, and no load.
pub(super) const PROBE_PAUSE: Duration = Duration::from_millis(20);
/// How long a server may take to write down what it has.
const GENTLE_LIMIT: Duration = Duration::from_secs(20);
/// How long it may take once it was told to drop everything.
const FIRM_LIMIT: Duration = Duration::from_secs(5);

/// What a child sees of our environment. Not more: settings of ours are secrets, and variables
/// such as `PGDATA` would change what a server does.
const PASSED_ON: [&str; 4] = ["PATH", "LD_LIBRARY_PATH", "TMPDIR", "TZ"];

/// How to recognise and end one kind of server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// For messages.
    pub(super) name: &'static str,
    /// The program's file name.
    pub(super) program: &'static str,
    /// Ends it in good order.
    pub(super) gentle: Signal,
    /// Ends it at once; a later start has to recover.
    pub(super) firm: Signal,
}

/// A running server that is our child.
#[derive(Debug)]
pub(super) struct Process {
    kind: Kind,
    child: Child,
}

impl Process {
    /// Starts a server whose output goes to its log.
    pub(super) fn spawn(kind: Kind, mut command: Command, log: &Log) -> Result<Self, EmbeddedError> {
        let output = log.open()?;
        let errors = output.try_clone().map_err(EmbeddedError::file("open", log.path()))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        // Its own group: Ctrl-C at a terminal reaches us alone, and we end the stores last.
        command.process_group(0);
        let program = command.get_program().to_owned();
        let child = tokio::process::Command::from(command)
            .spawn()
            .map_err(|source| EmbeddedError::Run { program: program.into(), source })?;
        Ok(Self { kind, child })
    }

    /// The process id, while it runs.
    pub(super) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, EmbeddedError> {
        self.child.try_wait().map_err(|source| EmbeddedError::Run { program: self.kind.program.into(), source })
    }

    /// Between two attempts to reach it: waits a moment, unless it has ended or its time is over.
    pub(super) async fn pause(&mut self, log: &Log, deadline: Instant) -> Result<(), EmbeddedError> {
        let server = self.kind.name;
        if let Some(status) = self.ended()? {
            return Err(EmbeddedError::Ended { server, status, log: log.path().to_owned(), tail: log.tail() });
        }
        if Instant::now() > deadline {
            return Err(EmbeddedError::Silent { server, limit: START_LIMIT, log: log.path().to_owned() });
        }
        sleep(PROBE_PAUSE).await;
        Ok(())
    }

    /// Ends it and waits for it: gently, then firmly, then by force.
    pub(super) async fn stop(&mut self) -> Result<(), EmbeddedError> {
        let Some(pid) = self.pid() else { return Ok(()) };
        for (signal, limit) in
            [(self.kind.gentle, GENTLE_LIMIT), (self.kind.firm, FIRM_LIMIT), (Signal::SIGKILL, FIRM_LIMIT)]
        {
            send(pid, signal);
            if timeout(limit, self.child.wait()).await.is_ok() {
                return Ok(());
            }
            tracing::warn!(server = self.kind.name, pid, %signal, "does not end");
        }
        let server = self.kind.name;
        Err(EmbeddedError::Lingering { server, pid })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without `stop` nobody can wait any more, but the server can still end in good order.
        if let Ok(None) = self.child.try_wait()
            && let Some(pid) = self.child.id()
        {
            send(pid, self.kind.gentle);
        }
    }
}

/// A command with a clean environment, run as `user` in a folder that user can enter.
pub(super) fn command(program: &Path, folder: &Path, user: Option<&ServerUser>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C").current_dir(folder);
    for name in PASSED_ON {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    if let Some(user) = user {
        // The standard library drops our supplementary groups along with the user id.
        command.uid(user.uid).gid(user.gid);
    }
    command
}

/// Ends the server that a killed parent left behind: the one with this pid, if it really is a
/// server of this folder and not a stranger who got the number since.
pub(super) async fn end_orphan(kind: Kind, pid: u32, folder: &Path) -> Result<(), EmbeddedError> {
    if !serves(kind, pid, folder) {
        return Ok(());
    }
    tracing::info!(server = kind.name, pid, "ending a server that was left behind");
    for (signal, limit) in [(kind.gentle, GENTLE_LIMIT), (kind.firm, FIRM_LIMIT), (Signal::SIGKILL, FIRM_LIMIT)] {
        send(pid, signal);
        // It is not our child, so there is nothing to wait on but its disappearance.
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            if !serves(kind, pid, folder) {
                return Ok(());
            }
            sleep(PROBE_PAUSE).await;
        }
    }
    let server = kind.name;
    Err(EmbeddedError::Lingering { server, pid })
}

/// Whether anything runs under this pid.
pub(super) fn lives(pid: u32) -> bool {
    as_pid(pid).is_some_and(|pid| kill(pid, None) != Err(nix::errno::Errno::ESRCH))
}

/// Whether this pid is a server of this kind whose command line names this folder. A dead child
/// that nobody has waited for has no command line, and counts as gone.
fn serves(kind: Kind, pid: u32, folder: &Path) -> bool {
    if Path::new("/proc/self").exists() {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let program = words.next().and_then(|word| word.rsplit(|byte| *byte == b'/').next());
        program == Some(kind.program.as_bytes()) && words.any(|word| word == folder.as_os_str().as_encoded_bytes())
    } else {
        let pid = pid.to_string();
        let ps = Command::new("ps").args(["-ww", "-o", "args=", "-p", &pid]).output();
        let line = ps.map(|output| output.stdout).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let folder = folder.as_os_str().to_string_lossy().into_owned();
        let program = line.split_whitespace().next().unwrap_or_default();
        Path::new(program).file_name() == Some(OsStr::new(kind.program)) && line.contains(&folder)
    }
}

/// A signal to a process that may be gone, which is what the signal is for.
fn send(pid: u32, signal: Signal) {
    if let Some(target) = as_pid(pid)
        && let Err(error) = kill(target, signal)
    {
        tracing::debug!(pid, %signal, %error, "signal not delivered");
    }
}

/// Zero and the negative numbers address whole groups: never us.
fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|p| *p > 0).map(Pid::from_raw)
}
