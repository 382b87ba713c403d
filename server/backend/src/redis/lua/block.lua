-- Moves seats between available and blocked: all or nothing. A seat stays in its allocation.
-- ARGV 2 seats, 3 state that each must have, 4 state that each gets
-- Result {'ok'|'again'|'rebuilding'} {'unknown'|'taken', seats}
-- Atomic, because a fan may take one of the seats in the same instant.
if not complete() then return { 'rebuilding' } end
local csv, from, to = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local total, unknown, taken, change = redis.call('STRLEN', SEATS), {}, {}, {}
for seat in string.gmatch(csv, '%d+') do
  local no = tonumber(seat)
  if no >= total then
    unknown[#unknown + 1] = seat
  else
    local byte = byte_of(no)
    if byte % 4 == from then
      change[#change + 1] = { no, byte - from + to }
    elseif byte % 4 ~= to then
      taken[#taken + 1] = seat
    end
  end
end
if #unknown > 0 then return { 'unknown', table.concat(unknown, ',') } end
if #taken > 0 then return { 'taken', table.concat(taken, ',') } end
if #change == 0 then return { 'again' } end
local delta = {}
for _, one in ipairs(change) do set_byte(one[1], one[2], delta) end
redis.call('XADD', LOG, '*', 't', 'block', 'e', '', 'd', table.concat(delta, ','))
return { 'ok' }
