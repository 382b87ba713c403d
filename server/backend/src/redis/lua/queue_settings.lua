-- queue_settings
-- Carries an organizer's settings into the queue.
-- KEYS 1 places (unused here, declared for one slot), 2 queue
-- ARGV 1 version of the settings, 2 opens, 3 closes
-- Result {'ok'|'stale'|'rebuilding'}
-- Atomic, because a process that still knows older settings must not write them over newer ones.
local queue = redis.call('HMGET', KEYS[2], 'opens', 'settings')
if not queue[1] then return { 'rebuilding' } end
if tonumber(queue[2] or '0') > tonumber(ARGV[1]) then return { 'stale' } end
redis.call('HSET', KEYS[2], 'settings', ARGV[1], 'opens', ARGV[2], 'closes', ARGV[3])
return { 'ok' }
