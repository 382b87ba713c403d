//! Durable storage of the provider: one embedded database, one writer that commits in groups.
//!
//! Every write is a job for the writer's thread. While one commit waits for the disk the next jobs
//! gather, and all of them share the following commit; a job's caller hears back only after its
//! commit. Readers see committed state alone, so nothing that is told can be lost by a kill.
//! What the rows mean is the work of [`super::ledger`].

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use redb::{Database, ReadTransaction, ReadableDatabase, Table, TableDefinition, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, mpsc, oneshot};

/// Jobs that may wait for the writer; callers beyond it wait themselves.
const JOBS_MAX: usize = 4096;
/// Jobs in one commit: enough to hide a slow disk, few enough to keep one commit short.
const BATCH_MAX: usize = 512;
/// Pages that the database keeps in memory, in bytes.
const CACHE_MAX_BYTES: usize = 32 * 1024 * 1024;

pub(super) const PAYMENTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("payments");
pub(super) const PAYMENTS_BY_REFERENCE: TableDefinition<'_, (&str, &str), ()> =
    TableDefinition::new("payments_by_reference");
pub(super) const REFUNDS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("refunds");
pub(super) const REFUNDS_BY_PAYMENT: TableDefinition<'_, (&str, &str), ()> = TableDefinition::new("refunds_by_payment");
pub(super) const DISPUTES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("disputes");
pub(super) const DISPUTES_BY_PAYMENT: TableDefinition<'_, (&str, &str), ()> =
    TableDefinition::new("disputes_by_payment");
pub(super) const PAYOUTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("payouts");
/// Sequence number → event, exactly the bytes that are delivered.
pub(super) const EVENTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");
/// Sequence number of each event that was not delivered yet → [`super::webhook::Delivery`].
pub(super) const DELIVERIES: TableDefinition<'_, u64, u8> = TableDefinition::new("deliveries");
/// (deadline, payment). Entries are left behind when a payment moves on; the sweep looks at the payment.
pub(super) const DEADLINES: TableDefinition<'_, (i64, &str), ()> = TableDefinition::new("deadlines");
/// (time, object) → [`super::steps::Step`], what happens to the object by itself then.
pub(super) const STEPS: TableDefinition<'_, (i64, &str), u8> = TableDefinition::new("steps");
/// (time, number) → [`super::settlement::Movement`].
pub(super) const MOVEMENTS: TableDefinition<'_, (i64, u64), &[u8]> = TableDefinition::new("movements");
/// (day since 1970, key) → the parameters' digest and the answer.
pub(super) const IDEMPOTENCY: TableDefinition<'_, (i64, &str), &[u8]> = TableDefinition::new("idempotency");
pub(super) const SETTINGS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("settings");

/// The storage itself failed; nothing of the job took effect.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("the database file can't be opened")]
    Open(#[from] redb::DatabaseError),
    #[error("a transaction can't begin")]
    Transaction(#[source] Box<redb::TransactionError>),
    #[error("a table can't be opened")]
    Table(#[from] redb::TableError),
    #[error("reading or writing failed")]
    Storage(#[from] redb::StorageError),
    #[error("the commit failed")]
    Commit(#[from] redb::CommitError),
    #[error("a stored row can't be read or written as JSON")]
    Codec(#[from] serde_json::Error),
    #[error("no randomness from the system")]
    Randomness(#[from] getrandom::Error),
    #[error("the writer's thread can't start")]
    Thread(#[source] std::io::Error),
    #[error("the storage is closed, or the commit that held this job failed")]
    Closed,
}

impl From<redb::TransactionError> for StoreError {
    fn from(error: redb::TransactionError) -> Self {
        Self::Transaction(Box::new(error))
    }
}

/// The tables of one write, opened once for all jobs of a commit.
pub(super) struct Tables<'txn> {
    pub(super) payments: Table<'txn, &'static str, &'static [u8]>,
    pub(super) payments_by_reference: Table<'txn, (&'static str, &'static str), ()>,
    pub(super) refunds: Table<'txn, &'static str, &'static [u8]>,
    pub(super) refunds_by_payment: Table<'txn, (&'static str, &'static str), ()>,
    pub(super) disputes: Table<'txn, &'static str, &'static [u8]>,
    pub(super) disputes_by_payment: Table<'txn, (&'static str, &'static str), ()>,
    pub(super) payouts: Table<'txn, &'static str, &'static [u8]>,
    pub(super) events: Table<'txn, u64, &'static [u8]>,
    pub(super) deliveries: Table<'txn, u64, u8>,
    pub(super) deadlines: Table<'txn, (i64, &'static str), ()>,
    pub(super) steps: Table<'txn, (i64, &'static str), u8>,
    pub(super) movements: Table<'txn, (i64, u64), &'static [u8]>,
    pub(super) idempotency: Table<'txn, (i64, &'static str), &'static [u8]>,
    pub(super) settings: Table<'txn, &'static str, &'static [u8]>,
    /// Set when an event was written, so that the dispatcher is woken after the commit.
    pub(super) emitted: bool,
}

impl<'txn> Tables<'txn> {
    fn open(txn: &'txn WriteTransaction) -> Result<Self, StoreError> {
        Ok(Self {
            payments: txn.open_table(PAYMENTS)?,
            payments_by_reference: txn.open_table(PAYMENTS_BY_REFERENCE)?,
            refunds: txn.open_table(REFUNDS)?,
            refunds_by_payment: txn.open_table(REFUNDS_BY_PAYMENT)?,
            disputes: txn.open_table(DISPUTES)?,
            disputes_by_payment: txn.open_table(DISPUTES_BY_PAYMENT)?,
            payouts: txn.open_table(PAYOUTS)?,
            events: txn.open_table(EVENTS)?,
            deliveries: txn.open_table(DELIVERIES)?,
            deadlines: txn.open_table(DEADLINES)?,
            steps: txn.open_table(STEPS)?,
            movements: txn.open_table(MOVEMENTS)?,
            idempotency: txn.open_table(IDEMPOTENCY)?,
            settings: txn.open_table(SETTINGS)?,
            emitted: false,
        })
    }
}

/// Tells one caller its outcome, once its commit is on the disk.
type Reply = Box<dyn FnOnce() + Send>;
type Job = Box<dyn FnOnce(&mut Tables<'_>) -> Result<Reply, StoreError> + Send>;

/// A handle to the open database; cheap to share.
pub(super) struct Store {
    /// Readers' access; taken away at the end, so that the file's lock is released.
    database: Mutex<Option<Arc<Database>>>,
    /// The way to the writer; dropping it ends the writer after the jobs that wait.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Woken after each commit that holds an event.
    pub(super) emitted: Arc<Notify>,
}

impl Store {
    /// Opens (or makes) the database in `dir`; a second process on the same folder is refused.
    pub(super) fn open(dir: &Path) -> Result<Self, StoreError> {
        let database = Database::builder().set_cache_size(CACHE_MAX_BYTES).create(dir.join("psp.redb"))?;
        let database = Arc::new(database);
        let txn = database.begin_write()?;
        Tables::open(&txn)?;
        txn.commit()?;

        let emitted = Arc::new(Notify::new());
        let (jobs, queue) = mpsc::channel(JOBS_MAX);
        let writer = std::thread::Builder::new()
            .name("psp-writer".to_owned())
            .spawn({
                let (database, emitted) = (Arc::clone(&database), Arc::clone(&emitted));
                move || run_writer(&database, queue, &emitted)
            })
            .map_err(StoreError::Thread)?;
        Ok(Self {
            database: Mutex::new(Some(database)),
            jobs: Mutex::new(Some(jobs)),
            writer: Mutex::new(Some(writer)),
            emitted,
        })
    }

    /// Runs `job` in the writer and answers its value after the commit.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Tables<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, outcome) = oneshot::channel();
        let job: Job = Box::new(move |tables| {
            let value = job(tables)?;
            // A caller that went away is no reason to undo the work.
            Ok(Box::new(move || drop(reply.send(value))))
        });
        let jobs = lock(&self.jobs).clone().ok_or(StoreError::Closed)?;
        jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        outcome.await.map_err(|_| StoreError::Closed)
    }

    /// Runs `query` on a snapshot of what is committed, off the async threads.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&ReadTransaction) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let database = lock(&self.database).clone().ok_or(StoreError::Closed)?;
        tokio::task::spawn_blocking(move || query(&database.begin_read()?)).await.map_err(|_| StoreError::Closed)?
    }

    /// Finishes the jobs that wait, then closes the file.
    pub(super) async fn close(&self) {
        drop(lock(&self.jobs).take());
        let writer = lock(&self.writer).take();
        let database = lock(&self.database).take();
        let closing = tokio::task::spawn_blocking(move || {
            if let Some(writer) = writer
                && writer.join().is_err()
            {
                tracing::error!("the provider's writer panicked");
            }
            drop(database);
        });
        if closing.await.is_err() {
            tracing::error!("closing the provider's storage panicked");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run_writer(database: &Database, mut queue: mpsc::Receiver<Job>, emitted: &Notify) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
        match commit(database, batch.drain(..)) {
            Ok((replies, any_event)) => {
                replies.into_iter().for_each(|reply| reply());
                if any_event {
                    emitted.notify_one();
                }
            }
            // The jobs' callers hear `Closed`, as their replies are dropped.
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a commit of the provider failed");
            }
        }
    }
}

fn commit(database: &Database, jobs: impl Iterator<Item = Job>) -> Result<(Vec<Reply>, bool), StoreError> {
    let txn = database.begin_write()?;
    let mut tables = Tables::open(&txn)?;
    let replies = jobs.map(|job| job(&mut tables)).collect::<Result<Vec<_>, _>>()?;
    let any_event = tables.emitted;
    drop(tables);
    txn.commit()?;
    Ok((replies, any_event))
}

pub(super) fn encode(row: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    Ok(serde_json::to_vec(row)?)
}

pub(super) fn decode<T: DeserializeOwned>(row: &[u8]) -> Result<T, StoreError> {
    Ok(serde_json::from_slice(row)?)
}
