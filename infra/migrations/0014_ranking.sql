-- A recall is one statement: what every way proposes is ranked where it was found, and the first of it is fetched at once.
--
-- The ways give ids and scores as arrays, which never leave the database where all of it is here; `rank_found` sums them,
-- lets the turns of a conversation lift those beside them, and gives the best.  What it knows of a memory besides it reads
-- in the index of words, under the same rule of who sees what as `find_words`.

SET LOCAL search_path = lousa, public;

DROP FUNCTION find_words;
-- One row of 32, picked by the end of its id, which is random: how often a word is held in a large tenant is told from
-- these, so that a frequent word is never counted through.
CREATE FUNCTION sampled(id uuid) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN get_byte(uuid_send(id), 15) < 8;
CREATE INDEX memory_words_sampled ON memory_words USING gin (marked(tenant, words)) WITH (fastupdate = off)
    WHERE sampled(id);

-- Memories that hold most of what the terms weigh, as far as the caller sees them; and what was made of each term: how it
-- reads as a query (its stems in both languages; an identifier, which begins with =, as it is; NULL is a function word)
-- and how many memories hold it, unless the caller knew ('' and -1: it does not).  Where a tenant has `many` memories, a
-- term that one row of 32 holds often enough is not counted further, and of any other no more than twice `enough`;
-- elsewhere all is counted, up to `cap`.  A score is the share of the weight, plus a bonus for identifiers; candidates
-- come from the rarest terms, until these have `enough`, and of a rarest one that has more than `bound` first those that
-- hold another term as well.  `matching` and `weights` are the terms that anything holds.
CREATE FUNCTION find_words(
    terms text[], known text[], counted integer[], size integer, kinds text[],
    many integer, cap integer, enough integer, bound integer, bonus float8, k integer,
    OUT worded uuid[], OUT shares float8[], OUT matching text[], OUT weights float8[],
    OUT queries text[], OUT frequencies integer[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = lousa, public, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    asker CONSTANT text := current_tenant();
    agent CONSTANT text := current_agent();
    in_session CONSTANT text := current_session_name();
    in_execution CONSTANT uuid := current_execution();
    roles CONSTANT text[] := current_roles();
    one_of CONSTANT integer := 32;
    often CONSTANT integer := 4;
    most float8 := size;
    total float8 := 0;
    identifiers float8 := 0;
    rarities float8[] := '{}';
    sampling CONSTANT boolean := size >= many;
    counting CONSTANT integer := CASE WHEN sampling THEN 2 * enough ELSE cap END;
    sought tsquery[];
    rarest text;
    others text;
    wanted text;
    taken integer := 0;
    place integer;
BEGIN
    queries := known;
    frequencies := counted;
    matching := '{}';
    weights := '{}';
    IF -1 = ANY (counted) THEN
        SELECT array_agg(asked.query ORDER BY asked.place), array_agg(CASE
                   WHEN asked.counted >= 0 THEN asked.counted
                   WHEN asked.some >= often THEN one_of * asked.some
                   ELSE (SELECT CASE WHEN count(*) < counting THEN count(*) ELSE greatest(count(*), one_of * asked.some) END FROM (
                       SELECT FROM memory_words AS w
                       WHERE marked(w.tenant, w.words) @@ asked.marked AND w.tenant = asker
                         AND visible_to(agent, in_session, in_execution, roles,
                                        w.scope, w.owner, w.session, w.execution, w.readers, w.reader_roles)
                       LIMIT counting) AS held) END ORDER BY asked.place)
        INTO queries, frequencies
        FROM (
            SELECT read.*, CASE WHEN sampling AND read.counted < 0 THEN (SELECT count(*)::integer FROM (
                SELECT FROM memory_words AS w
                WHERE marked(w.tenant, w.words) @@ read.marked AND w.tenant = asker AND sampled(w.id)
                  AND visible_to(agent, in_session, in_execution, roles,
                                 w.scope, w.owner, w.session, w.execution, w.readers, w.reader_roles)
                LIMIT cap / one_of) AS held) ELSE 0 END AS some
            FROM (
                SELECT given.place, given.counted, stemmed.query,
                       CASE WHEN given.counted < 0 THEN marked_query(asker, stemmed.query) END AS marked
                FROM unnest(terms, known, counted) WITH ORDINALITY AS given (term, known, counted, place)
                CROSS JOIN LATERAL (
                    SELECT coalesce(nullif(given.known, ''), (
                        SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, ' | ')
                        FROM unnest(CASE WHEN starts_with(given.term, '=') THEN ARRAY[given.term]
                                         ELSE tsvector_to_array(stems(given.term)) END) AS lexeme)) AS query
                    OFFSET 0) AS stemmed
                OFFSET 0) AS read
            OFFSET 0) AS asked;
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
        IF taken = 0 OR taken + frequencies[place] <= enough THEN
            rarest := concat_ws(' | ', rarest, queries[place]);
            taken := taken + frequencies[place];
        ELSIF taken > bound THEN
            others := concat_ws(' | ', others, queries[place]);
        ELSE
            EXIT;
        END IF;
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
    sought := matching::tsquery[];
    FOREACH wanted IN ARRAY CASE
        WHEN others IS NULL THEN ARRAY[rarest]
        ELSE ARRAY[format('(%s) & (%s)', rarest, others), format('(%s) & !(%s)', rarest, others)] END
    LOOP
        EXIT WHEN cardinality(worded) >= k;
        SELECT worded || array_agg(best.id), shares || array_agg(best.total) INTO worded, shares FROM (
            SELECT held.id, (  -- summed in one order: equal matches are equal to the last bit
                SELECT sum(asked.weight) FROM unnest(sought, weights) AS asked (query, weight)
                WHERE held.words @@ asked.query) AS total
            FROM (SELECT w.id, w.words FROM memory_words AS w
                  WHERE marked(w.tenant, w.words) @@ marked_query(asker, wanted) AND w.tenant = asker
                    AND visible_to(agent, in_session, in_execution, roles,
                                   w.scope, w.owner, w.session, w.execution, w.readers, w.reader_roles)
                    AND (kinds IS NULL OR w.kind = ANY (kinds))
                  LIMIT bound) AS held
            ORDER BY total DESC, held.id LIMIT k - coalesce(cardinality(worded), 0)) AS best;
    END LOOP;
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

-- The best of what the ways found.  Scores are summed: what a memory holds of the question's words
-- (raised to a power, so that a few of many stay little), how far it is liker than
-- the `breadth`-th likest, and something for facts about what the question names.  `via` says which ways found it: 1 is
-- likeness, 2 words, 4 the graph; 0 is what only lies beside such.
--
-- Turns of a conversation lift those beside them by their likeness, a question lifts its answer and stands back itself, and
-- so does a turn that tells next to nothing; who is named (one speaker, among the words that were `asked`) or was told of in
-- one of the stretches of time counts.
-- Then a chain: the best hold names (other than those of who speaks, and of the question), and what shares a rare one with
-- them counts by what it adds to the question.
CREATE FUNCTION rank_found(
    size integer, likest uuid[], likeness float8[], worded uuid[], shares float8[], matching text[], weights float8[],
    stated uuid[], nearness float8[], asked text[], begins timestamptz[], ends timestamptz[], kinds text[],
    factors float8[], breadth integer, skipped integer, most integer,
    OUT ids uuid[], OUT scores float8[], OUT vias integer[])
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = lousa, public, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    asker CONSTANT text := current_tenant();
    agent CONSTANT text := current_agent();
    in_session CONSTANT text := current_session_name();
    in_execution CONSTANT uuid := current_execution();
    roles CONSTANT text[] := current_roles();
    for_likeness CONSTANT float8 := factors[1];
    for_words CONSTANT float8 := factors[2];
    for_facts CONSTANT float8 := factors[3];
    to_before CONSTANT float8 := factors[4];
    to_behind CONSTANT float8 := factors[5];
    to_second CONSTANT float8 := factors[6];
    to_answer CONSTANT float8 := factors[7];
    for_asking CONSTANT float8 := factors[8];
    for_speaker CONSTANT float8 := factors[9];
    for_time CONSTANT float8 := factors[10];
    of_first CONSTANT float8 := factors[11];
    of_added CONSTANT float8 := factors[12];
    steepness CONSTANT float8 := factors[13];
    for_telling CONSTANT float8 := factors[14];
    for_rules CONSTANT float8 := factors[15];
    third float8;
    least float8;
    pool uuid[];
    near float8[];
    sums float8[];
    asks tsquery[];
    known text[] := asked;
BEGIN
    SELECT min(one) INTO least FROM (SELECT one FROM unnest(likeness) AS one ORDER BY one DESC LIMIT breadth) AS liker;
    SELECT array_agg(found.id), array_agg(found.near), array_agg(found.total), array_agg(found.via)
    INTO pool, near, sums, vias
    FROM (
        SELECT one.id, sum(one.near) AS near, sum(one.near + one.rest) AS total, sum(one.way)::integer AS via
        FROM (
            SELECT l.id, for_likeness * greatest(0, l.score - least) AS near, 0::float8 AS rest, 1 AS way
            FROM unnest(likest, likeness) AS l (id, score)
            UNION ALL SELECT w.id, 0, for_words * CASE WHEN w.score < 1 THEN w.score ^ steepness ELSE w.score END, 2
            FROM unnest(worded, shares) AS w (id, score)
            UNION ALL SELECT g.id, for_facts * g.score, 0, 4 FROM unnest(stated, nearness) AS g (id, score)
        ) AS one
        GROUP BY one.id
    ) AS found;

    IF EXISTS (SELECT FROM memory_words WHERE tenant = asker AND speaker IS NOT NULL) THEN
        WITH found AS MATERIALIZED (
            SELECT one.*, w.speaker, w.asks, w.telling, w.session, w.said_at, w.told_at
            FROM unnest(pool, near, sums, vias) AS one (id, near, total, via)
            LEFT JOIN memory_words AS w ON w.id = one.id
        ), lifting AS (
            SELECT beside.id, 0::float8 AS near, CASE
                WHEN beside.place = -1 THEN to_before * one.near
                WHEN beside.place = 1 THEN to_behind * one.near + CASE WHEN one.asks THEN to_answer * one.total ELSE 0 END
                ELSE to_second * one.near END AS total, 0 AS via,
                beside.speaker, beside.asks, beside.telling, beside.said_at
            FROM found AS one
            CROSS JOIN LATERAL (
                SELECT *, row_number() OVER (ORDER BY later.said_at, later.told_at, later.id)::integer AS place FROM (
                    SELECT w.* FROM memory_words AS w
                    WHERE w.tenant = asker AND w.session = one.session AND w.speaker IS NOT NULL
                      AND (w.said_at, w.told_at, w.id) > (one.said_at, one.told_at, one.id)
                      AND w.said_at < one.said_at + interval '1 hour'
                    ORDER BY w.said_at, w.told_at, w.id LIMIT 2) AS later
                UNION ALL
                SELECT *, -row_number() OVER (ORDER BY earlier.said_at DESC, earlier.told_at DESC, earlier.id DESC) FROM (
                    SELECT w.* FROM memory_words AS w
                    WHERE w.tenant = asker AND w.session = one.session AND w.speaker IS NOT NULL
                      AND (w.said_at, w.told_at, w.id) < (one.said_at, one.told_at, one.id)
                      AND w.said_at > one.said_at - interval '1 hour' AND one.near > 0
                    ORDER BY w.said_at DESC, w.told_at DESC, w.id DESC LIMIT 2) AS earlier
            ) AS beside
            WHERE one.speaker IS NOT NULL AND (one.near > 0 OR one.asks)
              AND visible_to(agent, in_session, in_execution, roles, beside.scope, beside.owner, beside.session,
                             beside.execution, beside.readers, beside.reader_roles)
              AND (kinds IS NULL OR beside.kind = ANY (kinds))
        ), every AS MATERIALIZED (
            SELECT one.id, sum(one.near) AS near, sum(one.total) AS total, sum(one.via)::integer AS via,
                   min(one.speaker) AS speaker, bool_or(one.asks) AS asks, min(one.telling) AS telling,
                   min(one.said_at) AS said_at
            FROM (SELECT id, near, total, via, speaker, asks, telling, said_at FROM found UNION ALL SELECT * FROM lifting) AS one
            GROUP BY one.id
        ), named AS (
            SELECT min(speaker) AS speaker FROM every
            WHERE string_to_array(speaker, ' ') && asked HAVING count(DISTINCT speaker) = 1
        )
        SELECT array_agg(every.id), array_agg(every.near), array_agg(every.total + CASE WHEN every.speaker IS NULL THEN 0 ELSE
                   for_telling * coalesce(every.telling, 0) + CASE WHEN every.asks THEN for_asking ELSE 0 END
                   + CASE WHEN every.speaker = named.speaker THEN for_speaker ELSE 0 END
                   + CASE WHEN EXISTS (SELECT FROM unnest(begins, ends) AS span (begins, ends)
                                       WHERE every.said_at >= span.begins AND every.said_at < span.ends)
                     THEN for_time ELSE 0 END END),
               array_agg(every.via), asked || string_to_array(string_agg(DISTINCT every.speaker, ' '), ' ')
        INTO pool, near, sums, vias, known
        FROM every LEFT JOIN named ON true;
    END IF;

    -- A rule is asked for in other words than its own: it shall be among what is read, and not before what answers.
    IF for_rules > 0 AND EXISTS (SELECT FROM memory_words WHERE tenant = asker AND rule) THEN
        SELECT min(total) INTO third FROM (SELECT total FROM unnest(sums) AS one (total) ORDER BY total DESC LIMIT 3) AS best;
        SELECT array_agg(one.id), array_agg(one.near), array_agg(
                   CASE WHEN w.rule AND one.total < third THEN least(one.total * (1 + for_rules), third) ELSE one.total END),
               array_agg(one.via)
        INTO pool, near, sums, vias
        FROM unnest(pool, near, sums, vias) AS one (id, near, total, via) LEFT JOIN memory_words AS w ON w.id = one.id;
    END IF;

    -- Where none of the best holds a name, there is no chain.
    IF NOT EXISTS (
        SELECT FROM (SELECT one.id FROM unnest(pool, sums) AS one (id, total) ORDER BY one.total DESC, one.id LIMIT 10) AS best
        JOIN memory_name AS n ON n.id = best.id AND n.tenant = asker
    ) THEN
        SELECT array_agg(one.id), array_agg(one.total), array_agg(one.via) INTO ids, scores, vias
        FROM (SELECT * FROM unnest(pool, sums, vias) AS one (id, total, via)
              ORDER BY one.total DESC, one.id OFFSET skipped LIMIT most) AS one;
        RETURN;
    END IF;

    asks := matching::tsquery[];
    WITH found AS MATERIALIZED (
        SELECT * FROM unnest(pool, near, sums, vias) AS one (id, near, total, via)
    ), best AS MATERIALIZED (
        SELECT one.id, one.total, held.matched
        FROM (SELECT * FROM found ORDER BY total DESC, id LIMIT 10) AS one
        CROSS JOIN LATERAL (SELECT w.words FROM memory_words AS w WHERE w.id = one.id) AS w
        CROSS JOIN LATERAL (SELECT coalesce(array_agg(term.place), '{}') AS matched
                            FROM unnest(asks) WITH ORDINALITY AS term (query, place) WHERE w.words @@ term.query) AS held
    ), name AS MATERIALIZED (
        SELECT n.name, best.id FROM best JOIN memory_name AS n ON n.id = best.id AND n.tenant = asker
        WHERE NOT string_to_array(n.name, ' ') <@ known
    ), rare AS MATERIALIZED (
        SELECT one.name, held.ids FROM (SELECT DISTINCT name FROM name) AS one
        CROSS JOIN LATERAL (
            SELECT array_agg(few.id) AS ids FROM (
                SELECT n.id FROM memory_name AS n WHERE n.tenant = asker AND n.name = one.name LIMIT 61) AS few
        ) AS held
        WHERE cardinality(held.ids) BETWEEN 2 AND 60
    ), other AS MATERIALIZED (
        SELECT seen.id, w.words
        FROM (SELECT DISTINCT unnest(rare.ids) AS id FROM rare) AS seen
        JOIN memory_words AS w ON w.id = seen.id
        WHERE w.tenant = asker AND (kinds IS NULL OR w.kind = ANY (kinds))
          AND visible_to(agent, in_session, in_execution, roles, w.scope, w.owner, w.session, w.execution, w.readers,
                         w.reader_roles)
    ), common AS (
        SELECT rare.name, count(other.id) AS held, array_agg(other.id) AS ids
        FROM rare CROSS JOIN unnest(rare.ids) AS of_name (id) JOIN other ON other.id = of_name.id
        GROUP BY rare.name HAVING count(other.id) >= 2
    ), pair AS (
        SELECT name.id AS first, behind.id AS second,
               max((ln(greatest(size, common.held)::float8 / common.held) / ln(greatest(size, 2))) ^ 2) AS rarity
        FROM name JOIN common USING (name) CROSS JOIN unnest(common.ids) AS behind (id)
        WHERE behind.id <> name.id
        GROUP BY name.id, behind.id
    ), held AS MATERIALIZED (
        SELECT other.id, (SELECT coalesce(array_agg(term.place), '{}')
                          FROM unnest(asks) WITH ORDINALITY AS term (query, place) WHERE other.words @@ term.query) AS matched
        FROM other WHERE EXISTS (SELECT FROM pair WHERE pair.second = other.id)
    ), chained AS (
        SELECT pair.second AS id, max(
                   of_first * pair.rarity * best.total
                   + of_added * (coalesce(found.near, 0) + for_words * coalesce(
                       (SELECT sum(weights[place]) FROM unnest(held.matched) AS place WHERE place <> ALL (best.matched)), 0))
               ) AS total
        FROM pair JOIN best ON best.id = pair.first JOIN held ON held.id = pair.second
        LEFT JOIN found ON found.id = pair.second
        GROUP BY pair.second
    )
    SELECT array_agg(ranked.id ORDER BY ranked.place), array_agg(ranked.total ORDER BY ranked.place),
           array_agg(ranked.via ORDER BY ranked.place)
    INTO ids, scores, vias
    FROM (
        SELECT one.id, max(one.total) AS total, max(one.via) AS via,
               row_number() OVER (ORDER BY max(one.total) DESC, one.id) AS place
        FROM (SELECT id, total, via FROM found UNION ALL SELECT id, total, 0 FROM chained) AS one
        GROUP BY one.id ORDER BY place OFFSET skipped LIMIT most
    ) AS ranked;
END $$;

-- What gave way to some memories and was still told at a moment, up to a few steps back, each with what it is found by: what
-- is superseded has no words and no vector any more.  Nothing where no moment is asked about.
CREATE FUNCTION given_way(ids uuid[], moment timestamptz) RETURNS TABLE (id uuid, found_by uuid) LANGUAGE sql STABLE STRICT
    SET search_path = lousa, public, pg_temp AS $$
    WITH RECURSIVE gone AS (
        SELECT m.id, m.valid_to, found.id AS found_by, 1 AS step
        FROM unnest(ids) AS found (id)
        JOIN memory AS m ON m.tenant = current_tenant() AND m.superseded_by = found.id AND m.superseded_why IS NOT NULL
        UNION
        SELECT m.id, m.valid_to, gone.found_by, gone.step + 1
        FROM gone
        JOIN memory AS m ON m.tenant = current_tenant() AND m.superseded_by = gone.id AND m.superseded_why IS NOT NULL
        WHERE gone.step < 8
    )
    SELECT DISTINCT gone.id, gone.found_by FROM gone WHERE gone.valid_to > moment LIMIT 200
$$;
REVOKE ALL ON FUNCTION given_way FROM PUBLIC;
GRANT EXECUTE ON FUNCTION given_way TO lousa_app, lousa_system;

GRANT CREATE ON SCHEMA lousa TO lousa_search;
ALTER FUNCTION find_words OWNER TO lousa_search;
ALTER FUNCTION rank_found OWNER TO lousa_search;
REVOKE ALL ON FUNCTION find_words, rank_found FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_words, rank_found TO lousa_app, lousa_system;
REVOKE CREATE ON SCHEMA lousa FROM lousa_search;
