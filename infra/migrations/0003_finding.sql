-- Finding is made cheap: who asks is read once a statement, and a tenant's words lie together in their index.
--
-- Row-level security compared each row with current_setting(), which reads a setting by its name: looking at 10,000
-- vectors spent most of its time there.  As sub-selects without a reference to the row, they are asked once.
--
-- An index over words alone holds every tenant's rows under each word, so that a tenant pays for all others.  In the new
-- one each lexeme begins with a mark of its tenant; two tenants that share a mark are told apart by the row.

SET LOCAL search_path = lousa, public;

-- What a policy asks of a row; the one text that says who sees what, besides `visible_to`.
CREATE FUNCTION reading_rule(scoped boolean) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN 'tenant = (SELECT lousa.current_tenant())' || CASE WHEN scoped THEN
        ' AND (owner = (SELECT lousa.current_agent()) OR scope = ''tenant'''
        ' OR (scope = ''shared'' AND (session = (SELECT lousa.current_session_name())'
        ' OR execution = (SELECT lousa.current_execution())))'
        ' OR (scope = ''hierarchical'' AND ((SELECT lousa.current_agent()) = ANY (readers)'
        ' OR reader_roles && (SELECT lousa.current_roles()))))'
        ELSE '' END;

-- Guards a table as before, by that rule.
CREATE OR REPLACE FUNCTION guard_table(name regclass, scoped boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    mine text := lousa.reading_rule(false);
    seen text := lousa.reading_rule(true);
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY system ON %s TO lousa_system USING (%s)', name, mine);
    IF scoped THEN
        EXECUTE format('CREATE POLICY readable ON %s FOR SELECT TO lousa_app USING (%s)', name, seen);
        EXECUTE format('CREATE POLICY insertable ON %s FOR INSERT TO lousa_app WITH CHECK (%s)', name,
                       mine || ' AND owner = (SELECT lousa.current_agent())');
        EXECUTE format('CREATE POLICY changeable ON %s FOR UPDATE TO lousa_app USING (%s)', name, seen);
        EXECUTE format('CREATE POLICY removable ON %s FOR DELETE TO lousa_app USING (%s)', name, seen);
    ELSE
        EXECUTE format('CREATE POLICY tenant ON %s TO lousa_app USING (%s)', name, mine);
    END IF;
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO lousa_app, lousa_system', name);
EXCEPTION WHEN duplicate_object THEN
    NULL;  -- guarded before; create_vector_table runs at every start
END $$;

-- The tables that a recall reads, and the vectors of every model.
DO $$
DECLARE
    name regclass;
BEGIN
    FOR name IN
        SELECT format('lousa.%I', t)::regclass FROM unnest(ARRAY['memory', 'memory_words', 'fact']) AS t
        UNION ALL SELECT format('lousa.%I', 'memory_vector_' || fingerprint)::regclass FROM lousa.embedding_model
    LOOP
        EXECUTE format('ALTER POLICY system ON %s USING (%s)', name, lousa.reading_rule(false));
        EXECUTE format('ALTER POLICY readable ON %s USING (%s)', name, lousa.reading_rule(true));
        EXECUTE format('ALTER POLICY insertable ON %s WITH CHECK (%s)', name,
                       lousa.reading_rule(false) || ' AND owner = (SELECT lousa.current_agent())');
        EXECUTE format('ALTER POLICY changeable ON %s USING (%s)', name, lousa.reading_rule(true));
        EXECUTE format('ALTER POLICY removable ON %s USING (%s)', name, lousa.reading_rule(true));
    END LOOP;
    EXECUTE format('ALTER POLICY system ON lousa.entity USING (%s)', lousa.reading_rule(false));
    EXECUTE format('ALTER POLICY tenant ON lousa.entity USING (%s)', lousa.reading_rule(false));
END $$;

-- The same of a row and of somebody who is given: what is told to a function need not be asked for at each row.
CREATE FUNCTION visible_to(agent text, in_session text, in_execution uuid, roles text[],
                           scope text, owner text, session text, execution uuid, readers text[], reader_roles text[])
    RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN owner = agent
        OR scope = 'tenant'
        OR (scope = 'shared' AND (session = in_session OR execution = in_execution))
        OR (scope = 'hierarchical' AND (agent = ANY (readers) OR reader_roles && roles));

CREATE FUNCTION mark_of(tenant text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN left(md5(tenant), 8);
-- A lexeme as long as lexemes may be has no room for a mark, and nobody asks for it.
CREATE FUNCTION marked(tenant text, words tsvector) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN array_to_tsvector(ARRAY(
        SELECT lousa.mark_of(tenant) || lexeme FROM unnest(tsvector_to_array(words)) AS lexeme
        WHERE octet_length(lexeme) < 2000));
-- In a query each lexeme stands in quotes, and a quote inside it twice.
CREATE FUNCTION marked_query(tenant text, query text) RETURNS tsquery LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN regexp_replace(query, '''((?:[^'']|'''')+)''', '''' || lousa.mark_of(tenant) || '\1''', 'g')::tsquery;

-- Every search reads through the list of what is new until it is merged, so the list is short.
CREATE INDEX memory_words_marked ON memory_words USING gin (marked(tenant, words)) WITH (gin_pending_list_limit = 64);
DROP INDEX memory_words_lexemes;
