-- Takes seats out of the hold of a paid order, back to sale or off it; the rest of the hold stands.
-- ARGV 2 hold id, 3 seats that go back to sale, 4 seats that go off sale
-- Result {'ok'|'again'|'rebuilding'|'missing'}
-- Atomic, because each seat must return exactly once, and with it what its account has.
-- A seat that another hold owns meanwhile is not touched: it came back before.
if not complete() then return { 'rebuilding' } end
local id = ARGV[2]
local rec = hold_of(id)
if not rec then return { 'missing' } end
if rec.st == 'closed' then return { 'again' } end
local gone, count, delta = {}, 0, {}
local function take(csv, state)
  for seat in string.gmatch(csv, '%d+') do
    if redis.call('HGET', OWNER, seat) == id then
      set_state(tonumber(seat), state, delta)
      redis.call('HDEL', OWNER, seat)
      gone[seat] = true
      count = count + 1
    end
  end
end
take(ARGV[3], 0)
take(ARGV[4], 3)
if count == 0 then return { 'again' } end
local rest = {}
for seat in string.gmatch(rec.s, '%d+') do
  if not gone[seat] then rest[#rest + 1] = seat end
end
if #rest == 0 then
  -- Late money that asks for these seats by a request of before must not have them (`reclaim.lua`).
  rec.g = 1
  end_hold(id, rec, now_ms(), delta)
  redis.call('XADD', LOG, '*', 't', 'end', 'h', id, 'e', id, 'r', 'refund', 'd', table.concat(delta, ','))
  return { 'ok' }
end
local has, open = held_by(rec.a)
set_held_by(rec.a, has - count, open)
rec.s = table.concat(rest, ',')
rec.n = #rest
save_hold(id, rec)
-- No hold ends: the kind of entry of seats that go on and off sale.
redis.call('XADD', LOG, '*', 't', 'block', 'e', '', 'd', table.concat(delta, ','))
return { 'ok' }
