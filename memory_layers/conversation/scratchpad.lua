-- Notes of the agents of one execution, in one hash that lives as long as the board.
--
-- KEYS  fields, operations, changes, claims, tokens, messages, notes
-- ARGV  verb, agent and '/', note, payload, time to live in ms or 0, task, token
-- write, delete  -> {'written'} | {'stale', what holds the task} | {'closed'} | {'unknown'}
-- read           -> {} or {payload}
-- all            -> flat list of note, payload
--
-- A note is the moment when it ends, in ms by the server's clock (0: with the board), and its payload: '0={"a":1}'.
local operations, claims, notes = KEYS[2], KEYS[4], KEYS[7]
local verb, agent, note, task, token = ARGV[1], ARGV[2], ARGV[3], ARGV[6], ARGV[7]

local now = now_ms()

local function payload_of(name, entry)
    local ends, payload = string.match(entry, '^(%d+)(.*)$')
    if ends == '0' or tonumber(ends) > now then
        return payload
    end
    redis.call('HDEL', notes, name)
end

if verb == 'read' then
    local entry = redis.call('HGET', notes, agent .. note)
    return {entry and payload_of(agent .. note, entry)}
end

if verb == 'all' then
    local found = {}
    local entries = redis.call('HGETALL', notes)
    for index = 1, #entries, 2 do
        if string.sub(entries[index], 1, #agent) == agent then
            local payload = payload_of(entries[index], entries[index + 1])
            if payload then
                found[#found + 1] = string.sub(entries[index], #agent + 1)
                found[#found + 1] = payload
            end
        end
    end
    return found
end

local refusal = shut(operations) or overtaken(claims, task, token)
if refusal then
    return refusal
end
if verb == 'delete' then
    redis.call('HDEL', notes, agent .. note)
else
    local ttl = tonumber(ARGV[5])
    local ends = ttl > 0 and string.format('%d', now + ttl) or '0'
    redis.call('HSET', notes, agent .. note, ends .. ARGV[4])
end
return {'written'}
