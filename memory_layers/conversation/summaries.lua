-- The summary and the topics of a session, replaced as a whole by whoever knew what they replace.
--
-- KEYS  summary (hash: version, summary, leased, failures, in_row, bad, last, after), topics (string)
-- read                                              -> the state
-- lease   holder, lease in ms, ttl ms               -> the state
-- replace version, holder, summary, topics, ttl in ms of either
--                                                   -> 1, or 0 when the version is another one by now
-- failed  version, holder, kind, whether an answer was bad, first pause in ms, longest pause in ms, ttl ms
--                                                   -> 1, or 0 when the version is another one by now
-- release holder                                    -> 1, or 0 when somebody else holds it
-- drop    ms in which nothing older may come back   -> 1
--
-- The state: version, summary, topics, failures, kind of the last one, bad answers since the last success, whether it
-- may be tried again, whether the lease is the caller's.
local key, topics, verb = KEYS[1], KEYS[2], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function version()
    return redis.call('HGET', key, 'version') or '0'
end

local function held_by()
    local holder, ends = string.match(redis.call('HGET', key, 'leased') or '', '^(%S+) (%d+)$')
    return holder and tonumber(ends) > now and holder or ''
end

local function let_go(holder)
    if held_by() == holder then
        redis.call('HDEL', key, 'leased')
        return 1
    end
    return 0
end

local function state(mine)
    local found = redis.call('HMGET', key, 'version', 'summary', 'failures', 'last', 'bad', 'after')
    local may = tonumber(found[6] or 0) <= now and 1 or 0
    return {
        found[1] or '0', found[2] or '', redis.call('GET', topics) or '', tonumber(found[3] or 0), found[4] or '',
        tonumber(found[5] or 0), may, mine,
    }
end

if verb == 'read' then
    return state(0)
end
if verb == 'lease' then
    local holder, ends = held_by(), now + tonumber(ARGV[3])
    if holder ~= '' and holder ~= ARGV[2] then
        return state(0)
    end
    redis.call('HSET', key, 'leased', ARGV[2] .. ' ' .. string.format('%d', ends))
    redis.call('PEXPIRE', key, ARGV[4])
    return state(1)
end
if verb == 'release' then
    return let_go(ARGV[2])
end
if verb == 'drop' then
    -- Whoever read before must not bring it back, so what comes next has a number that nobody knows yet.
    redis.call('DEL', key, topics)
    redis.call('HSET', key, 'version', string.format('%d', now))
    redis.call('PEXPIRE', key, ARGV[2])
    return 1
end

if version() ~= ARGV[2] then
    return 0
end
let_go(ARGV[3])
if verb == 'replace' then
    redis.call('HSET', key, 'version', string.format('%d', ARGV[2] + 1), 'summary', ARGV[4], 'in_row', 0, 'bad', 0,
        'after', 0)
    redis.call('PEXPIRE', key, ARGV[6])
    redis.call('SET', topics, ARGV[5], 'PX', ARGV[7])
    return 1
end
local counted = redis.call('HMGET', key, 'failures', 'in_row', 'bad')
local in_row = tonumber(counted[2] or 0)
local pause = math.min(tonumber(ARGV[7]), tonumber(ARGV[6]) * 2 ^ math.min(in_row, 30))
redis.call('HSET', key, 'failures', string.format('%d', tonumber(counted[1] or 0) + 1), 'in_row',
    string.format('%d', in_row + 1), 'bad', string.format('%d', tonumber(counted[3] or 0) + tonumber(ARGV[5])),
    'last', ARGV[4], 'after', string.format('%d', now + pause))
redis.call('PEXPIRE', key, ARGV[8])
return 1
