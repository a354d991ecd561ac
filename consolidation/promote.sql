-- episodes: Live episodes that are no turns, have no date of their own, and were not judged since they were last told or
-- used, those of most use first. With `folded`, what says the same is counted as the one that a fold would leave.
WITH live AS (
    SELECT memory.*, CASE WHEN %(folded)s THEN
        sha256(convert_to(jsonb_build_array(scope, CASE scope
            WHEN 'private' THEN jsonb_build_array(owner)
            WHEN 'shared' THEN jsonb_build_array(session, CASE WHEN session IS NULL THEN execution END)
            WHEN 'hierarchical' THEN jsonb_build_array(owner, readers, reader_roles)
        END, plain_text(text), value, category, subject, metadata)::text, 'UTF8')) ELSE uuid_send(id) END AS key
    FROM memory
    WHERE tenant = current_tenant() AND kind = 'episodic' AND status = 'live' AND speaker IS NULL
      AND NOT coalesce({gone}, false)
), one AS (
    SELECT (array_agg(id ORDER BY trust DESC, recorded_at, id))[1] AS id, sum(confirmations)::integer AS told,
        sum(uses)::integer AS used, max(used_at) AS used_at, greatest(max(used_at), max(confirmed_at)) AS last,
        bool_and(expires_at IS NOT NULL) AS dated
    FROM live GROUP BY key
)
SELECT m.id, one.told, one.used, one.used_at, one.last
FROM one JOIN memory AS m ON m.id = one.id
WHERE NOT one.dated AND (m.judged_at IS NULL OR m.judged_at < one.last)
  AND m.trust * (one.used + one.told - 1) >= %(least)s
ORDER BY m.trust * (one.used + one.told) DESC, m.recorded_at, m.id LIMIT %(most)s

-- hold: Those of these that are live still and free, until the transaction ends.
SELECT id FROM memory WHERE tenant = current_tenant() AND id = ANY (%(ids)s) AND status = 'live'
ORDER BY id FOR UPDATE SKIP LOCKED

-- promoted: What they became has their uses, and was told as often as they; how often a fact was told its key decides.
UPDATE memory SET consolidated_by = %(entry)s,
    confirmations = CASE kind WHEN 'fact' THEN confirmations ELSE confirmations + %(told)s - 1 END,
    uses = uses + %(used)s, used_at = greatest(used_at, %(used_at)s)
WHERE tenant = current_tenant() AND id = %(id)s

-- gone_into: They are knowledge now, under its id.
UPDATE memory SET status = 'superseded', superseded_by = %(into)s, consolidated_by = %(entry)s
WHERE tenant = current_tenant() AND id = ANY (%(ids)s) AND status = 'live'

-- judged: They stay what they are, until they are used or told again.
UPDATE memory SET judged_at = greatest(%(now)s, used_at, confirmed_at), consolidated_by = %(entry)s
WHERE tenant = current_tenant() AND id = ANY (%(ids)s) AND status = 'live'
RETURNING id

-- key: What a key of facts says now: whether it holds many values, as the first in good standing said, and whether
-- something else holds that is trusted more; no row where nothing was stated.
SELECT (array_agg(many ORDER BY recorded_at, id))[1],
    coalesce(bool_or(status IN ('current', 'contested') AND trust > %(trust)s::real AND object_key <> %(object)s), false)
FROM fact WHERE tenant = current_tenant() AND key = %(key)s AND status NOT IN ('quarantined', 'withdrawn')
GROUP BY key
