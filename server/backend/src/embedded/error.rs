//! Why a store could not be started or stopped, in sentences that say what to do.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// An embedded store could not be started, stopped or reached.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// A server program is not installed where we look.
    #[error("{program} was not found on PATH or in {places}; install the package {package} (Debian) or set {variable}")]
    Missing {
        /// The program's file name.
        program: &'static str,
        /// The folders beside PATH that were searched.
        places: String,
        /// The Debian package that brings it.
        package: &'static str,
        /// The setting that makes it unnecessary.
        variable: &'static str,
    },
    /// The cluster was made by a major version that is not installed.
    #[error(
        "{} was made by PostgreSQL {wanted}, but only {found} is installed; install postgresql-{wanted}, or dump and restore into a new folder",
        cluster.display()
    )]
    Version {
        /// The cluster's folder.
        cluster: PathBuf,
        /// The major version that the cluster needs.
        wanted: u32,
        /// The versions that were found, as a list in words.
        found: String,
    },
    /// Another process works in the same data folder.
    #[error("the data folder {} is in use by {}; stop it, or choose another folder", folder.display(), owner(*pid))]
    Locked {
        /// The data folder.
        folder: PathBuf,
        /// The other process, if it could be read.
        pid: Option<u32>,
    },
    /// Root can't run Postgres, and there is no user to give it to.
    #[error(
        "Postgres does not run as root, and this system has neither a user `postgres` nor `nobody`; start as another user or set DATABASE_URL"
    )]
    NoUser,
    /// The cluster belongs to somebody else.
    #[error("{} belongs to the user id {owner}; start as that user or as root", cluster.display())]
    Foreign {
        /// The cluster's folder.
        cluster: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// Postgres' user can't walk to its folder.
    #[error(
        "the user {user} can't enter {}, because a folder above it is closed to others; move the data folder or open that path with chmod o+x",
        folder.display()
    )]
    Closed {
        /// The folder to be reached.
        folder: PathBuf,
        /// Who can't reach it.
        user: String,
    },
    /// The folder's name can't be written into an address.
    #[error("the data folder {} must have a name in UTF-8", folder.display())]
    NotUtf8 {
        /// The data folder.
        folder: PathBuf,
    },
    /// A file or folder could not be read, made or changed.
    #[error("could not {action} {}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A program could not be run at all.
    #[error("could not run {}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// `initdb` gave up.
    #[error("initdb could not make a new cluster ({status}): {output}")]
    Initdb {
        /// How it ended.
        status: ExitStatus,
        /// The end of what it said.
        output: String,
    },
    /// A server ended before it answered.
    #[error("{server} ended while it was starting ({status}); the end of {}: {tail}", log.display())]
    Ended {
        /// Which server.
        server: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The log's last lines.
        tail: String,
    },
    /// A server lives but does not answer.
    #[error("{server} did not answer within {} s; its log is {}", limit.as_secs(), log.display())]
    Silent {
        /// Which server.
        server: &'static str,
        /// How long we waited.
        limit: Duration,
        /// Its log.
        log: PathBuf,
    },
    /// A server does not end.
    #[error("{server} (process {pid}) does not end; end it by hand, then start again")]
    Lingering {
        /// Which server.
        server: &'static str,
        /// Its process id.
        pid: u32,
    },
    /// A server answered, but its database could not be made ready.
    #[error("the embedded database could not be prepared")]
    Database(#[from] sqlx::Error),
    /// A restart was asked for a store that was never started.
    #[error("{server} was not started here")]
    NotStarted {
        /// Which server.
        server: &'static str,
    },
}

impl EmbeddedError {
    /// For `map_err` on file operations.
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }
}

fn owner(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}
