//! The embedded stores with the real programs: they start, keep what was written, and recover from
//! every way in which they or their parent can end. Needs Postgres and Redis to be installed.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use backend::embedded::{self, EmbeddedError, Places, Revived, Stores, Wanted};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use sqlx::{Connection, PgConnection};

const BOTH: Wanted = Wanted { postgres: true, redis: true };
const REDIS: Wanted = Wanted { postgres: false, redis: true };
/// Names the data folder for the copy of this test program that is there to be killed.
const VICTIM_FOLDER: &str = "EMBEDDED_TEST_VICTIM_FOLDER";
/// How long a signalled process may take to disappear.
const END_LIMIT: Duration = Duration::from_secs(20);

/// A folder that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Self::with_mode(name, 0o755)
    }

    fn with_mode(name: &str, mode: u32) -> Self {
        let unique = uuid::Uuid::new_v4().simple().to_string();
        let path = std::env::temp_dir().join(format!("{name}-{}", &unique[..8]));
        fs::DirBuilder::new().mode(mode).create(&path).unwrap();
        Self(path)
    }

    fn data(&self) -> PathBuf {
        self.0.join("data")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn postgres(stores: &Stores) -> PgConnection {
    PgConnection::connect(stores.database_url.as_deref().unwrap()).await.unwrap()
}

async fn redis(stores: &Stores) -> redis::aio::MultiplexedConnection {
    redis::Client::open(stores.redis_url.as_deref().unwrap()).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// Leaves a row and a key that [`assert_written`] finds.
async fn write(stores: &Stores) {
    let mut pg = postgres(stores).await;
    sqlx::query("create table note (text text not null)").execute(&mut pg).await.unwrap();
    sqlx::query("insert into note values ('座位 12')").execute(&mut pg).await.unwrap();
    let mut redis = redis(stores).await;
    let () = redis::cmd("SET").arg("note").arg("seat 12").query_async(&mut redis).await.unwrap();
}

async fn assert_written(stores: &Stores) {
    let mut pg = postgres(stores).await;
    let rows: Vec<String> = sqlx::query_scalar("select text from note").fetch_all(&mut pg).await.unwrap();
    assert_eq!(rows, ["座位 12"]);
    let mut redis = redis(stores).await;
    let note: Option<String> = redis::cmd("GET").arg("note").query_async(&mut redis).await.unwrap();
    assert_eq!(note.as_deref(), Some("seat 12"));
}

fn pids(stores: &Stores) -> [u32; 2] {
    [stores.postgres_pid().unwrap(), stores.redis_pid().unwrap()]
}

fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
}

/// Whether a process does something; one that waits for its parent to take note is dead.
fn runs(pid: u32) -> bool {
    let ps = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let state = String::from_utf8(ps.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// Lets the runtime run meanwhile: it is the one that takes note of dead children.
async fn assert_ends(pid: u32) {
    let deadline = Instant::now() + END_LIMIT;
    while runs(pid) {
        assert!(Instant::now() < deadline, "process {pid} still runs");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The one answer of Redis to `CONFIG GET name`.
async fn redis_setting(stores: &Stores, name: &str) -> String {
    let mut redis = redis(stores).await;
    let pair: Vec<String> = redis::cmd("CONFIG").arg("GET").arg(name).query_async(&mut redis).await.unwrap();
    pair[1].clone()
}

async fn postgres_setting(stores: &Stores, name: &'static str) -> String {
    let mut pg = postgres(stores).await;
    sqlx::query_scalar("select current_setting($1)").bind(name).fetch_one(&mut pg).await.unwrap()
}

#[tokio::test]
async fn data_survives_a_stop_and_a_start() {
    let scratch = Scratch::new("sa-stop");
    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    write(&stores).await;
    let old = pids(&stores);
    stores.stop().await.unwrap();
    for pid in old {
        assert!(!runs(pid), "stop returns when the servers are gone");
    }
    assert!(!scratch.data().join("run").exists(), "no socket is left");

    let began = Instant::now();
    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    // Generous: it is a second at most on an idle machine, but tests run side by side.
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_written(&stores).await;
    stores.stop().await.unwrap();
}

#[tokio::test]
async fn nothing_listens_on_the_network_and_settings_are_durable() {
    let scratch = Scratch::new("sa-settings");
    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    for (name, value) in [
        ("listen_addresses", ""),
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("data_checksums", "on"),
        ("server_encoding", "UTF8"),
    ] {
        assert_eq!(postgres_setting(&stores, name).await, value, "{name}");
    }
    for (name, value) in [
        ("port", "0"),
        ("appendonly", "yes"),
        ("appendfsync", "everysec"),
        ("maxmemory-policy", "noeviction"),
        ("save", ""),
    ] {
        assert_eq!(redis_setting(&stores, name).await, value, "{name}");
    }
    let socket_folder = fs::metadata(scratch.data().join("run/pg")).unwrap();
    assert_eq!(socket_folder.mode() & 0o777, 0o700);
    let cluster = fs::metadata(scratch.data().join("postgres/cluster")).unwrap();
    assert_eq!(socket_folder.uid(), cluster.uid());
    assert_ne!(cluster.uid(), 0, "Postgres never runs as root");
    if !geteuid().is_root() {
        assert_eq!(cluster.uid(), geteuid().as_raw());
    }
    stores.stop().await.unwrap();
}

/// Not a test of its own: the body of the process that the next test starts and kills.
#[tokio::test]
async fn victim() {
    let Ok(folder) = std::env::var(VICTIM_FOLDER) else {
        return;
    };
    let stores = embedded::start(Path::new(&folder), BOTH).await.unwrap();
    write(&stores).await;
    let [postgres, redis] = pids(&stores);
    eprintln!("victim ready {postgres} {redis}");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn orphans_of_a_killed_parent_are_replaced() {
    let scratch = Scratch::new("sa-orphan");
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--nocapture"])
        .env(VICTIM_FOLDER, scratch.data())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ready = BufReader::new(parent.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap)
        .find_map(|line| Some(line.split_once("victim ready ")?.1.to_owned()))
        .unwrap();
    let orphans: Vec<u32> = ready.split(' ').map(|pid| pid.parse().unwrap()).collect();
    parent.kill().unwrap();
    parent.wait().unwrap();
    for pid in &orphans {
        assert!(runs(*pid), "a killed parent takes nothing along");
    }

    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    for pid in &orphans {
        assert!(!runs(*pid), "the orphan was ended");
        assert!(!pids(&stores).contains(pid));
    }
    assert_written(&stores).await;
    stores.stop().await.unwrap();
}

#[tokio::test]
async fn killed_servers_are_started_again_at_the_same_address() {
    let scratch = Scratch::new("sa-kill");
    let mut stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    write(&stores).await;
    let urls = (stores.database_url.clone(), stores.redis_url.clone());
    assert_eq!(stores.revive().await.unwrap(), Revived::default());

    for pid in pids(&stores) {
        signal(pid, Signal::SIGKILL);
        assert_ends(pid).await;
    }
    let revived = stores.revive().await.unwrap();
    assert_eq!(revived, Revived { postgres: true, redis: true });
    assert_written(&stores).await;

    // A restart also takes one that lives.
    let before = pids(&stores);
    stores.restart_postgres().await.unwrap();
    stores.restart_redis().await.unwrap();
    assert!(pids(&stores).iter().all(|pid| !before.contains(pid)));
    assert_written(&stores).await;
    assert_eq!(urls, (stores.database_url.clone(), stores.redis_url.clone()));
    stores.stop().await.unwrap();
}

#[tokio::test]
async fn a_drop_ends_the_servers_in_good_order() {
    let scratch = Scratch::new("sa-drop");
    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    write(&stores).await;
    let old = pids(&stores);
    drop(stores);
    // At once, while they may still be ending.
    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    assert_written(&stores).await;
    for pid in old {
        assert!(!runs(pid));
    }
    let old = pids(&stores);
    drop(stores);
    for pid in old {
        assert_ends(pid).await;
    }
}

#[tokio::test]
async fn a_stranger_with_the_pid_of_a_killed_server_is_left_alone() {
    let scratch = Scratch::new("sa-stranger");
    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    write(&stores).await;
    let pid_file = scratch.data().join("postgres/cluster/postmaster.pid");
    let text = fs::read_to_string(&pid_file).unwrap();
    stores.stop().await.unwrap();

    let cluster = fs::metadata(scratch.data().join("postgres/cluster")).unwrap();
    let mut stranger = Command::new("sleep").arg("600").uid(cluster.uid()).gid(cluster.gid()).spawn().unwrap();
    let rest = text.split_once('\n').unwrap().1;
    fs::write(&pid_file, format!("{}\n{rest}", stranger.id())).unwrap();
    fs::write(scratch.data().join("redis/redis.pid"), stranger.id().to_string()).unwrap();
    let given = std::os::unix::fs::chown(&pid_file, Some(cluster.uid()), Some(cluster.gid()));
    given.unwrap();

    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    assert_written(&stores).await;
    assert!(stranger.try_wait().unwrap().is_none());
    stores.stop().await.unwrap();
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[tokio::test]
async fn a_long_and_odd_path_is_no_obstacle() {
    let scratch = Scratch::new("sa, with \"odd\" names & spaces 座位");
    let short = scratch.data();
    let long = scratch.0.join("l".repeat(120)).join("data");
    for folder in [&short, &long] {
        let stores = embedded::start(folder, BOTH).await.unwrap();
        write(&stores).await;
        stores.stop().await.unwrap();
        let stores = embedded::start(folder, BOTH).await.unwrap();
        assert_written(&stores).await;
        let url = stores.redis_url.clone().unwrap();
        let socket = PathBuf::from(url.strip_prefix("unix://").unwrap());
        if folder == &long {
            assert!(!url.contains("llll"), "{url}");
            assert!(socket.exists());
        }
        stores.stop().await.unwrap();
        assert!(!socket.exists());
    }
}

#[tokio::test]
async fn the_second_process_in_a_folder_hears_who_is_first() {
    let scratch = Scratch::new("sa-lock");
    let first = embedded::start(&scratch.data(), REDIS).await.unwrap();
    assert_eq!(first.database_url, None);
    assert_eq!(first.postgres_pid(), None);
    let error = embedded::start(&scratch.data(), REDIS).await.unwrap_err();
    let me = std::process::id();
    assert!(matches!(error, EmbeddedError::Locked { pid, .. } if pid == Some(me)));
    let said = error.to_string();
    assert!(said.contains(&format!("is in use by process {me}")), "{said}");
    first.stop().await.unwrap();
    let second = embedded::start(&scratch.data(), REDIS).await.unwrap();
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_missing_program_is_named_with_the_way_out() {
    let scratch = Scratch::new("sa-missing");
    let nowhere = Places { programs: vec![scratch.0.clone()], elsewhere: scratch.0.join("elsewhere") };
    let error = embedded::start_from(&scratch.data(), BOTH, &nowhere).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "postgres was not found on PATH or in /usr/lib/postgresql; \
         install the package postgresql (Debian) or set DATABASE_URL"
    );
    let error = embedded::start_from(&scratch.data(), REDIS, &nowhere).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "redis-server was not found on PATH or in /usr/bin; \
         install the package redis-server (Debian) or set REDIS_URL"
    );
    // Neither left the folder locked.
    let stores = embedded::start(&scratch.data(), REDIS).await.unwrap();
    stores.stop().await.unwrap();
}

#[tokio::test]
async fn a_cluster_of_another_version_is_refused() {
    let scratch = Scratch::new("sa-version");
    let cluster = scratch.data().join("postgres/cluster");
    fs::create_dir_all(&cluster).unwrap();
    fs::write(cluster.join("PG_VERSION"), "9\n").unwrap();
    let error = embedded::start(&scratch.data(), BOTH).await.unwrap_err();
    assert!(matches!(error, EmbeddedError::Version { wanted: 9, .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("was made by PostgreSQL 9, but only "), "{said}");
}

#[tokio::test]
async fn a_server_that_ends_at_once_is_reported_with_its_last_words() {
    let scratch = Scratch::new("sa-broken");
    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    let old = pids(&stores);
    stores.stop().await.unwrap();
    let settings = scratch.data().join("postgres/cluster/postgresql.conf");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("{text}\nno_such_setting = 1\n")).unwrap();
    let error = embedded::start(&scratch.data(), BOTH).await.unwrap_err();
    assert!(matches!(error, EmbeddedError::Ended { .. }), "{error}");
    assert!(error.to_string().contains("no_such_setting"), "{error}");
    // Redis, which did start, was ended again, and the folder is free.
    fs::write(&settings, text).unwrap();
    let stores = embedded::start(&scratch.data(), BOTH).await.unwrap();
    assert!(pids(&stores).iter().all(|pid| !old.contains(pid)));
    stores.stop().await.unwrap();
}

#[tokio::test]
async fn below_a_closed_folder_postgres_finds_another_place() {
    if !geteuid().is_root() {
        // Only root gives Postgres to another user, so only root can have this difficulty.
        return;
    }
    let closed = Scratch::with_mode("sa-closed", 0o700);
    let open = Scratch::new("sa-open");
    let places = Places { elsewhere: open.0.join("elsewhere"), ..Places::of_this_system() };
    for round in 0..2 {
        let stores = embedded::start_from(&closed.data(), BOTH, &places).await.unwrap();
        if round == 0 {
            write(&stores).await;
        }
        assert_written(&stores).await;
        stores.stop().await.unwrap();
    }
    let target = fs::read_link(closed.data().join("postgres")).unwrap();
    assert!(target.starts_with(&places.elsewhere));

    // A folder that was moved below a closed one can't be saved that way, but it is explained.
    let moved = open.0.join("data");
    embedded::start(&moved, BOTH).await.unwrap().stop().await.unwrap();
    fs::rename(&moved, closed.0.join("moved")).unwrap();
    let error = embedded::start(&closed.0.join("moved"), BOTH).await.unwrap_err();
    assert!(matches!(error, EmbeddedError::Closed { .. }), "{error}");
    assert!(error.to_string().contains("chmod o+x"), "{error}");
}
