-- One mutation of a board: answered before? -> opened? -> closed? -> room? -> token -> version -> set -> change stream
-- -> hint.
--
-- KEYS  fields, operations, changes, claims, messages, tokens   (all of one slot; see keys.py)
-- ARGV  operation, action (write | delete | tell), field, payload, expected version or 'any', task, token,
--       who (agent and session, as JSON), at (ms), data subject,
--       and for a first claim, else '': holder, lease in ms, task and token under which it is claimed,
--       most changes that the ledger may lack
-- Reply {'written', version, cursor, changes that the ledger lacks} | {'repeated', 'version cursor'}
--       | {'conflict', version, entry or ''} | {'stale', what holds the task} | {'closed'} | {'unknown'}
--       | {'full', changes that the ledger lacks}; a first claim adds its token to 'written'
--
-- An entry of a field is its version and its payload: '3={"a":1}' a value, '3@{...}' a reference to an artifact,
-- '3-' deleted at version 3. Changes are numbered 0-1, 0-2, ...: a gap in what a reader gets is a gap in what it knows.
local fields, operations, changes, claims, messages, tokens = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local operation, action, field, payload, expected = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local task, token, holder = ARGV[6], ARGV[7], ARGV[11]

local kept = redis.call('HMGET', operations, operation, 'closed', 'opened', 'last', 'audited')
if kept[1] then
    return {'repeated', kept[1]}
end
if not kept[3] then
    return {'unknown'}
end
if kept[2] then
    return {'closed'}
end
local audited = tonumber(kept[5] or 0)
local owed = tonumber(kept[4] or 0) - audited
if owed >= tonumber(ARGV[15]) then
    return {'full', owed}
end

-- A first claim is granted with the first write that carries it, and only while nobody ever claimed the task.
if holder ~= '' then
    local claim = redis.call('HGET', claims, task)
    if claim then
        local number, held_by = string.match(claim, '^(%d+) %d+ (.*)$')
        if held_by ~= holder then
            return {'stale', claim}
        end
        token = number
    else
        local refusal = overtaken(claims, ARGV[13], ARGV[14])
        if refusal then
            return refusal
        end
        token = grant(claims, tokens, task, ARGV[12], holder)
    end
else
    local refusal = overtaken(claims, task, token)
    if refusal then
        return refusal
    end
end

local before, after = 0, 0
if action ~= 'tell' then
    local entry = redis.call('HGET', fields, field)
    before = entry and tonumber(string.match(entry, '^%d+')) or 0
    if expected ~= 'any' and tonumber(expected) ~= before then
        return {'conflict', before, entry or ''}
    end
    if action == 'delete' and (not entry or string.find(entry, '^%d+%-')) then
        return {'written', before, '', owed, holder ~= '' and token or nil}
    end
    after = before + 1
    redis.call('HSET', fields, field, string.format('%d', after) .. payload)
end

local change = {
    'operation', operation, 'action', action, 'field', field, 'before', before, 'after', after, 'who', ARGV[8],
    'task', task, 'at', ARGV[9], 'subject', ARGV[10], 'payload', payload,
}
local cursor = redis.call('XADD', changes, '0-*', unpack(change))
if action == 'tell' then
    redis.call('XADD', messages, cursor, unpack(change))
end
local number = string.match(cursor, '%d+$')
redis.call('HSET', operations, operation, string.format('%d', after) .. ' ' .. cursor, 'last', number)
redis.call('PUBLISH', 'lousa:hints', changes)
return {'written', after, cursor, number - audited, holder ~= '' and token or nil}
