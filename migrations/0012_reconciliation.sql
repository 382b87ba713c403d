-- The daily match of our records with what providers settled, and what stands still. Everything is added; the
-- running version works with it.

-- What providers say that moved. Kept, so that a later run and the report need no provider.
create table settlement_lines (
    provider    text not null,
    -- Movement and id, such as `charge:pay_1`.
    key         text not null,
    -- From 0 on; more than one where the provider lists the same movement of the same thing again.
    copy        smallint not null,
    movement    text not null,
    subject     text not null,
    payment     text not null,
    reference   text not null,
    currency    char(3) not null,
    gross_minor bigint not null,
    fee_minor   bigint not null,
    net_minor   bigint not null,
    at_ms       bigint not null,
    read_ms     bigint not null,
    -- The order that was paid with it, once known.
    order_id    uuid references orders (id),
    primary key (provider, key, copy)
);
create index settlement_lines_day on settlement_lines (provider, at_ms);
create index settlement_lines_payment on settlement_lines (provider, payment);
create index settlement_lines_reference on settlement_lines (provider, reference);
create index settlement_lines_order on settlement_lines (order_id) where order_id is not null;

-- Days of providers, by their beginning in UTC.
create table settlement_days (
    provider    text not null,
    day_ms      bigint not null,
    runs        integer not null default 0,
    last_run_ms bigint,
    -- None where it is not matched any more.
    next_run_ms bigint,
    -- Why the last run did not come to its end.
    error       text,
    primary key (provider, day_ms)
);
create index settlement_days_due on settlement_days (next_run_ms) where next_run_ms is not null;

-- What two sides tell differently, and what stands still (kinds that begin with `stuck_`).
create table differences (
    id              uuid primary key,
    provider        text not null,
    -- Kind and subject: the same on every run.
    key             text not null,
    kind            text not null,
    owner           text not null check (owner in ('worker', 'finance', 'operator')),
    repair          text not null,
    -- What both sides show: `ours` and `theirs`.
    evidence        jsonb not null,
    day_ms          bigint not null,
    first_seen_ms   bigint not null,
    last_seen_ms    bigint not null,
    status          text not null default 'open' check (status in ('open', 'repaired', 'settled')),
    -- Tries of the program to repair it, and why the last one did not help.
    tries           integer not null default 0,
    error           text,
    -- What the member wrote who settled it.
    note            text,
    decided_by      uuid references accounts (id),
    decided_ms      bigint,
    order_id        uuid references orders (id),
    organization_id uuid references organizations (id),
    unique (provider, key)
);
create index differences_open on differences (provider, day_ms) where status = 'open';
create index differences_organization on differences (organization_id, last_seen_ms desc);

-- What the minutely look found standing still, since when it finds it.
create table stuck_money (
    kind          text not null,
    subject       text not null,
    first_seen_ms bigint not null,
    last_seen_ms  bigint not null,
    primary key (kind, subject)
);

-- Entries by time, orders by payment and by change: what the match reads.
create index ledger_entries_at on ledger_entries (at_ms);
create index orders_paid_at on orders (paid_ms) where paid_ms is not null;
create index order_audit_at on order_audit (at_ms);
