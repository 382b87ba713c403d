-- Side effects that leave the house: mail by a relay, and events to organizers' own systems.
-- Everything is added; the running version works with it.

-- Where an organization is told of events: an https address, and the secret that signs what is sent there.
create table webhook_endpoints (
    id                uuid primary key,
    organization_id   uuid not null references organizations (id),
    url               text not null,
    -- Words such as `order.paid`.
    kinds             text[] not null check (cardinality(kinds) > 0),
    -- Key of the signature. It must be readable here, since each request is signed with it.
    secret            bytea not null check (octet_length(secret) between 24 and 64),
    -- The key before the last rotation signs as well until then.
    old_secret        bytea,
    old_until_ms      bigint,
    status            text not null default 'enabled' check (status in ('enabled', 'disabled', 'removed')),
    -- Why it was disabled, in words.
    reason            text,
    -- The first failure after the last success; none while it works.
    failing_since_ms  bigint,
    created_ms        bigint not null,
    check ((old_secret is null) = (old_until_ms is null))
);
create index webhook_endpoints_organization on webhook_endpoints (organization_id, created_ms);

-- What happened, as it is told: written in the transaction of the change, where somebody wants to know.
create table webhook_events (
    id              uuid primary key,
    organization_id uuid not null references organizations (id),
    kind            text not null,
    -- The very bytes that are signed and sent.
    body            text not null,
    created_ms      bigint not null
);
create index webhook_events_created on webhook_events (created_ms);

alter table outbox
    -- Who has it in hand: a claim is good until `next_try_ms`, and only its holder notes how it ended.
    add column lease       uuid,
    -- How it ended. What ended before this column was there was delivered.
    add column outcome     text check (outcome in ('delivered', 'given_up')),
    -- Why the last try failed.
    add column error       text,
    -- Of a webhook: what is told, and where.
    add column event_id    uuid references webhook_events (id),
    add column endpoint_id uuid references webhook_endpoints (id);

-- One for each kind: what waits for a slow endpoint is not in the way of the mails.
create index outbox_mails_due on outbox (next_try_ms) where done_ms is null and kind = 'mail';
create index outbox_webhooks_due on outbox (endpoint_id, next_try_ms) where done_ms is null and kind = 'webhook';
create index outbox_webhooks_done on outbox (done_ms) where done_ms is not null and kind = 'webhook';
create index outbox_event on outbox (event_id) where event_id is not null;
create index outbox_endpoint on outbox (endpoint_id, id desc) where endpoint_id is not null;

-- Every try to deliver a webhook.
create table webhook_attempts (
    id          bigint generated always as identity primary key,
    outbox_id   bigint not null references outbox (id) on delete cascade,
    at_ms       bigint not null,
    -- HTTP status; none where no answer came.
    status      integer,
    duration_ms bigint not null,
    -- The first KiB of the answer.
    answer      text not null,
    -- What went wrong on the way.
    error       text
);
create index webhook_attempts_outbox on webhook_attempts (outbox_id, id);
