//! Documents with numbers, and the sequences that the numbers come from.

use super::catalog::{bad, currency};
use super::details::details;
use super::setbacks::LeftOut;
use domain::document::{Details, DocumentKind, Paper};
use domain::money::fees::{Amounts, LineKind, Rate};
use domain::refund::Cause;
use domain::refund::policy::Part;
use domain::{AccountId, Currency, DocumentId, Millis, Money, OrderId, OrganizationId, RefundId};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, PgConnection, PgExecutor, Row as _};
use uuid::Uuid;

/// Paid orders without an invoice, with whose they are: the first that were paid come first. Those without
/// tickets only when they were paid before an instant.
pub(crate) async fn waiting_orders(
    db: impl PgExecutor<'_>,
    paid_before: Millis,
    out: &LeftOut,
    most: i64,
) -> sqlx::Result<Vec<(OrganizationId, OrderId)>> {
    sqlx::query(
        "select o.id, e.organization_id from orders o
         join performances p on p.id = o.performance_id join events e on e.id = p.event_id
         where o.paid_ms is not null and o.invoiced_ms is null and (o.status <> 'paid' or o.paid_ms < $2)
            and not exists (select 1 from setbacks b
                where b.job = $3 and b.subject = o.id and b.next_try_ms > $4)
         order by o.paid_ms, o.id limit $1",
    )
    .bind(most)
    .bind(paid_before.0)
    .bind(out.job.as_str())
    .bind(out.now.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((OrganizationId(row.try_get("organization_id")?), OrderId(row.try_get("id")?))))
    .collect()
}

/// Refunds that succeeded and of which nobody decided whether they have a credit note, with whose they are.
/// The invoice of an order comes before them.
pub(crate) async fn waiting_refunds(
    db: impl PgExecutor<'_>,
    out: &LeftOut,
    most: i64,
) -> sqlx::Result<Vec<(OrganizationId, RefundId)>> {
    sqlx::query(
        "select r.id, e.organization_id from refunds r
         join attempts a on a.id = r.attempt_id join orders o on o.id = a.order_id
         join performances p on p.id = o.performance_id join events e on e.id = p.event_id
         where r.status = 'succeeded' and r.credited_ms is null and (o.paid_ms is null or o.invoiced_ms is not null)
            and not exists (select 1 from setbacks b
                where b.job = $2 and b.subject = r.id and b.next_try_ms > $3)
         order by r.created_ms, r.id limit $1",
    )
    .bind(most)
    .bind(out.job.as_str())
    .bind(out.now.0)
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| Ok((OrganizationId(row.try_get("organization_id")?), RefundId(row.try_get("id")?))))
    .collect()
}

/// The last number of an organization. Others who give numbers wait until this transaction ends.
pub(crate) async fn hold_sequence(db: &mut PgConnection, organization: OrganizationId) -> sqlx::Result<i64> {
    sqlx::query(
        "insert into invoice_sequences (organization_id, last_number) values ($1, 0)
         on conflict (organization_id) do nothing",
    )
    .bind(organization.0)
    .execute(&mut *db)
    .await?;
    sqlx::query_scalar("select last_number from invoice_sequences where organization_id = $1 for update")
        .bind(organization.0)
        .fetch_one(db)
        .await
}

/// Moves a sequence on; `false` when it is not where it was. Only right behind [`hold_sequence`].
pub(crate) async fn move_sequence(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    from: i64,
    to: i64,
) -> sqlx::Result<bool> {
    let done = sqlx::query(
        "update invoice_sequences set last_number = $3 where organization_id = $1 and last_number = $2 and $3 > $2",
    )
    .bind(organization.0)
    .bind(from)
    .bind(to)
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Of these orders, those that still wait for an invoice and that nobody else changes right now, as they were
/// paid. They stay so until this transaction ends.
pub(crate) async fn hold_orders(db: impl PgExecutor<'_>, orders: &[Uuid]) -> sqlx::Result<Vec<OrderId>> {
    Ok(sqlx::query_scalar(
        "select id from orders where id = any($1) and paid_ms is not null and invoiced_ms is null
         order by paid_ms, id for update skip locked",
    )
    .bind(orders)
    .fetch_all(db)
    .await?
    .into_iter()
    .map(OrderId)
    .collect())
}

/// Notes an instant (`$2`) at rows (`$1`); answers how many it was news of.
async fn note(db: impl PgExecutor<'_>, sql: &'static str, ids: &[Uuid], now: Millis) -> sqlx::Result<u64> {
    Ok(sqlx::query(sql).bind(ids).bind(now.0).execute(db).await?.rows_affected())
}

/// Notes that these orders have their invoices; answers how many it was news of.
pub(crate) async fn set_invoiced(db: impl PgExecutor<'_>, orders: &[Uuid], now: Millis) -> sqlx::Result<u64> {
    note(db, "update orders set invoiced_ms = $2 where id = any($1) and invoiced_ms is null", orders, now).await
}

/// A refund that is to be decided on.
pub(crate) struct HeldRefund {
    pub(crate) id: RefundId,
    pub(crate) order: OrderId,
    pub(crate) amount_minor: i64,
    /// What of which line it gives back; none where nobody knows.
    pub(crate) parts: Vec<Part>,
    /// Whether it is about what was invoiced: not money without a right to seats.
    pub(crate) is_of_invoice: bool,
}

/// Of these refunds, those that still wait and that nobody else changes right now, with their orders. They stay
/// so until this transaction ends.
pub(crate) async fn hold_refunds(db: impl PgExecutor<'_>, refunds: &[Uuid]) -> sqlx::Result<Vec<HeldRefund>> {
    sqlx::query(
        "select r.id, a.order_id, r.amount_minor, r.parts, o.paid_ms is not null and r.cause <> $2 as of_invoice
         from refunds r join attempts a on a.id = r.attempt_id join orders o on o.id = a.order_id
         where r.id = any($1) and r.status = 'succeeded' and r.credited_ms is null
         order by r.created_ms, r.id for update of r skip locked for key share of o skip locked",
    )
    .bind(refunds)
    .bind(Cause::LateMoney.as_str())
    .fetch_all(db)
    .await?
    .iter()
    .map(|row| {
        let parts: Option<Json<Vec<Part>>> = row.try_get("parts")?;
        Ok(HeldRefund {
            id: RefundId(row.try_get("id")?),
            order: OrderId(row.try_get("order_id")?),
            amount_minor: row.try_get("amount_minor")?,
            parts: parts.map(|Json(parts)| parts).unwrap_or_default(),
            is_of_invoice: row.try_get("of_invoice")?,
        })
    })
    .collect()
}

/// Notes that these refunds are decided on; answers how many it was news of.
pub(crate) async fn set_credited(db: impl PgExecutor<'_>, refunds: &[Uuid], now: Millis) -> sqlx::Result<u64> {
    note(db, "update refunds set credited_ms = $2 where id = any($1) and credited_ms is null", refunds, now).await
}

/// The invoice of an order, and what notes and refunds say about it.
pub(crate) struct CreditRow {
    pub(crate) label: String,
    pub(crate) paper: Paper,
    pub(crate) noted_minor: i64,
    pub(crate) returned_minor: i64,
}

/// What a credit note of an order goes by; none where the order has no invoice.
pub(crate) async fn credit(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Option<CreditRow>> {
    let row = sqlx::query(
        "select i.label, i.paper,
            (select coalesce(sum(n.gross_minor), 0)::bigint from invoices n
                where n.order_id = i.order_id and n.kind = 'credit_note') as noted,
            (select coalesce(sum(r.amount_minor), 0)::bigint from refunds r join attempts a on a.id = r.attempt_id
                where a.order_id = i.order_id and r.status = 'succeeded' and r.cause <> $2) as returned
         from invoices i where i.order_id = $1 and i.kind = 'invoice'",
    )
    .bind(order.0)
    .bind(Cause::LateMoney.as_str())
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let Json(paper): Json<Paper> = row.try_get("paper")?;
    Ok(Some(CreditRow {
        label: row.try_get("label")?,
        paper,
        noted_minor: row.try_get("noted")?,
        returned_minor: row.try_get("returned")?,
    }))
}

/// A paid order, as its documents tell of it.
pub(crate) struct BilledRow {
    pub(crate) order: OrderId,
    pub(crate) total: Money,
    pub(crate) paid: Millis,
    pub(crate) seller: String,
    pub(crate) details: Details,
    pub(crate) buyer: String,
    pub(crate) artist: String,
    pub(crate) event: String,
    pub(crate) venue: String,
    pub(crate) city: String,
    pub(crate) starts: Millis,
    pub(crate) time_zone: String,
    pub(crate) provider: String,
    pub(crate) rates: Rates,
}

/// The rates of tax that an order was billed with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    ticket: Rate,
    service: Rate,
    order: Rate,
}

impl Rates {
    /// The rate on lines of a kind.
    pub(crate) fn on(self, kind: LineKind) -> Rate {
        match kind {
            LineKind::Ticket => self.ticket,
            LineKind::ServiceFee => self.service,
            LineKind::OrderFee => self.order,
        }
    }
}

fn rate(row: &PgRow, column: &str) -> sqlx::Result<Rate> {
    let basis_points: Option<i32> = row.try_get(column)?;
    let basis_points = u32::try_from(basis_points.unwrap_or_default()).map_err(|e| bad(column, e))?;
    Rate::try_from(basis_points).map_err(|e| bad(column, e))
}

fn billed_row(row: &PgRow) -> sqlx::Result<BilledRow> {
    Ok(BilledRow {
        order: OrderId(row.try_get("id")?),
        total: Money::new(row.try_get("total_minor")?, currency(row, "currency")?),
        paid: Millis(row.try_get("paid_ms")?),
        seller: row.try_get("seller")?,
        details: details(row)?,
        buyer: row.try_get("email")?,
        artist: row.try_get("artist")?,
        event: row.try_get("title")?,
        venue: row.try_get("venue")?,
        city: row.try_get("city")?,
        starts: Millis(row.try_get("starts_ms")?),
        time_zone: row.try_get("time_zone")?,
        provider: row.try_get::<Option<String>, _>("provider")?.unwrap_or_default(),
        rates: Rates {
            ticket: rate(row, "ticket_tax_bp")?,
            service: rate(row, "service_tax_bp")?,
            order: rate(row, "order_tax_bp")?,
        },
    })
}

/// Paid orders as their documents tell of them.
pub(crate) async fn billed(db: impl PgExecutor<'_>, orders: &[Uuid]) -> sqlx::Result<Vec<BilledRow>> {
    sqlx::query(
        "select o.id, o.currency, o.total_minor, o.paid_ms, a.email, e.artist, e.title, l.venue, l.city, l.time_zone,
            p.starts_ms, g.name as seller, d.address, d.tax_id, d.prefix,
            f.ticket_tax_bp, f.service_tax_bp, f.order_tax_bp,
            (select t.provider from attempts t where t.order_id = o.id and t.status in ('captured', 'refunded')
                order by t.number limit 1) as provider
         from orders o join accounts a on a.id = o.account_id
         join performances p on p.id = o.performance_id join events e on e.id = p.event_id
         join plans l on l.id = p.plan_id join organizations g on g.id = e.organization_id
         left join organization_details d on d.organization_id = g.id
         left join performance_fees f on f.performance_id = o.performance_id and f.version = o.price_version
         where o.id = any($1) and o.paid_ms is not null",
    )
    .bind(orders)
    .fetch_all(db)
    .await?
    .iter()
    .map(billed_row)
    .collect()
}

/// A document with the number that it gets.
pub(crate) struct NewDocument {
    pub(crate) number: i64,
    pub(crate) label: String,
    pub(crate) kind: DocumentKind,
    pub(crate) order: OrderId,
    pub(crate) refund: Option<RefundId>,
    pub(crate) paper: Paper,
}

/// The columns of new documents.
#[derive(Default)]
struct Columns {
    ids: Vec<Uuid>,
    numbers: Vec<i64>,
    labels: Vec<String>,
    kinds: Vec<String>,
    orders: Vec<Uuid>,
    refunds: Vec<Option<Uuid>>,
    currencies: Vec<String>,
    nets: Vec<i64>,
    taxes: Vec<i64>,
    grosses: Vec<i64>,
    papers: Vec<String>,
}

impl Columns {
    fn of(new: &[NewDocument]) -> sqlx::Result<Self> {
        let mut columns = Self::default();
        for document in new {
            let Amounts { net_minor, tax_minor, gross_minor } = document.paper.totals;
            let paper = serde_json::to_string(&document.paper).map_err(|e| sqlx::Error::Encode(e.into()))?;
            columns.ids.push(Uuid::now_v7());
            columns.numbers.push(document.number);
            columns.labels.push(document.label.clone());
            columns.kinds.push(document.kind.as_str().to_owned());
            columns.orders.push(document.order.0);
            columns.refunds.push(document.refund.map(|refund| refund.0));
            columns.currencies.push(document.paper.currency.code().to_owned());
            columns.nets.push(net_minor);
            columns.taxes.push(tax_minor);
            columns.grosses.push(gross_minor);
            columns.papers.push(paper);
        }
        Ok(columns)
    }
}

/// Writes documents. A number, an invoice of an order or a note of a refund that is there already is an error of
/// the database, never a second one.
pub(crate) async fn insert(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    new: &[NewDocument],
    now: Millis,
) -> sqlx::Result<u64> {
    let columns = Columns::of(new)?;
    let done = sqlx::query(
        "insert into invoices (id, organization_id, number, label, kind, order_id, refund_id, currency, net_minor,
            tax_minor, gross_minor, paper, issued_ms)
         select id, $1, number, label, kind, order_id, refund_id, currency, net, tax, gross, paper::jsonb, $2
         from unnest($3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::uuid[], $8::uuid[], $9::text[],
                     $10::bigint[], $11::bigint[], $12::bigint[], $13::text[])
            as t (id, number, label, kind, order_id, refund_id, currency, net, tax, gross, paper)",
    )
    .bind(organization.0)
    .bind(now.0)
    .bind(&columns.ids)
    .bind(&columns.numbers)
    .bind(&columns.labels)
    .bind(&columns.kinds)
    .bind(&columns.orders)
    .bind(&columns.refunds)
    .bind(&columns.currencies)
    .bind(&columns.nets)
    .bind(&columns.taxes)
    .bind(&columns.grosses)
    .bind(&columns.papers)
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// A document in a list.
pub(crate) struct ListedRow {
    pub(crate) id: DocumentId,
    pub(crate) label: String,
    pub(crate) kind: DocumentKind,
    pub(crate) order: OrderId,
    pub(crate) refund: Option<RefundId>,
    pub(crate) currency: Currency,
    pub(crate) amounts: Amounts,
    pub(crate) issued: Millis,
    /// Of a credit note, the number of the invoice that it is about.
    pub(crate) of: Option<String>,
}

fn listed(row: &PgRow) -> sqlx::Result<ListedRow> {
    let kind: String = row.try_get("kind")?;
    Ok(ListedRow {
        id: DocumentId(row.try_get("id")?),
        label: row.try_get("label")?,
        kind: DocumentKind::parse(&kind).ok_or_else(|| bad("kind", kind))?,
        order: OrderId(row.try_get("order_id")?),
        refund: row.try_get::<Option<Uuid>, _>("refund_id")?.map(RefundId),
        currency: currency(row, "currency")?,
        amounts: Amounts {
            net_minor: row.try_get("net_minor")?,
            tax_minor: row.try_get("tax_minor")?,
            gross_minor: row.try_get("gross_minor")?,
        },
        issued: Millis(row.try_get("issued_ms")?),
        of: row.try_get("about")?,
    })
}

/// What a list needs of documents, and not what they say: a long list of whole papers would not fit.
const LISTED: &str = "select i.id, i.label, i.kind, i.order_id, i.refund_id, i.currency, i.net_minor, i.tax_minor,
    i.gross_minor, i.issued_ms, i.paper ->> 'of' as about from invoices i";

/// The documents of an order, as they were numbered.
pub(crate) async fn of_order(db: impl PgExecutor<'_>, order: OrderId) -> sqlx::Result<Vec<ListedRow>> {
    sqlx::query(AssertSqlSafe(format!("{LISTED} where i.order_id = $1 order by i.number")))
        .bind(order.0)
        .fetch_all(db)
        .await?
        .iter()
        .map(listed)
        .collect()
}

/// What a document says.
pub(crate) async fn paper(db: impl PgExecutor<'_>, id: DocumentId) -> sqlx::Result<Option<Paper>> {
    let paper: Option<Json<Paper>> =
        sqlx::query_scalar("select paper from invoices where id = $1").bind(id.0).fetch_optional(db).await?;
    Ok(paper.map(|Json(paper)| paper))
}

/// The documents of an organization behind a number, in their order.
pub(crate) async fn behind(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    after: i64,
    most: i64,
) -> sqlx::Result<Vec<ListedRow>> {
    sqlx::query(AssertSqlSafe(format!(
        "{LISTED} where i.organization_id = $1 and i.number > $2 order by i.number limit $3"
    )))
    .bind(organization.0)
    .bind(after)
    .bind(most)
    .fetch_all(db)
    .await?
    .iter()
    .map(listed)
    .collect()
}

/// The newest documents of an organization.
pub(crate) async fn newest(
    db: impl PgExecutor<'_>,
    organization: OrganizationId,
    most: i64,
) -> sqlx::Result<Vec<ListedRow>> {
    sqlx::query(AssertSqlSafe(format!("{LISTED} where i.organization_id = $1 order by i.number desc limit $2")))
        .bind(organization.0)
        .bind(most)
        .fetch_all(db)
        .await?
        .iter()
        .map(listed)
        .collect()
}

/// Whose an order is, and of which organization.
pub(crate) async fn owner(
    db: impl PgExecutor<'_>,
    order: OrderId,
) -> sqlx::Result<Option<(AccountId, OrganizationId)>> {
    let row = sqlx::query(
        "select o.account_id, e.organization_id from orders o join performances p on p.id = o.performance_id
         join events e on e.id = p.event_id where o.id = $1",
    )
    .bind(order.0)
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((AccountId(row.try_get("account_id")?), OrganizationId(row.try_get("organization_id")?))))
        .transpose()
}
