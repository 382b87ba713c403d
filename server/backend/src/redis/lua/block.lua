-- Moves seats between available and blocked: all or nothing. A seat stays in its allocation.
-- ARGV 2 seats, 3 state that each must have, 4 state that each gets
-- Result {'ok'|'again'|'rebuilding'} {'unknown'|'taken', seats}
-- Atomic, because a fan may take one of the seats in the same instant.
if not complete() then return { 'rebuilding' } end
local from, to = tonumber(ARGV[3]), tonumber(ARGV[4])
return turn_all(ARGV[2], 'block', function(byte)
  local state = byte % 4
  if state == from then return byte - from + to end
  if state ~= to then return 'taken' end
end)
