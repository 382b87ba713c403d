//! Receipts, invoices and credit notes. How they get their numbers is in [`numbering`], what they say before
//! that in [`papers`].

mod numbering;
mod papers;

use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Error, Result, not_found, refuse};
use crate::organizer::Member;
use crate::postgres::invoices::{self as rows, ListedRow};
use crate::postgres::{detached, details};
use domain::account::Session;
use domain::document::{Details, DetailsView, DocumentKind, Issued, LIST_MAX, Paper, Receipt, label};
use domain::organizer::Action;
use domain::{Code, DocumentId, Millis, Money, OrderId, ZonedTime};
use serde_json::json;
use std::fmt::Write as _;
use std::sync::Arc;

/// The zone of the dates of documents, and of the years in their numbers: one for all venues of an organization.
const ZONE: &str = "UTC";
/// Documents that the settings show.
const NEWEST_MAX: i64 = 20;
/// The columns of a list of documents. Amounts of credit notes are below zero, so that columns add up.
const COLUMNS: &str = "number,kind,issued,order,refund,credits,currency,net,tax,gross\r\n";

impl Backend {
    /// The receipt of one's own order, or the document of it that is named.
    ///
    /// # Errors
    /// `not_found`, also for another's order and for one that was never paid.
    pub async fn receipt(
        self: &Arc<Self>,
        session: &Session,
        order: OrderId,
        document: Option<DocumentId>,
    ) -> Result<Receipt> {
        match rows::owner(&self.pg, order).await? {
            Some((account, _)) if account == session.account => {}
            _ => return not_found("order"),
        }
        let listed = rows::of_order(&self.pg, order).await?;
        let is_shown = |row: &ListedRow| match document {
            Some(id) => row.id == id,
            None => row.kind == DocumentKind::Invoice,
        };
        let shown = listed.iter().position(is_shown);
        let paper = match (shown.and_then(|at| listed.get(at)), document) {
            (Some(row), _) => rows::paper(&self.pg, row.id).await?,
            (None, Some(_)) => return not_found("document"),
            // Its number comes in a moment; what it will say is known.
            (None, None) => self.unnumbered(order).await?,
        };
        let Some(paper) = paper else { return not_found("receipt") };
        let mut others = listed.iter().map(issued).collect::<Result<Vec<_>>>()?;
        let issued = shown.map(|at| others.remove(at));
        Ok(Receipt {
            order,
            kind: issued.as_ref().map_or(DocumentKind::Invoice, |issued| issued.kind),
            issued,
            paid: zoned(paper.paid, &paper.time_zone)?,
            starts: zoned(paper.starts, &paper.time_zone)?,
            paper,
            others,
        })
    }

    async fn unnumbered(self: &Arc<Self>, order: OrderId) -> Result<Option<Paper>> {
        let this = Arc::clone(self);
        detached(async move {
            let mut connection = this.pg.acquire().await?;
            let billed = papers::of_orders(&mut connection, &[order.0]).await?.remove(&order);
            Ok(billed.map(|billed| billed.paper))
        })
        .await
    }

    /// The numbered documents of an order of the member's organization.
    ///
    /// # Errors
    /// `not_found`, also for another organization's order; `forbidden`.
    pub async fn order_documents(&self, session: &Session, order: OrderId) -> Result<Vec<Issued>> {
        let member = self.member(session, Action::ReadOrders).await?;
        match rows::owner(&self.pg, order).await? {
            Some((_, organization)) if organization == member.organization() => {}
            _ => return not_found("order"),
        }
        rows::of_order(&self.pg, order).await?.iter().map(issued).collect()
    }

    /// What documents say about the member's organization, and the newest of them.
    ///
    /// # Errors
    /// `not_found` for who is no member; `forbidden`.
    pub async fn document_settings(&self, session: &Session) -> Result<DetailsView> {
        let member = self.member(session, Action::EditTerms).await?;
        let Some((name, details, version, last_number)) = details::settings(&self.pg, member.organization()).await?
        else {
            return not_found("page");
        };
        let newest = rows::newest(&self.pg, member.organization(), NEWEST_MAX).await?;
        let next = label(&details.prefix, zoned(self.now(), ZONE)?.year, last_number + 1);
        let newest = newest.iter().map(issued).collect::<Result<_>>()?;
        Ok(DetailsView { name, details, version, last_number, next, newest })
    }

    /// Changes what documents say from now on about the member's organization. `version` is the one that was
    /// read.
    ///
    /// # Errors
    /// `forbidden`; `invalid_input` names the field; `wrong_state` when somebody else changed it meanwhile.
    pub async fn set_details(self: &Arc<Self>, session: &Session, typed: Details, version: i32) -> Result<()> {
        let member = self.member(session, Action::EditTerms).await?;
        let details = Details::typed(&typed.address, &typed.tax_id, &typed.prefix)?;
        let this = Arc::clone(self);
        detached(async move { this.store_details(&member, &details, version).await }).await
    }

    async fn store_details(&self, member: &Member, details: &Details, version: i32) -> Result<()> {
        let mut tx = self.pg.begin().await?;
        if !details::set_details(&mut *tx, member.organization(), details, version, self.now()).await? {
            return refuse(Code::WrongState, "details: somebody changed them meanwhile; look at them again");
        }
        let subject = format!("organization {}", member.organization());
        let detail = json!({ "address": details.address, "tax_id": details.tax_id, "prefix": details.prefix });
        self.record(&mut *tx, member, "organization.details", &subject, &detail).await?;
        tx.commit().await?;
        Ok(())
    }

    /// The documents of the member's organization behind a number as a table (CSV, RFC 4180), at most
    /// [`LIST_MAX`] of them.
    ///
    /// # Errors
    /// `not_found` for who is no member; `forbidden`.
    pub async fn documents_csv(&self, session: &Session, after: i64) -> Result<String> {
        let member = self.member(session, Action::ReadMoney).await?;
        let _turn = self.table_turn().await?;
        let listed = rows::behind(&self.pg, member.organization(), after.max(0), LIST_MAX).await?;
        let mut text = COLUMNS.to_owned();
        for row in &listed {
            write_row(&mut text, row, &zoned(row.issued, ZONE)?)
                .map_err(|e| Error::Broken(format!("a row could not be written: {e}")))?;
        }
        Ok(text)
    }
}

/// A document in a list.
fn issued(row: &ListedRow) -> Result<Issued> {
    Ok(Issued {
        id: row.id,
        kind: row.kind,
        label: row.label.clone(),
        issued: zoned(row.issued, ZONE)?,
        total: Money::new(row.amounts.gross_minor, row.currency),
    })
}

/// One row of the table. No field can hold a comma or a quote: all are numbers, ids and words of ours.
fn write_row(text: &mut String, row: &ListedRow, issued: &ZonedTime) -> std::fmt::Result {
    let sign = if row.kind == DocumentKind::CreditNote { -1 } else { 1 };
    let money = |minor: i64| Money::new(sign * minor, row.currency).decimal();
    let refund = row.refund.map(|refund| refund.to_string()).unwrap_or_default();
    let Millis(at) = issued.at;
    let second = at.div_euclid(1_000).rem_euclid(60);
    write!(
        text,
        "{},{},{:04}-{:02}-{:02}T{:02}:{:02}:{second:02}Z,{},{refund},{},{},{},{},{}\r\n",
        row.label,
        row.kind.as_str(),
        issued.year,
        issued.month,
        issued.day,
        issued.hour,
        issued.minute,
        row.order,
        row.of.as_deref().unwrap_or_default(),
        row.currency,
        money(row.amounts.net_minor),
        money(row.amounts.tax_minor),
        money(row.amounts.gross_minor),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::RefundId;
    use domain::money::fees::Amounts;
    use uuid::Uuid;

    #[test]
    fn a_credit_note_is_below_zero_in_the_table() {
        let row = ListedRow {
            id: DocumentId(Uuid::nil()),
            label: "SA-2026-000002".to_owned(),
            kind: DocumentKind::CreditNote,
            order: OrderId(Uuid::from_u128(1)),
            refund: Some(RefundId(Uuid::from_u128(2))),
            currency: "EUR".parse().unwrap(),
            amounts: Amounts { net_minor: 1_000, tax_minor: 190, gross_minor: 1_190 },
            issued: Millis(1_792_891_807_000),
            of: Some("SA-2026-000001".to_owned()),
        };
        let mut text = String::new();
        write_row(&mut text, &row, &zoned(row.issued, ZONE).unwrap()).unwrap();
        let expected = "SA-2026-000002,credit_note,2026-10-25T01:30:07Z,00000000-0000-0000-0000-000000000001,\
                        00000000-0000-0000-0000-000000000002,SA-2026-000001,EUR,-10.00,-1.90,-11.90\r\n";
        assert_eq!(text, expected);
        assert_eq!(text.split(',').count(), COLUMNS.split(',').count());
    }
}
