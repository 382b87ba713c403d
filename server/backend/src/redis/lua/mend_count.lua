-- Corrects what an account holds, if it is still as it was found.
-- ARGV 2 account, 3 value that was found or '', 4 value to set or ''
-- Result {'ok'|'changed'|'rebuilding'}
-- Atomic, because a hold of the account may begin or end in the same instant.
if not complete() then return { 'rebuilding' } end
if (redis.call('HGET', HELD_BY, ARGV[2]) or '') ~= ARGV[3] then return { 'changed' } end
if ARGV[4] == '' then redis.call('HDEL', HELD_BY, ARGV[2]) else redis.call('HSET', HELD_BY, ARGV[2], ARGV[4]) end
return { 'ok' }
