-- Tickets that change hands: frozen, revoked for a reason, reissued, with a name, offered to somebody else.
-- Everything is added; the running version works with it.

alter table tickets
    -- While it is set the door refuses the ticket, which stays its holder's.
    add column frozen_ms      bigint,
    -- A word such as `reissue` or `refund`; none for what was revoked before there were reasons.
    add column revoked_reason text,
    -- Who is expected at the door, as its holder typed it.
    add column holder_name    text,
    -- Whose it is; none: the account that bought the order.
    add column holder_account uuid references accounts (id),
    -- How often the door's answer about this ticket changed: the sum over a performance is the position of its
    -- list of revocations, and only rises.
    add column changes        integer not null default 0;
create index tickets_held on tickets (holder_account) where holder_account is not null and revoked_ms is null;
create index tickets_changed on tickets (performance_id) where changes > 0;

alter table performances
    -- How long before the start names on tickets can no longer be changed; none: until the start.
    add column name_cutoff_before_ms bigint check (name_cutoff_before_ms between 0 and 31536000000);

-- Offers of tickets to other accounts, by the address of a mail.
create table ticket_transfers (
    id           uuid primary key,
    ticket_id    uuid not null references tickets (id),
    from_account uuid not null references accounts (id),
    -- As accounts write addresses.
    recipient    text not null,
    token_digest bytea not null unique,
    state        text not null default 'pending'
                 check (state in ('pending', 'accepted', 'declined', 'taken_back', 'expired', 'ended')),
    created_ms   bigint not null,
    expires_ms   bigint not null,
    ended_ms     bigint,
    -- The ticket that the recipient got.
    accepted_as  uuid references tickets (id),
    check ((state = 'pending') = (ended_ms is null)),
    check ((state = 'accepted') = (accepted_as is not null))
);
create unique index ticket_transfers_one_pending on ticket_transfers (ticket_id) where state = 'pending';
create index ticket_transfers_due on ticket_transfers (expires_ms) where state = 'pending';
create index ticket_transfers_ticket on ticket_transfers (ticket_id);
