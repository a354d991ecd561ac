-- A recall asks every way in one statement: each way is a part of it that gives one row, with its candidates packed.
--
-- Reading terms, counting them, weighing and searching took two trips, and things and the two steps from them three; here
-- either is one function.  A candidate is 24 bytes, its id and its score, because a driver takes longer over 200 rows than
-- the database over finding them.

SET LOCAL search_path = lousa, public;

-- Memories that hold most of what the terms weigh, as far as the caller sees them; and what was made of each term: how it
-- reads as a query (its stems in both languages; an identifier, which begins with =, as it is; NULL is a function word)
-- and how many memories hold it, counted up to `cap` unless the caller knew ('' and -1: it does not).  A score is the share of the weight, plus a
-- bonus for identifiers; candidates come from the rarest terms, until these have `enough`.
CREATE FUNCTION find_words(
    terms text[], known text[], counted integer[], size integer, kinds text[],
    cap integer, enough integer, bound integer, bonus float8, k integer,
    OUT packed bytea, OUT queries text[], OUT frequencies integer[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = lousa, public, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    asker CONSTANT text := current_tenant();
    agent CONSTANT text := current_agent();
    in_session CONSTANT text := current_session_name();
    in_execution CONSTANT uuid := current_execution();
    roles CONSTANT text[] := current_roles();
    most float8 := size;
    total float8 := 0;
    identifiers float8 := 0;
    weights float8[] := '{}';
    matching text[] := '{}';
    shares float8[] := '{}';
    rarest text;
    taken integer := 0;
    place integer;
BEGIN
    queries := known;
    frequencies := counted;
    IF -1 = ANY (counted) THEN
        SELECT array_agg(asked.query ORDER BY asked.place), array_agg(CASE WHEN asked.counted >= 0 THEN asked.counted ELSE (
            SELECT count(*) FROM (
                SELECT FROM memory_words AS w
                WHERE marked(w.tenant, w.words) @@ asked.marked AND w.tenant = asker
                  AND visible_to(agent, in_session, in_execution, roles,
                                 w.scope, w.owner, w.session, w.execution, w.readers, w.reader_roles)
                LIMIT cap) AS held) END ORDER BY asked.place)
        INTO queries, frequencies
        FROM (SELECT given.place, given.counted, read.query,
                     CASE WHEN given.counted < 0 THEN marked_query(asker, read.query) END AS marked
              FROM unnest(terms, known, counted) WITH ORDINALITY AS given (term, known, counted, place)
              CROSS JOIN LATERAL (
                  SELECT coalesce(nullif(given.known, ''), (
                      SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, ' | ')
                      FROM unnest(CASE WHEN starts_with(given.term, '=') THEN ARRAY[given.term]
                                       ELSE tsvector_to_array(stems(given.term)) END) AS lexeme)) AS query
                  OFFSET 0) AS read
              ORDER BY given.place) AS asked;
    END IF;
    FOR place IN 1 .. coalesce(cardinality(terms), 0) LOOP
        most := greatest(most, frequencies[place]);
    END LOOP;
    FOR place IN 1 .. coalesce(cardinality(terms), 0) LOOP
        CONTINUE WHEN queries[place] IS NULL;
        weights[place] := ln(1 + (most - frequencies[place] + 0.5::float8) / (frequencies[place] + 0.5::float8));
        total := total + weights[place];
        IF starts_with(terms[place], '=') THEN
            identifiers := identifiers + 1;
        END IF;
    END LOOP;
    FOR place IN SELECT held.place FROM unnest(frequencies) WITH ORDINALITY AS held (frequency, place)
                 WHERE held.frequency > 0 ORDER BY held.frequency, held.place LOOP
        EXIT WHEN taken > 0 AND taken + frequencies[place] > enough;
        rarest := concat_ws(' | ', rarest, queries[place]);
        taken := taken + frequencies[place];
    END LOOP;
    IF rarest IS NULL THEN
        RETURN;
    END IF;
    FOR place IN 1 .. cardinality(terms) LOOP
        CONTINUE WHEN frequencies[place] = 0;
        matching := matching || queries[place];
        shares := shares || weights[place] / total
                         + CASE WHEN starts_with(terms[place], '=') THEN bonus / identifiers ELSE 0 END;
    END LOOP;
    SELECT string_agg(uuid_send(best.id) || float8send(best.total), ''::bytea) INTO packed FROM (
        SELECT held.id, (  -- summed in one order: equal matches are equal to the last bit
            SELECT sum(asked.share) FROM unnest(matching::tsquery[], shares) AS asked (query, share)
            WHERE held.words @@ asked.query) AS total
        FROM (SELECT w.id, w.words FROM memory_words AS w
              WHERE marked(w.tenant, w.words) @@ marked_query(asker, rarest) AND w.tenant = asker
                AND visible_to(agent, in_session, in_execution, roles,
                               w.scope, w.owner, w.session, w.execution, w.readers, w.reader_roles)
                AND (kinds IS NULL OR w.kind = ANY (kinds))
              LIMIT bound) AS held
        ORDER BY total DESC, held.id LIMIT k) AS best;
END $$;
GRANT CREATE ON SCHEMA lousa TO lousa_search;
ALTER FUNCTION find_words OWNER TO lousa_search;
REVOKE ALL ON FUNCTION find_words FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_words TO lousa_app, lousa_system;
REVOKE CREATE ON SCHEMA lousa FROM lousa_search;

-- The facts within two steps of the things that a question names, as far as the caller sees them.  `names` are the runs
-- of words that may be names, the longest first, and `places` where each stands, a bit a word: of two names that overlap
-- the first counts.  A thing is known only through facts that the caller may see.
CREATE FUNCTION find_facts(
    names text[], places bigint[], moment timestamptz, as_of timestamptz, near float8, far float8, most integer)
    RETURNS bytea LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
    things uuid[];
    keys text[];
    seen uuid[] := '{}';
    reached uuid[];
    touched uuid[];
    packed bytea := '';
    score float8 := near;
    taken bigint := 0;
    free bigint;
    name text := '';
    frontier text[] := '{}';
BEGIN
    SELECT array_agg(e.key) INTO keys
    FROM entity AS e
    WHERE e.key = ANY (names) AND EXISTS (
        SELECT FROM fact AS f JOIN memory AS m ON m.id = f.id
        WHERE (f.subject = e.id OR f.object_key = e.key)
          AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
          AND (m.expires_at IS NULL OR m.expires_at > moment));
    IF keys IS NULL THEN
        RETURN NULL;
    END IF;
    FOR place IN 1 .. cardinality(names) LOOP
        CONTINUE WHEN names[place] <> ALL (keys);
        IF names[place] <> name THEN
            name := names[place];
            free := ~taken;
        END IF;
        IF places[place] & ~free = 0 THEN
            taken := taken | places[place];
            frontier := frontier || name;
        END IF;
    END LOOP;
    keys := frontier;
    things := ARRAY(SELECT e.id FROM entity AS e WHERE e.key = ANY (keys));
    reached := things;
    FOR step IN 1 .. 2 LOOP
        WITH facts AS MATERIALIZED (
            SELECT f.id, s.id AS subject, s.key AS subject_key, o.id AS object, o.key AS object_key
            FROM fact AS f
            JOIN memory AS m ON m.id = f.id
            JOIN entity AS s ON s.id = f.subject
            LEFT JOIN entity AS o ON o.tenant = f.tenant AND o.key = f.object_key
            WHERE (f.subject = ANY (things) OR f.object_key = ANY (keys))
              AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
              AND (m.expires_at IS NULL OR m.expires_at > moment)
              AND f.valid_from <= as_of AND (f.valid_to IS NULL OR f.valid_to > as_of)
            ORDER BY f.recorded_at DESC, f.id LIMIT most
        ), ends AS (
            SELECT subject AS id, subject_key AS key FROM facts
            UNION SELECT object, object_key FROM facts WHERE object IS NOT NULL
        )
        SELECT ARRAY(SELECT facts.id FROM facts WHERE facts.id <> ALL (seen) ORDER BY facts.id),
               ARRAY(SELECT ends.id FROM ends WHERE ends.id <> ALL (reached) ORDER BY ends.id),
               ARRAY(SELECT ends.key FROM ends WHERE ends.id <> ALL (reached) ORDER BY ends.id)
        INTO touched, things, keys;
        packed := packed || coalesce(
            (SELECT string_agg(uuid_send(fact) || float8send(score), ''::bytea) FROM unnest(touched) AS fact), '');
        EXIT WHEN things = '{}';
        seen := seen || touched;
        reached := reached || things;
        score := far;
    END LOOP;
    RETURN packed;
END $$;

DROP FUNCTION search_words;
DROP FUNCTION word_frequencies;
