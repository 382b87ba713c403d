-- Takes all seats of a closed order once more, for its money that came late: all or nothing.
-- ARGV 2 hold id, 3 account, 4 number of the attempt that was captured, 5 seats (comma separated, ascending),
--      6 allocations that the account may take from (comma separated numbers), 7 version of the order's prices,
--      8 when the order was made, 9 how long the seats wait for Postgres to decide, in ms,
--      10 '1' to take them, '0' to go on only with what this attempt has taken already
-- Result {'ok', id of the log's entry, fence} {'rebuilding'|'gone'|'standing'|'other'|'returned'|'limit'}
--     or {'unknown'|'taken'|'blocked'|'reserved'}
-- Atomic, because seats, owner, limit and log must never be seen apart. The sale's times and the shopper's pass
-- don't count: the fan was inside when the seats were chosen. Nobody gives such a hold back, pays it or takes it
-- over; until its time only the try that asked last ends it (`finish.lua`, by the fence that it was told), after that
-- the sweeper does. The fence counts on over all tries of a hold, so that none is ever told twice.
if not complete() then return { 'rebuilding' } end
local id, account, attempt = ARGV[2], ARGV[3], tonumber(ARGV[4])
local now = now_ms()
local till = now + tonumber(ARGV[9])

local before = hold_of(id)
if before and before.rc and before.st == 'paying' then
  if before.rc ~= attempt then return { 'other' } end
  before.x, before.o, before.f = till, till, (before.f or 0) + 1
  save_hold(id, before)
  redis.call('ZADD', EXPIRY, till, id)
  return { 'ok', before.l, before.f }
end
if ARGV[10] ~= '1' then return { 'gone' } end
if before and (before.st ~= 'closed' or before.a ~= account) then return { 'standing' } end
-- It has given its seats back, by the will of its account or once it was paid: whoever asks for them now comes late.
if before and before.g then return { 'returned' } end

local ending = { ids = {}, recs = {} }
-- An open hold of the account is another order: it stays, and counts.
local count = still_held_by(account, now, ending)
local allowed = { [0] = true }
for number in string.gmatch(ARGV[6], '%d+') do allowed[tonumber(number)] = true end
local wanted, chosen, _, _, first = look_at(ARGV[5], allowed, now, ending)
if first then return { first } end
if count + #wanted > tonumber(redis.call('HGET', META, 'limit')) then return { 'limit' } end

local delta = {}
for _, hold in ipairs(ending.ids) do end_hold(hold, ending.recs[hold], now, delta) end
for _, no in ipairs(wanted) do
  set_byte(no, chosen[no], delta)
  redis.call('HSET', OWNER, no, id)
end
local has, open = held_by(account)
set_held_by(account, has + #wanted, open)
-- The order is there already: the kind of entry of seats that go on and off sale.
local entry = redis.call('XADD', LOG, '*', 't', 'block', 'e', table.concat(ending.ids, ','), 'd',
  table.concat(delta, ','))
local fence = (before and before.f or 0) + 1
-- Of a record that was rebuilt nobody knows the visit that chose the seats: then no visit ends with the sale.
save_hold(id, { a = account, s = table.concat(wanted, ','), n = #wanted, w = before and before.w, v = tonumber(ARGV[7]),
  c = tonumber(ARGV[8]), x = till, o = till, st = 'paying', k = attempt, p = before and before.p or '-', rc = attempt,
  l = entry, f = fence })
redis.call('ZREM', TOMBS, id)
redis.call('ZADD', EXPIRY, till, id)
return { 'ok', entry, fence }
