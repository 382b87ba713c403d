-- Who gave money back, as a column, and refunds of money set aside that failed. Processes of the version before
-- go on beside this: the column has a default, which a trigger corrects for what that version writes, and the table
-- is new.

alter table refunds
    -- `ours`: a refund that was asked for here. `provider`: one that was made there, by its own pages.
    add column origin text not null default 'ours'
        constraint refunds_origin check (origin in ('ours', 'provider'));

-- So far the note alone told it. Whom somebody asked for here has an account beside it.
update refunds set origin = 'provider'
    where note = 'made at the provider' and cause = 'goodwill' and asked_by is null;

-- The version before writes the note and no origin, for as long as it still runs.
create function refund_origin_of_note() returns trigger language plpgsql as $$
begin
    if new.note = 'made at the provider' and new.cause = 'goodwill' and new.asked_by is null then
        new.origin := 'provider';
    end if;
    return new;
end $$;
create trigger refund_origin_of_note before insert on refunds
    for each row execute function refund_origin_of_note();

-- Refunds of money that was set aside which the provider had and which failed. Their row waits again and has another
-- refund next; where the money had gone first, the provider's lines tell of both.
create table quarantine_refunds_failed (
    -- In the books.
    refund_id     uuid primary key,
    quarantine_id bigint not null references payment_quarantine (id),
    provider      text not null,
    -- The provider's own id.
    provider_ref  text not null,
    amount_minor  bigint not null check (amount_minor > 0),
    currency      char(3) not null,
    failed_ms     bigint not null,
    unique (provider, provider_ref)
);
