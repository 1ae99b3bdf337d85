-- Removes a message whole, before its bell is passed on: a ring from then on is a new bell.
--
-- KEYS: in-flight set of the worker, data hash, meta of the message
-- ARGV: id of the message, key of the mark ('' if none)
if redis.call('SREM', KEYS[1], ARGV[1]) == 0 then
    -- Not ours any more; whoever has it removes it.
    return 0
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[3])
if ARGV[2] ~= '' and redis.call('GET', ARGV[2]) == ARGV[1] then
    redis.call('DEL', ARGV[2])
end
return 1
