-- Raises the place up to which the door serves, with what its controller remembers.
-- ARGV 2 term of the leader, 3 places, 4 places a minute as measured, 5 what the controller remembers,
--      6 window of a lottery or ''
-- Result {'ok', serving} {'rebuilding'|'fenced'}
-- Atomic, because a leader that was replaced while it slept must not write; places never fall.
if not complete() then return { 'rebuilding' } end
local meta = redis.call('HMGET', META, 'term', 'serving')
if tonumber(meta[1] or '0') > tonumber(ARGV[2]) then return { 'fenced' } end
local serving = math.max(tonumber(meta[2] or '0'), tonumber(ARGV[3]))
redis.call('HSET', META, 'term', ARGV[2], 'serving', serving, 'pace', ARGV[4], 'control', ARGV[5], 'window', ARGV[6])
return { 'ok', serving }
