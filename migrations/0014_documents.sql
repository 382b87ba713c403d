-- Receipts, invoices with numbers that have no gaps, and the keys of clients on what changes something.
-- Everything is added; the running version works with it.

-- A request that a client sent under a key of its own choice, and its answer.
create table idempotency_keys (
    account_id   uuid not null references accounts (id),
    -- SHA-256 of the key: of one size, whatever clients send.
    key_hash     bytea not null check (octet_length(key_hash) = 32),
    -- The path, for who looks at these rows; it is part of the fingerprint.
    endpoint     text not null,
    -- What was asked for: method, path, type and body, as a digest.
    fingerprint  bytea not null check (octet_length(fingerprint) = 32),
    -- Who carries it out; only with it the answer is written.
    lease        uuid not null,
    until_ms     bigint not null,
    began_ms     bigint not null,
    answered_ms  bigint,
    status       integer,
    content_type text,
    -- None where the answer was larger than what is kept.
    body         bytea,
    primary key (account_id, key_hash),
    check ((answered_ms is null) = (status is null))
);
create index idempotency_keys_answered on idempotency_keys (began_ms) where answered_ms is not null;
create index idempotency_keys_unfinished on idempotency_keys (until_ms) where answered_ms is null;

-- Who sells, as documents say it.
create table organization_details (
    organization_id uuid primary key references organizations (id),
    address         text not null,
    tax_id          text not null,
    -- The beginning of each number.
    prefix          text not null check (prefix ~ '^[A-Z0-9]{1,8}$'),
    version         integer not null default 1,
    changed_ms      bigint not null
);

-- The last number of each organization. The row is locked by whoever gives numbers, until the documents
-- that carry them are committed: a number without a document can't be.
create table invoice_sequences (
    organization_id uuid primary key references organizations (id),
    last_number     bigint not null check (last_number >= 0)
);

-- What got a number. Rows are never changed.
create table invoices (
    id              uuid primary key,
    organization_id uuid not null references organizations (id),
    number          bigint not null check (number > 0),
    -- The number as people read it; what follows is what it said when it was given.
    label           text not null,
    kind            text not null check (kind in ('invoice', 'credit_note')),
    order_id        uuid not null references orders (id),
    -- Of a credit note.
    refund_id       uuid references refunds (id),
    currency        char(3) not null,
    net_minor       bigint not null,
    tax_minor       bigint not null,
    gross_minor     bigint not null,
    paper           jsonb not null,
    issued_ms       bigint not null,
    unique (organization_id, number),
    check ((kind = 'credit_note') = (refund_id is not null)),
    check (gross_minor = net_minor + tax_minor)
);
create unique index invoices_order on invoices (order_id) where kind = 'invoice';
create unique index invoices_refund on invoices (refund_id) where refund_id is not null;
create index invoices_of_order on invoices (order_id, number);

-- When an order got its invoice, and when it was decided whether a refund has a credit note.
alter table orders add column invoiced_ms bigint;
create index orders_uninvoiced on orders (paid_ms, id) where paid_ms is not null and invoiced_ms is null;
alter table refunds add column credited_ms bigint;
create index refunds_uncredited on refunds (created_ms, id) where status = 'succeeded' and credited_ms is null;
