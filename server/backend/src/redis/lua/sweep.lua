-- Marks holds that have run out as closing, so that they can't be paid while their orders close.
-- ARGV 2 most holds in one call
-- Result {'rebuilding'} or {'ok', hold id, hold id, …}; holds marked before are named again until they end
-- Atomic, because a payment may start in the same instant; Redis's clock decides both.
if not complete() then return { 'rebuilding' } end
local now = now_ms()
local out = { 'ok' }
for _, id in ipairs(redis.call('ZRANGEBYSCORE', EXPIRY, '-inf', now, 'LIMIT', 0, tonumber(ARGV[2]))) do
  local rec = hold_of(id)
  if rec and rec.rc and rec.st == 'paying' then
    -- Late money has taken these seats, and Postgres has not decided in time: only it knows whether they are paid.
    out[#out + 1] = id
  elseif not rec or (rec.st ~= 'held' and rec.st ~= 'closing') then
    redis.call('ZREM', EXPIRY, id)
  else
    if rec.st == 'held' then
      rec.st = 'closing'
      save_hold(id, rec)
    end
    out[#out + 1] = id
  end
end
local tombs = redis.call('ZRANGEBYSCORE', TOMBS, '-inf', now, 'LIMIT', 0, tonumber(ARGV[2]))
for _, id in ipairs(tombs) do
  redis.call('HDEL', HOLDS, id)
  redis.call('ZREM', TOMBS, id)
end
redis.call('ZREMRANGEBYSCORE', SHOPPERS, '-inf', now)
return out
