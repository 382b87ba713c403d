-- Takes seats for an account, and places drawn from areas: all or nothing.
-- ARGV 2 hold id, 3 account, 4 nonce of the pass, 5 the wish (compared when the call is repeated),
--      6 seats (comma separated, ascending; may be empty), 7 areas to draw from, or '', each
--      `count:start:first-last/first-last…` and separated by commas; `start` (0 to 999999) says where in the
--      area the search begins, 8 allocations that the account may take from (comma separated numbers),
--      9 longest time in ms that an entry of the log may wait for the order writer
-- Result {'ok', expires, created, price version, '1' when it stood before, seats}
--     or {'rebuilding'|'behind'|'key_reused'|'closed'|'sale_closed'|'pass_required'}
--     or {'hold_open', hold id} {'limit', limit} {'unknown'|'taken'|'blocked'|'reserved', seats}
--     or {'area', position of the area in ARGV 7 from 0, places left in it}
-- Atomic, because seats, owner, limit and log must never be seen apart: two scripts that checked
-- first and wrote later could both take the last seat. The bytes of an area are its set of free
-- places: a second structure beside them could differ from them.
if not complete() then return { 'rebuilding' } end
local id, account, nonce, wish, csv = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local now = now_ms()

local before = hold_of(id)
if before then
  -- The tombstone of a hold that ended before its state was rebuilt knows no more than that.
  if before.a == account and before.st == 'closed' and not before.w then return { 'closed' } end
  -- A record that was rebuilt from its order has no wish: then the seats must fit, where some were named.
  local same = before.w == wish
  if not before.w then same = ARGV[7] ~= '' or csv == '' or before.s == csv end
  if before.a ~= account or not same then return { 'key_reused' } end
  if before.st == 'closed' or before.st == 'closing' then return { 'closed' } end
  -- It ended as well, and late money is about to have its seats: that is no answer to this request.
  if before.rc and before.st == 'paying' then return { 'closed' } end
  return { 'ok', before.x, before.c, before.v, '1', before.s }
end

local meta = redis.call('HMGET', META, 'opens', 'closes', 'limit', 'ttl', 'version', 'written')
if now < tonumber(meta[1]) or now >= tonumber(meta[2]) then return { 'sale_closed' } end

-- What is not written yet could be lost: beyond a bound nothing is added to it.
local written = meta[6] or '0-0'
if now - tonumber(string.match(written, '^%d+')) > tonumber(ARGV[9]) then
  local oldest = redis.call('XRANGE', LOG, '(' .. written, '+', 'COUNT', 1)[1]
  if oldest and now - tonumber(string.match(oldest[1], '^%d+')) > tonumber(ARGV[9]) then return { 'behind' } end
end

local visit = redis.call('ZSCORE', SHOPPERS, account)
if not visit or tonumber(visit) <= now or redis.call('HGET', ENTERED, account) ~= nonce then
  return { 'pass_required' }
end

local ending = { ids = {}, recs = {} }
local count, open = still_held_by(account, now, ending)
if open ~= '' then return { 'hold_open', open } end

local allowed, numbers = { [0] = true }, { 0 }
for number in string.gmatch(ARGV[8], '%d+') do
  allowed[tonumber(number)] = true
  numbers[#numbers + 1] = tonumber(number)
end
local wanted, chosen, total, refused = look_at(csv, allowed, now, ending)
if refused then
  for _, why in ipairs({ 'unknown', 'blocked', 'reserved', 'taken' }) do
    if refused[why] then return { why, refused[why] } end
  end
end

-- Most wishes name seats alone: they don't pay for making what draws.
if ARGV[7] ~= '' then
  -- Takes a place beside the seats that were named.
  local function choose(no, byte)
    wanted[#wanted + 1] = no
    chosen[no] = byte - byte % 4 + 1
  end

  -- Available places of the ranges from `start` on, round to it again, until there are `most`.
  local function draw(ranges, start, most)
    local found, size = 0, 0
    for _, range in ipairs(ranges) do size = size + range[2] - range[1] + 1 end
    local at, laps = start % size, { {}, {} }
    for _, range in ipairs(ranges) do
      local length = range[2] - range[1] + 1
      if at >= length then
        table.insert(laps[2], { range[1], range[2] })
        at = at - length
      elseif at >= 0 then
        table.insert(laps[1], { range[1] + at, range[2] })
        if at > 0 then table.insert(laps[2], { range[1], range[1] + at - 1 }) end
        at = -1
      else
        table.insert(laps[1], { range[1], range[2] })
      end
    end
    for _, lap in ipairs(laps) do
      for _, range in ipairs(lap) do
        local bytes = redis.call('GETRANGE', SEATS, range[1], range[2])
        for _, number in ipairs(numbers) do
          local byte, from = string.char(number * 4), 1
          while found < most do
            local hit = string.find(bytes, byte, from, true)
            if not hit then break end
            local no = range[1] + hit - 1
            if not chosen[no] then
              choose(no, number * 4)
              found = found + 1
            end
            from = hit + 1
          end
        end
      end
    end
    return found
  end

  -- Places of holds that have run out and have not ended yet.
  local function draw_expired(ranges, most)
    local found = 0
    for _, hold in ipairs(redis.call('ZRANGEBYSCORE', EXPIRY, '-inf', now, 'LIMIT', 0, 200)) do
      local rec = ending.recs[hold] or hold_of(hold)
      if found < most and rec and has_run_out(rec, now) then
        for seat in string.gmatch(rec.s, '%d+') do
          local no = tonumber(seat)
          for _, range in ipairs(ranges) do
            if found < most and no >= range[1] and no <= range[2] and not chosen[no] then
              local byte = byte_of(no)
              if byte % 4 == 1 and allowed[(byte - 1) / 4] then
                choose(no, byte)
                to_end(ending, hold, rec)
                found = found + 1
              end
            end
          end
        end
      end
    end
    return found
  end

  local position = 0
  for most, start, list in string.gmatch(ARGV[7], '(%d+):(%d+):([%d%-/]+)') do
    local ranges = {}
    for first, last in string.gmatch(list, '(%d+)%-(%d+)') do
      if tonumber(last) >= total then return { 'unknown', last } end
      ranges[#ranges + 1] = { tonumber(first), tonumber(last) }
    end
    local found = draw(ranges, tonumber(start), tonumber(most))
    if found < tonumber(most) then found = found + draw_expired(ranges, tonumber(most) - found) end
    if found < tonumber(most) then return { 'area', position, found } end
    position = position + 1
  end
end
if count + #wanted > tonumber(meta[3]) then return { 'limit', meta[3] } end

local delta = {}
for _, hold in ipairs(ending.ids) do end_hold(hold, ending.recs[hold], now, delta) end
count = held_by(account)
local expires = now + tonumber(meta[4])
table.sort(wanted)
for _, no in ipairs(wanted) do
  set_byte(no, chosen[no], delta)
  redis.call('HSET', OWNER, no, id)
end
csv = table.concat(wanted, ',')
save_hold(id, { a = account, s = csv, n = #wanted, w = wish, v = tonumber(meta[5]), c = now, x = expires, o = expires, st = 'held', k = 0, p = nonce })
redis.call('ZADD', EXPIRY, expires, id)
set_held_by(account, count + #wanted, id)
redis.call('XADD', LOG, '*', 't', 'hold', 'h', id, 'a', account, 's', csv, 'v', meta[5], 'c', now, 'x', expires,
  'e', table.concat(ending.ids, ','), 'd', table.concat(delta, ','))
return { 'ok', expires, now, tonumber(meta[5]), '0', csv }
