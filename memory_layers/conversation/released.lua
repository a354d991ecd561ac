-- Nobody holds anything on a board any more: those who did live in another world, from which it was brought back.
--
-- KEYS  claims
-- Reply how many claims were taken from somebody. Tokens stay, so what was written under them counts as before.
local found, released = redis.call('HGETALL', KEYS[1]), 0
for index = 1, #found, 2 do
    local token, holder = string.match(found[index + 1], '^(%d+) %d+ (.*)$')
    if string.sub(found[index], 1, 1) ~= '\0' and holder and holder ~= '' then
        redis.call('HSET', KEYS[1], found[index], token .. ' 0 ')
        released = released + 1
    end
end
return released
