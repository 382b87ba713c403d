-- Ends a shopper's visit; an open hold stays its account's to pay.
-- ARGV 2 account
-- Result {'ok'|'rebuilding'}
-- Atomic, because the slot must return exactly once.
if not complete() then return { 'rebuilding' } end
redis.call('ZREM', SHOPPERS, ARGV[2])
redis.call('HDEL', ENTERED, ARGV[2])
redis.call('XADD', LOG, '*', 't', 'leave', 'a', ARGV[2], 'e', '', 'd', '')
return { 'ok' }
