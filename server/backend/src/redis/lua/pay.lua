-- Starts a payment: the hold can't run out any more, it ends when its order does.
-- ARGV 2 hold id, 3 account, 4 number of the attempt, 5 time for the provider in ms, 6 longest life of a hold in ms
-- Result {'ok', expires} {'rebuilding'|'missing'|'closed'|'sold'} {'other', number of a newer attempt, or of this one that is over}
-- Atomic, because a hold that is taken over or swept between check and change would be paid for
-- without its seats. Idempotent by attempt; a repeated call moves nothing. An attempt begins when those
-- before it are over, so a newer one goes on from an older one that Redis takes to be running, and one
-- that comes later than its own end begins nothing. Never brings the end nearer.
if not complete() then return { 'rebuilding' } end
local id, account, attempt = ARGV[2], ARGV[3], tonumber(ARGV[4])
local rec, now = hold_of(id), now_ms()
if not rec or rec.a ~= account then return { 'missing' } end
if rec.st == 'sold' then return { 'sold' } end
if rec.st ~= 'held' and rec.st ~= 'paying' then return { 'closed' } end
-- The order has ended: late money alone has its seats now.
if rec.rc then return { 'closed' } end
if rec.st == 'held' and rec.x <= now then return { 'closed' } end
local newest = rec.k or 0
if attempt < newest or (attempt == newest and rec.st == 'held') then return { 'other', newest } end
if attempt == newest then return { 'ok', rec.x } end
local ends = math.max(rec.x, math.min(now + tonumber(ARGV[5]), rec.c + tonumber(ARGV[6])))
if ends <= now then return { 'closed' } end
rec.st, rec.k, rec.x = 'paying', attempt, ends
save_hold(id, rec)
redis.call('ZREM', EXPIRY, id)
return { 'ok', rec.x }
