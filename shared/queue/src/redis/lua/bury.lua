-- Removes up to so many messages from the hands of a dead worker, and then its registration.
--
-- KEYS: workers set, in-flight set of the worker, data hash, description of the worker, signal list
-- ARGV: name of the worker, prefix of the messages' metas, how many
-- Returns how many messages were in its hands, and what they say.
local messages = redis.call('SPOP', KEYS[2], ARGV[3])
local said = {}
for _, message in ipairs(messages) do
    local data = redis.call('HGET', KEYS[3], message)
    if data then
        table.insert(said, data)
    end
    redis.call('HDEL', KEYS[3], message)
    redis.call('DEL', ARGV[2] .. message)
end
if #messages < tonumber(ARGV[3]) then
    redis.call('ZREM', KEYS[1], ARGV[1])
    redis.call('DEL', KEYS[4])
    if redis.call('EXISTS', KEYS[1]) == 0 then
        -- Nobody listens any more. apalis never removes its signal, nor a queue from its list of all.
        redis.call('DEL', KEYS[5])
        redis.call('ZREM', 'core:apalis:queues:list', KEYS[1])
    end
end
return {#messages, said}
