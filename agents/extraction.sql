-- open: Fragment: a row whose source may be read now: nobody is at it any more, or it failed before this run, and either
-- the failure was one that passes, or it did not fail too often, or all are to be tried again.
(e.state = 'stored' AND e.held_until < clock_timestamp() OR e.state = 'failed' AND e.changed_at < %(begun)s)
AND (e.attempts < %(attempts)s OR e.error = ANY (%(passing)s) OR %(all)s)

-- unread: Fragment: what can be read and was not: live memories of what was said or happened that were derived from
-- nothing, and the turns of transcripts.
SELECT m.id, m.recorded_at AS at FROM memory AS m LEFT JOIN extraction AS e ON e.tenant = m.tenant AND e.source = m.id
WHERE m.tenant = current_tenant() AND m.kind IN ('episodic', 'semantic') AND m.status = 'live' AND m.sources = '{}'
  AND m.session IS NOT NULL AND (%(session)s::text IS NULL OR m.session = %(session)s) AND (e.source IS NULL OR {open})
UNION ALL
SELECT t.id, t.recorded_at FROM transcript AS t LEFT JOIN extraction AS e ON e.tenant = t.tenant AND e.source = t.id
WHERE t.tenant = current_tenant() AND t.role <> 'system'
  AND (%(session)s::text IS NULL OR t.session = %(session)s) AND (e.source IS NULL OR {open})

-- hour: When a run begins, by the clock that all share.
SELECT clock_timestamp()

-- oldest: Those that were there first of what can be read.
SELECT id FROM ({unread}) AS unread ORDER BY at, id LIMIT %(limit)s

-- claim: Those of these that nobody has taken meanwhile, for whoever asks, each with which attempt it is. A row is taken for
-- as long as a lease says, so that one that dies while it reads leaves it to the next.
INSERT INTO extraction AS e (tenant, source, state, version, attempts, held_until)
SELECT current_tenant(), id, 'stored', %(version)s, 1, clock_timestamp() + %(lease)s
FROM unnest(%(ids)s::uuid[]) AS given (id) ORDER BY id
ON CONFLICT (tenant, source) DO UPDATE SET state = 'stored', version = excluded.version, attempts = e.attempts + 1,
    held_until = excluded.held_until, changed_at = clock_timestamp()
WHERE {open}
RETURNING source, attempts

-- count: How many can be read in a run, and how those stand that were, or that failed: whose reader died each time, too.
SELECT (SELECT count(*) FROM ({unread}) AS unread),
    (SELECT count(*) FROM extraction WHERE tenant = current_tenant() AND state = 'extracted'),
    (SELECT count(*) FROM extraction WHERE tenant = current_tenant() AND (state = 'failed'
        OR state = 'stored' AND held_until < clock_timestamp() AND attempts >= %(attempts)s))

-- memories: Those of these that still stand, with the two lines of the same conversation, readers and person before each.
SELECT m.id, m.tenant, m.owner, m.session, m.execution, m.scope, m.readers, m.reader_roles, m.subject, m.source, m.trust, m.text,
    m.speaker, m.occurred_at, ARRAY(
        SELECT jsonb_build_object('id', b.id, 'speaker', b.speaker, 'text', b.text, 'source', b.source, 'trust', b.trust)
        FROM memory AS b
        WHERE m.speaker IS NOT NULL AND b.speaker IS NOT NULL AND b.tenant = m.tenant AND b.session = m.session
          AND b.status = 'live' AND b.scope = m.scope AND b.owner = m.owner AND b.readers = m.readers
          AND b.reader_roles = m.reader_roles AND b.execution IS NOT DISTINCT FROM m.execution
          AND b.subject IS NOT DISTINCT FROM m.subject AND (b.occurred_at, b.id) < (m.occurred_at, m.id)
          AND b.occurred_at > m.occurred_at - interval '1 hour' AND b.kind = m.kind
        ORDER BY b.occurred_at DESC, b.id DESC LIMIT 2) AS before
FROM memory AS m
WHERE m.tenant = current_tenant() AND m.id = ANY (%(ids)s) AND m.status = 'live' AND m.session IS NOT NULL

-- turns: These turns, with the two before each in its session.
SELECT t.id, t.tenant, t.agent, t.session, t.execution, t.role, t.body, t.occurred_at, ARRAY(
        SELECT jsonb_build_object('id', b.id, 'role', b.role, 'agent', b.agent, 'body', b.body)
        FROM transcript AS b
        WHERE b.tenant = t.tenant AND b.session = t.session AND b.role <> 'system'
          AND (b.occurred_at, b.recorded_at, b.id) < (t.occurred_at, t.recorded_at, t.id)
          AND b.occurred_at > t.occurred_at - interval '1 hour'
        ORDER BY b.occurred_at DESC, b.recorded_at DESC, b.id DESC LIMIT 2) AS before
FROM transcript AS t
WHERE t.tenant = current_tenant() AND t.id = ANY (%(ids)s)

-- standing: How many of these may be leant on now: live memories, and turns.
SELECT (SELECT count(*) FROM memory WHERE tenant = current_tenant() AND id = ANY (%(ids)s) AND status = 'live')
    + (SELECT count(*) FROM transcript WHERE tenant = current_tenant() AND id = ANY (%(ids)s))

-- keys: What keys of facts say now: whether they hold many values, as the first of each in good standing said; what is
-- trusted most of what holds, and how far.
SELECT key, (array_agg(many ORDER BY recorded_at, id))[1],
    (array_agg(object_key ORDER BY trust DESC) FILTER (WHERE status IN ('current', 'contested')))[1],
    max(trust) FILTER (WHERE status IN ('current', 'contested'))
FROM fact WHERE tenant = current_tenant() AND key = ANY (%(keys)s) AND status NOT IN ('quarantined', 'withdrawn')
GROUP BY key

-- extracted: It was read; whoever had it in hand at that attempt says so, and nobody else.
UPDATE extraction SET state = 'extracted', kept = %(kept)s, dropped = %(dropped)s, error = NULL, held_until = NULL,
    changed_at = clock_timestamp()
WHERE tenant = current_tenant() AND source = %(source)s AND state = 'stored' AND attempts = %(attempt)s
RETURNING source

-- failed: It was read in vain.
UPDATE extraction SET state = 'failed', error = %(error)s, dropped = %(dropped)s, held_until = NULL,
    changed_at = clock_timestamp()
WHERE tenant = current_tenant() AND source = %(source)s AND state = 'stored' AND attempts = %(attempt)s
RETURNING source

-- forsake: It is gone, or somebody else has it: nothing came of it here.
DELETE FROM extraction
WHERE tenant = current_tenant() AND source = %(source)s AND state = 'stored' AND attempts = %(attempt)s

-- let_go: Whoever stops in the middle leaves it as if it had not begun.
UPDATE extraction SET held_until = clock_timestamp(), attempts = attempts - 1
WHERE tenant = current_tenant() AND source = %(source)s AND state = 'stored' AND attempts = %(attempt)s
