-- What a fact was drawn from is found with it.
--
-- A text may answer a question without sharing a word with it, where a fact of that text lies within two steps of what the
-- question names.  A thing that many facts touch leads nowhere: most of what lies behind a country or a year is about
-- something else.

SET LOCAL search_path = lousa, public;

-- What the graph found, and the live texts that such facts were drawn from, each with a `share` of what a named fact
-- counts.  Of two facts `nearness` says which the question names: those that have most of it.  A fact leads to its text
-- where the thing by which it was reached is touched by at most `few` of the facts that were found.  Facts themselves stay
-- out where `kinds` are asked for and they are of none.
CREATE FUNCTION with_sources(
    facts uuid[], closeness float8[], kinds text[], share float8, few integer, OUT stated uuid[], OUT nearness float8[])
    LANGUAGE plpgsql STABLE
    SET search_path = lousa, public, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    told uuid[];
BEGIN
    IF facts IS NULL OR cardinality(facts) = 0 THEN
        RETURN;
    END IF;
    WITH found AS MATERIALIZED (
        SELECT f.id, e.key AS subject, f.object_key AS object, given.nearness = max(given.nearness) OVER () AS named
        FROM unnest(facts, closeness) AS given (id, nearness)
        CROSS JOIN LATERAL (SELECT * FROM fact WHERE id = given.id OFFSET 0) AS f
        CROSS JOIN LATERAL (SELECT key FROM entity WHERE id = f.subject OFFSET 0) AS e
    ), tip AS MATERIALIZED (
        SELECT tips.key, count(*) AS touched, bool_or(found.named) AS named
        FROM found CROSS JOIN LATERAL (SELECT found.subject AS key UNION SELECT found.object) AS tips
        GROUP BY tips.key
    ), towards AS MATERIALIZED (
        SELECT found.id
        FROM found JOIN tip AS one ON one.key = found.subject JOIN tip AS other ON other.key = found.object
        WHERE CASE WHEN found.named THEN greatest(one.touched, other.touched) <= few
                   ELSE one.named AND one.touched <= few OR other.named AND other.touched <= few END
    )
    SELECT array_agg(DISTINCT w.id) INTO told
    FROM towards
    CROSS JOIN LATERAL (SELECT sources FROM memory WHERE id = towards.id OFFSET 0) AS m
    CROSS JOIN unnest(m.sources) AS source (id)
    CROSS JOIN LATERAL (SELECT id, kind FROM memory_words WHERE id = source.id OFFSET 0) AS w
    WHERE w.id <> ALL (facts) AND (kinds IS NULL OR w.kind = ANY (kinds));

    IF kinds IS NULL OR 'fact' = ANY (kinds) THEN
        stated := facts;
        nearness := closeness;
    END IF;
    stated := stated || told;
    nearness := nearness || array_fill(share, ARRAY[coalesce(cardinality(told), 0)]);
END $$;
REVOKE ALL ON FUNCTION with_sources FROM PUBLIC;
GRANT EXECUTE ON FUNCTION with_sources TO lousa_app, lousa_system;
