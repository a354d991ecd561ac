-- The change stream as a whole.
--
-- KEYS  fields, operations, changes, claims, tokens, messages, notes
-- last                              -> the number of the last change, '0-0' when there was none
-- snapshot                          -> {last, flat list of field, entry}
-- trim  audited through, keep       -> how many changes were removed; only audited ones, and never the newest `keep`
-- close audited through, ttl in ms  -> 1, or 0 when a change is not audited yet; then nothing was done
-- reopen                            -> 1, or 0 when the board was gone: an execution is taken up again, and its board open
local changes = KEYS[3]

local function last()
    if redis.call('EXISTS', changes) == 0 then
        return '0-0'
    end
    local facts = redis.call('XINFO', 'STREAM', changes)
    for index = 1, #facts, 2 do
        if facts[index] == 'last-generated-id' then
            return facts[index + 1]
        end
    end
end

local function number(cursor)
    return tonumber(string.match(cursor, '%-(%d+)$'))
end

local verb = ARGV[1]
if verb == 'last' then
    return last()
elseif verb == 'snapshot' then
    return {last(), redis.call('HGETALL', KEYS[1])}
elseif verb == 'trim' then
    local through = math.min(number(ARGV[2]), number(last()) - tonumber(ARGV[3]))
    if through < 1 then
        return 0
    end
    return redis.call('XTRIM', changes, 'MINID', '=', string.format('0-%d', through + 1))
elseif verb == 'reopen' then
    local there = 0
    for _, key in ipairs(KEYS) do
        redis.call('PERSIST', key)
        there = math.max(there, redis.call('EXISTS', key))
    end
    redis.call('HSET', KEYS[2], 'opened', '1')
    redis.call('HDEL', KEYS[2], 'closed')
    return there
else
    if number(last()) > number(ARGV[2]) then
        return 0
    end
    redis.call('HSET', KEYS[2], 'closed', '1')
    for _, key in ipairs(KEYS) do
        redis.call('PEXPIRE', key, ARGV[3])
    end
    return 1
end
