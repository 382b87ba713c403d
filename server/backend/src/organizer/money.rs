//! The report of the books for an organization, on a page and as tables to keep.

use crate::backend::Backend;
use crate::catalog::zoned;
use crate::error::{Error, Result, refuse};
use crate::postgres::{money as rows, search};
use domain::account::Session;
use domain::ledger::report::{PerformanceFigures, report};
use domain::organizer::Action;
use domain::organizer::money::{MoneyReport, MoneyTable, Period, safe_cell};
use domain::organizer::search::PerformanceChoice;
use domain::{Code, Millis, Money, OrganizationId, PerformanceId};
use tokio::sync::SemaphorePermit;

/// Most performances to choose from.
const CHOICES_MAX: i64 = 200;
/// Most rows of a table: a sold-out stadium has four entries for each of 60,000 orders.
const ROWS_MAX: usize = 300_000;
/// What is asked of Postgres, to see whether there is more.
const ROWS_ASKED: i64 = 300_001;

impl Backend {
    /// What the books say of the organization: by currency and performance, of all or of one performance.
    ///
    /// # Errors
    /// `not_found`, `forbidden`.
    pub async fn money_report(
        &self,
        session: &Session,
        period: Period,
        performance: Option<PerformanceId>,
    ) -> Result<MoneyReport> {
        let member = self.member(session, Action::ReadMoney).await?;
        let now = self.now();
        let since = period.since(now);
        let begin = since.unwrap_or(Millis(0));
        let sums = rows::sums(&self.pg, member.organization, begin, performance).await?;
        let choices = search::performances(&self.pg, member.organization, CHOICES_MAX).await?;
        Ok(MoneyReport {
            period,
            since: since.map(|since| zoned(since, "UTC")).transpose()?,
            made: zoned(now, "UTC")?,
            performance,
            currencies: report(&sums),
            choices: choices
                .into_iter()
                .map(|row| {
                    let starts = zoned(row.starts, &row.time_zone)?;
                    Ok(PerformanceChoice { id: row.id, artist: row.artist, event: row.event, starts })
                })
                .collect::<Result<_>>()?,
        })
    }

    /// A table as CSV (RFC 4180): the figures of the report, entries of the books, or the lines of providers with what does not match.
    ///
    /// # Errors
    /// `not_found`, `forbidden`; `too_large` names the bound.
    pub async fn money_table(
        &self,
        session: &Session,
        table: MoneyTable,
        period: Period,
        performance: Option<PerformanceId>,
    ) -> Result<String> {
        let member = self.member(session, Action::ReadMoney).await?;
        let _turn = self.table_turn().await?;
        let since = period.since(self.now()).unwrap_or(Millis(0));
        match table {
            MoneyTable::Report => self.report_table(member.organization, since, performance).await,
            MoneyTable::Postings => self.postings_table(member.organization, since, performance).await,
            MoneyTable::Match => self.match_table(member.organization, since, performance).await,
        }
    }

    /// Waits until a long table may be made: few at a time fit into memory beside everything else.
    pub(crate) async fn table_turn(&self) -> Result<SemaphorePermit<'_>> {
        self.tables.acquire().await.map_err(|_| Error::Broken("the semaphore of tables was closed".to_owned()))
    }

    /// A row for each performance of a currency, and one for what is of none, such as payouts: they sum to the report.
    async fn report_table(&self, id: OrganizationId, since: Millis, only: Option<PerformanceId>) -> Result<String> {
        let currencies = report(&rows::sums(&self.pg, id, since, only).await?);
        let names = search::performances(&self.pg, id, CHOICES_MAX).await?;
        let count = currencies.iter().map(|currency| currency.performances.len()).sum();
        let mut csv = Table::new(
            count,
            &[
                "currency",
                "performance",
                "event",
                "artist",
                "captured_minor",
                "refunded_minor",
                "disputed_minor",
                "provider_fees_minor",
                "fees_minor",
                "tax_minor",
                "paid_out_minor",
                "owed_minor",
            ],
        )?;
        for currency in currencies {
            for PerformanceFigures { performance, figures } in currency.performances {
                let name = names.iter().find(|name| Some(name.id) == performance);
                let minor = [
                    figures.captured_minor,
                    figures.refunded_minor,
                    figures.disputed_minor,
                    figures.provider_fees_minor,
                    figures.fees_minor,
                    figures.tax_minor,
                    figures.paid_out_minor,
                    figures.owed_minor,
                ];
                let mut cells = vec![
                    currency.currency.code().to_owned(),
                    performance.map(|id| id.to_string()).unwrap_or_default(),
                    name.map(|name| safe_cell(&name.event)).unwrap_or_default(),
                    name.map(|name| safe_cell(&name.artist)).unwrap_or_default(),
                ];
                cells.extend(minor.iter().map(ToString::to_string));
                csv.row(&cells)?;
            }
        }
        csv.text()
    }

    async fn postings_table(&self, id: OrganizationId, since: Millis, only: Option<PerformanceId>) -> Result<String> {
        let entries = rows::entries(&self.pg, id, since, only, ROWS_ASKED).await?;
        let mut csv = Table::new(
            entries.len(),
            &[
                "at",
                "source",
                "account",
                "currency",
                "amount_minor",
                "amount",
                "order",
                "performance",
                "event",
                "artist",
                "reference",
            ],
        )?;
        for entry in entries {
            csv.row(&[
                instant(entry.at)?,
                safe_cell(&entry.source),
                entry.account.as_str().to_owned(),
                entry.currency.code().to_owned(),
                entry.amount_minor.to_string(),
                Money::new(entry.amount_minor, entry.currency).decimal(),
                entry.order.map(|id| id.to_string()).unwrap_or_default(),
                entry.performance.map(|id| id.to_string()).unwrap_or_default(),
                safe_cell(&entry.event.unwrap_or_default()),
                safe_cell(&entry.artist.unwrap_or_default()),
                safe_cell(&entry.reference.unwrap_or_default()),
            ])?;
        }
        csv.text()
    }

    async fn match_table(&self, id: OrganizationId, since: Millis, only: Option<PerformanceId>) -> Result<String> {
        let lines = rows::matched(&self.pg, id, since, only, ROWS_ASKED).await?;
        let mut csv = Table::new(
            lines.len(),
            &[
                "at",
                "provider",
                "movement",
                "subject",
                "payment",
                "reference",
                "currency",
                "gross_minor",
                "fee_minor",
                "net_minor",
                "order",
                "difference",
                "status",
                "note",
            ],
        )?;
        for line in lines {
            let (gross, fee, net) = match line.minor {
                Some((gross, fee, net)) => (gross.to_string(), fee.to_string(), net.to_string()),
                None => Default::default(),
            };
            csv.row(&[
                instant(line.at)?,
                safe_cell(&line.provider),
                line.movement.unwrap_or_default(),
                safe_cell(&line.subject),
                safe_cell(&line.payment.unwrap_or_default()),
                safe_cell(&line.reference.unwrap_or_default()),
                line.currency.unwrap_or_default(),
                gross,
                fee,
                net,
                line.order.map(|id| id.to_string()).unwrap_or_default(),
                line.difference.unwrap_or_default(),
                line.status.unwrap_or_default(),
                safe_cell(&line.note.unwrap_or_default()),
            ])?;
        }
        csv.text()
    }
}

/// An instant as programs read it: `2026-01-31T20:00:07.5Z`.
fn instant(at: Millis) -> Result<String> {
    let at = jiff::Timestamp::from_millisecond(at.0).map_err(|e| Error::Broken(format!("{}: {e}", at.0)))?;
    Ok(at.to_string())
}

/// A table on its way.
struct Table(csv::Writer<Vec<u8>>);

impl Table {
    fn new(rows: usize, columns: &[&str]) -> Result<Self> {
        if rows > ROWS_MAX {
            return refuse(
                Code::TooLarge,
                format!(
                    "period: the table would have more than {ROWS_MAX} rows; choose a shorter one, or one performance"
                ),
            );
        }
        let writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        let mut table = Self(writer);
        table.0.write_record(columns).map_err(unwritten)?;
        Ok(table)
    }

    fn row(&mut self, cells: &[String]) -> Result<()> {
        self.0.write_record(cells).map_err(unwritten)
    }

    fn text(self) -> Result<String> {
        let bytes = self.0.into_inner().map_err(|e| unwritten(e.into_error().into()))?;
        String::from_utf8(bytes).map_err(|e| Error::Broken(format!("a table is no text: {e}")))
    }
}

fn unwritten(error: csv::Error) -> Error {
    Error::Broken(format!("a table could not be written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_quoted_as_the_form_says_and_read_back() {
        let mut table = Table::new(2, &["name", "note"]).unwrap();
        for evil in ["a,b", "say \"yes\"", "two\r\nlines", "=1+1"] {
            table.row(&[safe_cell(evil), String::new()]).unwrap();
        }
        let text = table.text().unwrap();
        assert!(text.starts_with("name,note\r\n\"a,b\",\r\n\"say \"\"yes\"\"\",\r\n"), "{text}");
        assert!(text.contains("\r\n'=1+1,\r\n"), "{text}");
        let rows: Vec<csv::StringRecord> =
            csv::Reader::from_reader(text.as_bytes()).records().map(std::result::Result::unwrap).collect();
        assert_eq!(rows.len(), 4);
        assert_eq!(&rows[2][0], "two\r\nlines");
    }

    #[test]
    fn an_instant_is_told_in_utc_and_a_table_has_its_bound() {
        assert_eq!(instant(Millis(1_709_164_800_500)).unwrap(), "2024-02-29T00:00:00.5Z");
        assert_eq!(Table::new(ROWS_MAX + 1, &[]).err().map(|e| e.refusal().code), Some(Code::TooLarge));
    }
}
