-- catalogue: What a database says of itself before anything is asked of it: the server, its extensions, and the schema;
-- whether the login may read which migrations it has had, itself or as lousa_system, and whether it may run more. Asks
-- catalogues alone, so anybody may.
SELECT current_setting('server_version_num')::integer AS number,
       current_setting('server_version') AS version,
       pg_encoding_to_char(d.encoding) AS encoding,
       current_user::text AS login,
       s.oid IS NOT NULL AS schema,
       t.oid IS NOT NULL AS migrated,
       coalesce(has_schema_privilege(s.oid, 'USAGE') AND has_table_privilege(t.oid, 'SELECT'), false) AS reads,
       coalesce(pg_has_role(r.oid, 'MEMBER'), false) AS "system",
       CASE WHEN t.oid IS NOT NULL THEN pg_has_role(t.relowner, 'USAGE')
            WHEN s.oid IS NOT NULL THEN has_schema_privilege(s.oid, 'CREATE')
            ELSE has_database_privilege(d.oid, 'CREATE') END AS owns,
       (SELECT json_object_agg(e.extname, json_build_array(e.extversion, n.nspname))
        FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
        WHERE e.extname IN ('vector', 'unaccent')) AS extensions
FROM pg_database AS d
LEFT JOIN pg_namespace AS s ON s.nspname = 'lousa'
LEFT JOIN pg_class AS t ON t.relnamespace = s.oid AND t.relname = 'migration'
LEFT JOIN pg_roles AS r ON r.rolname = 'lousa_system'
WHERE d.datname = current_database()

-- available: The newest version of each extension that could be created on this server.
SELECT name, default_version FROM pg_available_extensions WHERE name IN ('vector', 'unaccent')

-- done: The migrations that this database has had.
SELECT number, digest FROM lousa.migration
