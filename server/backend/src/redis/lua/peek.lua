-- Reads a stretch of seats with everything that hangs on them, for the reconciler.
-- ARGV 2 first seat, 3 last seat
-- Result {'rebuilding'} {'ok', last log id, bytes, {seat, hold, seat, hold, …}, {hold, record, expiry or '', …}}
-- Atomic, because seats, owners and holds that were read apart would differ without any fault.
if not complete() then return { 'rebuilding' } end
local info, last = redis.call('XINFO', 'STREAM', LOG), '0-0'
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then last = info[i + 1] end
end
local first, final = tonumber(ARGV[2]), tonumber(ARGV[3])
local wanted = {}
for no = first, final do wanted[#wanted + 1] = no end
local owned, holds, met = {}, {}, {}
for i, hold in ipairs(redis.call('HMGET', OWNER, unpack(wanted))) do
  if hold then
    owned[#owned + 1] = wanted[i]
    owned[#owned + 1] = hold
    if not met[hold] then
      met[hold] = true
      holds[#holds + 1] = hold
      holds[#holds + 1] = redis.call('HGET', HOLDS, hold) or ''
      holds[#holds + 1] = redis.call('ZSCORE', EXPIRY, hold) or ''
    end
  end
end
return { 'ok', last, redis.call('GETRANGE', SEATS, first, final), owned, holds }
