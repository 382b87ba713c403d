//! Where the server programs are. Owns the search; runs nothing but `postgres --version`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::EmbeddedError;

/// Folders of PostgreSQL beside PATH: Debian, Red Hat, Homebrew on both of its roots. One star
/// stands for the part of a name that carries the version.
const POSTGRES_FOLDERS: [&str; 4] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
];

/// Folders that a bare PATH may lack.
const COMMON_FOLDERS: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/// Where to look for programs and, if it must be, where else to put data.
#[derive(Debug, Clone)]
pub struct Places {
    /// Folders to search, in this order.
    pub programs: Vec<PathBuf>,
    /// Where Postgres' files go when root starts us in a folder that the unprivileged user can't
    /// reach, such as one below `/root`. A link in the data folder points there.
    pub elsewhere: PathBuf,
}

impl Places {
    /// PATH first, then the folders of the usual packages, the newest version first.
    pub fn of_this_system() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let programs = std::env::split_paths(&path)
            .chain(POSTGRES_FOLDERS.iter().flat_map(|p| newest_first(p)))
            .chain(COMMON_FOLDERS.iter().map(PathBuf::from))
            .filter(|folder| folder.is_absolute())
            .collect();
        Self { programs, elsewhere: PathBuf::from("/var/lib/stararena") }
    }

    /// The Redis server.
    pub(super) fn redis(&self) -> Result<PathBuf, EmbeddedError> {
        self.all("redis-server").next().ok_or_else(|| EmbeddedError::Missing {
            program: "redis-server",
            places: "/usr/bin".to_owned(),
            package: "redis-server",
            variable: "REDIS_URL",
        })
    }

    /// The Postgres server, of exactly the `major` version if an existing cluster asks for one.
    pub(super) fn postgres(&self, cluster: &Path, major: Option<u32>) -> Result<PathBuf, EmbeddedError> {
        // A link on PATH stands apart from `initdb`: follow it to the folder that has both.
        let mut found = self
            .all("postgres")
            .map(|p| p.canonicalize().unwrap_or(p))
            .filter(|p| executable(&p.with_file_name("initdb")))
            .peekable();
        if found.peek().is_none() {
            return Err(EmbeddedError::Missing {
                program: "postgres",
                places: "/usr/lib/postgresql".to_owned(),
                package: "postgresql",
                variable: "DATABASE_URL",
            });
        }
        let Some(wanted) = major else {
            return Ok(found.next().expect("peeked above"));
        };
        let mut others = Vec::new();
        for program in found {
            match version(&program) {
                Some(version) if version == wanted => return Ok(program),
                Some(version) => others.push(version.to_string()),
                None => {}
            }
        }
        others.dedup();
        Err(EmbeddedError::Version { cluster: cluster.to_owned(), wanted, found: others.join(" and ") })
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        self.programs.iter().map(move |folder| folder.join(name)).filter(|p| executable(p))
    }
}

fn executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The folders that match a pattern with one star, those with the highest number first.
fn newest_first(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![PathBuf::from(pattern)];
    };
    let (parent, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let after = after.trim_start_matches('/');
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(format!("{parent}/"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = leading_number(name.strip_prefix(prefix)?)?;
            Some((version, entry.path().join(after)))
        })
        .collect();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    versions.into_iter().map(|(_, path)| path).collect()
}

/// The major version of a server: `postgres (PostgreSQL) 15.13 (Debian …)` is 15.
fn version(program: &Path) -> Option<u32> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    leading_number(text.split_whitespace().nth(2)?)
}

/// The digits at the start of a text: `18beta1` is 18.
pub(super) fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}
