-- The registered workers whose description has expired.
--
-- KEYS: workers set
-- ARGV: prefix of the descriptions
local dead = {}
for _, worker in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    if redis.call('EXISTS', ARGV[1] .. worker) == 0 then
        table.insert(dead, worker)
    end
end
return dead
