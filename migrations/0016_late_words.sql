-- Keys of refunds at providers, and attempts that are asked about after their end. Everything is added; the running
-- version works with it: what it ends is asked about no more, as before.

-- The calls that ask a provider for a refund, counted for each refund. A provider may keep an answer of 500 under a
-- key for a day and longer, so that such a refund needs another key once it is sure that none was made.
create table refund_keys (
    -- What we call the refund at the provider: `refund:<id>`, `quarantine:<number>`.
    reference  text primary key,
    -- Which key is in use.
    generation integer not null default 0,
    -- Calls under it that were answered with a 500, in a row.
    faults     integer not null default 0,
    -- Since when these are counted.
    since_ms   bigint not null,
    -- When calls began that have no answer (yet).
    open_ms    bigint[] not null default '{}'
);

alter table attempts
    -- How often the provider was asked about an attempt after its end; none where it is asked no more.
    add column ended_queries integer,
    -- When money was found that had been taken after the end.
    add column late_money_ms bigint;
create index attempts_due_ended on attempts (next_query_ms) where status = 'canceled' and ended_queries is not null;
