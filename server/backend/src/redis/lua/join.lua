-- Gives accounts their places in the queue of one performance, or restores them from signed tickets.
-- ARGV for each call: account (16 bytes), arrival number of a signed ticket or ''
-- Result {'ok', arrival, arrival, …} with -1 closed, -2 not yet, -3 registration over in place of a number
--     or {'rebuilding'}
-- Atomic, because an account that joins twice at once must get one number, and because the first
-- call past the opening freezes the lobby: both follow from one clock, Redis's. Many calls travel in one:
-- the settings are read once for all of them.
if not ready() then return { 'rebuilding' } end
local queue = redis.call('HMGET', QUEUE, 'opens', 'closes', 'next', 'lobby', 'registers', 'mode')
local now = now_ms()
local first = tonumber(queue[3])
local next = first
local opened = now >= tonumber(queue[1])
if opened and not queue[4] then redis.call('HSET', QUEUE, 'lobby', next) end
local refused = nil
if now >= tonumber(queue[2]) then
  refused = -1
elseif not opened and now < tonumber(queue[5] or '0') then
  refused = -2
elseif opened and queue[6] == 'lottery' then
  refused = -3
end

local accounts = {}
for i = 1, #ARGV, 2 do accounts[#accounts + 1] = ARGV[i] end
local before = redis.call('HMGET', PLACES, unpack(accounts))
local out, fields, stretch, given = { 'ok' }, {}, {}, {}
for i, account in ipairs(accounts) do
  local known = before[i] or given[account]
  local ticket = ARGV[i * 2]
  if known then
    out[#out + 1] = tonumber(known)
  elseif refused == -1 then
    out[#out + 1] = refused
  elseif ticket ~= '' then
    local number = tonumber(ticket)
    given[account] = number
    fields[#fields + 1] = account
    fields[#fields + 1] = number
    redis.call('SETRANGE', ARRIVALS, number * 16, account)
    out[#out + 1] = number
  elseif refused then
    out[#out + 1] = refused
  else
    given[account] = next
    fields[#fields + 1] = account
    fields[#fields + 1] = next
    stretch[#stretch + 1] = account
    out[#out + 1] = next
    next = next + 1
  end
end
if #fields > 0 then redis.call('HSET', PLACES, unpack(fields)) end
if next > first then
  redis.call('SETRANGE', ARRIVALS, first * 16, table.concat(stretch))
  redis.call('HSET', QUEUE, 'next', next)
end
return out
