-- Money that is taken after the end of its attempt may go back before Redis is told that the attempt is over: the job
-- that tells it looks for those, too. The running version finds what it looks for by the new index as well.
drop index attempts_not_taken_back;
create index attempts_not_taken_back on attempts (created_ms)
    where taken_back_ms is null and (status = 'canceled' or late_money_ms is not null);
