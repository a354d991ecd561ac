-- debts_of: The layers that do not have a memory yet, and whether it is still to be examined.
SELECT layer FROM debt
WHERE tenant = current_tenant() AND memory = %(id)s AND layer IN ('context', 'knowledge', 'truth') ORDER BY layer

-- take_turns: One examination of a tenant at a time, so that two that are about each other see each other's outcome; beside
-- writers, and never beside whoever forgets. One that stops in the middle loses its transaction.
SELECT pg_advisory_xact_lock_shared(hashtextextended('lousa.write.' || current_tenant(), 0)),
    pg_advisory_xact_lock(hashtextextended('lousa.truth.' || current_tenant(), 0)),
    set_config('idle_in_transaction_session_timeout', '3s', true), set_config('lock_timeout', '10s', true)

-- unready: Those whose words or vectors are not there yet.
SELECT memory FROM debt
WHERE tenant = current_tenant() AND memory = ANY (%(ids)s) AND layer = 'context'

-- put_off: They are looked at again in a moment.
UPDATE debt SET attempts = greatest(0, attempts - 1), due_at = clock_timestamp() + interval '200 milliseconds'
WHERE tenant = current_tenant() AND memory = ANY (%(ids)s) AND layer = 'truth'

-- examined: What is to be examined, in the order in which it was told.
SELECT id, kind, text, fact, trust, scope, owner, session, execution, readers, reader_roles, speaker, subject, sources,
    coalesce(last_told_at, occurred_at) AS told_at
FROM memory
WHERE id = ANY (%(ids)s) AND status = 'live' AND (kind = 'fact' OR kind IN ('semantic', 'episodic') AND value IS NULL)
ORDER BY told_at, id

-- note_told: What memories tell is kept with them, for recalls.
UPDATE memory SET told = read.told FROM unnest(%(ids)s::uuid[], %(told)s::jsonb[]) AS read (id, told) WHERE memory.id = read.id

-- count_words: How many memories hold each of some words, and how many there are.
SELECT counted, held FROM count_words(%(terms)s::text[], %(cap)s, %(most)s)

-- told_alike: Live memories of one circle of readers, and about one person, that hold some of these words, with their
-- likeness to one of them where both have a vector.
SELECT m.id, m.kind, m.text, m.fact, m.trust, m.scope, m.owner, m.session, m.execution, m.readers, m.reader_roles,
    m.speaker, m.subject, m.sources, coalesce(m.last_told_at, m.occurred_at) AS told_at,
    (SELECT 1 - (v.embedding <=> this.embedding) FROM {table} AS v, {table} AS this
     WHERE v.id = m.id AND this.id = %(id)s) AS likeness
FROM find_told_alike(
    %(terms)s::text[], %(counted)s::integer[], %(enough)s, %(bound)s, %(scope)s, %(owner)s, %(session)s, %(execution)s,
    %(readers)s::text[], %(reader_roles)s::text[]) AS found (id)
CROSS JOIN LATERAL (SELECT * FROM memory WHERE memory.id = found.id OFFSET 0) AS m
WHERE m.id <> %(id)s AND m.status = 'live' AND m.kind IN ('semantic', 'episodic') AND m.value IS NULL
  AND m.subject IS NOT DISTINCT FROM %(subject)s

-- given_way: What took the place of memories that told one of these values, and as what: the live end of each chain.
WITH RECURSIVE chain AS (
    SELECT superseded_of AS of, superseded_by AS by, 1 AS step FROM memory
    WHERE tenant = current_tenant() AND superseded_of IS NOT NULL AND superseded_of ->> 'before' = ANY (%(values)s)
    UNION
    SELECT chain.of, m.superseded_by, chain.step + 1
    FROM chain JOIN memory AS m ON m.id = chain.by
    WHERE m.status = 'superseded' AND m.superseded_by IS NOT NULL AND chain.step < 8
)
SELECT DISTINCT ON (m.id, chain.of) m.id, m.kind, m.text, m.fact, m.trust, m.scope, m.owner, m.session, m.execution,
    m.readers, m.reader_roles, m.speaker, m.subject, m.sources, coalesce(m.last_told_at, m.occurred_at) AS told_at,
    chain.of
FROM chain JOIN memory AS m ON m.id = chain.by
WHERE m.status = 'live' AND m.id <> %(id)s AND m.subject IS NOT DISTINCT FROM %(subject)s
LIMIT 200

-- supersede: One memory gives way to another; only while it is live, and only what holds no fact, rule or decision.
UPDATE memory SET status = 'superseded', superseded_by = %(by)s, superseded_why = %(why)s, superseded_of = %(of)s,
    valid_to = greatest(%(since)s, coalesce(last_told_at, occurred_at))
WHERE id = %(id)s AND status = 'live' AND kind IN ('semantic', 'episodic') AND value IS NULL
RETURNING session, execution, subject

-- unindex: Out of words and vectors.
SELECT unindex(%(ids)s::uuid[])

-- told_again: An equal memory came: this one was told again at that moment, unless an agent repeats what others had said.
UPDATE memory SET last_told_at = greatest(last_told_at, occurred_at, told.at)
FROM unnest(%(ids)s::uuid[], %(moments)s::timestamptz[], %(sources)s::text[]) AS told (id, at, source)
WHERE memory.id = told.id AND (told.source <> 'agent' OR memory.source = 'agent')

-- replaced_facts: Facts of whose key a fact took the place, with the memories that only they rest on. A text of which the
-- fact quotes less than a third tells other things as well, and stays.
SELECT old.id, old.fact, supporting.id AS source, supporting.text, supporting.kind, supporting.trust, supporting.scope,
    supporting.owner, supporting.session, supporting.execution, supporting.readers, supporting.reader_roles,
    supporting.subject
FROM memory AS old
LEFT JOIN LATERAL (
    SELECT m.* FROM memory AS m
    WHERE m.id = ANY (old.sources) AND m.status = 'live' AND m.kind IN ('semantic', 'episodic') AND m.value IS NULL
      AND length(m.text) <= 3 * coalesce(length(old.metadata ->> 'quotation'), length(m.text))
      AND NOT EXISTS (
          SELECT FROM memory AS other
          WHERE other.sources @> ARRAY[m.id] AND other.kind = 'fact' AND other.sources <> '{}'
            AND other.status IN ('live', 'contested'))
) AS supporting ON true
WHERE old.tenant = current_tenant() AND old.superseded_by = %(id)s AND old.kind = 'fact' AND old.status = 'superseded'

-- texts_of: The texts that a fact rests on.
SELECT id, text FROM memory
WHERE id = ANY (%(ids)s) AND status = 'live' AND kind IN ('semantic', 'episodic') AND value IS NULL

-- because: What a memory took the place of, and why.
SELECT id, superseded_why FROM memory
WHERE tenant = current_tenant() AND superseded_by = %(id)s AND superseded_why IS NOT NULL
ORDER BY id LIMIT 1000

-- revive: What had given way to memories that are withdrawn holds again, of equal ones the last, unless one does by now.
UPDATE memory AS gone SET status = 'live', superseded_by = NULL, superseded_why = NULL, superseded_of = NULL, valid_to = NULL
WHERE gone.tenant = current_tenant() AND gone.superseded_by = ANY (%(ids)s) AND gone.superseded_why IS NOT NULL
  AND gone.status = 'superseded'
  AND NOT EXISTS (SELECT FROM memory AS live WHERE live.tenant = gone.tenant AND live.content_key = gone.content_key
                  AND live.status = 'live')
  AND NOT EXISTS (SELECT FROM memory AS twin WHERE twin.tenant = gone.tenant AND twin.content_key = gone.content_key
                  AND twin.superseded_by = ANY (%(ids)s) AND twin.superseded_why IS NOT NULL
                  AND twin.status = 'superseded' AND twin.id > gone.id)
RETURNING gone.id

-- uphold: A curator says that this one holds; from now on only what is told later may take its place.
UPDATE memory SET status = 'live', superseded_by = NULL, superseded_why = NULL, superseded_of = NULL, valid_to = NULL,
    last_told_at = %(now)s, confirmed_at = %(now)s
WHERE id = %(id)s AND status = 'superseded' AND superseded_why IS NOT NULL
RETURNING id
