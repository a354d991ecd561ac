-- insert_memories: New rows; a live one that is equal in its own circle of readers is confirmed instead.
INSERT INTO memory AS known (
    id, tenant, scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category, subject,
    source, trust, status, occurred_at, recorded_at, valid_from, expires_at, confirmed_at, content_key, sources, metadata
)
SELECT id, current_tenant(), scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category,
    subject, source, trust, status, occurred_at, recorded_at, valid_from, expires_at, recorded_at, content_key, sources,
    metadata
FROM json_to_recordset(%(rows)s) AS new (
    id uuid, scope text, owner text, session text, execution uuid, readers text[], reader_roles text[], kind text,
    text text, value jsonb, fact jsonb, category text, subject text, source text, trust real, status text,
    occurred_at timestamptz, recorded_at timestamptz, valid_from timestamptz, expires_at timestamptz,
    content_key bytea, sources uuid[], metadata jsonb
)
ON CONFLICT (tenant, content_key) WHERE status = 'live' AND kind NOT IN ('fact', 'decision') DO UPDATE SET
    confirmed_at = greatest(known.confirmed_at, excluded.confirmed_at),
    confirmations = known.confirmations + 1,
    source = CASE WHEN excluded.trust > known.trust THEN excluded.source ELSE known.source END,
    trust = greatest(known.trust, excluded.trust),
    expires_at = CASE WHEN known.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
                      ELSE greatest(known.expires_at, excluded.expires_at) END
RETURNING id, content_key

-- fetch_memories: What a recall may bring back; row-level security decides who sees it, this what is valid.
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category, subject,
    source, trust, status, occurred_at, recorded_at, expires_at, sources, metadata
FROM memory
WHERE id = ANY (%(ids)s)
  AND (expires_at IS NULL OR expires_at > %(now)s)
  AND CASE WHEN %(as_of)s::timestamptz IS NULL
           THEN status IN ('live', 'contested') AND (valid_to IS NULL OR valid_to > %(now)s)
           ELSE status IN ('live', 'contested', 'superseded')
                AND (valid_from IS NULL OR valid_from <= %(as_of)s) AND (valid_to IS NULL OR valid_to > %(as_of)s)
      END

-- get_memories: Whatever its status, for those who may see it.
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category, subject,
    source, trust, status, occurred_at, recorded_at, expires_at, sources, metadata
FROM memory
WHERE id = ANY (%(ids)s)

-- lock_memory: One memory, held until the transaction ends, so that two changes of its status take turns.
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category, subject,
    source, trust, status, occurred_at, recorded_at, expires_at, sources, metadata
FROM memory
WHERE id = %(id)s
FOR UPDATE

-- set_status: A memory changes its standing.
UPDATE memory
SET status = %(status)s, superseded_by = coalesce(%(superseded_by)s, superseded_by),
    confirmed_at = CASE WHEN %(status)s = 'live' THEN clock_timestamp() ELSE confirmed_at END
WHERE id = ANY (%(ids)s)
