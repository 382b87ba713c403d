-- Gives an account its place in the queue of one performance, or restores it from a signed ticket.
-- KEYS 1 places (account → arrival number), 2 queue
-- ARGV 1 account (16 bytes), 2 arrival number of a signed ticket, or ''
-- Result {'ok', arrival} {'rebuilding'|'closed'}
-- Atomic, because an account that joins twice at once must get one number, and because the first
-- call past the opening freezes the lobby: both follow from one clock, Redis's.
local queue = redis.call('HMGET', KEYS[2], 'opens', 'closes', 'next', 'lobby')
if not queue[1] then return { 'rebuilding' } end
local before = redis.call('HGET', KEYS[1], ARGV[1])
if before then return { 'ok', tonumber(before) } end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if now >= tonumber(queue[2]) then return { 'closed' } end
if ARGV[2] ~= '' then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  return { 'ok', tonumber(ARGV[2]) }
end
local next = tonumber(queue[3])
if now >= tonumber(queue[1]) and not queue[4] then
  redis.call('HSET', KEYS[2], 'lobby', next)
end
redis.call('HSET', KEYS[1], ARGV[1], next)
redis.call('HSET', KEYS[2], 'next', next + 1)
return { 'ok', next }
