//! The invariants as checks on live stores: a catalogue, of which each check is told by name, also when it
//! holds.
//!
//! Checks of a sale compare Postgres with Redis after the sale's log has been written ([`seats`]); those of them that
//! Postgres alone decides are made of every performance that was ever published as well; checks of the whole system
//! look at money, documents and history ([`money`], [`system`]). Each is one statement or one read,
//! so that it sees one instant and may run beside working processes. Two invariants have no state that could be
//! looked at afterwards: that holding fails closed (I8), and that a place never gets worse (I6); tests and the
//! simulator see them from outside.

mod money;
mod seats;
mod system;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::postgres::audited::{self, Of};
use crate::postgres::catalog;
use crate::work::AFTER_SALE_MS;
use domain::PerformanceId;
use std::sync::Arc;

/// Most lines of evidence that are spelled out for one check.
pub(crate) const LINES_MAX: usize = 10;
/// Ended performances that are read at once.
const PAGE_MAX: i64 = 500;

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Which invariant, such as `I1`.
    pub invariant: &'static str,
    /// What was found.
    pub what: String,
}

impl std::fmt::Display for Breach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.invariant, self.what)
    }
}

/// What a check looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One performance.
    Performance,
    /// Everything in Postgres.
    System,
}

/// A check by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// Which invariant it is a part of, such as `I3`.
    pub invariant: &'static str,
    /// What holds, in words.
    pub title: &'static str,
    /// What it looks at.
    pub scope: Scope,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// The first of what contradicts it; empty where it holds.
    pub evidence: Vec<String>,
    /// How much contradicts it, in all.
    pub count: usize,
}

impl Finding {
    /// Whether nothing contradicts the check.
    pub fn holds(&self) -> bool {
        self.count == 0
    }

    /// The breach; none where the check holds.
    pub fn breach(&self) -> Option<Breach> {
        (!self.holds()).then(|| Breach {
            invariant: self.check.invariant,
            what: format!("{}: not so for {} ({} in all)", self.check.title, self.evidence.join(", "), self.count),
        })
    }
}

/// Evidence as it is gathered: spelled out up to a bound, counted beyond it.
#[derive(Debug, Default)]
struct Evidence {
    lines: Vec<String>,
    count: usize,
}

impl Evidence {
    fn add(&mut self, line: String) {
        self.count += 1;
        if self.lines.len() < LINES_MAX {
            self.lines.push(line);
        }
    }

    fn of(self, check: Check) -> Finding {
        Finding { check, evidence: self.lines, count: self.count }
    }
}

/// A check that is a query. Each row that it finds, a text, contradicts the check.
struct SqlCheck {
    check: Check,
    /// For a check of a performance, $1 is which; all of them where it is null.
    sql: &'static str,
}

/// A check of one performance.
const fn of_sale(invariant: &'static str, title: &'static str, sql: &'static str) -> SqlCheck {
    SqlCheck { check: Check { invariant, title, scope: Scope::Performance }, sql }
}

/// A check of the whole system.
const fn of_system(invariant: &'static str, title: &'static str, sql: &'static str) -> SqlCheck {
    SqlCheck { check: Check { invariant, title, scope: Scope::System }, sql }
}

/// The checks of a performance that Postgres alone decides.
const OF_A_SALE: &[SqlCheck] = &[
    of_sale(
        "I1",
        "a seat belongs to at most one open or paid order",
        "select o.performance_id::text || ' seat ' || i.seat_no from order_items i join orders o on o.id = i.order_id
         where ($1::uuid is null or o.performance_id = $1) and o.status in ('pending_payment', 'payment_processing', 'paid', 'fulfilled')
            and i.returned_ms is null
         group by o.performance_id, i.seat_no having count(*) > 1",
    ),
    of_sale(
        "I1",
        "a seat has at most one valid ticket",
        "select performance_id::text || ' seat ' || seat_no from tickets where ($1::uuid is null or performance_id = $1) and revoked_ms is null
         group by performance_id, seat_no having count(*) > 1",
    ),
    of_sale(
        "I4",
        "a claim has an open or paid order",
        "select c.performance_id::text || ' seat ' || c.seat_no from seat_claims c left join orders o on o.id = c.order_id
         where ($1::uuid is null or c.performance_id = $1)
            and (o.id is null or o.status not in ('pending_payment', 'payment_processing', 'paid', 'fulfilled'))",
    ),
    of_sale(
        "I4",
        "a seat of an open or paid order, and none that was given back, is claimed by it",
        "select o.performance_id::text || ' seat ' || i.seat_no from order_items i join orders o on o.id = i.order_id
         left join seat_claims c
            on c.performance_id = o.performance_id and c.seat_no = i.seat_no and c.order_id = o.id
         where ($1::uuid is null or o.performance_id = $1) and o.status in ('pending_payment', 'payment_processing', 'paid', 'fulfilled')
            and (i.returned_ms is null) <> (c.order_id is not null)",
    ),
    of_sale(
        "I2",
        "a fulfilled order has one valid ticket a seat that it kept",
        "select o.id::text from orders o where ($1::uuid is null or o.performance_id = $1) and o.status = 'fulfilled'
            and (select count(*) from order_items i where i.order_id = o.id and i.returned_ms is null)
             <> (select count(*) from tickets t where t.order_id = o.id and t.revoked_ms is null)
            -- A dispute that was lost revoked them.
            and not exists (select 1 from disputes d where d.order_id = o.id and d.status = 'lost')",
    ),
    of_sale(
        "I2",
        "captured money belongs to a paid order, or is on its way back",
        "select a.id::text from attempts a join orders o on o.id = a.order_id
         where ($1::uuid is null or o.performance_id = $1) and a.status = 'captured' and o.status not in ('paid', 'fulfilled')
            and not exists (select 1 from refunds r where r.attempt_id = a.id
                and r.status in ('requested', 'approved', 'submitted', 'succeeded'))
            -- It came back from the fan's bank, and waits for the staff.
            and not (o.status = 'refunded' and exists (select 1 from refunds r
                where r.attempt_id = a.id and r.status = 'failed' and r.retried_as is null))
            -- The bank took it, or may.
            and not exists (select 1 from disputes d where d.attempt_id = a.id and d.status in ('opened', 'lost'))",
    ),
    of_sale(
        "I2",
        "a paid order has captured money",
        "select o.id::text from orders o where ($1::uuid is null or o.performance_id = $1) and o.status in ('paid', 'fulfilled')
            and not exists (select 1 from attempts a where a.order_id = o.id and a.status in ('captured', 'refunded'))",
    ),
];

/// Every check, in the order in which they are made: those of a performance, then those of the whole system.
pub fn checks() -> Vec<Check> {
    let of_sales = OF_A_SALE.iter().map(|check| check.check).chain(seats::CHECKS.iter().copied());
    of_sales.chain(whole().map(|check| check.check)).collect()
}

fn whole() -> impl Iterator<Item = &'static SqlCheck> {
    money::CHECKS.iter().chain(system::CHECKS)
}

impl Backend {
    /// The breaches of one performance in both stores, after its log has been written.
    ///
    /// # Errors
    /// Outages only: a breach is a result.
    pub async fn audit(self: &Arc<Self>, id: PerformanceId) -> Result<Vec<Breach>> {
        Ok(self.audit_sale(id).await?.iter().filter_map(Finding::breach).collect())
    }

    /// Makes every check of one performance, in both stores, after its log has been written.
    ///
    /// # Errors
    /// Outages only.
    pub async fn audit_sale(self: &Arc<Self>, id: PerformanceId) -> Result<Vec<Finding>> {
        let written = self.log_is_written(id).await?;
        let mut findings = self.query_checks(OF_A_SALE.iter().collect(), Of::One(id)).await?;
        let sale = self.reload_sale(id).await?;
        findings.extend(self.audit_seats(&sale, written).await?);
        Ok(findings)
    }

    /// Makes every check of the whole system.
    ///
    /// # Errors
    /// Outages only.
    pub async fn audit_system(&self) -> Result<Vec<Finding>> {
        self.query_checks(whole().collect(), Of::System).await
    }

    /// Makes every check of the whole system, and tells each finding as it is made.
    ///
    /// # Errors
    /// The last that could not be made: it hides no other.
    pub(crate) async fn tell_system(&self, tell: fn(&Finding)) -> Result<()> {
        let mut failure: Option<Error> = None;
        for check in whole() {
            match audited::query(&self.pg, check.check, check.sql, Of::System).await {
                Ok(finding) => tell(&finding),
                Err(error) => failure = Some(error.into()),
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Makes the checks that Postgres alone decides, one statement each, of every performance that was ever
    /// published: most money goes back after a sale has ended.
    ///
    /// # Errors
    /// Outages only.
    pub async fn audit_published(&self) -> Result<Vec<Finding>> {
        self.query_checks(OF_A_SALE.iter().collect(), Of::Published).await
    }

    async fn query_checks(&self, checks: Vec<&'static SqlCheck>, of: Of) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for check in checks {
            findings.push(audited::query(&self.pg, check.check, check.sql, of).await?);
        }
        Ok(findings)
    }

    /// How many orders of a performance wait for the end of a payment, for their tickets or for a refund.
    ///
    /// # Errors
    /// Outages only.
    pub async fn unsettled(&self, id: PerformanceId) -> Result<i64> {
        let count = sqlx::query_scalar(
            "select count(*) from orders o where o.performance_id = $1 and (
                o.status in ('payment_processing', 'paid')
                or exists (select 1 from attempts a
                    where a.order_id = o.id and a.status in ('created', 'open', 'authorized'))
                or exists (select 1 from attempts a join refunds r on r.attempt_id = a.id
                    where a.order_id = o.id and r.status in ('requested', 'approved', 'submitted')))",
        );
        Ok(count.bind(id.0).fetch_one(&self.pg).await?)
    }

    /// The performances whose seats in Redis must agree with the orders: those whose sale has not been over for a
    /// day, cancelled or not, and of the others those of which Redis has the whole state still.
    ///
    /// # Errors
    /// Outages only.
    pub async fn audited_sales(&self) -> Result<Vec<PerformanceId>> {
        let ended = self.now().plus(-AFTER_SALE_MS);
        let mut sales = catalog::on_sale(&self.pg, ended).await?;
        let mut last = None;
        loop {
            let page = catalog::ended(&self.pg, ended, last, PAGE_MAX).await?;
            let Some((end, _)) = page.last() else { return Ok(sales) };
            last = Some(*end);
            for (id, epoch) in page {
                if self.has_seats(id, epoch).await? {
                    sales.push(id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_check_has_a_name_of_its_own_and_an_invariant() {
        let all = checks();
        let titles: BTreeSet<&str> = all.iter().map(|check| check.title).collect();
        assert_eq!(titles.len(), all.len(), "two checks of one name");
        for check in &all {
            assert!(matches!(check.invariant, "I1" | "I2" | "I3" | "I4" | "I5" | "I6" | "I7" | "I9"), "{check:?}");
        }
        assert!(all.iter().any(|check| check.scope == Scope::System && check.invariant == "I3"));
    }

    #[test]
    fn queries_of_a_sale_name_it_and_those_of_the_system_name_nothing() {
        assert!(OF_A_SALE.iter().all(|check| check.sql.contains("$1")));
        assert!(whole().all(|check| !check.sql.contains('$')));
    }

    #[test]
    fn evidence_is_spelled_out_up_to_a_bound_and_counted_beyond_it() {
        let check = Check { invariant: "I3", title: "each posting sums to zero", scope: Scope::System };
        assert_eq!(Evidence::default().of(check).breach(), None);
        let mut found = Evidence::default();
        (0..LINES_MAX + 2).for_each(|n| found.add(format!("capture:{n}")));
        let found = found.of(check);
        assert_eq!((found.evidence.len(), found.count, found.holds()), (LINES_MAX, LINES_MAX + 2, false));
        let breach = found.breach().unwrap().to_string();
        assert!(breach.starts_with("I3: each posting sums to zero: not so for capture:0, "), "{breach}");
        assert!(breach.ends_with("(12 in all)"), "{breach}");
    }
}
