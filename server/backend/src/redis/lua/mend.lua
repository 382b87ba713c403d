-- Corrects one seat, if it is still as it was found.
-- ARGV 2 seat, 3 byte that was found, 4 owner that was found or '', 5 byte to set, 6 owner to set or '',
--      7 record of that owner, for where there is none, or ''
-- Result {'ok'|'changed'|'rebuilding'}
-- Atomic, because the sale goes on: a seat that moved since it was read is nobody's to correct. A hold
-- that has ended is never raised again.
if not complete() then return { 'rebuilding' } end
local seat, no, owner, record = ARGV[2], tonumber(ARGV[2]), ARGV[6], ARGV[7]
if byte_of(no) ~= tonumber(ARGV[3]) or (redis.call('HGET', OWNER, seat) or '') ~= ARGV[4] then return { 'changed' } end
if owner ~= '' then
  local rec = hold_of(owner)
  if rec and (rec.st == 'closed' or rec.st == 'closing') then return { 'changed' } end
  if not rec then
    if record == '' then return { 'changed' } end
    redis.call('HSET', HOLDS, owner, record)
    rec = cjson.decode(record)
    if rec.st == 'held' then redis.call('ZADD', EXPIRY, rec.x, owner) end
  end
  redis.call('HSET', OWNER, seat, owner)
else
  redis.call('HDEL', OWNER, seat)
end
local delta = {}
set_byte(no, tonumber(ARGV[5]), delta)
redis.call('XADD', LOG, '*', 't', 'mend', 'e', '', 'd', table.concat(delta, ','))
return { 'ok' }
