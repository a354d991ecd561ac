-- A recall is one statement: what every way proposes is ranked where it was found, and the first of it is fetched at once.
--
-- The ways give ids and scores as arrays, which never leave the database where all of it is here; `rank_found` sums them,
-- lets the turns of a conversation lift those beside them, and gives the best.  What it knows of a memory besides it reads
-- in the index of words, under the same rule of who sees what as `find_words`.

SET LOCAL search_path = lousa, public;

DROP FUNCTION find_words;
-- Memories that hold most of what the terms weigh, as far as the caller sees them; and what was made of each term: how it
-- reads as a query (its stems in both languages; an identifier, which begins with =, as it is; NULL is a function word)
-- and how many memories hold it, counted up to `cap` unless the caller knew ('' and -1: it does not).  A score is the share
-- of the weight, plus a bonus for identifiers; candidates come from the rarest terms, until these have `enough`.  `matching`
-- and `weights` are the terms that anything holds, and `matched` has a bit for each of the first 60 that a memory holds.
CREATE FUNCTION find_words(
    terms text[], known text[], counted integer[], size integer, kinds text[],
    cap integer, enough integer, bound integer, bonus float8, k integer,
    OUT worded uuid[], OUT shares float8[], OUT matched bigint[], OUT matching text[], OUT weights float8[],
    OUT queries text[], OUT frequencies integer[])
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
    rarities float8[] := '{}';
    rarest text;
    taken integer := 0;
    place integer;
BEGIN
    queries := known;
    frequencies := counted;
    matching := '{}';
    weights := '{}';
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
        rarities[place] := ln(1 + (most - frequencies[place] + 0.5::float8) / (frequencies[place] + 0.5::float8));
        total := total + rarities[place];
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
        weights := weights || rarities[place] / total
                           + CASE WHEN starts_with(terms[place], '=') THEN bonus / identifiers ELSE 0 END;
    END LOOP;
    SELECT array_agg(best.id), array_agg(best.total), array_agg(best.matched) INTO worded, shares, matched FROM (
        SELECT held.id, summed.total, summed.matched
        FROM (SELECT w.id, w.words FROM memory_words AS w
              WHERE marked(w.tenant, w.words) @@ marked_query(asker, rarest) AND w.tenant = asker
                AND visible_to(agent, in_session, in_execution, roles,
                               w.scope, w.owner, w.session, w.execution, w.readers, w.reader_roles)
                AND (kinds IS NULL OR w.kind = ANY (kinds))
              LIMIT bound) AS held
        CROSS JOIN LATERAL (  -- summed in one order: equal matches are equal to the last bit
            SELECT sum(asked.weight) AS total,
                   sum(CASE WHEN asked.place <= 60 THEN 1::bigint << asked.place::integer ELSE 0 END)::bigint AS matched
            FROM unnest(matching::tsquery[], weights) WITH ORDINALITY AS asked (query, weight, place)
            WHERE held.words @@ asked.query) AS summed
        ORDER BY summed.total DESC, held.id LIMIT k) AS best;
END $$;

DROP FUNCTION find_facts;
-- The facts within two steps of the things that a question names, as far as the caller sees them.  `names` are the runs
-- of words that may be names, the longest first, and `places` where each stands, a bit a word: of two names that overlap
-- the first counts.  Whether the caller sees a fact of each name matters only where several names were found, since one may
-- stand in another; things are looked up together, and not for each fact; nothing follows the second step.
CREATE FUNCTION find_facts(
    names text[], places bigint[], moment timestamptz, as_of timestamptz, near float8, far float8, most integer,
    OUT stated uuid[], OUT nearness float8[])
    LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
    things uuid[];
    keys text[];
    subjects uuid[];
    objects text[];
    further uuid[];
    taken bigint := 0;
    free bigint;
    name text := '';
    frontier text[] := '{}';
BEGIN
    SELECT array_agg(e.id), array_agg(e.key) INTO things, keys FROM entity AS e WHERE e.key = ANY (names);
    IF cardinality(keys) > 1 THEN
        SELECT array_agg(e.key) INTO keys
        FROM entity AS e
        WHERE e.key = ANY (names) AND EXISTS (
            SELECT FROM fact AS f JOIN memory AS m ON m.id = f.id
            WHERE (f.subject = e.id OR f.object_key = e.key)
              AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
              AND (m.expires_at IS NULL OR m.expires_at > moment));
        FOR place IN 1 .. cardinality(names) LOOP
            CONTINUE WHEN names[place] = ANY (keys) IS NOT TRUE;
            IF names[place] <> name THEN
                name := names[place];
                free := ~taken;
            END IF;
            IF places[place] & ~free = 0 THEN
                taken := taken | places[place];
                frontier := frontier || name;
            END IF;
        END LOOP;
        SELECT array_agg(e.id), array_agg(e.key) INTO things, keys FROM entity AS e WHERE e.key = ANY (frontier);
    END IF;
    IF keys IS NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(touched.id ORDER BY touched.id), array_agg(touched.subject), array_agg(touched.object_key)
    INTO stated, subjects, objects
    FROM (SELECT f.id, f.subject, f.object_key
          FROM fact AS f JOIN memory AS m ON m.id = f.id
          WHERE (f.subject = ANY (things) OR f.object_key = ANY (keys))
            AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
            AND (m.expires_at IS NULL OR m.expires_at > moment)
            AND f.valid_from <= as_of AND (f.valid_to IS NULL OR f.valid_to > as_of)
          ORDER BY f.recorded_at DESC, f.id LIMIT most) AS touched;
    nearness := array_fill(near, ARRAY[coalesce(cardinality(stated), 0)]);
    SELECT array_agg(e.id), array_agg(e.key) INTO things, keys
    FROM entity AS e
    WHERE (e.id = ANY (subjects) OR e.key = ANY (objects)) AND e.id <> ALL (things);
    IF keys IS NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(touched.id ORDER BY touched.id) INTO further
    FROM (SELECT f.id
          FROM fact AS f JOIN memory AS m ON m.id = f.id
          WHERE (f.subject = ANY (things) OR f.object_key = ANY (keys))
            AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
            AND (m.expires_at IS NULL OR m.expires_at > moment)
            AND f.valid_from <= as_of AND (f.valid_to IS NULL OR f.valid_to > as_of)
          ORDER BY f.recorded_at DESC, f.id LIMIT most) AS touched
    WHERE touched.id <> ALL (stated);
    stated := stated || further;
    nearness := nearness || array_fill(far, ARRAY[coalesce(cardinality(further), 0)]);
END $$;

-- The best of what the ways found.  Scores are summed: what a memory holds of the question's words, how far it is liker than
-- the `breadth`-th likest, and something for facts about what the question names.  `via` says which ways found it: 1 is
-- likeness, 2 words, 4 the graph.
CREATE FUNCTION rank_found(
    likest uuid[], likeness float8[], worded uuid[], shares float8[], stated uuid[], nearness float8[],
    for_likeness float8, for_words float8, for_facts float8, breadth integer, skipped integer, most integer,
    OUT ids uuid[], OUT scores float8[], OUT vias integer[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = lousa, public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    least float8;
BEGIN
    SELECT min(one) INTO least FROM (SELECT one FROM unnest(likeness) AS one ORDER BY one DESC LIMIT breadth) AS near;
    SELECT array_agg(best.id ORDER BY best.place), array_agg(best.score ORDER BY best.place),
           array_agg(best.via ORDER BY best.place)
    INTO ids, scores, vias
    FROM (
        SELECT found.id, sum(found.score) AS score, sum(found.way)::integer AS via,
               row_number() OVER (ORDER BY sum(found.score) DESC, found.id) AS place
        FROM (
            SELECT one.id, for_likeness * greatest(0, one.score - least) AS score, 1 AS way
            FROM unnest(likest, likeness) AS one (id, score)
            UNION ALL SELECT one.id, for_words * one.score, 2 FROM unnest(worded, shares) AS one (id, score)
            UNION ALL SELECT one.id, for_facts * one.score, 4 FROM unnest(stated, nearness) AS one (id, score)
        ) AS found
        GROUP BY found.id ORDER BY place OFFSET skipped LIMIT most
    ) AS best;
END $$;

GRANT CREATE ON SCHEMA lousa TO lousa_search;
ALTER FUNCTION find_words OWNER TO lousa_search;
ALTER FUNCTION rank_found OWNER TO lousa_search;
REVOKE ALL ON FUNCTION find_words, rank_found FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_words, rank_found TO lousa_app, lousa_system;
REVOKE CREATE ON SCHEMA lousa FROM lousa_search;
