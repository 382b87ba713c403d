-- What was transferred to organizers, as their members who look after money note it. Everything is added; the running
-- version works with it. Each row is a posting (`organizer-payout:{id}`), and a reversed one is another
-- (`organizer-payout-reversed:{id}`): rows are never deleted, and change once, when they are reversed.
create table organizer_payouts (
    id              uuid primary key,
    organization_id uuid not null references organizations (id),
    -- What the bank's statement says. It is used once, also after a reversal: the same payout is not noted twice.
    reference       text not null,
    amount_minor    bigint not null check (amount_minor > 0),
    currency        char(3) not null,
    -- The day of the transfer, as its beginning in UTC.
    day_ms          bigint not null,
    -- None for the command line.
    recorded_by     uuid references accounts (id),
    recorded_ms     bigint not null,
    reversed_by     uuid references accounts (id),
    reversed_ms     bigint,
    reason          text,
    constraint organizer_payouts_reference unique (organization_id, reference),
    check ((reversed_ms is null) = (reason is null)),
    check (reversed_ms is not null or reversed_by is null)
);
create index organizer_payouts_newest on organizer_payouts (organization_id, id desc);
