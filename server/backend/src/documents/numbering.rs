//! Numbers without gaps: a number exists only together with the document that carries it, since both are
//! written in one transaction, behind a lock on the organization's sequence. Whatever ends early leaves neither.

use super::ZONE;
use super::papers::{self, Billed};
use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Error, Result, is_lock_timeout};
use crate::postgres::detached;
use crate::postgres::invoices::{self as rows, HeldRefund, NewDocument};
use crate::postgres::setbacks::{self, Job, LeftOut};
use domain::document::{DocumentKind, Paper, label, note_minor};
use domain::{Millis, OrderId, OrganizationId, RefundId};
use sqlx::PgConnection;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// Orders and refunds that are looked at at once, of all organizations.
const LOOK_MAX: i64 = 500;
/// How long an order waits for its tickets before it gets a number without them: until then issuing shall find
/// the row free.
const TICKETS_FIRST_MS: i64 = 10_000;

/// What of one organization waits for a number.
#[derive(Clone, Debug, Default)]
struct Waiting {
    orders: Vec<OrderId>,
    refunds: Vec<RefundId>,
}

impl Waiting {
    /// Each by itself, with what it is of which job.
    fn singly(self) -> Vec<(Job, Uuid, Self)> {
        let orders = self.orders.into_iter();
        let orders = orders.map(|id| (Job::Invoices, id.0, Self { orders: vec![id], ..Self::default() }));
        let refunds = self.refunds.into_iter();
        let refunds = refunds.map(|id| (Job::CreditNotes, id.0, Self { refunds: vec![id], ..Self::default() }));
        orders.chain(refunds).collect()
    }
}

/// Documents that get their numbers together.
struct Sheaf {
    year: i16,
    last: i64,
    new: Vec<NewDocument>,
}

impl Sheaf {
    fn add(&mut self, prefix: &str, kind: DocumentKind, order: OrderId, refund: Option<RefundId>, paper: Paper) {
        self.last += 1;
        let label = label(prefix, self.year, self.last);
        self.new.push(NewDocument { number: self.last, label, kind, order, refund, paper });
    }
}

impl Backend {
    /// Gives numbers to what waits for one; whether something got one, or was found to need none.
    ///
    /// # Errors
    /// Outages only: what can't get a number is left alone for a while, and holds up nothing.
    pub(crate) async fn assign_numbers(self: &Arc<Self>) -> Result<bool> {
        let mut waiting: BTreeMap<OrganizationId, Waiting> = BTreeMap::new();
        let left_out = |job| LeftOut { job, now: self.now(), sales: Vec::new() };
        let (orders, refunds) = (left_out(Job::Invoices), left_out(Job::CreditNotes));
        let paid_before = self.now().plus(-TICKETS_FIRST_MS);
        for (organization, order) in rows::waiting_orders(&self.pg, paid_before, &orders, LOOK_MAX).await? {
            waiting.entry(organization).or_default().orders.push(order);
        }
        for (organization, refund) in rows::waiting_refunds(&self.pg, &refunds, LOOK_MAX).await? {
            waiting.entry(organization).or_default().refunds.push(refund);
        }
        let mut any = false;
        for (organization, list) in waiting {
            match self.assign(organization, list.clone()).await {
                Ok(Some(done)) => {
                    any |= done > 0;
                    self.forget_setbacks(&list).await?;
                    continue;
                }
                Ok(None) => continue,
                // No single one would fare better.
                Err(error) if error.is_outage() => return Err(error),
                Err(_) => {}
            }
            for (job, subject, one) in list.singly() {
                match self.assign(organization, one.clone()).await {
                    Ok(Some(done)) => {
                        any |= done > 0;
                        self.forget_setbacks(&one).await?;
                    }
                    Ok(None) => break,
                    Err(error) => self.set_back(job, subject, error).await?,
                }
            }
        }
        Ok(any)
    }

    async fn forget_setbacks(&self, list: &Waiting) -> Result<()> {
        let orders: Vec<Uuid> = list.orders.iter().map(|order| order.0).collect();
        let refunds: Vec<Uuid> = list.refunds.iter().map(|refund| refund.0).collect();
        for (job, subjects) in [(Job::Invoices, orders), (Job::CreditNotes, refunds)] {
            if !subjects.is_empty() {
                setbacks::clear(&self.pg, job, &subjects).await?;
            }
        }
        Ok(())
    }

    async fn assign(self: &Arc<Self>, organization: OrganizationId, list: Waiting) -> Result<Option<usize>> {
        let this = Arc::clone(self);
        detached(async move { this.assign_together(organization, &list).await }).await
    }

    /// All of a list in one transaction; answers of how many it was decided, and nothing where somebody else holds the
    /// sequence for too long: then none of the organization fares better by itself, and others do.
    async fn assign_together(&self, organization: OrganizationId, list: &Waiting) -> Result<Option<usize>> {
        let mut tx = self.pg.begin().await?;
        let before = match rows::hold_sequence(&mut tx, organization).await {
            Ok(before) => before,
            Err(error) if is_lock_timeout(&error) => {
                metrics::counter!("stararena_job_failures_total", "job" => Job::Invoices.as_str()).increment(1);
                tracing::warn!(%organization, "somebody holds the sequence of an organization: it gets no numbers now");
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        // Behind the lock, so that a later number has no earlier date.
        let now = self.now();
        let mut sheaf = Sheaf { year: zoned(now, ZONE)?.year, last: before, new: Vec::new() };
        let orders = add_invoices(&mut tx, &mut sheaf, list).await?;
        let refunds = add_notes(&mut tx, &mut sheaf, list).await?;
        if sheaf.last > before && !rows::move_sequence(&mut *tx, organization, before, sheaf.last).await? {
            return Err(Error::Broken(format!("the sequence of {organization} moved while it was locked")));
        }
        let written = rows::insert(&mut *tx, organization, &sheaf.new, now).await?;
        let all = usize::try_from(written).is_ok_and(|written| written == sheaf.new.len());
        if !all || !note_done(&mut tx, &orders, &refunds, now).await? {
            return Err(Error::Broken(format!("documents of {organization} changed while they were locked")));
        }
        self.fault("before-numbers-commit");
        tx.commit().await?;
        let count = sheaf.new.len();
        metrics::counter!("stararena_documents_numbered_total").increment(count as u64);
        Ok(Some(orders.len() + refunds.len()))
    }
}

async fn add_invoices(db: &mut PgConnection, sheaf: &mut Sheaf, list: &Waiting) -> Result<Vec<Uuid>> {
    if list.orders.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: Vec<Uuid> = list.orders.iter().map(|order| order.0).collect();
    let orders = rows::hold_orders(&mut *db, &wanted).await?;
    let ids: Vec<Uuid> = orders.iter().map(|order| order.0).collect();
    let mut papers = papers::of_orders(&mut *db, &ids).await?;
    for order in orders {
        let billed = papers.remove(&order).ok_or_else(|| no_paper(order))?;
        let prefix = billed.prefix.clone();
        sheaf.add(&prefix, DocumentKind::Invoice, order, None, billed.paper);
    }
    Ok(ids)
}

/// Answers the refunds that were decided on, with and without a note.
async fn add_notes(db: &mut PgConnection, sheaf: &mut Sheaf, list: &Waiting) -> Result<Vec<Uuid>> {
    if list.refunds.is_empty() {
        return Ok(Vec::new());
    }
    let wanted: Vec<Uuid> = list.refunds.iter().map(|refund| refund.0).collect();
    let (mut seen, mut decided) = (HashSet::new(), Vec::new());
    for refund in rows::hold_refunds(&mut *db, &wanted).await? {
        // The second refund of an order goes by the note of the first, which is written by then.
        if refund.is_of_invoice && !seen.insert(refund.order) {
            continue;
        }
        add_note(&mut *db, sheaf, &refund).await?;
        decided.push(refund.id.0);
    }
    Ok(decided)
}

async fn add_note(db: &mut PgConnection, sheaf: &mut Sheaf, refund: &HeldRefund) -> Result<()> {
    if !refund.is_of_invoice {
        return Ok(());
    }
    let Some(credit) = rows::credit(&mut *db, refund.order).await? else { return Err(no_paper(refund.order)) };
    let minor = note_minor(credit.noted_minor, credit.returned_minor, refund.amount_minor);
    if minor == 0 {
        return Ok(());
    }
    let today: Option<Billed> = papers::of_orders(&mut *db, &[refund.order.0]).await?.remove(&refund.order);
    let today = today.ok_or_else(|| no_paper(refund.order))?;
    let prefix = today.prefix.clone();
    let paper = papers::credit_note(db, today, credit, refund, minor).await?;
    sheaf.add(&prefix, DocumentKind::CreditNote, refund.order, Some(refund.id), paper);
    Ok(())
}

fn no_paper(order: OrderId) -> Error {
    Error::Broken(format!("order {order} is paid and has no invoice"))
}

/// Notes that all these have what they waited for; whether they still waited for it.
async fn note_done(db: &mut PgConnection, orders: &[Uuid], refunds: &[Uuid], now: Millis) -> Result<bool> {
    let invoiced = rows::set_invoiced(&mut *db, orders, now).await?;
    let credited = rows::set_credited(db, refunds, now).await?;
    Ok(invoiced == orders.len() as u64 && credited == refunds.len() as u64)
}
