-- Notes how far the order writer has committed the log.
-- ARGV 2 position
-- Result {'ok'|'rebuilding'}
-- Atomic, because the note must belong to the epoch whose log was written; a writer that was slower
-- than its successor must not take the note back.
if not complete() then return { 'rebuilding' } end
local function parts(position)
  local ms, seq = string.match(position, '^(%d+)%-(%d+)$')
  return tonumber(ms), tonumber(seq)
end
local ms, seq = parts(ARGV[2])
local was_ms, was_seq = parts(redis.call('HGET', META, 'written') or '0-0')
if ms > was_ms or (ms == was_ms and seq > was_seq) then redis.call('HSET', META, 'written', ARGV[2]) end
return { 'ok' }
