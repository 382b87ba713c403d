-- Shared head of every script over one performance. It names the keys (all declared by the caller,
-- none computed) and the few steps that several scripts take.
--
-- KEYS 1 epoch, 2 meta, 3 seats, 4 owner, 5 holds, 6 expiry, 7 held_by, 8 shoppers, 9 entered,
--      10 log, 11 tombs
-- ARGV 1 the epoch that the caller expects; the rest is the script's own.
-- RUN is put ahead of this text: the run of the server for which it was made, and in which it is.
local EPOCH, META, SEATS, OWNER, HOLDS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local EXPIRY, HELD_BY, SHOPPERS, ENTERED, LOG, TOMBS = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]

-- Kept for a day, so that a repeated request of an ended hold is told "closed".
local TOMB_TTL_MS = 86400000

local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- The state is complete, of the epoch that the caller knows, and built in this run of this server. What
-- another run left behind may lack its last moments: whoever finds that takes the epoch away, so that
-- it is not trusted again either when that server comes back, until a worker has built it anew.
local function complete()
  if redis.call('GET', EPOCH) ~= ARGV[1] then return false end
  if redis.call('HGET', META, 'run') == RUN then return true end
  redis.call('DEL', EPOCH)
  return false
end

local function hold_of(id)
  local raw = redis.call('HGET', HOLDS, id)
  return raw and cjson.decode(raw) or nil
end

local function save_hold(id, rec)
  redis.call('HSET', HOLDS, id, cjson.encode(rec))
end

-- A hold whose time is over gives way to the next fan at once, whether or not the sweeper has met it: one
-- that is closing can't be paid any more, and the writer closes its order by the entry of that script.
local function has_run_out(rec, now)
  return (rec.st == 'held' or rec.st == 'closing') and rec.x <= now
end

-- Seats held or bought by an account, and its open hold ('' for none). What can't be read is nothing: the reconciler
-- puts it right, and no script of that account may fail until then.
local function held_by(account)
  local raw = redis.call('HGET', HELD_BY, account)
  if not raw then return 0, '' end
  local count, open = string.match(raw, '^(%-?%d+):(.*)$')
  if not count then return 0, '' end
  return math.max(tonumber(count), 0), open
end

-- Never below nothing: what is taken off may have been corrected away before.
local function set_held_by(account, count, open)
  count = math.max(count, 0)
  if count == 0 and open == '' then
    redis.call('HDEL', HELD_BY, account)
  else
    redis.call('HSET', HELD_BY, account, count .. ':' .. open)
  end
end

-- A seat's byte: its state in the low two bits (0 available, 1 held, 2 sold, 3 blocked), the number of
-- its allocation in the upper six (0 for none).
local function byte_of(no)
  return string.byte(redis.call('GETRANGE', SEATS, no, no))
end

local function set_byte(no, byte, delta)
  redis.call('SETRANGE', SEATS, no, string.char(byte))
  delta[#delta + 1] = no .. ':' .. byte
end

-- Gives a seat another state; it stays in its allocation.
local function set_state(no, state, delta)
  local was = byte_of(no)
  set_byte(no, was - was % 4 + state, delta)
end

-- Ends a hold: its seats go back, its account's count falls, a tombstone stays.
-- A seat that another hold owns meanwhile is not touched: that never happens, and must not spread.
local function end_hold(id, rec, now, delta)
  for seat in string.gmatch(rec.s, '%d+') do
    if redis.call('HGET', OWNER, seat) == id then
      set_state(tonumber(seat), 0, delta)
      redis.call('HDEL', OWNER, seat)
    end
  end
  redis.call('ZREM', EXPIRY, id)
  local count, open = held_by(rec.a)
  if open == id then open = '' end
  set_held_by(rec.a, count - rec.n, open)
  rec.st = 'closed'
  save_hold(id, rec)
  redis.call('ZADD', TOMBS, now + TOMB_TTL_MS, id)
end

-- Holds that a script is about to end: `ids` in the order in which they were met, each once, and `recs`, their
-- records by id.
local function to_end(ending, id, rec)
  if not ending.recs[id] then
    ending.recs[id] = rec
    ending.ids[#ending.ids + 1] = id
  end
end

-- What `held_by` says, once the account's open hold is to end where it has run out.
local function still_held_by(account, now, ending)
  local count, open = held_by(account)
  local rec = open ~= '' and hold_of(open)
  if not rec then return count, '' end
  if not has_run_out(rec, now) then return count, open end
  to_end(ending, open, rec)
  return math.max(count - rec.n, 0), ''
end

-- Looks at the seats that are wanted (comma separated) and writes nothing. One of a hold that has run out can be
-- had; that hold is then to end. Answers the seats in their order, the byte that each will have, how many seats
-- there are, and where some can't be had, those (comma separated) by the reason, and the first of these reasons.
local function look_at(csv, allowed, now, ending)
  local total = redis.call('STRLEN', SEATS)
  local wanted, chosen, refused, first = {}, {}, nil, nil
  for seat in string.gmatch(csv, '%d+') do
    local no, why = tonumber(seat), nil
    if no >= total then
      why = 'unknown'
    else
      local byte = byte_of(no)
      local state = byte % 4
      if state == 3 then
        why = 'blocked'
      elseif not allowed[(byte - state) / 4] then
        why = 'reserved'
      elseif state == 2 then
        why = 'taken'
      elseif state == 1 then
        local owner = redis.call('HGET', OWNER, seat)
        local rec = owner and (ending.recs[owner] or hold_of(owner))
        if rec and has_run_out(rec, now) then to_end(ending, owner, rec) else why = 'taken' end
      end
      wanted[#wanted + 1] = no
      chosen[no] = byte - state + 1
    end
    if why then
      refused, first = refused or {}, first or why
      refused[why] = refused[why] and refused[why] .. ',' .. seat or seat
    end
  end
  return wanted, chosen, total, refused, first
end

-- Gives seats (comma separated) other bytes: all or nothing. `turn` answers the byte that a seat gets for the one
-- that it has, 'taken' where that may not be, nothing where it stays. The entry of the log is of the kind given.
local function turn_all(csv, kind, turn)
  local total, unknown, taken, change = redis.call('STRLEN', SEATS), {}, {}, {}
  for seat in string.gmatch(csv, '%d+') do
    local no = tonumber(seat)
    if no >= total then
      unknown[#unknown + 1] = seat
    else
      local byte = turn(byte_of(no))
      if byte == 'taken' then
        taken[#taken + 1] = seat
      elseif byte then
        change[#change + 1] = { no, byte }
      end
    end
  end
  if #unknown > 0 then return { 'unknown', table.concat(unknown, ',') } end
  if #taken > 0 then return { 'taken', table.concat(taken, ',') } end
  if #change == 0 then return { 'again' } end
  local delta = {}
  for _, one in ipairs(change) do set_byte(one[1], one[2], delta) end
  redis.call('XADD', LOG, '*', 't', kind, 'e', '', 'd', table.concat(delta, ','))
  return { 'ok' }
end
