-- begin: A transaction that reads; what it sees is decided by its first question, which is `snapshot`.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
SET LOCAL lock_timeout = '10s';
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL transaction_timeout = 0;
SET LOCAL statement_timeout = 0

-- tables: Every table there is, with its schema.
SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')

-- snapshot: The name under which others may see what this transaction sees, and when that is.
SELECT pg_export_snapshot(), clock_timestamp()

-- has_schema: Whether Lousa ever set this database up.
SELECT to_regclass('lousa.migration') IS NOT NULL

-- facts: The number of the schema, the server's version, and how many there are of what counts.
SELECT (SELECT max(number) FROM lousa.migration), current_setting('server_version'),
    (SELECT count(*) FROM lousa.execution), (SELECT count(*) FROM lousa.memory),
    (SELECT count(*) FROM lousa.ledger_entry)

-- open_boards: Executions whose board is not let go.
SELECT id, tenant FROM lousa.execution WHERE NOT drained

-- audited: A board's numbers go on from here, and all before is in the ledger.
UPDATE lousa.execution SET audited_through = %(through)s WHERE id = %(id)s

-- tenants: Everyone who has a ledger.
SELECT DISTINCT tenant FROM lousa.ledger_entry ORDER BY tenant

-- running: Executions that can be gone on with, the newest first.
SELECT id, tenant FROM lousa.execution WHERE status IN ('running', 'waiting') ORDER BY id DESC
