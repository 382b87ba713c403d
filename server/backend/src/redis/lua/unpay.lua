-- Takes failed payments back: the hold runs on to its first end, or a last short while.
-- ARGV 2 hold id, 3 number of the attempt that is over, and all before it, 4 least time left in ms,
--      5 longest life of a hold in ms
-- Result {'ok', expires} {'rebuilding'|'missing'|'closed'|'sold'|'other'}
-- Atomic, because a newer attempt may have begun. The number is kept: a call of `pay` that is late must not
-- begin an attempt that is over.
if not complete() then return { 'rebuilding' } end
local id, attempt = ARGV[2], tonumber(ARGV[3])
local rec, now = hold_of(id), now_ms()
if not rec then return { 'missing' } end
if rec.st == 'sold' then return { 'sold' } end
if rec.st ~= 'held' and rec.st ~= 'paying' then return { 'closed' } end
local newest = rec.k or 0
if rec.st == 'held' and attempt <= newest then return { 'ok', rec.x } end
if attempt < newest then return { 'other' } end
if rec.st == 'paying' then
  rec.st = 'held'
  rec.x = math.max(rec.o, math.min(now + tonumber(ARGV[4]), rec.c + tonumber(ARGV[5])))
  rec.o = rec.x
  redis.call('ZADD', EXPIRY, rec.x, id)
end
rec.k = attempt
save_hold(id, rec)
return { 'ok', rec.x }
