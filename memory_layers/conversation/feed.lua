-- The change stream as a whole.
--
-- KEYS  fields, operations, changes, claims, tokens, messages, notes
-- last                              -> the number of the last change, '0-0' when there was none
-- snapshot                          -> {last, flat list of field, entry}
-- trim   audited through, keep      -> how many changes were removed; only audited ones, and never the newest `keep`, nor
--                                      any while what a server was left with is to be looked through. The board knows
--                                      how far it is audited from then on
-- end    audited through            -> the last number given, as a cursor, if no change stands after `audited through`;
--                                      else that itself
-- close  audited through, ttl in ms, operation of the change there, or ''
--                                   -> 1, or 0 when a change is not audited yet, or when this server has another past
--                                      than the ledger, which is to be looked through; then nothing was done
-- reopen audited through            -> 1, or 0 when the board was gone: an execution is taken up again, and its board open
-- ahead  audited through            -> 1: the server lost changes, so numbers go on far beyond any that it can have given,
--                                      and so do tokens. What it was left with is marked as to be looked through
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

-- More changes than a ledger may lack, so than a server can have lost.
local BEYOND = 10000000

local function ahead(through)
    local next = string.format('%d', math.max(number(through), number(last())) + BEYOND)
    if redis.call('EXISTS', changes) == 0 then
        redis.call('XGROUP', 'CREATE', changes, 'none', '0', 'MKSTREAM')
        redis.call('XGROUP', 'DESTROY', changes, 'none')
    else
        redis.call('HSET', KEYS[2], 'lost', '1')
    end
    local time = redis.call('TIME')
    redis.call('XSETID', changes, '0-' .. next)
    redis.call('HSET', KEYS[2], 'last', next, 'audited', next)
    redis.call('SET', KEYS[5], string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000)))
    return 1
end

local verb = ARGV[1]
if verb == 'last' then
    return last()
elseif verb == 'snapshot' then
    return {last(), redis.call('HGETALL', KEYS[1])}
elseif verb == 'trim' then
    local audited = number(ARGV[2])
    if redis.call('HEXISTS', KEYS[2], 'opened') == 1 then
        local before = tonumber(redis.call('HGET', KEYS[2], 'audited') or 0)
        redis.call('HSET', KEYS[2], 'audited', string.format('%d', math.max(audited, before)))
    end
    local through = math.min(audited, number(last()) - tonumber(ARGV[3]))
    if through < 1 or redis.call('HEXISTS', KEYS[2], 'lost') == 1 then
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
    if number(last()) < number(ARGV[2]) then
        ahead(ARGV[2])
    end
    return there
elseif verb == 'ahead' then
    return ahead(ARGV[2])
elseif verb == 'end' then
    return #redis.call('XRANGE', changes, '(' .. ARGV[2], '+', 'COUNT', 1) == 0 and last() or ARGV[2]
else
    local given, place, operation = number(last()), ARGV[2], ARGV[4]
    if given ~= 0 and given ~= number(place) or redis.call('HEXISTS', KEYS[2], 'lost') == 1 then
        return 0
    end
    local there = operation ~= '' and redis.call('XRANGE', changes, place, place)[1]
    if there and there[2][2] ~= operation then
        return 0
    end
    redis.call('HSET', KEYS[2], 'closed', '1')
    for _, key in ipairs(KEYS) do
        redis.call('PEXPIRE', key, ARGV[3])
    end
    return 1
end
