-- ranked: What the parts find, ranked, and the best of it from the record as far as it may come back: a row a place, one
-- without a place where nothing was found.
WITH {head}, best AS MATERIALIZED (
    SELECT one.*
    FROM (SELECT {columns} FROM {source}) AS found
    CROSS JOIN LATERAL with_sources(
        found.stated, found.nearness, %(kinds)s::text[], %(share)s::float8, %(few)s::integer) AS graph
    CROSS JOIN LATERAL rank_found(
        size, likest, likeness, worded, shares, matching, weights, graph.stated, graph.nearness,
        %(asked)s::text[], %(begins)s::timestamptz[], %(ends)s::timestamptz[], %(kinds)s::text[],
        %(factors)s::float8[], %(breadth)s::integer, %(skipped)s::integer, %(page)s::integer) AS ranked
    CROSS JOIN LATERAL unnest(ranked.ids, ranked.scores, ranked.vias) WITH ORDINALITY AS one (id, score, via, place)
), placed AS (
    SELECT * FROM best
    UNION ALL
    SELECT gone.id, best.score, best.via, best.place
    FROM given_way((SELECT array_agg(id) FROM best), %(as_of)s) AS gone JOIN best ON best.id = gone.found_by
)
SELECT best.place, best.score, best.via, fetched.*{told}
FROM (SELECT) AS always
LEFT JOIN placed AS best ON true
LEFT JOIN LATERAL ({fetched}) AS fetched ON true
ORDER BY best.place

-- touch: Hits were used; later rankings and retention may count it.
UPDATE memory SET uses = uses + 1, used_at = %(now)s WHERE id = ANY (%(ids)s)

-- owed_by_tenant: How many memories of each tenant a layer is still owed.
SELECT tenant, count(*) FROM debt WHERE layer = %(layer)s GROUP BY tenant

-- open_boards: A page of the executions of every tenant whose boards may hold changes that the ledger does not, the newest
-- first.
SELECT id, tenant, audited_through,
    status IN ('accepted', 'rejected') OR status = 'failed' AND ended_at < clock_timestamp() - interval '1 day' AS over
FROM execution WHERE NOT drained AND id < %(before)s
ORDER BY id DESC LIMIT %(limit)s

-- boards_of: The same of some executions.
SELECT id, tenant, audited_through,
    status IN ('accepted', 'rejected') OR status = 'failed' AND ended_at < clock_timestamp() - interval '1 day' AS over
FROM execution WHERE NOT drained AND id = ANY (%(ids)s)
