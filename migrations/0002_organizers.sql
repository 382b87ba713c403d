-- The organizer's half: who did what, plans on their way in, performances in the making, and what
-- the on-sale desk looks back on. Everything is added; the running version works with it.

-- What an organizer did. Append only; a row is written in the transaction of what it tells.
create table audit_log (
    id              bigint generated always as identity primary key,
    organization_id uuid not null references organizations (id),
    -- None when the command line acted.
    account_id      uuid references accounts (id),
    -- A stable word such as `performance.publish`.
    action          text not null,
    -- What it was done to: kind and id, such as `performance 0190…`.
    subject         text not null,
    detail          jsonb not null,
    at_ms           bigint not null
);
create index audit_log_newest on audit_log (organization_id, id desc);
create index audit_log_subject on audit_log (subject, id desc);

-- Only the digest of a link's secret is kept, as for confirmations.
create table member_invitations (
    token_digest    bytea primary key,
    organization_id uuid not null references organizations (id),
    email           text not null,
    role            text not null check (role in ('owner', 'operator', 'finance', 'risk', 'door')),
    created_ms      bigint not null,
    expires_ms      bigint not null,
    used_ms         bigint,
    unique (organization_id, email)
);

create index members_organization on members (organization_id, role);

-- What the search over orders and the story of one look up. Addresses are stored in lower case.
create index accounts_email_prefix on accounts (email text_pattern_ops);
create index refunds_attempt on refunds (attempt_id);
-- The attempt that an event speaks of; of a refund, the attempt whose money it is. Cut, since a
-- provider may send any text, and an index takes a short one only.
create index payment_inbox_attempt on payment_inbox (
    (left(coalesce(body #>> '{data,object,payment_reference}', body #>> '{data,object,reference}'), 36)));

-- The whole plan without loss, as the domain writes it; plans from before have the exchange form alone.
alter table plans add column document text;
-- What the file said about selling: seats off sale with reasons, prices of categories. Drafts begin with it.
alter table plans add column house jsonb;
create index plans_organization on plans (organization_id, created_ms desc);
-- The same drawing with other seat ids, in another city or zone, is another plan.
alter table plans drop constraint plans_organization_id_venue_map_digest_key;
create unique index plans_same
    on plans (organization_id, venue, city, time_zone, map_digest, md5(coalesce(document, source)));

-- A venue file between upload and acceptance, with the choices that were made about it.
create table plan_imports (
    id              uuid primary key,
    organization_id uuid not null references organizations (id),
    account_id      uuid references accounts (id),
    file_name       text not null,
    -- Empty once it became a plan.
    content         bytea not null,
    options         jsonb not null,
    -- What the last check found; made anew whenever the options change.
    report          jsonb not null,
    map_digest      text,
    version         integer not null default 1,
    plan_id         uuid references plans (id),
    created_ms      bigint not null
);
create index plan_imports_newest on plan_imports (organization_id, created_ms desc);

-- A picture under the digest of its content, as it is served.
alter table events add column picture text;
create index events_organization on events (organization_id, created_ms desc);

-- A performance in the making. Fans and workers look at `performances` alone, so a draft can't leak.
-- Publishing makes the performance under the same id.
create table performance_drafts (
    id              uuid primary key,
    organization_id uuid not null references organizations (id),
    event_id        uuid not null references events (id),
    document        jsonb not null,
    version         integer not null default 1,
    created_ms      bigint not null,
    published_ms    bigint
);
create index performance_drafts_event on performance_drafts (event_id, created_ms);

-- The map of a performance whose zones are not the plan's categories; the plan's own otherwise.
alter table performances add column map_digest text;
alter table performances add column zone_count smallint;

-- Names of a performance's zones: the plan's categories by index, then the added ones.
create table performance_zones (
    performance_id uuid not null references performances (id),
    zone           smallint not null,
    name           text not null,
    color          text,
    primary key (performance_id, zone)
);

-- Seats whose zone in a performance is another than their category in the plan.
create table performance_seat_zones (
    performance_id uuid not null references performances (id),
    seat_no        integer not null,
    zone           smallint not null,
    primary key (performance_id, seat_no)
);

-- The sale as the door's leader saw it, every few seconds while it is open or about to be.
create table sale_samples (
    performance_id uuid not null references performances (id),
    at_ms          bigint not null,
    waiting        integer not null,
    serving        bigint not null,
    shoppers       integer not null,
    available      integer not null,
    held           integer not null,
    sold           integer not null,
    primary key (performance_id, at_ms)
);

-- Prunes them by age.
create index sale_samples_at on sale_samples (at_ms);

-- Raised by each change of a running sale, so that a process that still knows older settings never
-- writes them over newer ones.
alter table performances add column settings_version bigint not null default 0;

create index orders_performance on orders (performance_id, created_ms desc);
create index orders_paid on orders (performance_id, paid_ms) where paid_ms is not null;

-- Places to stand in an area: all alike, so that lists show them as one group.
alter table plan_seats add column standing boolean not null default false;
