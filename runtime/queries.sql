-- schema: the newest migration, what the server is and promises about a commit, who the login is, whether letters beyond
-- ASCII have a case here, and how many connections there are
SELECT (SELECT max(number) FROM lousa.migration) AS schema,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
       current_setting('server_version') AS version,
       current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('full_page_writes') AS full_page_writes,
       session_user::text AS login,
       (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) AS superuser,
       (SELECT pg_has_role(session_user, relowner, 'USAGE') FROM pg_class
        WHERE oid = 'lousa.migration'::regclass) AS owns,
       lower('ÉЖ') = 'éж' AS cases,
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS most,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS taken

-- models: the embedding models whose vectors this database holds
SELECT fingerprint, model AS name, dimensions, store FROM lousa.layer_space
WHERE layer = 'context' AND state = 'serving' ORDER BY created_at

-- standing: how many executions of all tenants are open, wait, and still owe changes to the ledger; one that failed may
-- be taken up again for a day, so its board is kept open on purpose until then
SELECT count(*) FILTER (WHERE ended_at IS NULL) AS open,
       count(*) FILTER (WHERE status = 'waiting') AS waiting,
       count(*) FILTER (
           WHERE ended_at < clock_timestamp() - interval '1 minute'
             AND (status <> 'failed' OR ended_at < clock_timestamp() - interval '1 day 1 minute')
       ) AS undrained
FROM lousa.execution
WHERE NOT drained

-- open_boards: executions whose boards are in use, newest first
SELECT id, tenant, status FROM lousa.execution WHERE ended_at IS NULL ORDER BY id DESC LIMIT 100

-- debts: what layers are owed, how long the oldest has been due, and the last error
SELECT layer, count(*) AS owed,
       extract(epoch FROM clock_timestamp() - min(due_at))::float AS seconds,
       max(attempts) AS attempts,
       (array_agg(error ORDER BY due_at DESC) FILTER (WHERE error IS NOT NULL))[1] AS error
FROM lousa.debt
GROUP BY layer
ORDER BY layer

-- debts_by_tenant: how many memories of each tenant wait for their vectors
SELECT tenant, count(*) FROM lousa.debt WHERE layer = 'context' GROUP BY tenant

-- consolidation: how long ago the run that was taken last was due, whether one is under way, and how many partitions the
-- ledger lacks for this month and the next
SELECT extract(epoch FROM clock_timestamp() - last_run)::float AS seconds,
       coalesce(held_until > clock_timestamp(), false) AS leads,
       (SELECT count(*) FROM lousa.missing_partitions(1)) AS lacking
FROM lousa.consolidation_job WHERE name = 'consolidate'

-- rebuilds: layers that are made anew, towards what, how much is left, and whether somebody is at it
SELECT rebuild.layer, rebuild.held_until > clock_timestamp() AS alive, space.model, space.store,
       (SELECT count(*) FROM lousa.debt WHERE debt.layer = 'rebuild') AS owed
FROM lousa.rebuild LEFT JOIN lousa.layer_space AS space ON space.layer = rebuild.layer AND space.name = rebuild.space
ORDER BY rebuild.layer
