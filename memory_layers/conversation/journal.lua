-- The journal of a tenant, and how much of it waits.
--
-- KEYS  journal, bytes (what its entries weigh), dead letters   (all of one slot; see keys.py)
-- append most entries, most bytes, field, value, …  -> {1, entries, bytes} with the new one,
--                                                      or {0, entries, bytes} when it finds no room: nothing was done
-- announce the same                                 -> the same, and says so on the channel of journals: relays of a
--                                                      Cluster wait for that
-- settle group, place, …                            -> how many went; their records are committed
-- bury   group, place, field, value, …              -> the place among the dead letters
--
-- An entry that is larger than the mark is taken by an empty journal, unless there is no room at all. The first command
-- that writes is one that a server without memory refuses, except where something is taken out.
local journal, weight, dead = KEYS[1], KEYS[2], KEYS[3]
local verb = ARGV[1]

local function size_of(flat, from)
    local size = 0
    for index = from, #flat do
        size = size + #flat[index]
    end
    return size
end

if verb == 'append' or verb == 'announce' then
    local most, most_bytes = tonumber(ARGV[2]), tonumber(ARGV[3])
    local entries = redis.call('XLEN', journal)
    local bytes = tonumber(redis.call('GET', weight) or 0)
    local size = size_of(ARGV, 4)
    if entries >= most or most_bytes <= 0 or (entries > 0 and bytes + size > most_bytes) then
        return {0, entries, bytes}
    end
    redis.call('XADD', journal, '*', unpack(ARGV, 4))
    if verb == 'announce' then
        redis.call('PUBLISH', 'lousa:journals', journal)
    end
    return {1, entries + 1, redis.call('INCRBY', weight, size)}
end

local answer, places = nil, {}
if verb == 'bury' then
    answer = redis.call('XADD', dead, '*', 'place', ARGV[3], unpack(ARGV, 4))
    places[1] = ARGV[3]
else
    for index = 3, #ARGV do
        places[index - 2] = ARGV[index]
    end
end
local size = 0
for _, place in ipairs(places) do
    local found = redis.call('XRANGE', journal, place, place)[1]
    size = size + (found and size_of(found[2], 1) or 0)
end
redis.call('XACK', journal, ARGV[2], unpack(places))
local gone = redis.call('XDEL', journal, unpack(places))
local left = tonumber(redis.call('GET', weight) or 0) - size
if left <= 0 or redis.call('XLEN', journal) == 0 then
    redis.call('DEL', weight)
else
    redis.call('SET', weight, string.format('%d', left))
end
return answer or gone
