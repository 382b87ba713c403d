-- The foundation: accounts, catalogue, plans, sales, orders, payments, tickets.
-- Instants are milliseconds since the epoch (`*_ms`), money is minor units with its currency.

create table accounts (
    id            uuid primary key,
    email         text not null unique,
    password_hash text not null,
    verified_ms   bigint,
    lang          text not null default 'en',
    created_ms    bigint not null
);

create table sessions (
    id         uuid primary key,
    account_id uuid not null references accounts (id),
    created_ms bigint not null,
    revoked_ms bigint
);
create index sessions_revoked on sessions (revoked_ms) where revoked_ms is not null;

-- Only the digest of a link's secret is kept: a copy of this table confirms nobody.
create table email_confirmations (
    token_digest bytea primary key,
    account_id   uuid not null references accounts (id),
    expires_ms   bigint not null,
    used_ms      bigint
);

create table organizations (
    id         uuid primary key,
    name       text not null unique,
    created_ms bigint not null
);

create table members (
    organization_id uuid not null references organizations (id),
    account_id      uuid not null unique references accounts (id),
    role            text not null check (role in ('owner', 'operator', 'finance', 'risk', 'door')),
    primary key (organization_id, account_id)
);

create table plans (
    id              uuid primary key,
    organization_id uuid not null references organizations (id),
    venue           text not null,
    city            text not null,
    time_zone       text not null,
    map_digest      text not null,
    seat_count      integer not null check (seat_count between 1 and 100000),
    source          text not null,
    created_ms      bigint not null,
    unique (organization_id, venue, map_digest)
);

create table plan_categories (
    plan_id  uuid not null references plans (id),
    category smallint not null,
    name     text not null,
    primary key (plan_id, category)
);

create table plan_seats (
    plan_id    uuid not null references plans (id),
    seat_no    integer not null,
    section_no smallint not null,
    section    text not null,
    row_no     integer not null,
    row_label  text not null,
    seat_label text not null,
    category   smallint not null,
    accessible boolean not null,
    primary key (plan_id, seat_no)
);
create index plan_seats_section on plan_seats (plan_id, section_no);

create table events (
    id              uuid primary key,
    organization_id uuid not null references organizations (id),
    slug            text not null unique,
    title           text not null,
    artist          text not null,
    description     text not null,
    cover           smallint not null,
    created_ms      bigint not null
);

create table performances (
    id              uuid primary key,
    event_id        uuid not null references events (id),
    plan_id         uuid not null references plans (id),
    starts_ms       bigint not null,
    opens_ms        bigint not null,
    closes_ms       bigint not null,
    paused          boolean not null default false,
    seat_limit      integer not null check (seat_limit between 1 and 20),
    hold_ttl_ms     bigint not null check (hold_ttl_ms between 1000 and 86400000),
    shoppers_max    integer not null check (shoppers_max >= 1),
    release_per_min integer not null check (release_per_min >= 1),
    currency        char(3) not null,
    price_version   integer not null default 1,
    -- Raised before the seats are rebuilt in Redis, so that a writer of the old epoch can't commit.
    epoch           bigint not null default 0,
    draw_seed       bytea not null,
    draw_commitment bytea not null,
    created_ms      bigint not null,
    check (opens_ms < closes_ms)
);
create index performances_event on performances (event_id);

create table prices (
    performance_id uuid not null references performances (id),
    version        integer not null,
    category       smallint not null,
    amount_minor   bigint not null check (amount_minor > 0),
    primary key (performance_id, version, category)
);

create table blocked_seats (
    performance_id uuid not null references performances (id),
    seat_no        integer not null,
    reason         text not null,
    primary key (performance_id, seat_no)
);

create table leader_terms (
    name text primary key,
    term bigint not null
);

-- What the waiting room must not lose with Redis. `serving` never falls.
create table queue_state (
    performance_id uuid primary key references performances (id),
    joined         bigint not null default 0,
    lobby          bigint,
    serving        bigint not null default 0,
    term           bigint not null default 0
);

create table admissions (
    performance_id uuid not null references performances (id),
    account_id     uuid not null,
    nonce          text not null,
    entered_ms     bigint not null,
    expires_ms     bigint not null,
    left_ms        bigint,
    primary key (performance_id, account_id)
);

create table log_positions (
    performance_id uuid primary key references performances (id),
    epoch          bigint not null,
    position       text not null
);

create table orders (
    id             uuid primary key,
    performance_id uuid not null references performances (id),
    account_id     uuid not null references accounts (id),
    status         text not null check (status in ('pending_payment', 'payment_processing', 'paid', 'fulfilled', 'refunded', 'closed', 'refused')),
    version        integer not null default 0,
    currency       char(3) not null,
    total_minor    bigint not null,
    price_version  integer not null,
    created_ms     bigint not null,
    expires_ms     bigint not null,
    paid_ms        bigint,
    -- When the seats were marked sold in Redis.
    confirmed_ms   bigint,
    -- When the hold of a closed order was ended in Redis.
    released_ms    bigint
);
create index orders_account on orders (account_id, created_ms desc);
create index orders_open on orders (performance_id, status, expires_ms) where status in ('pending_payment', 'payment_processing');
create index orders_unissued on orders (paid_ms) where status = 'paid';
create index orders_unconfirmed on orders (paid_ms) where status in ('paid', 'fulfilled') and confirmed_ms is null;
create index orders_unreleased on orders (expires_ms) where status in ('closed', 'refused', 'refunded') and released_ms is null;

create table order_items (
    order_id     uuid not null references orders (id),
    seat_no      integer not null,
    category     smallint not null,
    amount_minor bigint not null,
    primary key (order_id, seat_no)
);

-- The arbiter: a seat of a performance belongs to at most one open or paid order.
create table seat_claims (
    performance_id uuid not null,
    seat_no        integer not null,
    order_id       uuid not null references orders (id),
    primary key (performance_id, seat_no)
);
create index seat_claims_order on seat_claims (order_id);

create table order_audit (
    id       bigint generated always as identity primary key,
    order_id uuid not null,
    event    text not null,
    from_status text not null,
    to_status   text not null,
    at_ms    bigint not null
);
create index order_audit_order on order_audit (order_id);

create table attempts (
    id            uuid primary key,
    order_id      uuid not null references orders (id),
    number        integer not null,
    status        text not null check (status in ('created', 'open', 'authorized', 'captured', 'canceled', 'refunded')),
    provider      text not null,
    provider_ref  text,
    pay_url       text,
    amount_minor  bigint not null,
    currency      char(3) not null,
    last_error    text,
    created_ms    bigint not null,
    deadline_ms   bigint not null,
    next_query_ms bigint not null,
    queries       integer not null default 0,
    unique (order_id, number),
    unique (provider, provider_ref)
);
create unique index attempts_one_open on attempts (order_id) where status in ('created', 'open', 'authorized');
create index attempts_due on attempts (next_query_ms) where status in ('created', 'open', 'authorized');

create table payment_inbox (
    provider    text not null,
    event_id    text not null,
    body        jsonb not null,
    received_ms bigint not null,
    applied_ms  bigint,
    tries       integer not null default 0,
    next_try_ms bigint not null,
    error       text,
    primary key (provider, event_id)
);
create index payment_inbox_due on payment_inbox (next_try_ms) where applied_ms is null;

-- Money that fits nothing we know: looked at by people, alarmed by a metric.
create table payment_quarantine (
    id          bigint generated always as identity primary key,
    provider    text not null,
    provider_ref text not null,
    reason      text not null,
    evidence    jsonb not null,
    created_ms  bigint not null,
    resolved_ms bigint,
    unique (provider, provider_ref, reason)
);

create table refunds (
    id           uuid primary key,
    attempt_id   uuid not null references attempts (id),
    amount_minor bigint not null check (amount_minor > 0),
    currency     char(3) not null,
    reason       text not null,
    status       text not null check (status in ('requested', 'submitted', 'succeeded', 'failed')),
    provider_ref text,
    created_ms   bigint not null,
    next_try_ms  bigint not null,
    tries        integer not null default 0
);
create index refunds_due on refunds (next_try_ms) where status in ('requested', 'submitted');

-- Double entry: the entries of one posting sum to zero per currency; append only.
create table ledger_entries (
    id           bigint generated always as identity primary key,
    source       text not null,
    account      text not null,
    currency     char(3) not null,
    amount_minor bigint not null,
    at_ms        bigint not null,
    unique (source, account)
);

create table tickets (
    id             uuid primary key,
    order_id       uuid not null references orders (id),
    performance_id uuid not null references performances (id),
    seat_no        integer not null,
    issue          smallint not null default 0,
    code           text not null,
    created_ms     bigint not null,
    revoked_ms     bigint
);
create unique index tickets_one_valid on tickets (performance_id, seat_no) where revoked_ms is null;
create index tickets_order on tickets (order_id);

create table outbox (
    id          bigint generated always as identity primary key,
    kind        text not null,
    dedupe      text not null unique,
    payload     jsonb not null,
    created_ms  bigint not null,
    next_try_ms bigint not null,
    tries       integer not null default 0,
    done_ms     bigint
);
create index outbox_due on outbox (next_try_ms) where done_ms is null;

-- What the development mailer delivered.
create table mailbox (
    id        bigint generated always as identity primary key,
    outbox_id bigint not null unique,
    recipient text not null,
    subject   text not null,
    body      text not null,
    sent_ms   bigint not null
);
