-- Ends a hold whose order has closed in Postgres: its seats go back to sale.
-- ARGV 2 hold id, 3 the fence of the try that gives up what late money has taken, or ''
-- Result {'ok'|'again'|'rebuilding'|'sold'|'reclaiming'|'other'}
-- Atomic, because bytes, owner and limit must change together. The order is closed already, so no
-- state but sold keeps the seats, and for a while those that late money has taken: whoever ends the hold of
-- before, and is slow, must not end that one. Whoever gives up ends what that very try has taken and nothing else: its
-- request may arrive when a later try goes on with the seats, or has sold them.
if not complete() then return { 'rebuilding' } end
local id = ARGV[2]
local rec = hold_of(id)
if not rec or rec.st == 'closed' then return { 'again' } end
if rec.st == 'sold' then return { 'sold' } end
local now, delta = now_ms(), {}
local reclaiming = rec.rc and rec.st == 'paying'
if ARGV[3] ~= '' then
  if not reclaiming or rec.f ~= tonumber(ARGV[3]) then return { 'other' } end
elseif reclaiming and rec.x > now then
  return { 'reclaiming' }
end
end_hold(id, rec, now, delta)
redis.call('XADD', LOG, '*', 't', 'end', 'h', id, 'e', id, 'r', 'closed', 'd', table.concat(delta, ','))
return { 'ok' }
