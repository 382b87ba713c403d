-- queue_init
-- Opens the queue of one performance in this run of the server, once its numbers are there.
-- ARGV 1 opens, 2 closes, 3 registers, 4 mode, 5 least number to give next, 6 lobby or '',
--      7 '1' where numbers may have been skipped
-- Result {'ok'}
-- Atomic, because a join between the fields would read half of them. Numbers never fall.
local next = math.max(tonumber(redis.call('HGET', QUEUE, 'next') or '0'), tonumber(ARGV[5]))
if ARGV[6] ~= '' then redis.call('HSETNX', QUEUE, 'lobby', ARGV[6]) end
redis.call(
  'HSET', QUEUE, 'opens', ARGV[1], 'closes', ARGV[2], 'registers', ARGV[3], 'mode', ARGV[4], 'next', next, 'run', RUN
)
if ARGV[7] == '1' then redis.call('HSET', QUEUE, 'holes', 1) end
-- Numbers that were skipped are zeros in the list, also when nobody comes after them.
if next > 0 and redis.call('STRLEN', ARRIVALS) < next * 16 then redis.call('SETRANGE', ARRIVALS, next * 16 - 1, '\0') end
return { 'ok' }
