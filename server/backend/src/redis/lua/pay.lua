-- Starts a payment: the hold can't run out any more, it ends when its order does.
-- ARGV 2 hold id, 3 account, 4 attempt, 5 time for the provider in ms, 6 longest life of a hold in ms
-- Result {'ok', expires} {'rebuilding'|'missing'|'closed'|'sold'} {'paying', the other attempt}
-- Atomic, because a hold that is taken over or swept between check and change would be paid for
-- without its seats. Idempotent by attempt; a repeated call moves nothing.
if not complete() then return { 'rebuilding' } end
local id, account, attempt = ARGV[2], ARGV[3], ARGV[4]
local rec, now = hold_of(id), now_ms()
if not rec or rec.a ~= account then return { 'missing' } end
if rec.st == 'paying' then
  if rec.t == attempt then return { 'ok', rec.x } end
  return { 'paying', rec.t }
end
if rec.st == 'sold' then return { 'sold' } end
if rec.st ~= 'held' or rec.x <= now then return { 'closed' } end
rec.st, rec.t, rec.x = 'paying', attempt, math.min(now + tonumber(ARGV[5]), rec.c + tonumber(ARGV[6]))
save_hold(id, rec)
redis.call('ZREM', EXPIRY, id)
return { 'ok', rec.x }
