-- The waiting room in depth: what was committed to, who came when, what was drawn, and how the door decided.
-- Everything is added; the running version works with it.

alter table performances
    -- Waiting room or lottery.
    add column mode text not null default 'queue' check (mode in ('queue', 'lottery')),
    -- From when on places can be taken; none: from publication on.
    add column registers_ms bigint,
    -- Accounts that were made after this instant get no place; none: all may.
    add column account_cutoff_ms bigint,
    -- Length of a lottery's window.
    add column window_ms bigint not null default 1800000 check (window_ms between 1000 and 604800000);

-- What was published when an on-sale was scheduled, or scheduled anew. Append only; the last row counts.
create table draw_commitments (
    performance_id uuid not null references performances (id),
    number         integer not null,
    commitment     bytea not null,
    opens_ms       bigint not null,
    -- The round of public randomness that was named; none where the operator has no beacon.
    beacon_chain   text,
    beacon_round   bigint,
    beacon_due_ms  bigint,
    published_ms   bigint not null,
    primary key (performance_id, number)
);
insert into draw_commitments (performance_id, number, commitment, opens_ms, published_ms)
    select id, 0, draw_commitment, opens_ms, created_ms from performances;

-- Who came when: accounts of 16 bytes in the order of their arrival numbers, written by the leader in
-- stretches as they come. A number that was never given is 16 zeros.
create table queue_arrivals (
    performance_id uuid not null references performances (id),
    first          bigint not null,
    accounts       bytea not null,
    primary key (performance_id, first)
);

-- The draw: one row, written once. With it the seed is revealed.
create table draws (
    performance_id uuid primary key references performances (id),
    lobby          bigint not null,
    list_digest    bytea not null,
    -- Whether the beacon's round was used, none was named, or it stayed silent.
    beacon         text not null check (beacon in ('used', 'none', 'silent')),
    randomness     bytea,
    signature      bytea,
    revealed_ms    bigint not null,
    check ((beacon = 'used') = (randomness is not null and signature is not null))
);

alter table queue_state
    -- SHA-256 of the published arrival list, and when it was published: ahead of the draw.
    add column list_digest bytea,
    add column list_published_ms bigint,
    -- Most numbers that were given between two checkpoints: so many may be lost with the store.
    add column joined_step bigint not null default 0,
    -- What the door's controller remembers, and the window of a lottery that is open.
    add column control text not null default '',
    add column lottery_window text not null default '';

-- What the controller saw and decided, beside the samples of the sale.
alter table sale_samples
    add column rate_per_min  integer,
    add column pace_per_min  integer,
    add column show_up       real,
    add column hold_p99_ms   real,
    add column writer_lag_ms integer,
    add column pool_wait_ms  real,
    add column reason        text;
