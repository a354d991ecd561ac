-- Claims: who works on a task until when, by the server's clock, under a token that never comes twice.
--
-- KEYS  fields, operations, changes, claims, tokens, messages, notes
-- ARGV  verb, task, holder (unique to the claim), lease in ms, fence task, fence token, token taken over, 'any' or ''
-- Reply claim:   {'claimed', token, until} | {'taken', until} | {'stale', ...} | {'closed'} | {'unknown'}
--       open:    the same; the board is opened if it was not
--       renew:   {'claimed', token, until} | {'stale', what holds the task}
--       release: {'released'} | {'stale', what holds the task}
--
-- What a claim was granted is kept among the answers of the board, under the id that its holder begins with. So a claim
-- that is sent again gets its first answer, also after somebody else took the task over, and is never granted twice.
local operations, claims, tokens = KEYS[2], KEYS[4], KEYS[5]
local verb, task, holder, lease, fence, fence_token = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local over = ARGV[7]

local claim = redis.call('HGET', claims, task)
local token, till, held_by
if claim then
    token, till, held_by = string.match(claim, '^(%d+) (%d+) (.*)$')
end

if verb == 'claim' or verb == 'open' then
    if verb == 'open' then
        redis.call('HSETNX', operations, 'opened', '1')
    end
    local id = string.match(holder, '^%S+')
    local kept = redis.call('HGET', operations, id)
    if kept then
        local number, ends = string.match(kept, '^(%d+) (%d+)$')
        return {'claimed', tonumber(number), tonumber(ends)}
    end
    if claim and held_by == holder then
        return {'claimed', tonumber(token), tonumber(till)}
    end
    local refusal = shut(operations) or overtaken(claims, fence, fence_token)
    if refusal then
        return refusal
    end
    if claim and held_by ~= '' and tonumber(till) > now_ms() and over ~= 'any' and over ~= token then
        return {'taken', tonumber(till)}
    end
    local number, ends = grant(claims, tokens, task, lease, holder)
    redis.call('HSET', operations, id, number .. ' ' .. string.format('%d', ends))
    return {'claimed', tonumber(number), ends}
end

if not claim or held_by ~= holder then
    return {'stale', claim or ''}
end
if verb == 'renew' then
    return {'claimed', tonumber(token), hold(claims, task, token, lease, holder)}
end
redis.call('HSET', claims, task, token .. ' 0 ')
return {'released'}
