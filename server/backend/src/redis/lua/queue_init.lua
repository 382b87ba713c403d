-- Puts the queue's settings in place, and its numbers where Redis lost them.
-- KEYS 1 places (unused here, declared for one slot), 2 queue
-- ARGV 1 opens, 2 closes, 3 next number to give where there is none, 4 lobby or ''
-- Result {'ok'}
-- Atomic, because a join between the fields would read half of them. Numbers that are there stay.
redis.call('HSETNX', KEYS[2], 'next', ARGV[3])
if ARGV[4] ~= '' then redis.call('HSETNX', KEYS[2], 'lobby', ARGV[4]) end
redis.call('HSET', KEYS[2], 'opens', ARGV[1], 'closes', ARGV[2])
return { 'ok' }
