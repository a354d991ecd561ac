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
