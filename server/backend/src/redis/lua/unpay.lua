-- Takes a failed payment back: the hold runs on to its first end, or a last short while.
-- ARGV 2 hold id, 3 attempt, 4 least time left in ms, 5 longest life of a hold in ms
-- Result {'ok', expires} {'rebuilding'|'missing'|'closed'|'sold'|'other'}
-- Atomic, because another attempt may have begun.
if not complete() then return { 'rebuilding' } end
local id, attempt = ARGV[2], ARGV[3]
local rec, now = hold_of(id), now_ms()
if not rec then return { 'missing' } end
if rec.st == 'held' then return { 'ok', rec.x } end
if rec.st == 'sold' then return { 'sold' } end
if rec.st ~= 'paying' then return { 'closed' } end
if rec.t ~= attempt then return { 'other' } end
rec.st, rec.t = 'held', ''
rec.x = math.min(math.max(rec.o, now + tonumber(ARGV[4])), rec.c + tonumber(ARGV[5]))
rec.o = rec.x
save_hold(id, rec)
redis.call('ZADD', EXPIRY, rec.x, id)
return { 'ok', rec.x }
