-- Claims: who works on a task until when, by the server's clock, under a token that never comes twice.
--
-- KEYS  fields, operations, changes, claims, tokens, messages, notes
-- ARGV  verb, task, holder (unique to the claim), lease in ms, fence task, fence token, token taken over, 'any' or ''
-- Reply claim:   {'claimed', token, until} | {'taken', until} | {'stale', ...} | {'closed'} | {'unknown'}
--       renew:   {'claimed', token, until} | {'stale', what holds the task}
--       release: {'released'} | {'stale', what holds the task}
--
-- A claim is 'token until holder'; one that was released keeps its token and has no holder.
local operations, claims, tokens = KEYS[2], KEYS[4], KEYS[5]
local verb, task, holder, lease, fence, fence_token = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local over = ARGV[7]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local claim = redis.call('HGET', claims, task)
local token, till, held_by
if claim then
    token, till, held_by = string.match(claim, '^(%d+) (%d+) (.*)$')
end

local function hold(number)
    local until_ms = string.format('%d', now + tonumber(lease))
    redis.call('HSET', claims, task, number .. ' ' .. until_ms .. ' ' .. holder)
    return {'claimed', tonumber(number), tonumber(until_ms)}
end

if verb == 'claim' then
    local board = redis.call('HMGET', operations, 'closed', 'opened')
    if not board[2] then
        return {'unknown'}
    end
    if board[1] then
        return {'closed'}
    end
    if fence ~= '' then
        local own = redis.call('HGET', claims, fence)
        if not own or string.match(own, '^(%d+) %d+ .') ~= fence_token then
            return {'stale', own or ''}
        end
    end
    if claim and held_by == holder then
        return {'claimed', tonumber(token), tonumber(till)}
    end
    if claim and held_by ~= '' and tonumber(till) > now and over ~= 'any' and over ~= token then
        return {'taken', tonumber(till)}
    end
    local number = string.format('%d', redis.call('INCR', tokens))
    -- When each of the last tokens was granted, for whoever must judge a write by its time; no task is called so.
    local granted = redis.call('HGET', claims, '\0' .. task) or ''
    local recent = string.match(granted, '%S+ %S+ %S+ %S+ %S+ %S+ %S+ $') or granted
    redis.call('HSET', claims, '\0' .. task, recent .. number .. ':' .. string.format('%d', now) .. ' ')
    return hold(number)
end

if not claim or held_by ~= holder then
    return {'stale', claim or ''}
end
if verb == 'renew' then
    return hold(token)
end
redis.call('HSET', claims, task, token .. ' 0 ')
return {'released'}
