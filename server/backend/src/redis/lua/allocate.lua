-- Puts seats into an allocation, or takes them out of it: all or nothing.
-- ARGV 2 seats, 3 number of the allocation (1 to 63), 4 'keep' or 'free'
-- Result {'ok'|'again'|'rebuilding'} {'unknown'|'taken', seats}
-- `keep`: each seat must be available or blocked, and in no allocation yet or in this one. `free`: seats
-- of this allocation leave it in whatever state they are; others are passed over.
-- Atomic, because a fan may take one of the seats in the same instant.
if not complete() then return { 'rebuilding' } end
local csv, number, keep = ARGV[2], tonumber(ARGV[3]), ARGV[4] == 'keep'
local total, unknown, taken, change = redis.call('STRLEN', SEATS), {}, {}, {}
for seat in string.gmatch(csv, '%d+') do
  local no = tonumber(seat)
  if no >= total then
    unknown[#unknown + 1] = seat
  else
    local byte = byte_of(no)
    local state = byte % 4
    local own = (byte - state) / 4
    if keep and own == 0 and (state == 0 or state == 3) then
      change[#change + 1] = { no, state + number * 4 }
    elseif keep and own ~= number then
      taken[#taken + 1] = seat
    elseif not keep and own == number then
      change[#change + 1] = { no, state }
    end
  end
end
if #unknown > 0 then return { 'unknown', table.concat(unknown, ',') } end
if #taken > 0 then return { 'taken', table.concat(taken, ',') } end
if #change == 0 then return { 'again' } end
local delta = {}
for _, one in ipairs(change) do set_byte(one[1], one[2], delta) end
redis.call('XADD', LOG, '*', 't', 'allocate', 'e', '', 'd', table.concat(delta, ','))
return { 'ok' }
