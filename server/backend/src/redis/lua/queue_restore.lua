-- queue_restore
-- Puts a stretch of places back that Redis may have lost.
-- ARGV 1 first number of the stretch, 2 its accounts, 16 bytes each; zeros for a number that was never given
-- Result {'ok'} {'open'} where the queue gives numbers already: then nothing is put back
-- Atomic, because somebody else may open the queue in the same instant, and from then on places are taken.
-- What is there stays: it is as true as what is put back.
if ready() then return { 'open' } end
local first, accounts = tonumber(ARGV[1]), ARGV[2]
local none = string.rep('\0', 16)
local there = redis.call('GETRANGE', ARRIVALS, first * 16, first * 16 + #accounts - 1)
local stretch = {}
for at = 1, #accounts, 16 do
  local account, known = string.sub(accounts, at, at + 15), string.sub(there, at, at + 15)
  if known ~= '' and known ~= none then
    stretch[#stretch + 1] = known
  else
    stretch[#stretch + 1] = account
    if account ~= none then redis.call('HSETNX', PLACES, account, first + (at - 1) / 16) end
  end
end
redis.call('SETRANGE', ARRIVALS, first * 16, table.concat(stretch))
return { 'ok' }
