-- A memory may be superseded by another that tells the same thing with another value, without a model and without a fact.
--
-- Whatever holds a value is examined once its words are in: that is owed like a projection, under the name 'truth'.  What
-- is superseded says by which memory and why, and can be upheld again.

SET LOCAL search_path = lousa, public;

ALTER TABLE memory ADD COLUMN superseded_why text;              -- NULL where its fact's key or an equal memory decided
ALTER TABLE memory ADD COLUMN superseded_of jsonb;              -- which value of which thing gave way to which
ALTER TABLE memory ADD COLUMN last_told_at timestamptz;         -- when it was told again or upheld; NULL: never, see occurred_at
GRANT UPDATE (superseded_why, superseded_of, last_told_at) ON memory TO lousa_app, lousa_system;
-- What a memory took the place of: for a question about the past, and for the day on which that memory is withdrawn.
CREATE INDEX memory_successor ON memory (tenant, superseded_by) WHERE superseded_by IS NOT NULL;

-- Which value gave way: for what repeats it later.
CREATE INDEX memory_given_way ON memory (tenant, (superseded_of ->> 'before')) WHERE superseded_of IS NOT NULL;

-- Facts that rest on a memory: while one of them holds, the memory does.
CREATE INDEX memory_supports ON memory USING gin (sources) WHERE kind = 'fact' AND sources <> '{}';

ALTER TABLE debt DROP CONSTRAINT debt_layer_check;
ALTER TABLE debt ADD CONSTRAINT debt_layer_check CHECK (layer IN ('context', 'knowledge', 'shown', 'rebuild', 'truth'));

-- How many memories of a tenant hold each of some words, counted up to `cap`, and how many there are, up to `most`.
CREATE FUNCTION count_words(terms text[], cap integer, most integer, OUT counted integer[], OUT held integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = lousa, public, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    asker CONSTANT text := current_tenant();
BEGIN
    SELECT count(*) INTO held FROM (SELECT FROM memory_words WHERE tenant = asker LIMIT most) AS those;
    SELECT array_agg((SELECT count(*) FROM (
               SELECT FROM memory_words AS w
               WHERE marked(w.tenant, w.words) @@ asked.marked AND w.tenant = asker LIMIT cap) AS found)
           ORDER BY asked.place)
    INTO counted
    FROM (SELECT given.place, marked_query(asker, (
              SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, ' | ')
              FROM unnest(tsvector_to_array(stems(given.term))) AS lexeme)) AS marked
          FROM unnest(terms) WITH ORDINALITY AS given (term, place)) AS asked;
END $$;

-- Memories of one circle of readers that hold some of these words, those that hold the rarest: at most `bound` of them.
-- A word is given with how many memories hold it; candidates come from the rarest, until these have `enough`.
CREATE FUNCTION find_told_alike(
    terms text[], counted integer[], enough integer, bound integer,
    in_scope text, of_owner text, in_session text, in_execution uuid, to_readers text[], to_roles text[])
    RETURNS SETOF uuid LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = lousa, public, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    asker CONSTANT text := current_tenant();
    rarest text;
    taken integer := 0;
    place integer;
BEGIN
    FOR place IN SELECT held.place FROM unnest(counted) WITH ORDINALITY AS held (frequency, place)
                 WHERE held.frequency > 0 ORDER BY held.frequency, held.place LOOP
        EXIT WHEN taken > 0 AND taken + counted[place] > enough;
        rarest := concat_ws(' | ', rarest, (
            SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, ' | ')
            FROM unnest(tsvector_to_array(stems(terms[place]))) AS lexeme));
        taken := taken + counted[place];
    END LOOP;
    IF rarest IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT w.id FROM memory_words AS w
        WHERE marked(w.tenant, w.words) @@ marked_query(asker, rarest) AND w.tenant = asker AND w.scope = in_scope
          AND CASE in_scope
              WHEN 'tenant' THEN true
              WHEN 'private' THEN w.owner = of_owner
              WHEN 'shared' THEN CASE WHEN in_session IS NULL THEN w.execution = in_execution ELSE w.session = in_session END
              ELSE w.owner = of_owner AND w.readers = to_readers AND w.reader_roles = to_roles
          END
        LIMIT bound;
END $$;
GRANT CREATE ON SCHEMA lousa TO lousa_search;
ALTER FUNCTION count_words OWNER TO lousa_search;
ALTER FUNCTION find_told_alike OWNER TO lousa_search;
REVOKE ALL ON FUNCTION count_words, find_told_alike FROM PUBLIC;
GRANT EXECUTE ON FUNCTION count_words, find_told_alike TO lousa_system;
REVOKE CREATE ON SCHEMA lousa FROM lousa_search;
