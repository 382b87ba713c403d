-- queue_settings
-- Carries an organizer's settings into the queue.
-- ARGV 1 version of the settings, 2 opens, 3 closes, 4 registers
-- Result {'ok'|'stale'|'rebuilding'}
-- Atomic, because a process that still knows older settings must not write them over newer ones.
if not ready() then return { 'rebuilding' } end
if tonumber(redis.call('HGET', QUEUE, 'settings') or '0') > tonumber(ARGV[1]) then return { 'stale' } end
redis.call('HSET', QUEUE, 'settings', ARGV[1], 'opens', ARGV[2], 'closes', ARGV[3], 'registers', ARGV[4])
return { 'ok' }
