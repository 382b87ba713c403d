-- Shared head of every script over the numbering of a queue.
--
-- KEYS 1 places (account → arrival number), 2 queue, 3 arrivals (16 bytes for each number, in order)
-- ARGV are the script's own.
-- RUN is put ahead of this text: the run of the server for which it was made, and in which it is.
local PLACES, QUEUE, ARRIVALS = KEYS[1], KEYS[2], KEYS[3]

local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- Numbers that another run left behind may lack the last ones that were given: nobody is given a number
-- before a worker has put them right.
local function ready()
  return redis.call('HGET', QUEUE, 'run') == RUN
end
