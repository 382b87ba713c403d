-- Gives a hold back by the will of its account.
-- ARGV 2 hold id, 3 account
-- Result {'ok'|'again'|'rebuilding'|'missing'|'paying'|'sold'}
-- Atomic, because owner and state must still be those that were checked when the bytes change.
if not complete() then return { 'rebuilding' } end
local id, account = ARGV[2], ARGV[3]
local rec = hold_of(id)
if not rec or rec.a ~= account then return { 'missing' } end
if rec.st == 'closed' or rec.st == 'closing' then return { 'again' } end
if rec.st ~= 'held' then return { rec.st } end
local now, delta = now_ms(), {}
-- Late money must not have seats again that its fan gave back (`reclaim.lua`).
rec.g = 1
end_hold(id, rec, now, delta)
redis.call('XADD', LOG, '*', 't', 'end', 'h', id, 'e', id, 'r', 'cancel', 'd', table.concat(delta, ','))
return { 'ok' }
