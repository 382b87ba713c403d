-- Seats kept for somebody, entries of the log that can't be written, repairs of the hot state.

alter table performances
    add column single_seat_rule boolean not null default false,
    -- Raised by each change of allocations, so that processes read them again only then.
    add column allocation_version bigint not null default 0;

-- Seats kept for a channel, a presale, the house, or people who need an accessible place.
create table allocations (
    id             uuid primary key,
    performance_id uuid not null references performances (id),
    -- The number in the upper six bits of a seat's byte.
    number         smallint not null check (number between 1 and 63),
    name           text not null,
    kind           text not null check (kind in ('channel', 'presale', 'house', 'accessible')),
    -- When its seats go on general sale; none: only by hand.
    release_ms     bigint,
    released_ms    bigint,
    created_ms     bigint not null,
    version        integer not null default 1
);
-- A number is free again once its allocation was released: no byte carries it then.
create unique index allocations_number on allocations (performance_id, number) where released_ms is null;
create index allocations_due on allocations (release_ms) where released_ms is null and release_ms is not null;

create table allocation_seats (
    performance_id uuid not null references performances (id),
    seat_no        integer not null,
    allocation_id  uuid not null references allocations (id),
    primary key (performance_id, seat_no)
);
create index allocation_seats_allocation on allocation_seats (allocation_id);

-- Codes that open an allocation. Only a digest is kept: a copy of this table opens nothing.
create table allocation_codes (
    id            uuid primary key,
    allocation_id uuid not null references allocations (id),
    digest        bytea not null,
    label         text not null,
    -- Most accounts that may use it; none: any number.
    uses_max      integer check (uses_max >= 1),
    uses          integer not null default 0,
    created_ms    bigint not null,
    revoked_ms    bigint,
    unique (allocation_id, digest)
);

-- Accounts that may take seats of an allocation.
create table allocation_grants (
    allocation_id uuid not null references allocations (id),
    account_id    uuid not null references accounts (id),
    -- None where the fan declared the need, or a member of the house granted it.
    code_id       uuid references allocation_codes (id),
    granted_ms    bigint not null,
    primary key (allocation_id, account_id)
);
create index allocation_grants_account on allocation_grants (account_id);

-- Entries of a log that could not be written, with all that is known of them. Each is an alarm.
create table log_set_aside (
    id             bigint generated always as identity primary key,
    performance_id uuid not null references performances (id),
    epoch          bigint not null,
    position       text not null,
    entry          jsonb not null,
    error          text not null,
    at_ms          bigint not null,
    resolved_ms    bigint,
    unique (performance_id, epoch, position)
);

-- What the reconciler changed in the hot state, and when it last looked.
create table repairs (
    id             bigint generated always as identity primary key,
    performance_id uuid not null references performances (id),
    section        text not null,
    kind           text not null,
    subject        text not null,
    found          text not null,
    wanted         text not null,
    at_ms          bigint not null
);
create index repairs_newest on repairs (performance_id, id desc);

create table reconciliations (
    performance_id uuid primary key references performances (id),
    at_ms          bigint not null,
    seats          integer not null,
    repaired       integer not null
);
