//! Who runs Postgres. It refuses to run as root, so a root parent gives its files and its process
//! to an unprivileged user; everybody else runs it as themselves.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::Path;

use nix::unistd::{User, geteuid};

use super::error::EmbeddedError;

/// The users to give Postgres to, the first that exists.
const CANDIDATES: [&str; 2] = ["postgres", "nobody"];

/// An unprivileged user; exists only where this process is root.
#[derive(Debug, Clone)]
pub(super) struct ServerUser {
    /// User id.
    pub(super) uid: u32,
    /// Group id.
    pub(super) gid: u32,
    /// For messages.
    pub(super) name: String,
}

/// Whom to run Postgres as; `None` is ourselves. An existing cluster keeps its owner, so that a
/// package installed later, which brings a user `postgres`, changes nothing.
pub(super) fn of_postgres(cluster: &Path) -> Result<Option<ServerUser>, EmbeddedError> {
    let owner = fs::metadata(cluster).ok().map(|m| (m.uid(), m.gid()));
    let me = geteuid();
    if !me.is_root() {
        return match owner {
            Some((uid, _)) if uid != me.as_raw() => {
                Err(EmbeddedError::Foreign { cluster: cluster.to_owned(), owner: uid })
            }
            _ => Ok(None),
        };
    }
    if let Some((uid, gid)) = owner
        && uid != 0
    {
        let name = format!("with the id {uid}");
        return Ok(Some(ServerUser { uid, gid, name }));
    }
    CANDIDATES
        .iter()
        .find_map(|name| User::from_name(name).ok().flatten())
        .map(|user| Some(ServerUser { uid: user.uid.as_raw(), gid: user.gid.as_raw(), name: user.name }))
        .ok_or(EmbeddedError::NoUser)
}

/// Gives one file or folder to the user; links are not followed.
pub(super) fn give(path: &Path, user: Option<&ServerUser>) -> Result<(), EmbeddedError> {
    match user {
        Some(user) => {
            lchown(path, Some(user.uid), Some(user.gid)).map_err(EmbeddedError::file("change the owner of", path))
        }
        None => Ok(()),
    }
}

/// Gives a folder with all that is in it to the user; nothing is done if the folder is theirs.
pub(super) fn give_all(path: &Path, user: Option<&ServerUser>) -> Result<(), EmbeddedError> {
    let owner = fs::symlink_metadata(path).map_err(EmbeddedError::file("open", path))?.uid();
    if user.is_none_or(|user| user.uid == owner) {
        return Ok(());
    }
    if fs::symlink_metadata(path).is_ok_and(|m| m.is_dir()) {
        let entries = fs::read_dir(path).map_err(EmbeddedError::file("read", path))?;
        for entry in entries {
            let entry = entry.map_err(EmbeddedError::file("read", path))?;
            give_all(&entry.path(), user)?;
        }
    }
    // The folder last: one that is theirs tells the next start that nothing in it is left to do.
    give(path, user)
}

/// Whether the user may pass through every folder above `path`. Reads modes only: an access list
/// that says otherwise is beyond us.
pub(super) fn reaches(user: Option<&ServerUser>, path: &Path) -> bool {
    let Some(user) = user else { return true };
    path.ancestors().skip(1).all(|folder| {
        fs::metadata(folder).is_ok_and(|m| {
            let pass = if m.uid() == user.uid {
                0o100
            } else if m.gid() == user.gid {
                0o010
            } else {
                0o001
            };
            m.mode() & pass != 0
        })
    })
}
