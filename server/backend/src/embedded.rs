//! The embedded default: a private Postgres and a private Redis as child processes under one data
//! folder, so that a fresh checkout or a single small machine needs no database administrator.
//! They are the engines of production, reached through ordinary addresses; no other module knows
//! whether a store is embedded.
//!
//! Owns: finding the programs, the data folder and its lock, starting, stopping, and clearing up
//! after a process that was killed. Owns not: schema, keys, pools, or a decision to start at all
//! (that is the configuration's).
//!
//! ```text
//! data/lock                one process at a time; holds its pid
//! data/logs/               what the two servers say
//! data/postgres/cluster    Postgres' own folder, owned by its unprivileged user
//! data/redis/              append-only file, pid file
//! data/run/                sockets (in the temporary folder where this path is too long)
//! ```
//!
//! **Who may connect.** There is no TCP port and no password: Postgres trusts whoever reaches its
//! socket, and the socket lies in a folder of mode 0700 that belongs to the server's user. That
//! leaves this user and root. When root starts us, Postgres (which refuses to run as root) gets an
//! unprivileged user, and root reaches the socket nevertheless.
//!
//! **After a `kill -9`** of this process both servers live on as orphans. The next start finds them
//! by their pid files, checks by the command line that the pid is really a server of this folder,
//! stops it the gentle way, and starts afresh. Adopting would save a second, but would leave a
//! server with yesterday's settings that nobody waits for.

mod error;
mod folder;
mod postgres;
mod process;
mod programs;
mod redis;
mod server;
mod user;

use std::path::Path;

pub use error::EmbeddedError;
pub use programs::Places;

use folder::{Folder, Sockets};
use postgres::Postgres;
use redis::Redis;
use server::{Server, Start};

/// Which stores to start; the others have an address in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Start a private Postgres.
    pub postgres: bool,
    /// Start a private Redis.
    pub redis: bool,
}

/// Which stores were found dead and were started again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revived {
    /// Postgres had ended.
    pub postgres: bool,
    /// Redis had ended.
    pub redis: bool,
}

/// The running stores. End them with [`Stores::stop`]; a mere drop asks them to end and does not
/// wait for it, which the next start makes up for.
#[derive(Debug)]
pub struct Stores {
    /// Where Postgres answers, in the form that `sqlx` reads; `None` if it was not wanted.
    pub database_url: Option<String>,
    /// Where Redis answers, in the form that the `redis` crate reads; `None` if it was not wanted.
    pub redis_url: Option<String>,
    // The servers come before the folder: fields drop in this order, and the folder's lock must
    // outlive what it protects.
    postgres: Option<Postgres>,
    redis: Option<Redis>,
    sockets: Sockets,
    _folder: Folder,
}

/// Starts the wanted stores under `data_dir`, which is created if it is absent, and returns when
/// both answer. Must be called within a Tokio runtime.
pub async fn start(data_dir: &Path, wanted: Wanted) -> Result<Stores, EmbeddedError> {
    start_from(data_dir, wanted, &Places::of_this_system()).await
}

/// As [`start`], with the places to look for programs given by the caller.
pub async fn start_from(data_dir: &Path, wanted: Wanted, places: &Places) -> Result<Stores, EmbeddedError> {
    let folder = Folder::open(data_dir)?;
    let user = user::of_postgres(&folder.postgres_cluster())?;
    let sockets = Sockets::prepare(&folder, user.as_ref())?;
    // Both at once: neither needs the other, and each spends its time waiting. Not `try_join`,
    // which would give up the slower server half-started.
    let (postgres, redis) = tokio::join!(
        async {
            match wanted.postgres {
                true => Postgres::start(&folder, &sockets, user, places).await.map(Some),
                false => Ok(None),
            }
        },
        async {
            match wanted.redis {
                true => Redis::start(&folder, &sockets, places).await.map(Some),
                false => Ok(None),
            }
        },
    );
    let (postgres, redis) = match (postgres, redis) {
        (Ok(postgres), Ok(redis)) => (postgres, redis),
        (Err(error), redis) => {
            give_up(None, redis.ok().flatten(), &sockets).await;
            return Err(error);
        }
        (Ok(postgres), Err(error)) => {
            give_up(postgres, None, &sockets).await;
            return Err(error);
        }
    };
    Ok(Stores {
        database_url: postgres.as_ref().map(|p| p.url().to_owned()),
        redis_url: redis.as_ref().map(|r| r.url().to_owned()),
        postgres,
        redis,
        sockets,
        _folder: folder,
    })
}

impl Stores {
    /// Stops what was started, lets it write down what it has, and frees the folder. Close the
    /// pools first: connections that are still open are cut.
    pub async fn stop(self) -> Result<(), EmbeddedError> {
        let (postgres, redis) = tokio::join!(end(self.postgres), end(self.redis));
        self.sockets.remove();
        postgres.and(redis)
    }

    /// The process id of Postgres, while it runs.
    pub fn postgres_pid(&self) -> Option<u32> {
        self.postgres.as_ref().and_then(Postgres::pid)
    }

    /// The process id of Redis, while it runs.
    pub fn redis_pid(&self) -> Option<u32> {
        self.redis.as_ref().and_then(Redis::pid)
    }

    /// Starts Postgres again at the same address, dead or alive; it keeps what was committed.
    pub async fn restart_postgres(&mut self) -> Result<(), EmbeddedError> {
        match &mut self.postgres {
            Some(postgres) => postgres.restart().await,
            None => Err(EmbeddedError::NotStarted { server: "Postgres" }),
        }
    }

    /// Starts Redis again at the same address, dead or alive; it keeps what is in its append-only file.
    pub async fn restart_redis(&mut self) -> Result<(), EmbeddedError> {
        match &mut self.redis {
            Some(redis) => redis.restart().await,
            None => Err(EmbeddedError::NotStarted { server: "Redis" }),
        }
    }

    /// Starts again whichever store has ended by itself. Cheap when both live, so it can be called
    /// on a timer.
    pub async fn revive(&mut self) -> Result<Revived, EmbeddedError> {
        let mut revived = Revived::default();
        if let Some(postgres) = &mut self.postgres
            && postgres.has_ended()?
        {
            postgres.restart().await?;
            revived.postgres = true;
        }
        if let Some(redis) = &mut self.redis
            && redis.has_ended()?
        {
            redis.restart().await?;
            revived.redis = true;
        }
        Ok(revived)
    }
}

/// Ends what did start when its companion did not.
async fn give_up(postgres: Option<Postgres>, redis: Option<Redis>, sockets: &Sockets) {
    let ended = end(postgres).await.and(end(redis).await);
    if let Err(error) = ended {
        tracing::warn!(%error, "an embedded store was left behind");
    }
    sockets.remove();
}

async fn end<P: Start>(server: Option<Server<P>>) -> Result<(), EmbeddedError> {
    match server {
        Some(mut server) => server.stop().await,
        None => Ok(()),
    }
}
