//! Which stores a process uses: those that are named, or private ones of the data folder. A second
//! process on the same folder finds the running ones.

use anyhow::Context as _;
use backend::Config;
use backend::embedded::{self, EmbeddedError, Stores, Wanted};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// How often embedded stores are looked after.
const REVIVE_EVERY: Duration = Duration::from_secs(1);

/// The addresses of both stores, and, where this process started them, their lives.
pub struct StoreAccess {
    /// Postgres.
    pub database_url: String,
    /// Redis.
    pub redis_url: String,
    owned: Option<Owned>,
}

struct Owned {
    stores: Arc<Mutex<Option<Stores>>>,
    reviver: JoinHandle<()>,
    note: PathBuf,
}

/// What the owner of a folder leaves for others on it.
#[derive(Serialize, Deserialize)]
struct Note {
    database_url: String,
    redis_url: String,
}

impl StoreAccess {
    /// Opens the stores of a configuration.
    ///
    /// # Errors
    /// A sentence that says what is missing, or who else uses the folder.
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        if let (Some(database), Some(redis)) = (&config.database_url, &config.redis_url) {
            return Ok(Self { database_url: database.clone(), redis_url: redis.clone(), owned: None });
        }
        let note = config.data_dir.join("stores.json");
        let wanted = Wanted { postgres: config.database_url.is_none(), redis: config.redis_url.is_none() };
        let stores = match embedded::start(&config.data_dir, wanted).await {
            Ok(stores) => stores,
            Err(error @ EmbeddedError::Locked { .. }) => {
                let Ok(text) = std::fs::read_to_string(&note) else { return Err(error.into()) };
                let note: Note = serde_json::from_str(&text).context("reading stores.json in the data folder")?;
                return Ok(Self { database_url: note.database_url, redis_url: note.redis_url, owned: None });
            }
            Err(error) => return Err(error.into()),
        };
        let database_url =
            config.database_url.clone().or_else(|| stores.database_url.clone()).context("Postgres has no address")?;
        let redis_url =
            config.redis_url.clone().or_else(|| stores.redis_url.clone()).context("Redis has no address")?;
        let text = serde_json::to_string(&Note { database_url: database_url.clone(), redis_url: redis_url.clone() })?;
        std::fs::write(&note, text).context("writing stores.json into the data folder")?;
        let stores = Arc::new(Mutex::new(Some(stores)));
        let reviver = tokio::spawn(revive(Arc::clone(&stores)));
        Ok(Self { database_url, redis_url, owned: Some(Owned { stores, reviver, note }) })
    }

    /// Whether this process started the stores.
    pub fn is_owner(&self) -> bool {
        self.owned.is_some()
    }

    /// The process ids of Postgres and Redis, where this process started them.
    pub async fn pids(&self) -> Option<(u32, u32)> {
        let stores = self.owned.as_ref()?.stores.lock().await;
        let stores = stores.as_ref()?;
        Some((stores.postgres_pid()?, stores.redis_pid()?))
    }

    /// Stops the stores that this process started.
    ///
    /// # Errors
    /// When one does not stop.
    pub async fn close(self) -> anyhow::Result<()> {
        let Some(owned) = self.owned else { return Ok(()) };
        owned.reviver.abort();
        drop(std::fs::remove_file(&owned.note));
        let stores = owned.stores.lock().await.take();
        if let Some(stores) = stores {
            stores.stop().await?;
        }
        Ok(())
    }
}

/// Starts a store again that died, as a service manager would.
async fn revive(stores: Arc<Mutex<Option<Stores>>>) {
    let mut every = tokio::time::interval(REVIVE_EVERY);
    loop {
        every.tick().await;
        let mut stores = stores.lock().await;
        let Some(stores) = stores.as_mut() else { return };
        match stores.revive().await {
            Ok(revived) if revived.postgres || revived.redis => {
                tracing::warn!(
                    postgres = revived.postgres,
                    redis = revived.redis,
                    "a store had died and was started again"
                );
            }
            Ok(_) => {}
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a store could not be started again")
            }
        }
    }
}
