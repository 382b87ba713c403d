-- Fees and tax: what an organization asks for, what a performance was published with, and what each
-- order came to line by line. Everything is added; the running version works with it.

-- The schedule of an organization for a currency: taken over by performances that are published from now on.
-- Rates are basis points: 1900 is 19 %.
create table organization_fees (
    organization_id     uuid not null references organizations (id),
    currency            char(3) not null,
    service_fixed_minor bigint not null check (service_fixed_minor between 0 and 1000000000000),
    service_rate_bp     integer not null check (service_rate_bp between 0 and 10000),
    order_fixed_minor   bigint not null check (order_fixed_minor between 0 and 1000000000000),
    ticket_tax_bp       integer not null check (ticket_tax_bp between 0 and 10000),
    ticket_tax_mode     text not null check (ticket_tax_mode in ('inclusive', 'added')),
    service_tax_bp      integer not null check (service_tax_bp between 0 and 10000),
    service_tax_mode    text not null check (service_tax_mode in ('inclusive', 'added')),
    order_tax_bp        integer not null check (order_tax_bp between 0 and 10000),
    order_tax_mode      text not null check (order_tax_mode in ('inclusive', 'added')),
    version             integer not null default 1,
    changed_ms          bigint not null,
    primary key (organization_id, currency)
);

-- The schedule that goes with a version of a performance's prices: a hold keeps its version, and so
-- its fees. A performance has a row for every version, or none at all.
create table performance_fees (
    performance_id      uuid not null references performances (id),
    version             integer not null,
    currency            char(3) not null,
    service_fixed_minor bigint not null check (service_fixed_minor between 0 and 1000000000000),
    service_rate_bp     integer not null check (service_rate_bp between 0 and 10000),
    order_fixed_minor   bigint not null check (order_fixed_minor between 0 and 1000000000000),
    ticket_tax_bp       integer not null check (ticket_tax_bp between 0 and 10000),
    ticket_tax_mode     text not null check (ticket_tax_mode in ('inclusive', 'added')),
    service_tax_bp      integer not null check (service_tax_bp between 0 and 10000),
    service_tax_mode    text not null check (service_tax_mode in ('inclusive', 'added')),
    order_tax_bp        integer not null check (order_tax_bp between 0 and 10000),
    order_tax_mode      text not null check (order_tax_mode in ('inclusive', 'added')),
    primary key (performance_id, version)
);

-- The bill of an order, written with it and never changed. Orders of performances without a schedule
-- have no lines: their items are all that there is.
create table order_lines (
    order_id    uuid not null references orders (id),
    kind        text not null check (kind in ('ticket', 'service_fee', 'order_fee')),
    -- None for the fee of the order as a whole.
    seat_no     integer,
    net_minor   bigint not null check (net_minor >= 0),
    tax_minor   bigint not null check (tax_minor >= 0),
    gross_minor bigint not null,
    check (gross_minor = net_minor + tax_minor),
    check ((seat_no is null) = (kind = 'order_fee'))
);
create unique index order_lines_one on order_lines (order_id, kind, coalesce(seat_no, -1));
