//! The program in parts: the web and the workers as processes of their own, each of which can end or
//! stand still, and stores that die.

use super::process::{Server, free_port};
use super::{Arena, SOON, Setup};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

impl Arena {
    /// The whole program with the web and so many workers as processes of their own.
    pub(crate) async fn apart(setup: Setup, workers: usize) -> Self {
        let mut arena = Self::prepare(&setup, true).await;
        arena.role = "serve";
        for _ in 0..workers {
            let number = arena.crew.len();
            arena.crew.push(None);
            arena.start_worker(number).await;
        }
        arena.start_server(&[]).await;
        arena.prepared().await;
        arena
    }

    /// Starts a worker that is not running.
    pub(crate) async fn start_worker(&mut self, number: usize) {
        let log = self.scratch.0.join(format!("worker-{number}.log"));
        let mut settings = self.settings.clone();
        if let Some(address) = self.scraped.get(number) {
            settings.insert("STARARENA_METRICS_LISTEN".to_owned(), address.clone());
        }
        let worker = Server::start("worker", &settings, &log).await;
        self.crew[number] = Some(worker);
    }

    /// The whole program in parts, each of which tells its metrics at an address of its own.
    pub(crate) async fn scraped(setup: Setup) -> Self {
        let mut arena = Self::prepare(&setup, true).await;
        arena.role = "serve";
        arena.crew.push(None);
        arena.scraped = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}")).into();
        arena.start_worker(0).await;
        let of_serve = arena.scraped[1].clone();
        arena.start_server(&[("STARARENA_METRICS_LISTEN", of_serve.as_str())]).await;
        arena.prepared().await;
        arena
    }

    /// What scrapers are answered: by the worker (0), or by the web (1).
    pub(crate) async fn scrape(&self, part: usize, path: &str) -> (u16, String) {
        let reply = self.client.get(format!("http://{}{path}", self.scraped[part])).send().await.unwrap();
        (reply.status().as_u16(), reply.text().await.unwrap())
    }

    /// A running worker.
    pub(crate) fn worker(&self, number: usize) -> &Server {
        self.crew[number].as_ref().unwrap()
    }

    /// Kills a worker as a power cut would.
    pub(crate) async fn kill_worker(&mut self, number: usize) {
        self.crew[number].take().unwrap().kill().await;
    }

    /// Kills a worker as a power cut would, and starts it again.
    pub(crate) async fn restart_worker(&mut self, number: usize) {
        self.kill_worker(number).await;
        self.start_worker(number).await;
    }

    /// Starts the server with points, separated by commas, at which it ends by itself: perhaps before it listens.
    pub(crate) async fn start_doomed(&mut self, points: &str) {
        let mut settings = self.settings.clone();
        settings.insert("STARARENA_FAULT_POINTS".to_owned(), points.to_owned());
        let log = self.scratch.0.join("server.log");
        self.server = Some(Server::start_doomed(self.role, &settings, &log).await);
    }

    /// The points at which servers of this arena ended, the first first.
    pub(crate) fn points_reached(&self) -> Vec<String> {
        reached(&std::fs::read_to_string(self.scratch.0.join("server.log")).unwrap_or_default())
    }

    /// Kills Redis as a power cut of its process would. It comes back with its append-only file, or empty.
    pub(crate) async fn restart_redis(&mut self, empty: bool) {
        let stores = self.stores.as_mut().unwrap();
        kill_at_once(stores.redis_pid().unwrap());
        if empty {
            eventually!(SOON, "Redis has ended", stores.redis_pid().is_none_or(|pid| !lives(pid)));
            std::fs::remove_dir_all(self.scratch.0.join("data").join("redis").join("appendonlydir")).unwrap();
        }
        stores.restart_redis().await.unwrap();
    }

    /// Kills Postgres's first process as a power cut of it would, and starts it again.
    pub(crate) async fn restart_postgres(&mut self) {
        let stores = self.stores.as_mut().unwrap();
        kill_at_once(stores.postgres_pid().unwrap());
        stores.restart_postgres().await.unwrap();
    }

    /// Ends the connection by which the leader leads.
    pub(crate) async fn cut_the_leader(&self) -> bool {
        let cut = "select count(*) from pg_locks l, pg_terminate_backend(l.pid) t
                   where l.locktype = 'advisory' and l.objid = 7301 and l.granted and t";
        self.count(cut).await > 0
    }

    /// How often somebody began to lead.
    pub(crate) async fn terms(&self) -> i64 {
        self.count("select coalesce(max(term), 0) from leader_terms").await
    }

    /// How many transactions Postgres ended because they waited for each other.
    pub(crate) async fn deadlocks(&self) -> i64 {
        self.count(
            "select coalesce(sum(deadlocks), 0)::bigint from pg_stat_database where datname = current_database()",
        )
        .await
    }
}

/// The points at which processes ended, as their log tells them, the first first.
pub(crate) fn reached(log: &str) -> Vec<String> {
    let lines = log.lines().filter(|line| line.contains("fault point reached"));
    lines.filter_map(|line| Some(line.rsplit_once("name=\"")?.1.split_once('"')?.0.to_owned())).collect()
}

fn kill_at_once(pid: u32) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL).unwrap();
}

/// Whether a process runs: one that nobody has waited for yet has ended all the same.
fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}
