-- Ends a hold whose order has closed in Postgres: its seats go back to sale.
-- ARGV 2 hold id
-- Result {'ok'|'again'|'rebuilding'|'sold'}
-- Atomic, because bytes, owner and limit must change together. The order is closed already, so no
-- state but sold keeps the seats.
if not complete() then return { 'rebuilding' } end
local id = ARGV[2]
local rec = hold_of(id)
if not rec or rec.st == 'closed' then return { 'again' } end
if rec.st == 'sold' then return { 'sold' } end
local now, delta = now_ms(), {}
end_hold(id, rec, now, delta)
redis.call('XADD', LOG, '*', 't', 'end', 'h', id, 'e', id, 'r', 'closed', 'd', table.concat(delta, ','))
return { 'ok' }
