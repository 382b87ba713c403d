-- Corrects the record of a hold and its place among those that can run out, if it is still as found.
-- ARGV 2 hold id, 3 record that was found, 4 record to set (the same where only its place is wrong)
-- Result {'ok'|'changed'|'rebuilding'}
-- Atomic, because the hold may be paid, given back or taken over in the same instant.
if not complete() then return { 'rebuilding' } end
if redis.call('HGET', HOLDS, ARGV[2]) ~= ARGV[3] then return { 'changed' } end
redis.call('HSET', HOLDS, ARGV[2], ARGV[4])
local rec = cjson.decode(ARGV[4])
if rec.st == 'held' or rec.st == 'closing' then
  redis.call('ZADD', EXPIRY, rec.x, ARGV[2])
else
  redis.call('ZREM', EXPIRY, ARGV[2])
end
return { 'ok' }
