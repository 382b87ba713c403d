//! Stores for one test, quickly: `initdb` and the migrations run once, later clusters are copies.

use backend::embedded::{self, Stores, Wanted};
use backend::{Backend, Config, SystemClock};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const BOTH: Wanted = Wanted { postgres: true, redis: true };
/// Others may pass through, so that Postgres's own user reaches its cluster.
const PASSABLE: u32 = 0o711;
const PRIVATE: u32 = 0o700;

/// Starts the stores in a folder, Postgres over a copy of the migrated cluster; Redis, if it is wanted.
pub(super) async fn open(root: &Path, redis: bool) -> Stores {
    let template = template().await;
    let data = root.join("data");
    make(&data, PASSABLE);
    make(&data.join("postgres"), PRIVATE);
    copy(&template, &data.join("postgres").join("cluster"));
    embedded::start(&data, Wanted { redis, ..BOTH }).await.unwrap()
}

/// The migrated cluster, made by the first test that comes: tests are processes of their own.
async fn template() -> PathBuf {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(home).unwrap();
    let template = home.join(format!("cluster-{}", digest_of_migrations()));
    let lock = File::create(home.join("cluster.lock")).unwrap();
    // Waits in a thread that may wait; the lock is freed with the handle.
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await.unwrap().unwrap();
    if !template.exists() {
        let scratch = super::Scratch::new();
        let data = scratch.0.join("data");
        let stores = embedded::start(&data, BOTH).await.unwrap();
        let (database, redis) = (stores.database_url.clone().unwrap(), stores.redis_url.clone().unwrap());
        let config = Config::read(|_| None).unwrap();
        drop(Backend::connect(config, &database, &redis, Arc::new(SystemClock)).await.unwrap());
        stores.stop().await.unwrap();
        let draft = home.join("cluster.draft");
        fs::remove_dir_all(&draft).ok();
        copy(&data.join("postgres").join("cluster"), &draft);
        fs::rename(&draft, &template).unwrap();
    }
    drop(lock);
    template
}

fn digest_of_migrations() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.file_name().unwrap().as_encoded_bytes());
        hash.update(fs::read(file).unwrap());
    }
    hex::encode(&hash.finalize()[..8])
}

fn make(path: &Path, mode: u32) {
    fs::DirBuilder::new().mode(mode).create(path).unwrap();
}

/// Copies a folder with its modes: Postgres refuses a cluster that others may read.
fn copy(from: &Path, to: &Path) {
    make(to, fs::metadata(from).unwrap().mode() & 0o7777);
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
        }
    }
}
