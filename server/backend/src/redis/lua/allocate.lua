-- Puts seats into an allocation, or takes them out of it: all or nothing.
-- ARGV 2 seats, 3 number of the allocation (1 to 63), 4 'keep' or 'free'
-- Result {'ok'|'again'|'rebuilding'} {'unknown'|'taken', seats}
-- `keep`: each seat must be available or blocked, and in no allocation yet or in this one. `free`: seats
-- of this allocation leave it in whatever state they are; others are passed over.
-- Atomic, because a fan may take one of the seats in the same instant.
if not complete() then return { 'rebuilding' } end
local number, keep = tonumber(ARGV[3]), ARGV[4] == 'keep'
return turn_all(ARGV[2], 'allocate', function(byte)
  local state = byte % 4
  local own = (byte - state) / 4
  if keep and own == 0 and (state == 0 or state == 3) then return state + number * 4 end
  if keep and own ~= number then return 'taken' end
  if not keep and own == number then return state end
end)
