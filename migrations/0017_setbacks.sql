-- What a job could not do for one thing, which is not an outage: it is left alone for a while, so that it holds up
-- nothing behind it, and tried again by itself. Everything is added; the running version works with it.
create table setbacks (
    -- The job by its name, as `stararena_job_failures_total` has it.
    job         text not null,
    -- The order, attempt, refund, allocation or offer.
    subject     uuid not null,
    -- How often it failed on end; 0 while it only waits for something.
    tries       integer not null check (tries >= 0),
    next_try_ms bigint not null,
    first_ms    bigint not null,
    last_ms     bigint not null,
    -- Why, for operators; none while it only waits.
    error       text,
    primary key (job, subject)
);
create index setbacks_next on setbacks (next_try_ms);
