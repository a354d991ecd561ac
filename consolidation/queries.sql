-- lapsed: Fragment: older than the table allows. A category's own limit goes before that of its kind; what has neither
-- never lapses. What expires counts from its last use as well.
greatest(confirmed_at, CASE WHEN kind = ANY (%(by_use)s) THEN used_at END) <= coalesce(
    (%(cutoffs)s::timestamptz[])[array_position(%(names)s::text[], kind || '/' || plain_name(category))],
    (%(cutoffs)s::timestamptz[])[array_position(%(names)s::text[], kind)]
)

-- spared: Fragment: what a user said, of a kind of which that stays, where no category limits it.
(source = 'user' AND kind = ANY (%(spared)s)
    AND array_position(%(names)s::text[], kind || '/' || plain_name(category)) IS NULL)

-- gone: Fragment: what steps that come earlier in a run will have taken.
(kind = ANY (%(dated)s) AND expires_at IS NOT NULL AND expires_at <= %(now)s)
OR (kind = ANY (%(aged)s) AND expires_at IS NULL AND NOT {spared} AND {lapsed})

-- count_aged: How many live memories of a kind have a limit, by age or by a date of their own, and how many are past it.
SELECT count(*) FILTER (WHERE expires_at IS NOT NULL OR (%(ages)s AND NOT {spared})),
    count(*) FILTER (WHERE (expires_at IS NOT NULL AND expires_at <= %(now)s)
                        OR (%(ages)s AND expires_at IS NULL AND NOT {spared} AND {lapsed}))
FROM memory WHERE tenant = current_tenant() AND kind = %(kind)s AND status = 'live'

-- count_doubtful: How many hold that have a limit and do not go by it, and how many are past it and not marked yet.
SELECT count(*) FILTER (WHERE array_position(%(names)s::text[], kind || '/' || plain_name(category)) IS NOT NULL
                           OR array_position(%(names)s::text[], kind) IS NOT NULL),
    count(*) FILTER (WHERE doubted IS DISTINCT FROM confirmed_at AND {lapsed})
FROM memory WHERE tenant = current_tenant() AND kind = %(kind)s AND status IN ('live', 'contested')
  AND (%(all)s OR expires_at IS NULL AND {spared})

-- count_archived: How many live memories of a kind there are, and how many are past its limit.
SELECT count(*) FILTER (WHERE NOT coalesce({gone}, false)),
    count(*) FILTER (WHERE expires_at IS NULL AND NOT {spared} AND {lapsed})
FROM memory WHERE tenant = current_tenant() AND kind = %(kind)s AND status = 'live'

-- age_out: A batch of what is past its limit, the oldest first. A row that somebody holds is left for another time; one
-- that was used or said again meanwhile is looked at as it is now.
WITH due AS (
    SELECT id, recorded_at FROM memory
    WHERE tenant = current_tenant() AND kind = %(kind)s AND status = 'live' AND expires_at IS NULL
      AND recorded_at >= %(after)s AND recorded_at <= %(latest)s AND NOT {spared} AND {lapsed}
    ORDER BY recorded_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE memory SET status = %(status)s, consolidated_by = %(entry)s FROM due WHERE memory.id = due.id
RETURNING memory.id, due.recorded_at

-- run_out: A batch of what has reached the date it was given, the earliest first.
WITH due AS (
    SELECT id, expires_at FROM memory
    WHERE tenant = current_tenant() AND kind = %(kind)s AND status = 'live'
      AND expires_at >= %(after)s AND expires_at <= %(now)s
    ORDER BY expires_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE memory SET status = 'expired', consolidated_by = %(entry)s FROM due WHERE memory.id = due.id
RETURNING memory.id, due.expires_at

-- doubt: A batch of what nobody has confirmed for too long and does not go by its age.
WITH due AS (
    SELECT id, recorded_at FROM memory
    WHERE tenant = current_tenant() AND kind = %(kind)s AND status = %(status)s
      AND recorded_at >= %(after)s AND recorded_at <= %(latest)s AND doubted IS DISTINCT FROM confirmed_at AND {lapsed}
      AND (%(all)s OR expires_at IS NULL AND {spared})
    ORDER BY recorded_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE memory SET doubted = confirmed_at, consolidated_by = %(entry)s FROM due WHERE memory.id = due.id
RETURNING memory.id, due.recorded_at

-- groups: Live memories that say the same, of one kind, to the same circle of readers, the one that stays first; and how
-- many were looked at.
WITH keyed AS MATERIALIZED (
    SELECT id, trust, recorded_at,
        sha256(convert_to(jsonb_build_array(scope, CASE scope
            WHEN 'private' THEN jsonb_build_array(owner)
            WHEN 'shared' THEN jsonb_build_array(session, CASE WHEN session IS NULL THEN execution END)
            WHEN 'hierarchical' THEN jsonb_build_array(owner, readers, reader_roles)
        END, plain_text(text), value, category, subject, metadata)::text, 'UTF8')) AS key
    FROM memory
    WHERE tenant = current_tenant() AND kind = %(kind)s AND status = 'live' AND NOT coalesce({gone}, false)
)
SELECT looked, members FROM (SELECT count(*) AS looked FROM keyed) AS counted LEFT JOIN (
    SELECT array_agg(id ORDER BY trust DESC, recorded_at, id) AS members FROM keyed GROUP BY key HAVING count(*) > 1
) AS found ON true

-- fold: Of memories that say the same, by the number of their group, each group becomes one: the oldest of the most
-- trusted stays, with the sources, uses and confirmations of all. Its trust is its own. Rows that somebody holds, or that
-- no longer live, are left.
WITH held AS MATERIALIZED (
    SELECT memory.*, given.place FROM unnest(%(ids)s::uuid[], %(places)s::int[]) AS given (id, place)
    CROSS JOIN LATERAL (
        SELECT id, trust, recorded_at, sources, confirmed_at, confirmations, used_at, uses, expires_at FROM memory
        WHERE id = given.id AND tenant = current_tenant() AND status = 'live' FOR UPDATE SKIP LOCKED
    ) AS memory
), ranked AS (
    SELECT *, first_value(id) OVER (PARTITION BY place ORDER BY trust DESC, recorded_at, id) AS keeper FROM held
), merged AS (
    SELECT keeper, max(confirmed_at) AS confirmed_at, sum(confirmations) AS confirmations, max(used_at) AS used_at,
        sum(uses) AS uses, CASE WHEN bool_and(expires_at IS NOT NULL) THEN max(expires_at) END AS expires_at
    FROM ranked GROUP BY keeper HAVING count(*) > 1
), kept AS (
    UPDATE memory SET confirmed_at = merged.confirmed_at, confirmations = merged.confirmations,
        used_at = merged.used_at, uses = merged.uses, expires_at = merged.expires_at, consolidated_by = %(entry)s,
        sources = memory.sources || ARRAY(
            SELECT DISTINCT source FROM ranked, unnest(ranked.sources) AS source
            WHERE ranked.keeper = memory.id AND source <> ALL (memory.sources) AND source <> memory.id ORDER BY source)
    FROM merged WHERE memory.id = merged.keeper
)
UPDATE memory SET status = 'superseded', superseded_by = ranked.keeper, consolidated_by = %(entry)s
FROM ranked WHERE memory.id = ranked.id AND ranked.id <> ranked.keeper
RETURNING memory.id

-- forgiven: Nothing is owed for these any more; a debt that is being paid at this moment finds them no longer live.
DELETE FROM debt WHERE (tenant, memory, layer) IN (
    SELECT tenant, memory, layer FROM debt WHERE tenant = current_tenant() AND memory = ANY (%(ids)s)
    FOR UPDATE SKIP LOCKED
)

-- partitions: The months of the ledger that have none yet.
SELECT class, month FROM missing_partitions(%(months)s)

-- make_partition: One month of one retention class.
SELECT lousa.make_partition(%(class)s, %(month)s)

-- tenants: Everyone who has memories.
SELECT name FROM tenants_with_memories() AS name

-- hour: What time it is, by the one clock that all replicas share.
SELECT clock_timestamp()

-- begin_run: A run begins, or goes on when whoever had it is gone; one that is in the ledger is done.
INSERT INTO consolidation_run AS run (tenant, id, holder, held_until)
SELECT current_tenant(), %(entry)s, %(holder)s, clock_timestamp() + %(lease)s
WHERE NOT EXISTS (SELECT FROM ledger_entry WHERE tenant = current_tenant() AND id = %(entry)s)
ON CONFLICT (tenant, id) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
    WHERE run.holder = excluded.holder OR run.held_until < clock_timestamp()
RETURNING counts, begun_at

-- advance: How far a run is, as long as it is ours.
UPDATE consolidation_run SET counts = %(counts)s, held_until = clock_timestamp() + %(lease)s
WHERE tenant = current_tenant() AND id = %(entry)s AND holder = %(holder)s

-- end_run: It is over, and ours.
DELETE FROM consolidation_run WHERE tenant = current_tenant() AND id = %(entry)s AND holder = %(holder)s
RETURNING id

-- let_go: Whoever comes next may go on at once.
UPDATE consolidation_run SET held_until = clock_timestamp()
WHERE tenant = current_tenant() AND id = %(entry)s AND holder = %(holder)s

-- broken_off: Runs that nobody goes on with.
DELETE FROM consolidation_run WHERE (tenant, id) IN (
    SELECT tenant, id FROM consolidation_run
    WHERE tenant = current_tenant() AND id <> %(entry)s AND held_until < clock_timestamp() FOR UPDATE SKIP LOCKED
)
RETURNING id, counts, begun_at

-- take_due: One replica leads the run that is due; or the one that is not done and whose leader is gone.
WITH due AS (
    SELECT date_bin(%(every)s, coalesce(%(now)s::timestamptz, clock_timestamp()), %(anchor)s) AS at
), free AS (
    SELECT name FROM consolidation_job, due
    WHERE name = 'consolidate' AND CASE WHEN holder IS NULL THEN last_run < due.at ELSE held_until < clock_timestamp() END
    FOR UPDATE OF consolidation_job SKIP LOCKED
)
UPDATE consolidation_job AS job SET last_run = CASE WHEN job.holder IS NULL THEN due.at ELSE job.last_run END,
    holder = %(holder)s, held_until = clock_timestamp() + %(lease)s
FROM due, free WHERE job.name = free.name
RETURNING job.last_run

-- renew_lead: Still leading.
UPDATE consolidation_job SET held_until = clock_timestamp() + %(lease)s
WHERE name = 'consolidate' AND holder = %(holder)s

-- end_lead: The run that was due is done.
UPDATE consolidation_job SET holder = NULL, held_until = NULL WHERE name = 'consolidate' AND holder = %(holder)s

-- leave_lead: It is not done: whoever asks next goes on with it.
UPDATE consolidation_job SET held_until = clock_timestamp() WHERE name = 'consolidate' AND holder = %(holder)s
