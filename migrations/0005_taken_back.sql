-- A cancelled attempt is over in Postgres first. Until this is set, Redis may still have its hold in `paying`.
alter table attempts add column taken_back_ms bigint;
-- What ended before this column was there has been told.
update attempts set taken_back_ms = created_ms where status = 'canceled';
create index attempts_not_taken_back on attempts (created_ms) where status = 'canceled' and taken_back_ms is null;
