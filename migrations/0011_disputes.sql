-- Disputes, and what becomes of money that was set aside. Everything is added; the running version works with it.

-- A payment that its payer calls into question at the bank.
create table disputes (
    id           uuid primary key,
    provider     text not null,
    -- The provider's own id.
    provider_ref text not null,
    attempt_id   uuid not null references attempts (id),
    order_id     uuid not null references orders (id),
    amount_minor bigint not null check (amount_minor > 0),
    currency     char(3) not null,
    -- The bank's reason, as the provider calls it.
    reason       text not null,
    status       text not null check (status in ('opened', 'won', 'lost')),
    opened_ms    bigint not null,
    ended_ms     bigint,
    -- What the provider said, with each step.
    evidence     jsonb not null,
    -- How many seats went back to sale when it was lost.
    seats_sold   integer not null default 0,
    unique (provider, provider_ref),
    check ((status = 'opened') = (ended_ms is null))
);
create index disputes_order on disputes (order_id);
create index disputes_attempt on disputes (attempt_id);

-- Until so long before the start the seats of a lost dispute return to sale; none: they stay empty.
alter table organizations
    add column dispute_sell_until_ms bigint
        constraint organizations_dispute_sell check (dispute_sell_until_ms between 0 and 31536000000);

alter table payment_quarantine
    -- What it is about: money at the provider, an event that is not ours, or a dispute. It follows from the
    -- evidence, so that a version that knows no kinds writes it as well.
    add column kind text not null generated always as (
        case when evidence ->> 'dispute' is not null then 'dispute'
             when evidence ->> 'attempt' is not null or reason like 'another %' then 'payment'
             else 'event' end) stored,
    -- Somebody wants it returned now.
    add column asked_ms     bigint,
    -- From here on a call that returns it may have been made.
    add column returning_ms bigint,
    -- What is returned, as the provider had captured it.
    add column amount_minor bigint check (amount_minor > 0),
    add column currency     char(3),
    -- The refund in the books; another one after each that failed.
    add column refund_id    uuid,
    add column refund_ref   text,
    add column failures     integer not null default 0,
    add column next_try_ms  bigint not null default 0,
    add column tries        integer not null default 0,
    -- Why the last try did not end it.
    add column error        text,
    -- How it ended.
    add column resolution   text check (resolution in ('returned', 'booked', 'nothing', 'settled')),
    add column note         text;
create index payment_quarantine_waiting on payment_quarantine (next_try_ms) where resolved_ms is null;
create index payment_quarantine_refund on payment_quarantine (provider, refund_ref) where refund_ref is not null;
