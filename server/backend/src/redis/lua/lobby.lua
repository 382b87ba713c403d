-- Reads the queue of one performance; freezes the lobby when the opening has passed and nobody
-- joined since.
-- KEYS 1 places (unused here, declared for one slot), 2 queue
-- Result {'rebuilding'} {'ok', joined, lobby or -1, now}
-- Atomic, because the freeze must fall between two joins.
local queue = redis.call('HMGET', KEYS[2], 'opens', 'next', 'lobby')
if not queue[1] then return { 'rebuilding' } end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local lobby = queue[3]
if not lobby and now >= tonumber(queue[1]) then
  lobby = queue[2]
  redis.call('HSET', KEYS[2], 'lobby', lobby)
end
return { 'ok', tonumber(queue[2]), tonumber(lobby or '-1'), now }
