-- Consolidation: what nobody tends by hand.  A memory may now be expired (its time is over) or archived (out of layers 2
-- and 3, out of every recall, still on the record); a fact may be doubted (too long unconfirmed, which a newer
-- confirmation ends); and each change names the ledger entry of the run that made it.

SET LOCAL search_path = lousa, public;

ALTER TABLE memory DROP CONSTRAINT memory_status_check;
ALTER TABLE memory ADD CONSTRAINT memory_status_check CHECK (
    status IN ('live', 'superseded', 'contested', 'quarantined', 'withdrawn', 'expired', 'archived'));
ALTER TABLE memory
    ADD COLUMN doubted timestamptz,              -- the confirmation that has become too old; a newer one ends the doubt
    ADD COLUMN consolidated_by uuid;             -- the ledger entry of the run that last changed it
GRANT UPDATE (sources, doubted, consolidated_by) ON memory TO lousa_system;

DROP INDEX memory_expiry;
CREATE INDEX memory_expiring ON memory (tenant, expires_at) WHERE expires_at IS NOT NULL AND status = 'live';

-- A name as it is compared where hyphens and underscores stand for spaces.
CREATE FUNCTION plain_name(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN btrim(regexp_replace(lousa.fold(name), '[-_[:space:]]+', ' ', 'g'));

-- A text as it is compared for being the same: without case, accents, spacing, and full stops at its end.
CREATE FUNCTION plain_text(words text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN rtrim(ltrim(regexp_replace(lousa.fold(words), '[[:space:]]+', ' ', 'g')), ' .');

-- A run under way in a tenant, or one that was broken off.  It ends with its ledger entry, which has the same id, and the
-- row goes in that same transaction.
CREATE TABLE consolidation_run (
    tenant text NOT NULL CHECK (tenant <> ''),
    id uuid NOT NULL,
    counts jsonb NOT NULL DEFAULT '{}',          -- by step, as far as it is committed
    holder uuid NOT NULL,
    held_until timestamptz NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, id)
);
SELECT guard_table('consolidation_run', false);
REVOKE ALL ON consolidation_run FROM lousa_app;

-- The schedule that all replicas share, and who leads the run that is due.  It belongs to no tenant.
CREATE TABLE consolidation_job (
    name text PRIMARY KEY,
    last_run timestamptz NOT NULL,               -- the due time that was taken last
    holder uuid,                                 -- who runs it; nobody once it is done
    held_until timestamptz
);
INSERT INTO consolidation_job (name, last_run) VALUES ('consolidate', clock_timestamp());
GRANT SELECT, UPDATE ON consolidation_job TO lousa_system;

-- Whose memories there are.  The role reads that one column and nothing else.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lousa_listing') THEN
        CREATE ROLE lousa_listing NOLOGIN NOINHERIT;
    END IF;
    EXECUTE format('GRANT lousa_listing TO %I', current_user);
END $$;
GRANT USAGE, CREATE ON SCHEMA lousa TO lousa_listing;
GRANT SELECT (tenant) ON memory TO lousa_listing;
CREATE POLICY listing ON memory FOR SELECT TO lousa_listing USING (true);
CREATE FUNCTION tenants_with_memories() RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = lousa, pg_temp AS $$
DECLARE
    name text := '';
BEGIN
    LOOP
        SELECT min(tenant) INTO name FROM memory WHERE tenant > name;  -- one step in an index, however many it has
        EXIT WHEN name IS NULL;
        RETURN NEXT name;
    END LOOP;
END $$;
ALTER FUNCTION tenants_with_memories OWNER TO lousa_listing;
REVOKE ALL ON FUNCTION tenants_with_memories FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tenants_with_memories TO lousa_system;
REVOKE CREATE ON SCHEMA lousa FROM lousa_listing;

-- The months, this one and so many ahead, that have no partition of the ledger yet, by retention class.
CREATE FUNCTION missing_partitions(months integer) RETURNS TABLE (class text, month timestamptz) LANGUAGE sql STABLE AS $$
    SELECT class, month
    FROM unnest(ARRAY['operational', 'standard', 'decision']) AS class,
         generate_series(0, months) AS step,
         LATERAL (SELECT (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => step))
                         AT TIME ZONE 'UTC') AS begins (month)
    WHERE to_regclass(format('lousa.ledger_entry_%s_%s', class, to_char(month AT TIME ZONE 'UTC', 'YYYYMM'))) IS NULL
$$;

-- Makes one of them.
CREATE FUNCTION make_partition(class text, month timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE IF NOT EXISTS lousa.%I PARTITION OF lousa.%I FOR VALUES FROM (%L) TO (%L)',
        format('ledger_entry_%s_%s', class, to_char(month AT TIME ZONE 'UTC', 'YYYYMM')), 'ledger_entry_' || class,
        lousa.lowest_id(month), lousa.lowest_id((month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC'));
END $$;
REVOKE ALL ON FUNCTION make_partition FROM PUBLIC;
