//! Seats kept for somebody.

use domain::PerformanceId;
use sqlx::{PgExecutor, Row as _};

/// The seats that are in an allocation, with its number, by seat.
pub(crate) async fn kept(db: impl PgExecutor<'_>, id: PerformanceId) -> sqlx::Result<Vec<(u32, u8)>> {
    let rows = sqlx::query(
        "select s.seat_no, a.number from allocation_seats s join allocations a on a.id = s.allocation_id
         where s.performance_id = $1 and a.released_ms is null order by s.seat_no",
    )
    .bind(id.0)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            let decode = |column: &str, e: std::num::TryFromIntError| sqlx::Error::ColumnDecode {
                index: column.to_owned(),
                source: e.into(),
            };
            let seat = u32::try_from(row.try_get::<i32, _>("seat_no")?).map_err(|e| decode("seat_no", e))?;
            let number = u8::try_from(row.try_get::<i16, _>("number")?).map_err(|e| decode("number", e))?;
            Ok((seat, number))
        })
        .collect()
}
