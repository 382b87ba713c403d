-- Reads the queue of one performance; freezes the lobby when the opening has passed and nobody
-- joined since.
-- Result {'rebuilding'} {'ok', joined, lobby or -1, now, 1 where numbers may have been skipped or 0}
-- Atomic, because the freeze must fall between two joins.
if not ready() then return { 'rebuilding' } end
local queue = redis.call('HMGET', QUEUE, 'opens', 'next', 'lobby', 'holes')
local now = now_ms()
local lobby = queue[3]
if not lobby and now >= tonumber(queue[1]) then
  lobby = queue[2]
  redis.call('HSET', QUEUE, 'lobby', lobby)
end
return { 'ok', tonumber(queue[2]), tonumber(lobby or '-1'), now, tonumber(queue[4] or '0') }
