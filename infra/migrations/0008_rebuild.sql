-- A layer is rebuilt while it serves: a second space is filled beside the one that is read, and takes its place.
--
-- Whoever writes meanwhile owes it to both.  A trigger on the list of debts sees to that; it is made and taken off while
-- nobody writes, for a moment that is given up before it delays anybody by much: so every memory was either there when the new
-- space was owed the whole record, or is owed to it by the trigger.

SET LOCAL search_path = lousa, public;

-- The rebuild of a layer that is under way, and who is at it, by a lease: whoever dies leaves it to the next.
CREATE TABLE rebuild (
    layer text PRIMARY KEY CHECK (layer IN ('context', 'knowledge')),
    space text,                                  -- that is being filled
    filled boolean NOT NULL DEFAULT false,       -- it is owed all that was there
    holder uuid NOT NULL,
    held_until timestamptz NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON rebuild TO lousa_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON rebuild TO lousa_system;

-- A number for the name of a space; none is given twice, so that nobody takes a new space for one that is gone.
CREATE SEQUENCE space_number START 2;
GRANT USAGE ON SEQUENCE space_number TO lousa_system;

CREATE FUNCTION owe_rebuild() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lousa.debt (tenant, memory, layer) VALUES (NEW.tenant, NEW.memory, 'rebuild')
    ON CONFLICT (tenant, memory, layer) DO UPDATE SET revision = debt.revision + 1;
    RETURN NULL;
END $$;

-- From now on (or no more) whatever is owed to layer 2 is owed to the space that is being filled as well.
CREATE FUNCTION mirror_debts(wanted boolean) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = lousa, pg_temp AS $$
BEGIN
    DROP TRIGGER IF EXISTS debt_mirrored ON debt;
    IF wanted THEN
        CREATE TRIGGER debt_mirrored AFTER INSERT OR UPDATE OF revision ON debt
            FOR EACH ROW WHEN (NEW.layer = 'context') EXECUTE FUNCTION owe_rebuild();
    END IF;
END $$;

-- Until this transaction ends nobody who writes memories, or takes them out, is under way, and nobody reads these spaces.
-- Whoever does so takes `memory` first, so waiting for it holds up nobody who would be waited for.  It fails where it would
-- have to wait for longer than `patience`.  With one of over a second the server sends an automatic vacuum away that is in
-- the way; with a shorter one it never looks for deadlocks.
CREATE FUNCTION hold_writers(spaces text[], patience text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = lousa, pg_temp AS $$
DECLARE
    space text;
BEGIN
    PERFORM set_config('lock_timeout', patience, true);
    LOCK TABLE memory, debt, memory_words IN SHARE ROW EXCLUSIVE MODE;
    FOREACH space IN ARRAY spaces LOOP
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', 'memory_vector_' || space);
    END LOOP;
END $$;

-- The planner gets to know a space before anybody asks it.
CREATE FUNCTION know_space(space text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = lousa, pg_temp AS $$
BEGIN
    EXECUTE format('ANALYZE %I', 'memory_vector_' || space);
END $$;

-- A space that was filled serves from now on; the one that did must have been closed.
CREATE FUNCTION serve_space(in_layer text, space text) RETURNS void LANGUAGE sql SECURITY DEFINER
    SET search_path = lousa, pg_temp AS $$
    UPDATE layer_space SET state = 'serving', used = true WHERE layer = in_layer AND name = space
$$;
REVOKE ALL ON FUNCTION mirror_debts, hold_writers, know_space, serve_space FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mirror_debts, hold_writers, know_space, serve_space TO lousa_system;

-- The graph that is read may lie in one store outside.  It is owed what changes from the moment that it is named here;
-- until it has everything and serves, the graph is read in Postgres, which always has it.  The moment is one in which
-- nobody writes facts, as above.
CREATE FUNCTION adopt_graph(wanted text, patience text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = lousa, pg_temp AS $$
BEGIN
    PERFORM set_config('lock_timeout', patience, true);
    LOCK TABLE memory, fact, decision IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM layer_space WHERE layer = 'knowledge';
    INSERT INTO layer_space (layer, name, store, state) VALUES ('knowledge', 'postgres', 'postgres', 'serving');
    INSERT INTO layer_space (layer, name, store, state)
    SELECT 'knowledge', 'graph_' || nextval('space_number'), wanted, 'filling' WHERE wanted <> 'postgres';
END $$;

-- It has everything, and is read from now on; whether it was still the one.
CREATE FUNCTION serve_graph(wanted text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = lousa, pg_temp AS $$
BEGIN
    PERFORM FROM layer_space WHERE layer = 'knowledge' AND store = wanted FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM layer_space WHERE layer = 'knowledge' AND store <> wanted;
    UPDATE layer_space SET state = 'serving', used = true WHERE layer = 'knowledge';
    RETURN true;
END $$;
REVOKE ALL ON FUNCTION adopt_graph, serve_graph FROM PUBLIC;
GRANT EXECUTE ON FUNCTION adopt_graph, serve_graph TO lousa_system;

-- As before; a space that was closed since the list of spaces was read holds nothing any more.
CREATE OR REPLACE FUNCTION unindex(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    space record;
BEGIN
    DELETE FROM lousa.memory_words WHERE id = ANY (ids);
    FOR space IN SELECT name, store, state FROM lousa.layer_space WHERE layer = 'context' LOOP
        BEGIN
            EXECUTE format('DELETE FROM lousa.%I WHERE id = ANY ($1)', 'memory_vector_' || space.name) USING ids;
        EXCEPTION WHEN undefined_table THEN
            CONTINUE;
        END;
        IF space.store <> 'postgres' THEN
            PERFORM lousa.owe(ids, CASE space.state WHEN 'serving' THEN 'context' ELSE 'rebuild' END);
        END IF;
    END LOOP;
END $$;
