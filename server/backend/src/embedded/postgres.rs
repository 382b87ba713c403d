//! The private Postgres: its cluster, its settings and its life. Holds no schema and no pool.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tokio::time::{Instant, sleep, timeout};

use super::error::EmbeddedError;
use super::folder::{Folder, Log, Sockets, last_lines};
use super::process::{self, Kind, PROBE_LIMIT, PROBE_PAUSE, Process, START_LIMIT};
use super::programs::{Places, leading_number};
use super::server::{Server, Start};
use super::user::{self, ServerUser};

const KIND: Kind = Kind {
    name: "Postgres",
    program: "postgres",
    // "Fast": cuts connections, writes a checkpoint. SIGTERM would wait for every client.
    gentle: nix::sys::signal::Signal::SIGINT,
    firm: nix::sys::signal::Signal::SIGQUIT,
};

/// How long a new cluster may take: two seconds on a good disk, many times that on a bad one.
const INITDB_LIMIT: Duration = Duration::from_secs(120);
/// The role, a superuser of this private cluster, and the database.
const NAME: &str = "stararena";
/// What Postgres answers for a database that does not exist.
const NO_SUCH_DATABASE: &str = "3D000";
/// What Postgres logs when processes of a killed server still use the cluster's memory.
const STILL_IN_USE: &str = "is still in use";
/// A pid that no system gives out. Postgres must find a number in its pid file.
const NOBODYS_PID: u32 = i32::MAX.cast_unsigned();

/// The settings that don't depend on the folder: durable, and small when idle.
const SETTINGS: [(&str, &str); 18] = [
    // No TCP at all; the socket lies in a folder for this user alone.
    ("listen_addresses", ""),
    ("port", "5432"),
    ("unix_socket_permissions", "0700"),
    ("max_connections", "100"),
    // An order that was confirmed must survive the machine.
    ("fsync", "on"),
    ("synchronous_commit", "on"),
    ("full_page_writes", "on"),
    ("wal_compression", "on"),
    // Memory: the whole of an idle sale, server and stores, stays under 200 MB.
    ("shared_buffers", "64MB"),
    ("maintenance_work_mem", "32MB"),
    ("autovacuum_max_workers", "2"),
    ("max_logical_replication_workers", "0"),
    ("max_wal_size", "512MB"),
    // Our statements are short: compiling or spreading them costs more than it saves.
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    // To standard error, which is our log; without a line at every checkpoint.
    ("logging_collector", "off"),
    ("log_checkpoints", "off"),
    ("log_line_prefix", "%m [%p] "),
];

/// A running Postgres.
pub(super) type Postgres = Server<Plan>;

/// All that is needed to start it, again and again.
#[derive(Debug)]
pub(super) struct Plan {
    program: PathBuf,
    home: PathBuf,
    cluster: PathBuf,
    sockets: PathBuf,
    user: Option<ServerUser>,
    log: Log,
    url: String,
}

impl Server<Plan> {
    /// Makes the cluster if there is none, starts it, and waits until our database answers.
    pub(super) async fn start(
        folder: &Folder,
        sockets: &Sockets,
        user: Option<ServerUser>,
        places: &Places,
    ) -> Result<Self, EmbeddedError> {
        let cluster = folder.postgres_cluster();
        let program = places.postgres(&cluster, major(&cluster))?;
        let home = folder.postgres_home(user.as_ref(), places)?;
        // The real path, where the home is a link: the server's command line shows this one.
        let cluster = home.join("cluster");
        end_orphan(&cluster).await?;
        let sockets = sockets.postgres(user.as_ref())?;
        let plan = Plan { program, url: url_of(&sockets), home, cluster, sockets, user, log: folder.log("postgres")? };
        if plan.cluster.exists() {
            // A copy that root made belongs to root.
            user::give_all(&plan.cluster, plan.user.as_ref())?;
        } else {
            plan.make_cluster().await?;
        }
        Self::launch(plan).await
    }
}

impl Plan {
    /// Runs `initdb` beside the final place: one that was interrupted leaves no half cluster.
    async fn make_cluster(&self) -> Result<(), EmbeddedError> {
        let draft = self.home.join("cluster.draft");
        if draft.exists() {
            fs::remove_dir_all(&draft).map_err(EmbeddedError::file("remove", &draft))?;
        }
        let initdb = self.program.with_file_name("initdb");
        // Debian has this locale without any package; elsewhere only plain C is certain.
        let locale = if cfg!(target_os = "linux") { "C.UTF-8" } else { "C" };
        let mut command = process::command(&initdb, &self.home, self.user.as_ref());
        command.arg("--pgdata").arg(&draft).args([
            "--auth=trust",
            "--encoding=UTF8",
            "--data-checksums",
            "--no-instructions",
        ]);
        command.arg(format!("--username={NAME}"));
        command.arg(format!("--locale={locale}"));
        let mut command = tokio::process::Command::from(command);
        let output = timeout(INITDB_LIMIT, command.kill_on_drop(true).output())
            .await
            .map_err(|_| EmbeddedError::Silent {
                server: "initdb",
                limit: INITDB_LIMIT,
                log: self.log.path().to_owned(),
            })?
            .map_err(|source| EmbeddedError::Run { program: initdb, source })?;
        if !output.status.success() {
            return Err(EmbeddedError::Initdb { status: output.status, output: last_lines(&output.stderr) });
        }
        fs::rename(&draft, &self.cluster).map_err(EmbeddedError::file("rename", &draft))
    }

    fn command(&self) -> std::process::Command {
        let mut command = process::command(&self.program, &self.home, self.user.as_ref());
        command.arg("-D").arg(&self.cluster);
        for (name, value) in SETTINGS {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        // A list of folders: quoted, so that a comma or a space stays part of the name.
        let folder = text(&self.sockets).replace('"', "\"\"");
        command.arg("-c").arg(format!("unix_socket_directories=\"{folder}\""));
        command
    }

    /// Waits until a real connection to our database succeeds, and creates that database the
    /// first time.
    async fn answers(&self, process: &mut Process, deadline: Instant) -> Result<(), EmbeddedError> {
        let options = PgConnectOptions::from_str(&self.url)?;
        loop {
            match timeout(PROBE_LIMIT, options.connect()).await {
                Ok(Ok(connection)) => return Ok(connection.close().await?),
                Ok(Err(sqlx::Error::Database(e))) if e.code().as_deref() == Some(NO_SUCH_DATABASE) => {
                    return Ok(create_database(&options).await?);
                }
                Ok(Err(_)) | Err(_) => {}
            }
            process.pause(&self.log, deadline).await?;
        }
    }
}

impl Start for Plan {
    fn url(&self) -> &str {
        &self.url
    }

    /// Starts the server; again, as long as processes of a killed one hold its memory.
    async fn launch(&self) -> Result<Process, EmbeddedError> {
        end_orphan(&self.cluster).await?;
        let deadline = Instant::now() + START_LIMIT;
        loop {
            let start_bytes = self.log.end_bytes();
            let mut process = Process::spawn(KIND, self.command(), &self.log)?;
            match self.answers(&mut process, deadline).await {
                Ok(()) => return Ok(process),
                Err(EmbeddedError::Ended { .. })
                    if self.log.says_since(start_bytes, STILL_IN_USE) && Instant::now() < deadline =>
                {
                    sleep(PROBE_PAUSE).await;
                }
                Err(error) => {
                    process.stop().await?;
                    return Err(error);
                }
            }
        }
    }
}

async fn create_database(options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    let mut connection = options.clone().database("postgres").connect().await?;
    sqlx::query("create database stararena").execute(&mut connection).await?;
    connection.close().await
}

/// Ends the server that a killed parent left behind, and sees to it that its pid file does not
/// keep a new one from starting.
async fn end_orphan(cluster: &Path) -> Result<(), EmbeddedError> {
    let path = cluster.join("postmaster.pid");
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(());
    };
    let Some(pid) = text.lines().next().and_then(|line| line.trim().parse().ok()) else {
        return Ok(());
    };
    process::end_orphan(KIND, pid, cluster).await?;
    if path.exists() && process::lives(pid) {
        disown(&path, &text)?;
    }
    Ok(())
}

/// The pid of a killed server belongs to a stranger by now, which after a restart of a container
/// is the rule. Postgres would take the stranger for a server. Removing the file would also remove
/// its guard against processes of the old server that still write, so only the pid is replaced.
fn disown(path: &Path, text: &str) -> Result<(), EmbeddedError> {
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
    File::options()
        .write(true)
        .truncate(true)
        .open(path)
        .and_then(|mut file| file.write_all(format!("{NOBODYS_PID}\n{rest}").as_bytes()))
        .map_err(EmbeddedError::file("write", path))
}

/// The major version that made the cluster.
fn major(cluster: &Path) -> Option<u32> {
    leading_number(fs::read_to_string(cluster.join("PG_VERSION")).ok()?.trim())
}

/// The socket folder as the host; port and mode are spelled out, lest the environment decide.
fn url_of(sockets: &Path) -> String {
    let host: String = url::form_urlencoded::byte_serialize(text(sockets).as_bytes()).collect();
    // A plus for a space is a habit of forms; percents are understood everywhere.
    let host = host.replace('+', "%20");
    format!("postgres://{NAME}@localhost:5432/{NAME}?host={host}&sslmode=disable")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the data folder's name was checked to be UTF-8")
}
