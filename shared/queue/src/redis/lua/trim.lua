-- Removes up to so many messages, oldest first, from a queue that is too long.
--
-- KEYS: active list, scheduled set, data hash
-- ARGV: most messages in the queue, prefix of the messages' metas, how many
-- Returns how many were removed.
local excess = redis.call('LLEN', KEYS[1]) + redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[1])
if excess < 1 then
    return 0
end
local last = math.min(excess, tonumber(ARGV[3])) - 1
local messages = redis.call('LRANGE', KEYS[1], 0, last)
if #messages > 0 then
    redis.call('LTRIM', KEYS[1], #messages, -1)
else
    messages = redis.call('ZRANGE', KEYS[2], 0, last)
    redis.call('ZREMRANGEBYRANK', KEYS[2], 0, last)
end
for _, message in ipairs(messages) do
    redis.call('HDEL', KEYS[3], message)
    redis.call('DEL', ARGV[2] .. message)
end
return #messages
