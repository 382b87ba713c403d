-- Several payment providers: an organization chooses one for the payments that begin from now on. Attempts keep
-- the one that they were made with (`attempts.provider`), which is asked whatever was chosen since.
-- Whether a name is configured is for the program to say: this table outlives settings.

alter table organizations
    add column provider text not null default 'sandbox'
        constraint organizations_provider check (provider ~ '^[a-z0-9_]{1,32}$');

-- A provider's word about a refund finds its row by the provider's own id.
create index refunds_reference on refunds (provider_ref) where provider_ref is not null;

-- The attempt that an event speaks of: Stripe has our name for it among its metadata.
drop index payment_inbox_attempt;
create index payment_inbox_attempt on payment_inbox (
    (left(coalesce(body #>> '{data,object,payment_reference}', body #>> '{data,object,reference}',
                   body #>> '{data,object,metadata,stararena_attempt}'), 36)));
