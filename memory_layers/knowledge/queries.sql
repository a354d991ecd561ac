-- lock_keys: Nobody else resolves these keys until this transaction ends; in order, so that two batches cannot embrace.
SELECT pg_advisory_xact_lock(key) FROM unnest(%(keys)s::bigint[]) WITH ORDINALITY AS wanted (key, place) ORDER BY place

-- state_facts: Assertions and the things they name, under the locks of their keys; which of them are to be resolved.
SELECT state_facts(
    %(locks)s::bigint[], %(things)s::uuid[], %(thing_keys)s::text[], %(thing_names)s::text[], %(ids)s::uuid[],
    %(keys)s::bytea[], %(subjects)s::uuid[], %(predicates)s::text[], %(predicate_names)s::text[], %(objects)s::text[],
    %(object_keys)s::text[], %(object_entities)s::uuid[], %(many)s::boolean[], %(quarantined)s::boolean[],
    %(since)s::timestamptz[])

-- keys_of: The keys of some facts.
SELECT DISTINCT key FROM fact WHERE id = ANY (%(ids)s)

-- delete_facts: Assertions that take no part any more.
DELETE FROM fact WHERE id = ANY (%(ids)s)

-- release_facts: Assertions out of quarantine; resolving their key gives them their standing.
UPDATE fact SET status = 'current' WHERE id = ANY (%(ids)s) AND status = 'quarantined'

-- assertions: All that was asserted of some keys, with what was last derived.
SELECT f.id, f.key, f.predicate_name, f.object, f.object_key, f.valid_from, f.recorded_at, f.trust, f.many, f.status, f.valid_to,
       f.superseded_by, m.status AS memory_status, m.confirmations
FROM fact f CROSS JOIN LATERAL (SELECT status, confirmations FROM memory WHERE id = f.id OFFSET 0) AS m
WHERE f.key = ANY (%(keys)s)

-- settle_facts: What was derived, where it changed.
UPDATE fact SET status = new.status, valid_to = new.valid_to, superseded_by = new.by,
    retired_at = CASE WHEN new.status = 'superseded' THEN coalesce(fact.retired_at, %(now)s) END
FROM json_to_recordset(%(rows)s) AS new (id uuid, status text, valid_to timestamptz, by uuid)
WHERE fact.id = new.id

-- settle_memories: The record's view of it. What is superseded was confirmed by what still counts for it alone; what holds may
-- have been confirmed by a curator besides.
UPDATE memory SET status = new.memory_status, valid_from = new.valid_from, valid_to = new.valid_to,
    superseded_by = new.by, confirmations = new.confirmations,
    confirmed_at = greatest(CASE new.memory_status WHEN 'superseded' THEN memory.recorded_at ELSE memory.confirmed_at END,
                            new.confirmed_at)
FROM json_to_recordset(%(rows)s) AS new (id uuid, memory_status text, valid_from timestamptz, valid_to timestamptz,
     by uuid, confirmations integer, confirmed_at timestamptz)
WHERE memory.id = new.id AND memory.status <> 'withdrawn'

-- unindex: Out of words and vectors.
SELECT unindex(%(ids)s::uuid[])

-- owe_context: Layer 2 shall hold these again.
SELECT owe(%(ids)s::uuid[], 'context')

-- named: Things of these names of which the caller may see a fact.
SELECT e.key, e.name FROM entity e
WHERE e.key = ANY (%(keys)s) AND EXISTS (
    SELECT FROM fact f JOIN memory m ON m.id = f.id
    WHERE (f.subject = e.id OR f.object_key = e.key)
      AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
      AND (m.expires_at IS NULL OR m.expires_at > %(now)s))

-- alike: Things by the beginnings of words of their names, the shortest first, of which the caller may see a fact.
SELECT e.key, e.name FROM entity e
WHERE words_of(e.key) @@ %(words)s::tsquery AND EXISTS (
    SELECT FROM fact f JOIN memory m ON m.id = f.id
    WHERE (f.subject = e.id OR f.object_key = e.key)
      AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
      AND (m.expires_at IS NULL OR m.expires_at > %(now)s))
ORDER BY length(e.key), e.key COLLATE "C" LIMIT %(most)s

-- touching: Facts that hold at a moment and touch any of these things, the latest first; the record has its say here too.
SELECT f.id, s.key AS subject_key, s.name AS subject, f.predicate_name AS predicate, f.object_key, f.object,
       o.id IS NOT NULL AS leads_on, f.status = 'contested' AS contested
FROM fact f
JOIN memory m ON m.id = f.id
JOIN entity s ON s.id = f.subject
LEFT JOIN entity o ON o.tenant = f.tenant AND o.key = f.object_key
WHERE (f.subject = ANY (%(subjects)s) OR f.object_key = ANY (%(keys)s))
  AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s)
  AND f.valid_from <= %(at)s AND (f.valid_to IS NULL OR f.valid_to > %(at)s)
ORDER BY f.recorded_at DESC, f.id LIMIT %(most)s

-- find: The facts within two steps of the things that some runs of words name.
SELECT stated, nearness FROM find_facts(
    %(names)s::text[], %(places)s::bigint[], %(now)s, coalesce(%(as_of)s::timestamptz, %(now)s), %(near)s::float8, %(far)s::float8, %(most)s::integer)

-- missing: Those that state a fact, are not withdrawn, and are not held.
SELECT m.id FROM memory m
WHERE m.id = ANY (%(ids)s) AND m.fact IS NOT NULL AND m.status <> 'withdrawn'
  AND NOT EXISTS (SELECT FROM fact f WHERE f.id = m.id)

-- clear_facts: A tenant's facts.
DELETE FROM fact

-- clear_entities: A tenant's things.
DELETE FROM entity

-- edges: Facts of these ids that hold at a moment, as far as the caller sees them, the latest first.
SELECT f.id, s.key AS subject_key, s.name AS subject, f.predicate_name AS predicate, f.object_key, f.object,
       o.id IS NOT NULL AS leads_on, f.status = 'contested' AS contested
FROM fact f
JOIN memory m ON m.id = f.id
JOIN entity s ON s.id = f.subject
LEFT JOIN entity o ON o.tenant = f.tenant AND o.key = f.object_key
WHERE f.id = ANY (%(ids)s)
  AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s)
  AND f.valid_from <= %(at)s AND (f.valid_to IS NULL OR f.valid_to > %(at)s)
ORDER BY f.recorded_at DESC, f.id

-- facts_for_graph: Facts as a graph outside holds them: these, what took their place, and what contradicts them.
WITH asked AS MATERIALIZED (
    SELECT id, tenant, key, status, superseded_by FROM fact WHERE id = ANY (%(ids)s)
), contested AS MATERIALIZED (
    SELECT asked.id, other.id AS other FROM asked CROSS JOIN LATERAL (
        SELECT f.id FROM fact f
        WHERE f.tenant = asked.tenant AND f.key = asked.key AND f.status = 'contested' AND f.id <> asked.id
        ORDER BY f.id LIMIT 16) AS other
    WHERE asked.status = 'contested'
), wanted AS (
    SELECT id FROM asked
    UNION SELECT superseded_by FROM asked WHERE superseded_by IS NOT NULL
    UNION SELECT other FROM contested
)
SELECT f.id, f.revision, f.owner, f.session, f.execution, f.scope AS scope_kind, f.readers, f.reader_roles,
       f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn') AS stands,
       s.key AS subject_key, s.name AS subject, f.predicate_name AS predicate, f.object_key, f.object, o.name AS thing,
       f.status, f.trust, f.valid_from, f.valid_to, f.recorded_at, m.expires_at,
       CASE WHEN next.object_key <> f.object_key THEN next.id END AS superseded_by,
       ARRAY(SELECT other FROM contested WHERE contested.id = f.id) AS contested_with
FROM wanted
JOIN fact f ON f.id = wanted.id
JOIN memory m ON m.id = f.id
JOIN entity s ON s.id = f.subject
LEFT JOIN entity o ON o.tenant = f.tenant AND o.key = f.object_key
LEFT JOIN fact next ON next.id = f.superseded_by

-- decisions_for_graph: Decisions likewise, with the ids that they cite.
SELECT id, owner, session, execution, scope AS scope_kind, readers, reader_roles, status = 'live' AS stands,
       coalesce(value ->> 'question', text) AS question, occurred_at AS decided_at,
       ARRAY(SELECT DISTINCT cited::uuid FROM jsonb_array_elements_text(
                 CASE jsonb_typeof(value -> 'evidence') WHEN 'array' THEN value -> 'evidence' ELSE '[]' END) AS cited
             WHERE cited ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$') AS evidence
FROM memory WHERE id = ANY (%(ids)s) AND kind = 'decision'

-- tenant: Whose data this transaction sees.
SELECT current_tenant()

-- revisions: What a graph outside shall hold of some ids: facts in good standing, and decisions.
SELECT f.id, f.revision FROM fact f JOIN memory m ON m.id = f.id
WHERE f.id = ANY (%(ids)s)
  AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
UNION ALL
SELECT id, 1 FROM memory WHERE id = ANY (%(ids)s) AND kind = 'decision' AND status = 'live'

-- expected: A page of all that it shall hold of a tenant, by id.
SELECT f.id, f.revision FROM fact f JOIN memory m ON m.id = f.id
WHERE f.tenant = current_tenant() AND f.id > %(after)s
  AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
UNION ALL
SELECT id, 1 FROM memory
WHERE tenant = current_tenant() AND kind = 'decision' AND status = 'live' AND id > %(after)s
ORDER BY 1 LIMIT %(most)s

-- owe_decisions: A graph outside shall let go of those of these that are decisions.
SELECT owe(array_agg(id), 'knowledge') FROM memory WHERE id = ANY (%(ids)s) AND kind = 'decision' HAVING count(*) > 0
