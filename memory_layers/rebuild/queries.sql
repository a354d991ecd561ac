-- take: The rebuild of a layer is ours, unless somebody alive is at it; how far it is.
INSERT INTO rebuild AS work (layer, holder, held_until)
VALUES (%(layer)s, %(holder)s, clock_timestamp() + %(lease)s)
ON CONFLICT (layer) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
    WHERE work.holder = excluded.holder OR work.held_until < clock_timestamp()
RETURNING space, filled, begun_at

-- held: For how many seconds somebody else's lease still lasts, and since when the rebuild is under way.
SELECT extract(epoch FROM held_until - clock_timestamp())::float8, begun_at, holder FROM rebuild WHERE layer = %(layer)s

-- renew: Still ours, for another while.
UPDATE rebuild SET held_until = clock_timestamp() + %(lease)s WHERE layer = %(layer)s AND holder = %(holder)s

-- leave: Not done; whoever asks next may go on at once.
UPDATE rebuild SET held_until = clock_timestamp() - interval '1 second' WHERE layer = %(layer)s AND holder = %(holder)s

-- begun: This space is being filled.
UPDATE rebuild SET space = %(space)s, filled = false, begun_at = clock_timestamp()
WHERE layer = %(layer)s AND holder = %(holder)s

-- filled: It is owed all that was there.
UPDATE rebuild SET filled = true WHERE layer = %(layer)s AND holder = %(holder)s

-- done: The rebuild is over.
DELETE FROM rebuild WHERE layer = %(layer)s AND holder = %(holder)s

-- take_turns: Nobody opens a space until this transaction ends.
SELECT pg_advisory_xact_lock(465726436194)

-- spaces: Where vectors lie, and where they will.
SELECT name, store, fingerprint, model, dimensions, state FROM layer_space WHERE layer = 'context' ORDER BY created_at

-- number: For the name of a space.
SELECT nextval('space_number')

-- hold_writers: Nobody writes memories, nor reads these spaces, until this transaction ends.
SELECT hold_writers(%(spaces)s::text[], %(patience)s)

-- open_space: A space beside the one that serves.
SELECT open_vector_space(%(space)s, %(store)s, %(fingerprint)s, %(model)s, %(dimensions)s, 'filling')

-- close_space: A space that is not needed any more.
SELECT close_vector_space(%(space)s)

-- know_space: The planner gets to know it.
SELECT know_space(%(space)s)

-- serve_space: A space is read from now on.
SELECT serve_space('context', %(space)s)

-- mirror: Whether what is owed to layer 2 is owed to the space that is being filled as well.
SELECT mirror_debts(%(wanted)s)

-- tenants: Everyone who has memories.
SELECT name FROM tenants_with_memories() AS name

-- act_for: From here on the transaction is about this tenant.
SELECT set_config('lousa.tenant', %(tenant)s, true)

-- owe_all: All of a tenant that belongs in layer 2.
INSERT INTO debt (tenant, memory, layer)
SELECT tenant, id, 'rebuild' FROM memory
WHERE tenant = current_tenant() AND kind = ANY (%(kinds)s) AND status IN ('live', 'contested')
ON CONFLICT DO NOTHING

-- owe: These are owed to the space.
SELECT owe(%(ids)s::uuid[], 'rebuild')

-- owed: How many memories are still owed, and to how many of them the model or the store said no, and what.
SELECT count(*), count(*) FILTER (WHERE error IS NOT NULL), max(error) FROM debt WHERE layer = 'rebuild'

-- debtors: For whom something is due.
SELECT DISTINCT tenant FROM debt WHERE layer = 'rebuild' AND due_at <= clock_timestamp()

-- creditors: For whom anything is owed.
SELECT DISTINCT tenant FROM debt WHERE layer = 'rebuild'

-- owe_lacking: Those that belong in layer 2, have no vector in the space and are not owed one.
INSERT INTO debt (tenant, memory, layer)
SELECT tenant, id, 'rebuild' FROM memory AS m
WHERE tenant = current_tenant() AND kind = ANY (%(kinds)s) AND status IN ('live', 'contested')
  AND NOT EXISTS (SELECT FROM {table} AS v WHERE v.id = m.id)
ON CONFLICT DO NOTHING

-- due: What somebody who died had taken is due at once.
UPDATE debt SET due_at = clock_timestamp(), attempts = 0, error = NULL
WHERE tenant = current_tenant() AND layer = %(layer)s AND (attempts > 0 OR due_at > clock_timestamp())

-- inherit: What the space still lacked is owed to layer 2, which it is from now on.
WITH left_over AS (
    DELETE FROM debt WHERE tenant = current_tenant() AND layer = 'rebuild' RETURNING memory
)
INSERT INTO debt (tenant, memory, layer)
SELECT current_tenant(), memory, 'context' FROM left_over ORDER BY memory
ON CONFLICT (tenant, memory, layer) DO UPDATE SET revision = debt.revision + 1

-- forgive: Nothing is owed to a space that will not be.
DELETE FROM debt WHERE tenant = current_tenant() AND layer = 'rebuild'

-- read_back: What a store outside has, and we still hold a copy of, shall be looked for there.
SELECT owe(ARRAY(SELECT id FROM {table} WHERE sent_at IS NOT NULL), 'shown')

-- copies: A page of what a store outside has, and we still hold a copy of.
SELECT id FROM {table} WHERE sent_at IS NOT NULL AND id > %(after)s ORDER BY id LIMIT %(limit)s

-- compare: A tenant's memories that belong in layer 2 against what a space in this database holds, as of one moment: how
-- many are found in the record, in the space and on the list of what it is owed; how many the space lacks that it is not
-- owed, and holds that it should not; and digests of the ids on both sides but for those that are owed.
WITH live AS MATERIALIZED (
    SELECT id FROM memory
    WHERE tenant = current_tenant() AND kind = ANY (%(kinds)s) AND status IN ('live', 'contested')
), held AS MATERIALIZED (
    SELECT id FROM {table} WHERE tenant = current_tenant()
), owed AS MATERIALIZED (
    SELECT memory AS id FROM debt WHERE tenant = current_tenant() AND layer = 'rebuild'
), due AS (
    SELECT id FROM live EXCEPT SELECT id FROM owed
), there AS (
    SELECT id FROM held EXCEPT SELECT id FROM owed
)
SELECT (SELECT count(*) FROM live), (SELECT count(*) FROM held), (SELECT count(*) FROM owed),
       (SELECT count(*) FROM (SELECT id FROM due EXCEPT SELECT id FROM held) AS lacking),
       (SELECT count(*) FROM (SELECT id FROM there EXCEPT SELECT id FROM live) AS surplus),
       (SELECT bit_xor(uuid_hash_extended(id, 1)) FROM due) IS NOT DISTINCT FROM
           (SELECT bit_xor(uuid_hash_extended(id, 1)) FROM there)
       AND (SELECT bit_xor(uuid_hash_extended(id, 2)) FROM due) IS NOT DISTINCT FROM
           (SELECT bit_xor(uuid_hash_extended(id, 2)) FROM there),
       (SELECT to_hex(coalesce(bit_xor(uuid_hash_extended(id, 1)), 0)) FROM due)

-- elsewhere: Those of a tenant's memories that a store outside must show: the space holds no copy and is not owed them.
SELECT id FROM memory AS m
WHERE tenant = current_tenant() AND kind = ANY (%(kinds)s) AND status IN ('live', 'contested')
  AND NOT EXISTS (SELECT FROM {table} AS v WHERE v.id = m.id)
  AND NOT EXISTS (SELECT FROM debt AS d WHERE d.tenant = m.tenant AND d.memory = m.id AND d.layer = 'rebuild')

-- still: Those of some for which that holds now.
SELECT id FROM memory AS m
WHERE id = ANY (%(ids)s) AND status IN ('live', 'contested')
  AND NOT EXISTS (SELECT FROM {table} AS v WHERE v.id = m.id)
  AND NOT EXISTS (SELECT FROM debt AS d WHERE d.tenant = m.tenant AND d.memory = m.id AND d.layer = 'rebuild')

-- any_of: Some memories of a tenant that belong in layer 2, of all ages.
SELECT id FROM memory AS m
WHERE tenant = current_tenant() AND kind = ANY (%(kinds)s) AND status IN ('live', 'contested')
  AND NOT EXISTS (SELECT FROM debt AS d WHERE d.tenant = m.tenant AND d.memory = m.id AND d.layer = 'rebuild')
ORDER BY uuid_hash_extended(id, %(seed)s) LIMIT %(limit)s

-- vectors: Those that a space holds of some, as this database writes them.
SELECT id, public.halfvec_send(embedding) FROM {table} WHERE id = ANY (%(ids)s)

-- facts: A page of a tenant's memories that state something, by id.
SELECT id FROM memory
WHERE tenant = current_tenant() AND kind = 'fact' AND status <> 'withdrawn' AND id > %(after)s ORDER BY id LIMIT %(limit)s

-- touched: How many facts this connection has added, and changed, since some moment before this transaction.
SELECT pg_stat_get_xact_tuples_inserted('fact'::regclass), pg_stat_get_xact_tuples_updated('fact'::regclass)

-- unfounded: Facts of a tenant that no memory states any more.
SELECT id FROM fact AS f
WHERE tenant = current_tenant() AND status <> 'withdrawn'
  AND NOT EXISTS (SELECT FROM memory AS m WHERE m.id = f.id AND m.status <> 'withdrawn')

-- owe_graph: A graph outside is owed these, and how many of them it was not owed before.
WITH given AS (
    SELECT id FROM unnest(%(ids)s::uuid[]) AS id
), new AS (
    SELECT count(*) AS count FROM given WHERE NOT EXISTS (
        SELECT FROM debt WHERE tenant = current_tenant() AND memory = given.id AND layer = 'knowledge')
)
SELECT new.count, owe(%(ids)s::uuid[], 'knowledge') FROM new

-- graph_debtors: For whom a graph outside is owed something.
SELECT DISTINCT tenant FROM debt WHERE layer = 'knowledge'

-- forgive_graph: Nothing is owed to a graph outside.
DELETE FROM debt WHERE tenant = current_tenant() AND layer = 'knowledge'

-- graph_owed: How much is still owed to it.
SELECT count(*), max(error) FROM debt WHERE layer = 'knowledge'
