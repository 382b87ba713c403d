-- door
-- Reads what the door's controller decides by.
-- ARGV 2 term of the leader that asks
-- Result {'rebuilding'|'fenced'} or {'ok', serving, shoppers, visits begun, entries that met a full house,
--     what the controller remembers, window of a lottery or '', now}
-- Atomic, because shoppers and counters that were read apart would not belong together; a leader that asks
-- is the leader from then on.
if not complete() then return { 'rebuilding' } end
local meta = redis.call('HMGET', META, 'term', 'serving', 'entered', 'full', 'control', 'window')
if tonumber(meta[1] or '0') > tonumber(ARGV[2]) then return { 'fenced' } end
local now = now_ms()
redis.call('HSET', META, 'term', ARGV[2])
redis.call('ZREMRANGEBYSCORE', SHOPPERS, '-inf', now)
return {
  'ok', tonumber(meta[2] or '0'), redis.call('ZCARD', SHOPPERS), tonumber(meta[3] or '0'), tonumber(meta[4] or '0'),
  meta[5] or '', meta[6] or '', now,
}
