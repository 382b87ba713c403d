-- Exchanges a queue ticket for a pass: the shopper's visit starts.
-- ARGV 2 account, 3 nonce of the new pass, 4 length of a visit in ms
-- Result {'ok', expires} {'rebuilding'|'paused'|'full'|'sale_closed'}
-- Atomic, because counting the shoppers and adding one must be one step, or the house overfills.
-- A lost reply is repeated by its nonce; another nonce of the same account takes the visit over.
if not complete() then return { 'rebuilding' } end
local account, nonce = ARGV[2], ARGV[3]
local now = now_ms()
local meta = redis.call('HMGET', META, 'opens', 'closes', 'max', 'paused')
if now < tonumber(meta[1]) or now >= tonumber(meta[2]) then return { 'sale_closed' } end
redis.call('ZREMRANGEBYSCORE', SHOPPERS, '-inf', now)
local visit = redis.call('ZSCORE', SHOPPERS, account)
if visit then
  if redis.call('HGET', ENTERED, account) ~= nonce then
    redis.call('HSET', ENTERED, account, nonce)
    redis.call('XADD', LOG, '*', 't', 'enter', 'a', account, 'n', nonce, 'c', now, 'x', visit, 'e', '', 'd', '')
  end
  return { 'ok', tonumber(visit) }
end
if meta[4] == '1' then return { 'paused' } end
if redis.call('ZCARD', SHOPPERS) >= tonumber(meta[3]) then
  redis.call('HINCRBY', META, 'full', 1)
  return { 'full' }
end
local expires = now + tonumber(ARGV[4])
redis.call('ZADD', SHOPPERS, expires, account)
redis.call('HSET', ENTERED, account, nonce)
redis.call('HINCRBY', META, 'entered', 1)
redis.call('XADD', LOG, '*', 't', 'enter', 'a', account, 'n', nonce, 'c', now, 'x', expires, 'e', '', 'd', '')
return { 'ok', expires }
