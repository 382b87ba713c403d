-- Refunds by their machine, seats that are given back, what fans may give back, and cancelled performances.
-- Processes of the version before go on beside this: columns are nullable or have defaults that are right for
-- what that version writes, and it never takes rows that it does not understand.

-- Whom an entry is about. A refund was booked in two accounts at once before; those entries stay as they are.
alter table ledger_entries
    add column order_id        uuid references orders (id),
    add column organization_id uuid references organizations (id),
    add column provider        text;
create index ledger_entries_order on ledger_entries (order_id, account) where order_id is not null;
create index ledger_entries_account on ledger_entries (organization_id, account) where organization_id is not null;

update ledger_entries l set order_id = a.order_id from attempts a where l.source = 'capture:' || a.id;
update ledger_entries l set order_id = a.order_id
    from refunds r join attempts a on a.id = r.attempt_id where l.source = 'refund:' || r.id;
update ledger_entries l set order_id = a.order_id
    from refunds r join attempts a on a.id = r.attempt_id where l.source = 'refund-returned:' || r.id;
update ledger_entries l set organization_id = e.organization_id
    from orders o join performances p on p.id = o.performance_id join events e on e.id = p.event_id
    where o.id = l.order_id;

-- The version before names no order: its entries get it here, for as long as it still runs.
create function ledger_entry_subject() returns trigger language plpgsql as $$
begin
    if new.order_id is null and new.organization_id is null and new.provider is null then
        if new.source like 'capture:%' then
            select a.order_id into new.order_id from attempts a where a.id = substr(new.source, 9)::uuid;
        elsif new.source like 'refund:%' then
            select a.order_id into new.order_id from refunds r join attempts a on a.id = r.attempt_id
                where r.id = substr(new.source, 8)::uuid;
        elsif new.source like 'refund-returned:%' then
            select a.order_id into new.order_id from refunds r join attempts a on a.id = r.attempt_id
                where r.id = substr(new.source, 17)::uuid;
        end if;
        select e.organization_id into new.organization_id
            from orders o join performances p on p.id = o.performance_id join events e on e.id = p.event_id
            where o.id = new.order_id;
    end if;
    return new;
end $$;
create trigger ledger_entry_subject before insert on ledger_entries
    for each row execute function ledger_entry_subject();

alter table refunds drop constraint refunds_status_check;
alter table refunds add constraint refunds_status_check
    check (status in ('requested', 'approved', 'submitted', 'succeeded', 'failed', 'rejected'));
alter table refunds
    add column order_id    uuid references orders (id),
    add column cause       text not null default 'late_money'
        constraint refunds_cause check (cause in ('wish', 'cancelled', 'goodwill', 'late_money')),
    add column note        text not null default '',
    -- The fan's account, or a member's; none for a rule.
    add column asked_by    uuid references accounts (id),
    add column approved_by uuid references accounts (id),
    add column decided_ms  bigint,
    -- Why it failed, in the provider's words.
    add column failure     text,
    -- What of which line comes back.
    add column parts       jsonb not null default '[]',
    -- The seats that are given back with it.
    add column seats       integer[] not null default '{}',
    -- How it is booked: 1 when it succeeds, in two accounts; 2 reserved first.
    add column books       smallint not null default 1 check (books in (1, 2)),
    -- Whether its money was booked as late money.
    add column late        boolean not null default false,
    -- The refund by which a failed one was tried again: once.
    add column retried_as  uuid references refunds (id),
    -- When it is submitted, or asked about, next. Rows of the version before have `next_try_ms` alone.
    add column due_ms      bigint;

update refunds r set order_id = a.order_id, due_ms = r.next_try_ms from attempts a where a.id = r.attempt_id;
-- Late money has always gone back without anybody's approval.
update refunds set status = 'approved' where status = 'requested';
-- Each failed refund of late money was followed by the next one.
update refunds f set retried_as = n.id
    from (select id, lag(id) over (partition by attempt_id order by created_ms, id) as previous from refunds) n
    where n.previous = f.id and f.status = 'failed';

create index refunds_pending on refunds (due_ms) where status in ('approved', 'submitted');
create index refunds_waiting on refunds (created_ms) where status in ('requested', 'failed');
-- A refund that was made at the provider is taken in once.
create unique index refunds_once on refunds (attempt_id, provider_ref) where provider_ref is not null;

-- A seat that is given back: once in Postgres, then once in Redis.
alter table order_items
    add column returned_ms     bigint,
    add column returned_refund uuid references refunds (id),
    add column released_ms     bigint;
create index order_items_returning on order_items (returned_ms)
    where returned_ms is not null and released_ms is null;

-- What fans may give back of a performance; without a row nothing, and seats that come back are sold again.
create table refund_policies (
    performance_id uuid primary key references performances (id),
    policy         jsonb not null,
    resells        boolean not null,
    version        integer not null check (version >= 1),
    changed_ms     bigint not null
);

-- Who must agree to refunds of an organization; without a row finance, to each that fans or staff ask for.
create table organization_approval (
    organization_id       uuid primary key references organizations (id),
    automatic_to_minor    bigint not null check (automatic_to_minor >= 0),
    four_eyes_from_minor  bigint check (four_eyes_from_minor >= 0)
);

alter table performances add column cancelled_ms bigint;

-- A cancelled performance: its orders are refunded one after another, each once.
create table refund_batches (
    performance_id uuid primary key references performances (id),
    -- None for the command line.
    cancelled_by   uuid references accounts (id),
    cancelled_ms   bigint not null,
    -- When no order was left, and none could be paid any more.
    done_ms        bigint
);
create table refund_batch_orders (
    performance_id uuid not null references refund_batches (performance_id),
    order_id       uuid not null references orders (id),
    refund_id      uuid references refunds (id),
    -- Why no refund could be reserved.
    failure        text,
    at_ms          bigint not null,
    primary key (performance_id, order_id)
);
create index refund_batch_orders_refund on refund_batch_orders (refund_id) where refund_id is not null;
