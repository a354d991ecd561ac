-- What is said of conduct: rules, and texts that tell others what to do.
--
-- A rule is asked for in other words than its own.  A question that asks what to do is therefore compared with the rules
-- by themselves, and has the likest of them among what is read.  What a tool brought, and tells others what to do, comes
-- behind all else that was found, until a person vouches for it: a tool reports, it does not rule.

SET LOCAL search_path = lousa, public;

-- A curator looked at it and lets it count for what it says.
ALTER TABLE memory ADD COLUMN vouched_at timestamptz;
GRANT UPDATE (vouched_at) ON memory TO lousa_system;

ALTER TABLE memory_words ADD COLUMN directs boolean;  -- tells others what to do, and nobody vouched for it
ALTER TABLE memory_words ADD COLUMN general boolean;  -- a user said how things are in general: may be a rule in other words
GRANT UPDATE (directs, rule, general) ON memory_words TO lousa_system;
CREATE INDEX memory_words_directs ON memory_words (tenant) WHERE directs;
CREATE INDEX memory_words_general ON memory_words (tenant) WHERE general;

-- The rules that the caller may see, of these kinds, and what may be rules; at most so many of either.
CREATE FUNCTION rules_told(kinds text[], most integer) RETURNS TABLE (id uuid, rule boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = lousa, public, pg_temp SET enable_seqscan = off AS $$
    SELECT w.id, w.rule FROM (
        (SELECT * FROM memory_words AS w WHERE tenant = current_tenant() AND w.rule LIMIT most)
        UNION ALL
        (SELECT * FROM memory_words AS w WHERE tenant = current_tenant() AND general LIMIT most)
    ) AS w
    WHERE (kinds IS NULL OR w.kind = ANY (kinds))
      AND visible_to(current_agent(), current_session_name(), current_execution(), current_roles(), w.scope, w.owner,
                     w.session, w.execution, w.readers, w.reader_roles)
$$;

-- The best of what the ways found, as before (0014), and: the likest rules, to a question that asks what to do (`factors`
-- 16 says how many), come third, where what only may be one has to be liker by so much (18); what directs comes last,
-- in its own order by a share of its score (17), and adds to no chain.  `via` says in the bit of 8 that it counts as a
-- rule here.
CREATE OR REPLACE FUNCTION rank_found(
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
    first_rules CONSTANT float8 := factors[16];
    for_directing CONSTANT float8 := factors[17];
    liker CONSTANT float8 := factors[18];
    directing CONSTANT boolean := EXISTS (SELECT FROM memory_words WHERE tenant = asker AND directs);
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

    -- A rule is asked for in other words than its own: it shall be among what is read, and not before what answers.  Where
    -- the question asks what to do, the likest rules come third, whatever else is found.
    IF directing OR for_rules > 0 AND (
            EXISTS (SELECT FROM memory_words WHERE tenant = asker AND rule)
            OR first_rules > 0 AND EXISTS (SELECT FROM memory_words WHERE tenant = asker AND general)) THEN
        SELECT min(total) INTO third FROM (SELECT total FROM unnest(sums) AS one (total) ORDER BY total DESC LIMIT 3) AS best;
        SELECT array_agg(one.id), array_agg(one.near), array_agg(CASE
                   WHEN one.directs THEN one.total * for_directing - 1
                   WHEN NOT (one.rule OR one.general) OR one.total >= third THEN one.total
                   WHEN one.place <= first_rules THEN third + 1e-6 * (first_rules - one.place + 1)
                   WHEN NOT one.rule THEN one.total
                   ELSE least(one.total * (1 + for_rules), third) END),
               array_agg(one.via + CASE WHEN one.rule OR one.general AND one.place <= first_rules THEN 8 ELSE 0 END)
        INTO pool, near, sums, vias
        FROM (
            SELECT one.*, coalesce(w.rule, false) AS rule, coalesce(w.general, false) AS general,
                   coalesce(w.directs, false) AS directs,
                   row_number() OVER (PARTITION BY w.rule OR w.general
                                      ORDER BY one.total - one.near + for_likeness * (
                                          coalesce(l.score, 0) + CASE WHEN w.rule THEN liker ELSE 0 END) DESC, one.id) AS place
            FROM unnest(pool, near, sums, vias) AS one (id, near, total, via)
            LEFT JOIN memory_words AS w ON w.id = one.id
            LEFT JOIN unnest(likest, likeness) AS l (id, score) ON l.id = one.id
        ) AS one;
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
        WHERE w.tenant = asker AND w.directs IS NOT TRUE AND (kinds IS NULL OR w.kind = ANY (kinds))
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

GRANT CREATE ON SCHEMA lousa TO lousa_search;
ALTER FUNCTION rules_told OWNER TO lousa_search;
ALTER FUNCTION rank_found OWNER TO lousa_search;
REVOKE CREATE ON SCHEMA lousa FROM lousa_search;
REVOKE ALL ON FUNCTION rules_told FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rules_told TO lousa_app, lousa_system;
