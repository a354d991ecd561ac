-- Layers 2 and 3 may lie elsewhere: where each lies is written down, and a store outside is owed whatever changes.
--
-- A debt to a store outside says "make it agree with the record about this id".  It is paid by somebody who read the
-- record before the store was asked, so it carries a revision: what changes meanwhile raises it, and only the debt that
-- was read is taken off.

SET LOCAL search_path = lousa, public;

-- Where a layer lies ------------------------------------------------------------------------------------------------

-- One space serves each layer.  Vectors of a space lie in the table of its name; where the store is another, that table
-- holds those that the store does not show yet.
CREATE TABLE layer_space (
    layer text NOT NULL CHECK (layer IN ('context', 'knowledge')),
    name text NOT NULL CHECK (name ~ '^[0-9a-z_]{1,40}$'),
    store text NOT NULL,                         -- 'postgres', or what the store outside calls itself
    fingerprint text,                            -- of the embedding model
    model text,
    dimensions integer,
    state text NOT NULL CHECK (state IN ('serving', 'filling')),
    used boolean NOT NULL DEFAULT false,         -- a store outside was given something
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (layer, name)
);
CREATE UNIQUE INDEX layer_space_serving ON layer_space (layer) WHERE state = 'serving';
GRANT SELECT ON layer_space TO lousa_app, lousa_system;
GRANT UPDATE (used) ON layer_space TO lousa_system;

-- A model whose vectors were never used has no space: it gets one when it is opened.
DO $$
DECLARE
    known record;
    serving boolean := false;
BEGIN
    FOR known IN SELECT * FROM embedding_model ORDER BY created_at DESC LOOP
        CONTINUE WHEN serving OR coalesce(pg_relation_size(to_regclass('lousa.memory_vector_' || known.fingerprint)), 0) = 0;
        INSERT INTO layer_space (layer, name, store, fingerprint, model, dimensions, state)
        VALUES ('context', known.fingerprint, 'postgres', known.fingerprint, known.name, known.dimensions, 'serving');
        serving := true;
    END LOOP;
    FOR known IN SELECT fingerprint FROM embedding_model
                 WHERE fingerprint NOT IN (SELECT name FROM layer_space) LOOP
        EXECUTE format('DROP TABLE IF EXISTS %I', 'memory_vector_' || known.fingerprint);
    END LOOP;
    FOR known IN SELECT name FROM layer_space LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN sent_at timestamptz', 'memory_vector_' || known.name);
    END LOOP;
END $$;
INSERT INTO layer_space (layer, name, store, state) VALUES ('knowledge', 'postgres', 'postgres', 'serving');
DROP TABLE embedding_model;
DROP FUNCTION create_vector_table;

-- A space for vectors, with its table.  It serves if none does, or if it takes the place of one that never held anything.
CREATE FUNCTION open_vector_space(space text, store text, fingerprint text, model text, dimensions integer, state text)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = lousa, public, pg_temp AS $$
DECLARE
    table_name text := 'memory_vector_' || space;
BEGIN
    INSERT INTO layer_space AS known (layer, name, store, fingerprint, model, dimensions, state)
    VALUES ('context', space, store, fingerprint, model, dimensions, state);
    EXECUTE format($sql$
        CREATE TABLE %1$I (
            id uuid PRIMARY KEY,
            tenant text NOT NULL CHECK (tenant <> ''),
            scope text NOT NULL,
            owner text NOT NULL,
            session text,
            execution uuid,
            readers text[] NOT NULL,
            reader_roles text[] NOT NULL,
            kind text NOT NULL,
            embedding public.halfvec(%2$s) NOT NULL,
            sent_at timestamptz                  -- when a store outside acknowledged it
        )$sql$, table_name, dimensions);
    EXECUTE format('CREATE INDEX %I ON %I (tenant)', table_name || '_of_tenant', table_name);
    IF store = 'postgres' THEN
        EXECUTE format('CREATE INDEX %I ON %I USING hnsw (embedding public.halfvec_cosine_ops)',
                       table_name || '_hnsw', table_name);
    END IF;
    PERFORM guard_table(format('lousa.%I', table_name)::regclass, true);
END $$;

-- A space that is not needed any more, with its table.
CREATE FUNCTION close_vector_space(space text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = lousa, public, pg_temp AS $$
BEGIN
    DELETE FROM layer_space WHERE layer = 'context' AND name = space;
    EXECUTE format('DROP TABLE IF EXISTS %I', 'memory_vector_' || space);
END $$;
REVOKE ALL ON FUNCTION open_vector_space, close_vector_space FROM PUBLIC;
GRANT EXECUTE ON FUNCTION open_vector_space, close_vector_space TO lousa_system;

-- Debts -------------------------------------------------------------------------------------------------------------

ALTER TABLE debt DROP CONSTRAINT debt_layer_check;
-- 'shown': the store outside was given it, and shall show it before our own copy goes.
ALTER TABLE debt ADD CONSTRAINT debt_layer_check CHECK (layer IN ('context', 'knowledge', 'shown', 'rebuild'));
ALTER TABLE debt ADD COLUMN revision integer NOT NULL DEFAULT 0;

-- Owes a layer some memories; what was owed already is owed anew.
CREATE FUNCTION owe(ids uuid[], to_layer text, after interval DEFAULT '0') RETURNS void LANGUAGE sql
    SET search_path = lousa, pg_temp AS $$
    INSERT INTO debt (tenant, memory, layer, due_at)
    SELECT current_tenant(), id, to_layer, clock_timestamp() + after
    FROM (SELECT DISTINCT unnest(ids) AS id ORDER BY id) AS owed
    ON CONFLICT (tenant, memory, layer) DO UPDATE SET revision = debt.revision + 1
$$;

-- Takes memories out of layer 2: their words, and their vectors of every space; a store outside is owed it.
CREATE OR REPLACE FUNCTION unindex(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    space record;
BEGIN
    DELETE FROM lousa.memory_words WHERE id = ANY (ids);
    FOR space IN SELECT name, store, state FROM lousa.layer_space WHERE layer = 'context' LOOP
        EXECUTE format('DELETE FROM lousa.%I WHERE id = ANY ($1)', 'memory_vector_' || space.name) USING ids;
        IF space.store <> 'postgres' THEN
            PERFORM lousa.owe(ids, CASE space.state WHEN 'serving' THEN 'context' ELSE 'rebuild' END);
        END IF;
    END LOOP;
END $$;

-- A graph outside is owed every fact that changes, and every decision.  `revision` says which of two writes is newer.
ALTER TABLE fact ADD COLUMN revision integer NOT NULL DEFAULT 1;
CREATE FUNCTION raise_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    RETURN NEW;
END $$;
CREATE TRIGGER fact_revision BEFORE UPDATE ON fact FOR EACH ROW EXECUTE FUNCTION raise_revision();

CREATE FUNCTION owe_graph() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM lousa.layer_space WHERE layer = 'knowledge' AND store <> 'postgres') THEN
        -- What is new is not due while whoever writes it may still pay.
        PERFORM lousa.owe(ARRAY(SELECT id FROM changed), 'knowledge', CASE tg_op
            WHEN 'INSERT' THEN coalesce(nullif(current_setting('lousa.due_after', true), '')::interval, '0')
            ELSE '0' END);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER fact_inserted AFTER INSERT ON fact REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION owe_graph();
CREATE TRIGGER fact_updated AFTER UPDATE ON fact REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION owe_graph();
CREATE TRIGGER fact_deleted AFTER DELETE ON fact REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION owe_graph();
CREATE TRIGGER decision_inserted AFTER INSERT ON decision REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION owe_graph();
