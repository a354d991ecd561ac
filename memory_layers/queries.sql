-- touch: Hits were used; later rankings and retention may count it.
UPDATE memory SET uses = uses + 1, used_at = %(now)s WHERE id = ANY (%(ids)s)

-- owed_by_tenant: How many memories of each tenant a layer is still owed.
SELECT tenant, count(*) FROM debt WHERE layer = %(layer)s GROUP BY tenant
