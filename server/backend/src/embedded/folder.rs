//! The data folder: its lock, who may enter which part of it, where sockets and logs lie. Knows
//! no server by its settings.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use sha2::{Digest, Sha256};

use super::error::EmbeddedError;
use super::programs::Places;
use super::user::{self, ServerUser};

/// For the owner alone.
const PRIVATE: u32 = 0o700;
/// Others may pass through to what they own below, but not look around.
const PASSABLE: u32 = 0o711;
/// The longest path of a socket, in bytes: 103 on macOS, 107 on Linux.
const SOCKET_PATH_MAX: usize = 103;
/// A log above this size is put aside at the next start; the one put aside before is dropped.
const LOG_MAX_BYTES: u64 = 4 << 20;
/// How much of a log's end goes into an error.
const LOG_TAIL_BYTES: u64 = 2 << 10;
/// How many of its last lines.
const LOG_TAIL_LINES: usize = 4;

/// The data folder, locked for this process.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
    // The system frees the lock with the last handle, also after a kill. Children don't inherit it.
    _lock: File,
}

impl Folder {
    /// Creates and locks the folder.
    pub(super) fn open(data_dir: &Path) -> Result<Self, EmbeddedError> {
        if !data_dir.exists() {
            if let Some(parent) = data_dir.parent() {
                fs::create_dir_all(parent).map_err(EmbeddedError::file("create", parent))?;
            }
            make(data_dir, passable_by_server())?;
        }
        let root = data_dir.canonicalize().map_err(EmbeddedError::file("open", data_dir))?;
        if root.to_str().is_none() {
            return Err(EmbeddedError::NotUtf8 { folder: root });
        }
        let lock = lock(&root)?;
        Ok(Self { root, _lock: lock })
    }

    /// The cluster of Postgres, which may not exist yet.
    pub(super) fn postgres_cluster(&self) -> PathBuf {
        self.root.join("postgres").join("cluster")
    }

    /// The folder that belongs to Postgres' user, created where that user can reach it.
    pub(super) fn postgres_home(&self, user: Option<&ServerUser>, places: &Places) -> Result<PathBuf, EmbeddedError> {
        let home = self.root.join("postgres");
        if fs::symlink_metadata(&home).is_err() {
            if user::reaches(user, &home) {
                make(&home, PRIVATE)?;
            } else {
                make_elsewhere(&home, &places.elsewhere)?;
            }
        }
        let real = home.canonicalize().map_err(EmbeddedError::file("open", &home))?;
        match user {
            Some(user) if !user::reaches(Some(user), &real) => {
                return Err(EmbeddedError::Closed { folder: real, user: user.name.clone() });
            }
            _ => user::give(&real, user)?,
        }
        Ok(real)
    }

    /// The folder of Redis, which we own.
    pub(super) fn redis_home(&self) -> Result<PathBuf, EmbeddedError> {
        let home = self.root.join("redis");
        make(&home, PRIVATE)?;
        Ok(home)
    }

    /// A log to append to; a long one of earlier runs is put aside.
    pub(super) fn log(&self, server: &str) -> Result<Log, EmbeddedError> {
        let folder = self.root.join("logs");
        make(&folder, PRIVATE)?;
        let path = folder.join(format!("{server}.log"));
        if fs::metadata(&path).is_ok_and(|m| m.len() > LOG_MAX_BYTES) {
            let aside = folder.join(format!("{server}.old.log"));
            fs::rename(&path, &aside).map_err(EmbeddedError::file("rename", &path))?;
        }
        Ok(Log { path })
    }
}

/// Takes the lock and leaves our pid in it for the next one to read.
fn lock(root: &Path) -> Result<File, EmbeddedError> {
    let path = root.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o644)
        .open(&path)
        .map_err(EmbeddedError::file("open", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // Only for the message: a lock without a readable pid is a lock all the same.
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            let folder = root.to_owned();
            return Err(EmbeddedError::Locked { folder, pid });
        }
        Err(TryLockError::Error(source)) => return Err(EmbeddedError::file("lock", &path)(source)),
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(EmbeddedError::file("write", &path))?;
    Ok(file)
}

/// A log file, which outlives the server that writes it.
#[derive(Debug, Clone)]
pub(super) struct Log {
    path: PathBuf,
}

impl Log {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A handle for a child's output.
    pub(super) fn open(&self) -> Result<File, EmbeddedError> {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)
            .map_err(EmbeddedError::file("open", &self.path))
    }

    /// The last lines on one line, for an error.
    pub(super) fn tail(&self) -> String {
        last_lines(&self.read_from(self.end_bytes().saturating_sub(LOG_TAIL_BYTES)))
    }

    /// How long it is now: the place from which [`Log::says_since`] reads.
    pub(super) fn end_bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |file| file.len())
    }

    /// Whether anything written from `start_bytes` on contains `words`. The last lines alone may miss
    /// them: processes of a killed server write into the same log.
    pub(super) fn says_since(&self, start_bytes: u64, words: &str) -> bool {
        String::from_utf8_lossy(&self.read_from(start_bytes)).contains(words)
    }

    fn read_from(&self, start_bytes: u64) -> Vec<u8> {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(start_bytes))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().unwrap_or_default()
    }
}

/// The last few lines of an output, joined.
pub(super) fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join(" / ")
}

/// Where the sockets lie.
#[derive(Debug)]
pub(super) struct Sockets {
    folder: PathBuf,
}

impl Sockets {
    /// Makes the socket folder: in the data folder, or, where a socket's path would be too long or
    /// out of reach for Postgres' user, in the temporary folder under a name derived from it.
    pub(super) fn prepare(folder: &Folder, user: Option<&ServerUser>) -> Result<Self, EmbeddedError> {
        let digest = Sha256::digest(folder.root.as_os_str().as_encoded_bytes());
        let short = format!("sa-{}", hex::encode(&digest[..8]));
        let places = [folder.root.join("run"), std::env::temp_dir().join(&short), Path::new("/tmp").join(&short)];
        let chosen =
            places.iter().find(|place| fits(place) && user::reaches(user, place)).unwrap_or(&places[2]).clone();
        make(&chosen, passable_by_server())?;
        let sockets = Self { folder: chosen };
        sockets.refuse_strangers()?;
        Ok(sockets)
    }

    /// The socket of Redis.
    pub(super) fn redis(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    /// An empty folder for the socket of Postgres, closed to all but its user. What lay in it is
    /// the remainder of a killed server; the caller has made sure that none lives.
    pub(super) fn postgres(&self, user: Option<&ServerUser>) -> Result<PathBuf, EmbeddedError> {
        let folder = self.postgres_folder();
        match fs::remove_dir_all(&folder) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(EmbeddedError::file("empty", &folder)(e)),
        }
        make(&folder, PRIVATE)?;
        user::give(&folder, user)?;
        Ok(folder)
    }

    /// Removes the sockets of servers that have ended. What can't be removed is cleared at the
    /// next start.
    pub(super) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::debug!(%error, folder = %self.folder.display(), "sockets were left behind");
        }
    }

    fn postgres_folder(&self) -> PathBuf {
        self.folder.join("pg")
    }

    /// In a temporary folder anybody may have made ours before us, to sit between us and our
    /// stores: only a true folder of our own will do.
    fn refuse_strangers(&self) -> Result<(), EmbeddedError> {
        let meta = fs::symlink_metadata(&self.folder).map_err(EmbeddedError::file("open", &self.folder))?;
        if meta.is_dir() && meta.uid() == geteuid().as_raw() && meta.mode() & 0o022 == 0 {
            return Ok(());
        }
        let source = io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to somebody else");
        Err(EmbeddedError::file("use", &self.folder)(source))
    }
}

fn fits(folder: &Path) -> bool {
    let longest = folder.join("pg").join(".s.PGSQL.5432");
    longest.as_os_str().len() <= SOCKET_PATH_MAX
}

/// A root parent lets Postgres' user pass through its folders; others share theirs with nobody.
fn passable_by_server() -> u32 {
    if geteuid().is_root() { PASSABLE } else { PRIVATE }
}

/// Creates one folder with exactly this mode, whatever the umask; one that exists stays as it is.
fn make(path: &Path, mode: u32) -> Result<(), EmbeddedError> {
    match fs::DirBuilder::new().mode(mode).create(path) {
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .map_err(EmbeddedError::file("set the mode of", path)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(EmbeddedError::file("create", path)(e)),
    }
}

/// Puts Postgres' files into a system folder and leaves a link in the data folder. The name is new
/// each time: a data folder that was deleted must not come back to life.
fn make_elsewhere(link: &Path, elsewhere: &Path) -> Result<(), EmbeddedError> {
    if let Some(parent) = elsewhere.parent() {
        fs::create_dir_all(parent).map_err(EmbeddedError::file("create", parent))?;
    }
    make(elsewhere, PASSABLE)?;
    let target = elsewhere.join(uuid::Uuid::new_v4().simple().to_string());
    make(&target, PRIVATE)?;
    symlink(&target, link).map_err(EmbeddedError::file("create", link))?;
    tracing::info!(
        folder = %target.display(),
        "the data folder is out of reach for Postgres' user; its files are in a system folder, linked from there"
    );
    Ok(())
}
