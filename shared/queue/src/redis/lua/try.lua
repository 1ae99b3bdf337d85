-- Does once whatever bells need to be allowed, and leaves nothing.
--
-- KEYS: a key of ours, apalis's list of queues
redis.call('SET', KEYS[1], 1)
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[1], '')
redis.call('ZCARD', KEYS[2])
return 1
