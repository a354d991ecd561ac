-- The recent turns of a session.
--
-- KEYS  turns (list), ids (hash)
-- append id, payload, most turns, kept in ms, idle in ms -> 1, or 0 when the turn is there already
-- read   how many, kept in ms                             -> list of payloads, oldest first
--
-- A turn is the moment of its arrival by the server's clock, its id and its payload.
local turns, ids = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function parse(turn)
    local at, id, payload = string.match(turn, '^(%d+) (%S+) (.*)$')
    return tonumber(at), id, payload
end

if ARGV[1] == 'append' then
    local id, payload, most, kept, idle = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
    if redis.call('HSETNX', ids, id, 1) == 0 then
        return 0
    end
    local length = redis.call('RPUSH', turns, string.format('%d', now) .. ' ' .. id .. ' ' .. payload)
    while length > 1 do
        local at, oldest = parse(redis.call('LINDEX', turns, 0))
        if length <= most and at > now - kept then
            break
        end
        redis.call('LPOP', turns)
        redis.call('HDEL', ids, oldest)
        length = length - 1
    end
    local ttl = math.min(idle, kept)
    redis.call('PEXPIRE', turns, ttl)
    redis.call('PEXPIRE', ids, ttl)
    return 1
end

local wanted, kept = tonumber(ARGV[2]), tonumber(ARGV[3])
local found = {}
for _, turn in ipairs(redis.call('LRANGE', turns, -wanted, -1)) do
    local at, _, payload = parse(turn)
    if at > now - kept then
        found[#found + 1] = payload
    end
end
return found
