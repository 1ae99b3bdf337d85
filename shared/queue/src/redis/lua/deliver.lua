-- Moves messages that apalis has just pushed to where its workers find them at once, and wakes those.
--
-- KEYS: active list, scheduled set, announced set
-- ARGV: channel, then the ids
for i = 2, #ARGV do
    redis.call('ZREM', KEYS[3], ARGV[i])
    -- Unless a worker came first and has promoted it.
    if redis.call('ZREM', KEYS[2], ARGV[i]) == 1 then
        redis.call('RPUSH', KEYS[1], ARGV[i])
    end
end
redis.call('PUBLISH', ARGV[1], #ARGV - 1)
return #ARGV - 1
