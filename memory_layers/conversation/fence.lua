-- What the scripts of a board share: it is put before each of them.
--
-- A claim is 'token until holder'; one that was released keeps its token and has no holder.

local function now_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The reply to whoever may not change this board any more, or not yet; nil when it may be changed.
local function shut(operations)
    local board = redis.call('HMGET', operations, 'opened', 'closed')
    if not board[1] then
        return {'unknown'}
    end
    return board[2] and {'closed'} or nil
end

-- The reply to whoever carries a token that no longer holds; nil when it holds, or when nothing is carried.
local function overtaken(claims, task, token)
    if task == '' then
        return nil
    end
    local claim = redis.call('HGET', claims, task)
    if claim and string.match(claim, '^(%d+) %d+ .') == token then
        return nil
    end
    return {'stale', claim or ''}
end

-- Hold `task` for `lease` ms more; until when.
local function hold(claims, task, token, lease, holder)
    local ends = string.format('%d', now_ms() + tonumber(lease))
    redis.call('HSET', claims, task, token .. ' ' .. ends .. ' ' .. holder)
    return tonumber(ends)
end

-- A new token for `task`, and until when it holds.
local function grant(claims, tokens, task, lease, holder)
    local token = string.format('%d', redis.call('INCR', tokens))
    -- When each of the last tokens was granted, for whoever must judge a write by its time; no task is called so.
    local granted = redis.call('HGET', claims, '\0' .. task) or ''
    local recent = string.match(granted, '%S+ %S+ %S+ %S+ %S+ %S+ %S+ $') or granted
    redis.call('HSET', claims, '\0' .. task, recent .. token .. ':' .. string.format('%d', now_ms()) .. ' ')
    return token, hold(claims, task, token, lease, holder)
end
