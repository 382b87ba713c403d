-- Puts a rebuilt state in place of whatever is there.
-- KEYS 12… the staging keys, in the order of the live ones from META to TOMBS
-- ARGV 2 number of seats that must be there
-- Result {'ok'|'newer'|'incomplete'|'other_run'}
-- Atomic, because scripts between two renames would see half a state. `epoch` is written last and
-- by this script alone: where it stands, the state is complete.
if redis.call('HGET', KEYS[12], 'run') ~= RUN then return { 'other_run' } end
local standing = redis.call('GET', EPOCH)
if standing and tonumber(standing) >= tonumber(ARGV[1]) then return { 'newer' } end
if redis.call('STRLEN', KEYS[13]) ~= tonumber(ARGV[2]) then return { 'incomplete' } end
for i = 2, 11 do
  if redis.call('EXISTS', KEYS[i + 10]) == 1 then
    redis.call('RENAME', KEYS[i + 10], KEYS[i])
    -- What is staged goes away by itself when nobody puts it in place.
    redis.call('PERSIST', KEYS[i])
  else
    redis.call('DEL', KEYS[i])
  end
end
redis.call('XADD', LOG, '*', 't', 'rebuilt', 'e', '', 'd', '')
redis.call('HSET', META, 'written', '0-0')
redis.call('SET', EPOCH, ARGV[1])
return { 'ok' }
