-- Reads the whole map with the position up to which it is complete.
-- Result {'rebuilding'} {'ok', seats, last log id}
-- Atomic, because seats and position must belong together: a delta between two reads would be lost.
if not complete() then return { 'rebuilding' } end
local info, last = redis.call('XINFO', 'STREAM', LOG), '0-0'
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then last = info[i + 1] end
end
return { 'ok', redis.call('GET', SEATS), last }
