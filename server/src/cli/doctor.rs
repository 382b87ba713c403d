//! `stararena doctor`: what is wrong with settings, stores and invariants, a line each.

use super::print;
use crate::run::StoreAccess;
use backend::{Backend, Config, Finding, SystemClock, chain};
use std::process::ExitCode;
use std::sync::Arc;

/// Most things that jobs fail to do which are told one by one.
const SETBACKS_MAX: u32 = 20;

#[derive(clap::Args)]
pub(super) struct DoctorArgs {
    /// Tell every check of the invariants by name, also those that hold
    #[arg(long)]
    audit: bool,
}

struct Findings {
    wrong: usize,
    /// Whether checks that hold are told one by one.
    by_name: bool,
}

impl Findings {
    fn ok(&self, what: &str) {
        print(&format!("ok     {what}"));
    }

    fn wrong(&mut self, what: &str) {
        self.wrong += 1;
        print(&format!("wrong  {what}"));
    }

    /// Tells what checks found of something; what holds in one line, unless each is told by name.
    fn checked(&mut self, of: &str, findings: &[Finding], in_short: &str) {
        for finding in findings {
            match finding.breach() {
                Some(breach) => self.wrong(&format!("{of}: {breach}")),
                None if self.by_name => {
                    self.ok(&format!("{of}: {}: {}", finding.check.invariant, finding.check.title));
                }
                None => {}
            }
        }
        if !self.by_name && findings.iter().all(Finding::holds) {
            self.ok(&format!("{of}: {in_short}"));
        }
    }
}

pub(super) async fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let mut found = Findings { wrong: 0, by_name: args.audit };
    let config = match Config::from_env() {
        Ok(config) => {
            found.ok(&format!("settings: {:?}, data in {}", config.environment, config.data_dir.display()));
            config
        }
        Err(error) => {
            found.wrong(&format!("settings: {error}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    if config.is_development() {
        found.ok("secrets: development defaults are allowed; production refuses them");
    }
    let stores = match StoreAccess::open(&config).await {
        Ok(stores) => stores,
        Err(error) => {
            found.wrong(&format!("stores: {error:#}"));
            return Ok(ExitCode::FAILURE);
        }
    };
    found.ok(if stores.is_owner() { "stores: started for this check" } else { "stores: running" });
    match Backend::connect(config, &stores.database_url, &stores.redis_url, Arc::new(SystemClock)).await {
        Ok(backend) => {
            found.ok("stores: Postgres and Redis answer, migrations are applied");
            for finding in backend.check_redis().await {
                if finding.ok { found.ok(&finding.text) } else { found.wrong(&finding.text) }
            }
            if let Err(error) = set_aside(&backend, &mut found).await {
                found.wrong(&format!("quarantine: {}", chain(&error)));
            }
            if let Err(error) = setbacks(&backend, &mut found).await {
                found.wrong(&format!("jobs: {}", chain(&error)));
            }
            if let Err(error) = invariants(&backend, &mut found, stores.is_owner()).await {
                found.wrong(&format!("invariants: {}", chain(&error)));
            }
        }
        Err(error) => found.wrong(&format!("stores: {}", chain(&error))),
    }
    stores.close().await?;
    print(&if found.wrong == 0 { "nothing is wrong".to_owned() } else { format!("{} things are wrong", found.wrong) });
    Ok(if found.wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was set aside and belongs to no order: no organization sees it, so that whoever runs this must.
async fn set_aside(backend: &Arc<Backend>, found: &mut Findings) -> backend::Result<()> {
    let waiting = backend.set_aside(false).await?;
    let (theirs, nobodys): (Vec<_>, Vec<_>) = waiting.iter().partition(|row| row.order.is_some());
    for row in &nobodys {
        let reference = format!("{} {}", row.provider, row.reference);
        found.wrong(&format!("quarantine {}: {} of no order, {reference}: {}", row.id, row.kind.as_str(), row.reason));
    }
    if nobodys.is_empty() {
        found.ok(&format!("quarantine: nothing waits that belongs to no order; {} of orders", theirs.len()));
    } else {
        found.wrong("quarantine: decide with `stararena quarantine return` or `stararena quarantine settle`");
    }
    Ok(())
}

/// What jobs fail to do for one thing: the others go on, so that it is told by name.
async fn setbacks(backend: &Arc<Backend>, found: &mut Findings) -> backend::Result<()> {
    let failing = backend.setbacks(SETBACKS_MAX).await?;
    for one in &failing {
        let since_s = (backend.now().0 - one.since.0).max(0) / 1_000;
        let text = format!("{} {}: failed {} times in {since_s} s: {}", one.job, one.subject, one.tries, one.error);
        found.wrong(&format!("job {text}"));
    }
    if failing.is_empty() {
        found.ok("jobs: none fails again and again");
    }
    Ok(())
}

async fn invariants(backend: &Arc<Backend>, found: &mut Findings, alone: bool) -> backend::Result<()> {
    let sales = backend.audited_sales().await?;
    if alone && !sales.is_empty() {
        // Nobody else works on these stores: the log is drained and the seats are built for the check.
        let workers = backend::Workers::start(backend);
        let outcome = audit_all(backend, &sales, found).await;
        workers.stop().await;
        return outcome;
    }
    audit_all(backend, &sales, found).await
}

async fn audit_all(
    backend: &Arc<Backend>,
    sales: &[domain::PerformanceId],
    found: &mut Findings,
) -> backend::Result<()> {
    for id in sales {
        let findings = backend.audit_sale(*id).await?;
        found.checked(&format!("sale {id}"), &findings, "I1 to I5 hold in both stores");
        if let Some((at, repaired)) = backend.last_reconciled(*id).await? {
            let ago_s = (backend.now().0 - at.0).max(0) / 1_000;
            let text = format!("sale {id}: compared with its orders {ago_s} s ago, {repaired} repairs in all");
            found.ok(&text);
        }
    }
    if sales.is_empty() {
        found.ok("no sale is running, and none has seats in Redis");
    }
    let findings = backend.audit_published().await?;
    found.checked("performances", &findings, "I1, I2 and I4 hold for every one that was ever published");
    for (fine, text) in super::reconcile::findings(backend).await? {
        if fine { found.ok(&text) } else { found.wrong(&text) }
    }
    let findings = backend.audit_system().await?;
    let in_short = format!("all {} checks of money, promises and history hold", findings.len());
    found.checked("books", &findings, &in_short);
    Ok(())
}
