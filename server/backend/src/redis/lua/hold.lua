-- Takes seats for an account: all or nothing.
-- ARGV 2 hold id, 3 account, 4 nonce of the pass, 5 seats (comma separated, ascending)
-- Result {'ok', expires, created, price version, '1' when it stood before}
--     or {'rebuilding'|'key_reused'|'closed'|'sale_closed'|'pass_required'}
--     or {'hold_open', hold id} {'limit', limit} {'unknown'|'taken'|'blocked', seats}
-- Atomic, because seats, owner, limit and log must never be seen apart: two scripts that checked
-- first and wrote later could both take the last seat.
if not complete() then return { 'rebuilding' } end
local id, account, nonce, csv = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local now = now_ms()

local before = hold_of(id)
if before then
  if before.a ~= account or before.s ~= csv then return { 'key_reused' } end
  if before.st == 'closed' or before.st == 'closing' then return { 'closed' } end
  return { 'ok', before.x, before.c, before.v, '1' }
end

local meta = redis.call('HMGET', META, 'opens', 'closes', 'limit', 'ttl', 'version')
if now < tonumber(meta[1]) or now >= tonumber(meta[2]) then return { 'sale_closed' } end

local visit = redis.call('ZSCORE', SHOPPERS, account)
if not visit or tonumber(visit) <= now or redis.call('HGET', ENTERED, account) ~= nonce then
  return { 'pass_required' }
end

-- Holds that this one ends, each once, in the order in which they were met.
local ends, ended = {}, {}
local function to_end(hold, rec)
  if not ended[hold] then
    ended[hold] = rec
    ends[#ends + 1] = hold
  end
end

local count, open = held_by(account)
if open ~= '' then
  local rec = hold_of(open)
  if rec and rec.st == 'held' and rec.x <= now then
    to_end(open, rec)
    count = count - rec.n
  elseif rec then
    return { 'hold_open', open }
  end
end

local total, wanted = redis.call('STRLEN', SEATS), 0
local unknown, taken, blocked = {}, {}, {}
for seat in string.gmatch(csv, '%d+') do
  wanted = wanted + 1
  local no = tonumber(seat)
  if no >= total then
    unknown[#unknown + 1] = seat
  else
    local byte = string.byte(redis.call('GETRANGE', SEATS, no, no))
    if byte == 1 then
      local owner = redis.call('HGET', OWNER, seat)
      local rec = owner and (ended[owner] or hold_of(owner))
      if rec and rec.st == 'held' and rec.x <= now then
        to_end(owner, rec)
      else
        taken[#taken + 1] = seat
      end
    elseif byte == 2 then
      taken[#taken + 1] = seat
    elseif byte ~= 0 then
      blocked[#blocked + 1] = seat
    end
  end
end
if #unknown > 0 then return { 'unknown', table.concat(unknown, ',') } end
if #blocked > 0 then return { 'blocked', table.concat(blocked, ',') } end
if #taken > 0 then return { 'taken', table.concat(taken, ',') } end
if count + wanted > tonumber(meta[3]) then return { 'limit', meta[3] } end

local delta = {}
for _, hold in ipairs(ends) do
  end_hold(hold, ended[hold], now, delta)
end
count = held_by(account)
local expires = now + tonumber(meta[4])
set_seats(csv, 1, delta)
for seat in string.gmatch(csv, '%d+') do
  redis.call('HSET', OWNER, seat, id)
end
save_hold(id, { a = account, s = csv, n = wanted, v = tonumber(meta[5]), c = now, x = expires, o = expires, st = 'held', t = '', p = nonce })
redis.call('ZADD', EXPIRY, expires, id)
set_held_by(account, count + wanted, id)
redis.call('XADD', LOG, '*', 't', 'hold', 'h', id, 'a', account, 's', csv, 'v', meta[5], 'c', now, 'x', expires,
  'e', table.concat(ends, ','), 'd', table.concat(delta, ','))
return { 'ok', expires, now, tonumber(meta[5]), '0' }
