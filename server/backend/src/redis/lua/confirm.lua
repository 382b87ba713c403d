-- Marks the seats of a paid order as sold and frees its shopper's slot.
-- ARGV 2 hold id
-- Result {'ok'|'again'|'rebuilding'|'missing'|'closed'} {'lost', seats that another hold owns}
-- Atomic, because the seats must still be this hold's when they turn sold.
if not complete() then return { 'rebuilding' } end
local id = ARGV[2]
local rec = hold_of(id)
if not rec then return { 'missing' } end
if rec.st == 'sold' then return { 'again' } end
if rec.st == 'closed' then return { 'closed' } end
local lost = {}
for seat in string.gmatch(rec.s, '%d+') do
  if redis.call('HGET', OWNER, seat) ~= id then lost[#lost + 1] = seat end
end
if #lost > 0 then return { 'lost', table.concat(lost, ',') } end
local delta = {}
for seat in string.gmatch(rec.s, '%d+') do set_state(tonumber(seat), 2, delta) end
rec.st = 'sold'
save_hold(id, rec)
redis.call('ZREM', EXPIRY, id)
local count, open = held_by(rec.a)
if open == id then open = '' end
set_held_by(rec.a, count, open)
-- Only the visit that bought ends: the fan may have come in again meanwhile, by a new pass.
local pass = rec.p or ''
if pass == '' or redis.call('HGET', ENTERED, rec.a) == pass then
  redis.call('ZREM', SHOPPERS, rec.a)
  redis.call('HDEL', ENTERED, rec.a)
end
redis.call('XADD', LOG, '*', 't', 'sold', 'h', id, 'a', rec.a, 'e', '', 'd', table.concat(delta, ','))
return { 'ok' }
