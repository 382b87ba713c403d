-- Returns the seats of a refunded order to sale.
-- ARGV 2 hold id
-- Result {'ok'|'again'|'rebuilding'|'missing'}
-- Atomic, because the seats must return exactly once.
if not complete() then return { 'rebuilding' } end
local id = ARGV[2]
local rec = hold_of(id)
if not rec then return { 'missing' } end
if rec.st == 'closed' then return { 'again' } end
local now, delta = now_ms(), {}
-- Late money that asks for these seats by a request of before must not have them (`reclaim.lua`).
rec.g = 1
end_hold(id, rec, now, delta)
redis.call('XADD', LOG, '*', 't', 'end', 'h', id, 'e', id, 'r', 'refund', 'd', table.concat(delta, ','))
return { 'ok' }
