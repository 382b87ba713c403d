-- Moves seats between available and blocked: all or nothing.
-- ARGV 2 seats, 3 byte that each must have, 4 byte that each gets
-- Result {'ok'|'rebuilding'} {'unknown'|'taken', seats}
-- Atomic, because a fan may take one of the seats in the same instant.
if not complete() then return { 'rebuilding' } end
local csv, from, to = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local total, unknown, taken = redis.call('STRLEN', SEATS), {}, {}
for seat in string.gmatch(csv, '%d+') do
  local no = tonumber(seat)
  if no >= total then
    unknown[#unknown + 1] = seat
  else
    local byte = string.byte(redis.call('GETRANGE', SEATS, no, no))
    if byte ~= from and byte ~= to then taken[#taken + 1] = seat end
  end
end
if #unknown > 0 then return { 'unknown', table.concat(unknown, ',') } end
if #taken > 0 then return { 'taken', table.concat(taken, ',') } end
local delta = {}
set_seats(csv, to, delta)
redis.call('XADD', LOG, '*', 't', 'block', 'e', '', 'd', table.concat(delta, ','))
return { 'ok' }
