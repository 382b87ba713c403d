//! Real stores with a plan of twelve seats; each sequence gets a performance of its own.

use crate::backend::Backend;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::embedded::{self, Stores, Wanted};
use crate::simulation::sale;
use domain::PerformanceId;
use std::path::PathBuf;
use std::sync::Arc;
use uuid::Uuid;

/// Length of a hold: some run out within a sequence.
const HOLD_TTL_MS: i64 = 60;

/// The stores, and a backend on them without workers.
pub(super) struct Real {
    pub(super) backend: Arc<Backend>,
    stores: Stores,
    folder: PathBuf,
}

impl Real {
    pub(super) async fn start() -> Self {
        use std::os::unix::fs::DirBuilderExt as _;
        let unique = Uuid::new_v4().simple().to_string();
        let folder = std::env::temp_dir().join(format!("sa-model-{}", &unique[..8]));
        // Postgres, which refuses to run as root, must reach it.
        std::fs::DirBuilder::new().mode(0o755).create(&folder).unwrap();
        let stores = embedded::start(&folder.join("data"), Wanted { postgres: true, redis: true }).await.unwrap();
        let config = Config::read(|_| None).unwrap();
        let (database, redis) = (stores.database_url.clone().unwrap(), stores.redis_url.clone().unwrap());
        let backend = Backend::connect(config, &database, &redis, Arc::new(SystemClock)).await.unwrap();
        let real = Self { backend, stores, folder };
        real.plan().await;
        real
    }

    pub(super) async fn stop(self) {
        self.backend.pg.close().await;
        self.stores.stop().await.unwrap();
        std::fs::remove_dir_all(self.folder).ok();
    }

    async fn execute(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(&self.backend.pg).await.unwrap();
    }

    /// A plan of twelve seats, of which one has no price, and four accounts.
    async fn plan(&self) {
        self.execute(
            "insert into organizations (id, name, created_ms) values (md5('o')::uuid, 'o', 1);
             insert into plans (id, organization_id, venue, city, time_zone, map_digest, seat_count, source, created_ms)
                values (md5('p')::uuid, md5('o')::uuid, 'v', 'c', 'Europe/Berlin', 'd', 12, '{}', 1);
             insert into plan_categories (plan_id, category, name)
                values (md5('p')::uuid, 0, 'a'), (md5('p')::uuid, 1, 'b');
             insert into plan_seats (plan_id, seat_no, section_no, section, row_no, row_label, seat_label, category, accessible)
                select md5('p')::uuid, n, n / 6, 's', n / 6, 'r', n::text, (n = 5)::int, false from generate_series(0, 11) n;
             insert into events (id, organization_id, slug, title, artist, description, cover, created_ms)
                values (md5('e')::uuid, md5('o')::uuid, 'e', 'e', 'e', 'e', 0, 1);
             -- Holds of tests are shorter than any of real fans.
             alter table performances drop constraint performances_hold_ttl_ms_check;",
        )
        .await;
        for number in 0..sale::ACCOUNTS {
            sqlx::query("insert into accounts (id, email, password_hash, created_ms) values ($1, $2, '', 1)")
                .bind(sale::account(number).0)
                .bind(format!("{number}@test.example"))
                .execute(&self.backend.pg)
                .await
                .unwrap();
        }
    }

    /// A performance with one allocation.
    pub(super) async fn performance(&self) -> PerformanceId {
        let id = Uuid::new_v4();
        sqlx::query(
            "insert into performances (id, event_id, plan_id, starts_ms, opens_ms, closes_ms, seat_limit, hold_ttl_ms,
                shoppers_max, release_per_min, currency, draw_seed, draw_commitment, created_ms)
             values ($1, md5('e')::uuid, md5('p')::uuid, 4e12, 0, 4e12, 5, $2, 4, 1, 'EUR', $3, $3, 1)",
        )
        .bind(id)
        .bind(HOLD_TTL_MS)
        .bind(vec![0_u8; 32])
        .execute(&self.backend.pg)
        .await
        .unwrap();
        sqlx::query("insert into prices (performance_id, version, category, amount_minor) values ($1, 1, 0, 100)")
            .bind(id)
            .execute(&self.backend.pg)
            .await
            .unwrap();
        sqlx::query(
            "insert into allocations (id, performance_id, number, name, kind, created_ms) values ($1, $1, $2, 'a', 'house', 1)",
        )
        .bind(id)
        .bind(i16::from(sale::ALLOCATION))
        .execute(&self.backend.pg)
        .await
        .unwrap();
        PerformanceId(id)
    }
}
