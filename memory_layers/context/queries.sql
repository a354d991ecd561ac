-- index_words: Words and names of memories that are live in the record and have none; of each the lexemes that are known,
-- and the rest of its text. Row by row: a plan that was made while tables were small would read a tenant's whole record.
WITH new AS MATERIALIZED (
    SELECT m.*, given.lexemes, given.rest, given.speaker, given.asks, given.rule, given.general, given.directs,
           given.telling, given.names, given.ends
    FROM json_to_recordset(%(rows)s) AS given (
        id uuid, lexemes text[], rest text, speaker text, asks boolean, rule boolean, general boolean, directs boolean,
        telling real, names text[], ends text[])
    CROSS JOIN LATERAL (SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind,
                               occurred_at, recorded_at, source, sources, vouched_at FROM memory
                        WHERE id = given.id AND status IN ('live', 'contested') OFFSET 0) AS m
    WHERE (SELECT count(*) FROM memory_words AS held WHERE held.id = given.id) = 0
), named AS (
    INSERT INTO memory_name (tenant, name, id)
    SELECT tenant, unnest(names), id FROM new
    UNION SELECT new.tenant, thing, held.id FROM new CROSS JOIN unnest(ends) AS thing CROSS JOIN unnest(sources) AS origin
    CROSS JOIN LATERAL (SELECT id FROM memory_words WHERE id = origin OFFSET 0) AS held
    ON CONFLICT DO NOTHING
)
INSERT INTO memory_words (id, tenant, scope, owner, session, execution, readers, reader_roles, kind, words,
                          speaker, asks, rule, general, directs, telling, said_at, told_at)
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, array_to_tsvector(lexemes) || stems(rest),
       speaker, asks, rule, general, vouched_at IS NULL AND (directs OR source <> 'user' AND EXISTS (
           SELECT FROM memory_words AS held WHERE held.id = ANY (new.sources) AND held.directs)),
       telling, occurred_at, recorded_at
FROM new
ON CONFLICT (id) DO NOTHING

-- before: Of turns, the one that was said before it in its session and is for the same circle, unless long before.
SELECT m.id, earlier.speaker, earlier.text
FROM memory AS m
CROSS JOIN LATERAL (
    SELECT b.speaker, b.text FROM memory_words AS w
    CROSS JOIN LATERAL (SELECT * FROM memory WHERE id = w.id AND status IN ('live', 'contested') OFFSET 0) AS b
    WHERE w.tenant = current_tenant() AND w.session = m.session AND w.speaker IS NOT NULL
      AND (w.said_at, w.told_at, w.id) < (m.occurred_at, m.recorded_at, m.id)
      AND w.said_at > m.occurred_at - interval '1 hour'
      AND (w.scope, w.readers, w.reader_roles) = (m.scope, m.readers, m.reader_roles)
      AND (m.scope NOT IN ('private', 'hierarchical') OR w.owner = m.owner)
    ORDER BY w.said_at DESC, w.told_at DESC, w.id DESC LIMIT 1
) AS earlier
WHERE m.id = ANY (%(ids)s) AND m.speaker IS NOT NULL

-- stems: The stems of some pieces of text.
SELECT piece, tsvector_to_array(stems(piece)) FROM unnest(%(pieces)s::text[]) AS piece

-- put: Vectors of memories that are still live when they are written, and words where they have none; a row that changes
-- meanwhile is waited for. What was owed for them to this layer is paid with it ('' is none: a store outside is to be told).
WITH given AS MATERIALIZED (
    SELECT * FROM ROWS FROM (
        unnest(%(ids)s::uuid[]), unnest(%(vectors)s::public.halfvec[]),
        json_to_recordset(%(rows)s) AS (
            lexemes text[], rest text, speaker text, asks boolean, rule boolean, general boolean, directs boolean,
            telling real, names text[])
    ) AS given (id, vector, lexemes, rest, speaker, asks, rule, general, directs, telling, names) ORDER BY id
), live AS MATERIALIZED (
    SELECT given.vector, given.lexemes, given.rest, given.speaker, given.asks, given.rule, given.general, given.directs,
           given.telling, given.names, m.*
    FROM given
    CROSS JOIN LATERAL (SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, occurred_at,
                               recorded_at, source, sources, vouched_at
                        FROM memory WHERE id = given.id AND status IN ('live', 'contested') FOR SHARE) AS m
), paid AS (
    -- As they were when the record was read: one that is raised at this moment, because a memory comes back, stays.
    DELETE FROM debt USING debt AS seen
    WHERE seen.tenant = current_tenant() AND seen.memory = ANY (%(ids)s) AND seen.layer = %(layer)s
      AND debt.tenant = seen.tenant AND debt.memory = seen.memory AND debt.layer = seen.layer
      AND debt.revision = seen.revision
), words AS (
    INSERT INTO memory_words (id, tenant, scope, owner, session, execution, readers, reader_roles, kind, words, speaker,
                              asks, rule, general, directs, telling, said_at, told_at)
    SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind,
           array_to_tsvector(lexemes) || stems(rest), speaker, asks, rule, general,
           vouched_at IS NULL AND (directs OR source <> 'user' AND (
               EXISTS (SELECT FROM memory_words AS held WHERE held.id = ANY (live.sources) AND held.directs)
               OR EXISTS (SELECT FROM live AS beside WHERE beside.id = ANY (live.sources) AND beside.directs))),
           telling, occurred_at, recorded_at
    FROM live WHERE (SELECT count(*) FROM memory_words AS held WHERE held.id = live.id) = 0
    ON CONFLICT (id) DO NOTHING
), named AS (
    INSERT INTO memory_name (tenant, name, id) SELECT tenant, unnest(names), id FROM live
    WHERE (SELECT count(*) FROM memory_words AS held WHERE held.id = live.id) = 0
    ON CONFLICT DO NOTHING
), vectors AS (
    INSERT INTO {table} (id, tenant, scope, owner, session, execution, readers, reader_roles, kind, embedding)
    SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, vector FROM live
    ON CONFLICT (id) DO NOTHING
)
SELECT id FROM live

-- find: The likest memories (NULL as the vector asks for none) and those that hold most of what the terms weigh;
-- how many vectors the tenant has, up to a bound, and what was made of the terms. Below the bound every row is looked at,
-- and so it is where the walk came back short; the sum keeps the planner from the index. A plan that is made once would
-- not know that the walk has few to find: so the most that may be asked for is written down, and no more than `k` fetched.
WITH held AS MATERIALIZED (
    SELECT coalesce(nullif(%(size)s::integer, -1), (SELECT count(*)::integer FROM (
        SELECT FROM {counted} WHERE tenant = current_tenant() LIMIT %(exact_below)s::integer) AS counted)) AS size
), walked AS MATERIALIZED (
    SELECT id, likeness FROM (
        SELECT id, 1 - (embedding <=> %(vector)s::public.halfvec) AS likeness FROM {table}
        WHERE %(kinds)s::text[] IS NULL OR kind = ANY (%(kinds)s::text[])
        ORDER BY embedding <=> %(vector)s::public.halfvec LIMIT 200
    ) AS walk
    WHERE %(vector)s::public.halfvec IS NOT NULL AND (SELECT size FROM held) >= %(exact_below)s::integer
    LIMIT %(k)s::integer
), looked AS MATERIALIZED (
    SELECT id, likeness FROM (
        SELECT id, 1 - (embedding <=> %(vector)s::public.halfvec) AS likeness FROM {table}
        WHERE %(kinds)s::text[] IS NULL OR kind = ANY (%(kinds)s::text[])
        ORDER BY (embedding <=> %(vector)s::public.halfvec) + 0 LIMIT %(k)s::integer
    ) AS look
    WHERE %(vector)s::public.halfvec IS NOT NULL AND (SELECT count(*) FROM walked) < %(k)s::integer
), likest AS (
    SELECT * FROM walked WHERE (SELECT count(*) FROM walked) >= %(k)s::integer UNION ALL SELECT * FROM looked
    {rules}
)
SELECT held.size, near.*, words.*
FROM held CROSS JOIN (SELECT array_agg(id) AS likest, array_agg(likeness) AS likeness FROM likest) AS near
CROSS JOIN LATERAL find_words(
    %(terms)s::text[], %(queries)s::text[], %(frequencies)s::integer[], held.size, %(kinds)s::text[],
    %(exact_below)s::integer, %(cap)s::integer, %(enough)s::integer, %(bound)s::integer, %(bonus)s::float8,
    %(k)s::integer) AS words

-- told_by_user: What a user says again speaks for itself, whoever said it first.
UPDATE memory_words AS held SET directs = false, rule = given.rule, general = given.general
FROM unnest(%(ids)s::uuid[], %(rules)s::boolean[], %(general)s::boolean[]) AS given (id, rule, general)
WHERE held.id = given.id AND (held.directs OR (held.rule, held.general) IS DISTINCT FROM (given.rule, given.general))

-- likest_rules: Of rules the likest are among them, however many others are liker.
UNION (
    SELECT v.id, 1 - (v.embedding <=> %(vector)s::public.halfvec) AS likeness
    FROM rules_told(%(kinds)s::text[], %(most_rules)s::integer) AS told JOIN {table} AS v ON v.id = told.id
    WHERE %(vector)s::public.halfvec IS NOT NULL
    ORDER BY (v.embedding <=> %(vector)s::public.halfvec) - CASE WHEN told.rule THEN %(liker)s::float8 ELSE 0 END
    LIMIT %(first_rules)s::integer
)

-- unindex: No words and no vectors of any model.
SELECT unindex(%(ids)s::uuid[])

-- missing: Those that the caller may see and that should be found, but have no vector or no words.
SELECT m.id FROM memory m
WHERE m.id = ANY (%(ids)s) AND m.status IN ('live', 'contested')
  AND NOT (EXISTS (SELECT FROM memory_words w WHERE w.id = m.id) AND EXISTS (SELECT FROM {table} v WHERE v.id = m.id))

-- clear_words: A tenant's words and names.
WITH names AS (DELETE FROM memory_name) DELETE FROM memory_words

-- clear_vectors: A tenant's vectors of this model.
DELETE FROM {table}

-- wordless: Those that the caller may see and that should be found, but have no words.
SELECT m.id FROM memory m
WHERE m.id = ANY (%(ids)s) AND m.status IN ('live', 'contested')
  AND NOT EXISTS (SELECT FROM memory_words w WHERE w.id = m.id)

-- tenant: Whose data this transaction sees.
SELECT current_tenant()

-- type: What this database calls the type of vectors.
SELECT 'public.halfvec'::regtype::oid::integer

-- spaces: Where vectors lie, and whether anything was ever put there.
SELECT name, store, fingerprint, model, state,
       used OR store = 'postgres' AND coalesce(pg_relation_size(to_regclass('lousa.memory_vector_' || name)), 0) > 0 AS used
FROM layer_space WHERE layer = 'context'

-- open_space: A space for the vectors of one model in one store; two that open at once take turns.
SELECT open_vector_space(%(space)s, %(store)s, %(fingerprint)s, %(model)s, %(dimensions)s, 'serving')

-- take_turns: Nobody else opens a space until this transaction ends.
SELECT pg_advisory_xact_lock(465726436194)

-- close_space: A space that holds nothing.
SELECT close_vector_space(%(space)s)

-- kept: Those that are live, with their vectors where these are at hand, as this database writes them.
SELECT m.id, (SELECT public.halfvec_send(v.embedding) FROM {table} AS v WHERE v.id = m.id)
FROM memory AS m WHERE m.id = ANY (%(ids)s) AND m.status IN ('live', 'contested')

-- sent: A store outside acknowledged these; before our own copies go, it shall show them.
WITH marked AS (
    UPDATE {table} SET sent_at = clock_timestamp() WHERE id = ANY (%(ids)s) RETURNING id
), noted AS (
    UPDATE layer_space SET used = true WHERE layer = 'context' AND name = %(space)s AND NOT used
)
SELECT owe(ARRAY(SELECT id FROM marked), 'shown', '2 seconds')
FROM layer_space WHERE layer = 'context' AND name = %(space)s AND state = 'serving'

-- shown: The store outside shows these, so our own copies go.
DELETE FROM {table} WHERE id = ANY (%(ids)s) AND sent_at IS NOT NULL
