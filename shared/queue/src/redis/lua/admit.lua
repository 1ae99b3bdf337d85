-- Which of these bells are worth a message.
--
-- KEYS: active list, scheduled set, announced set
-- ARGV: most messages in the queue, seconds that an announcement and that a mark lives, then for each bell: the
-- id that its message would have, and the key of its mark ('' for bells that are all alike)
-- Returns for each bell 0 (push it), 1 (the same bell waits), 2 (full).
local active, scheduled, announced = KEYS[1], KEYS[2], KEYS[3]
local now = tonumber(redis.call('TIME')[1])

-- A pusher may die between the announcement and the push.
redis.call('ZREMRANGEBYSCORE', announced, '-inf', now)
local room = tonumber(ARGV[1]) - redis.call('LLEN', active) - redis.call('ZCARD', scheduled)
    - redis.call('ZCARD', announced)

-- A message that somebody took is none: its bell may have been returned already. Nor is one that is only
-- announced: its pusher may have died, or have given up waiting for this very answer.
local function waits(message)
    return redis.call('ZSCORE', scheduled, message) or redis.call('LPOS', active, message)
end

local verdicts = {}
for i = 4, #ARGV, 2 do
    local message, mark = ARGV[i], ARGV[i + 1]
    local known = mark ~= '' and redis.call('GET', mark)
    if known and waits(known) then
        table.insert(verdicts, 1)
    elseif room < 1 then
        table.insert(verdicts, 2)
    else
        room = room - 1
        redis.call('ZADD', announced, now + tonumber(ARGV[2]), message)
        if mark ~= '' then
            redis.call('SET', mark, message, 'EX', ARGV[3])
        end
        table.insert(verdicts, 0)
    end
end
return verdicts
