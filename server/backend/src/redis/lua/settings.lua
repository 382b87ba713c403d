-- settings
-- Carries an organizer's settings into the running sale.
-- ARGV 2 version of the settings, then names and values of `meta`
-- Result {'ok'|'stale'|'rebuilding'}
-- Atomic, because a process that still knows older settings must not write them over newer ones.
if not complete() then return { 'rebuilding' } end
if tonumber(redis.call('HGET', META, 'settings') or '0') > tonumber(ARGV[2]) then return { 'stale' } end
redis.call('HSET', META, 'settings', ARGV[2], unpack(ARGV, 3))
return { 'ok' }
