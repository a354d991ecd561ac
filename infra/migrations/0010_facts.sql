-- Facts are written in one statement and found in simpler ones.
--
-- What a statement costs here is less its rows than its plan's size: under row-level security each table of a plan brings
-- six sub-selects, which are set up whether they are asked or not.

SET LOCAL search_path = lousa, public;

-- As before, with less to join.  Whether the caller sees a fact of each name matters only where several names were found,
-- since one may stand in another; things are looked up together, and not for each fact; nothing follows the second step.
CREATE OR REPLACE FUNCTION find_facts(
    names text[], places bigint[], moment timestamptz, as_of timestamptz, near float8, far float8, most integer)
    RETURNS bytea LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
    things uuid[];
    keys text[];
    seen uuid[];
    subjects uuid[];
    objects text[];
    packed bytea;
    further bytea;
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
        RETURN NULL;
    END IF;
    SELECT array_agg(touched.id), array_agg(touched.subject), array_agg(touched.object_key),
           string_agg(uuid_send(touched.id) || float8send(near), ''::bytea ORDER BY touched.id)
    INTO seen, subjects, objects, packed
    FROM (SELECT f.id, f.subject, f.object_key
          FROM fact AS f JOIN memory AS m ON m.id = f.id
          WHERE (f.subject = ANY (things) OR f.object_key = ANY (keys))
            AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
            AND (m.expires_at IS NULL OR m.expires_at > moment)
            AND f.valid_from <= as_of AND (f.valid_to IS NULL OR f.valid_to > as_of)
          ORDER BY f.recorded_at DESC, f.id LIMIT most) AS touched;
    SELECT array_agg(e.id), array_agg(e.key) INTO things, keys
    FROM entity AS e
    WHERE (e.id = ANY (subjects) OR e.key = ANY (objects)) AND e.id <> ALL (things);
    IF keys IS NULL THEN
        RETURN packed;
    END IF;
    SELECT string_agg(uuid_send(touched.id) || float8send(far), ''::bytea ORDER BY touched.id) INTO further
    FROM (SELECT f.id
          FROM fact AS f JOIN memory AS m ON m.id = f.id
          WHERE (f.subject = ANY (things) OR f.object_key = ANY (keys))
            AND f.status NOT IN ('quarantined', 'withdrawn') AND m.status NOT IN ('quarantined', 'withdrawn')
            AND (m.expires_at IS NULL OR m.expires_at > moment)
            AND f.valid_from <= as_of AND (f.valid_to IS NULL OR f.valid_to > as_of)
          ORDER BY f.recorded_at DESC, f.id LIMIT most) AS touched
    WHERE touched.id <> ALL (seen);
    RETURN packed || coalesce(further, ''::bytea);
END $$;

-- Assertions of memories whose rows are in, once each; scope and times are the record's.  Things keep the spelling that
-- came first, and none is written for what the record does not know.  Says which of them are to be resolved: those of a
-- key that was there before, and all where one was not inserted.  Nobody else inserts an assertion of a locked key, so
-- what is not there now will not be.  Keys are locked and things are inserted in one order, so that two batches cannot
-- embrace; assertions are looked up row by row, so that no plan reads a tenant's.
CREATE FUNCTION state_facts(
    locks bigint[], things uuid[], thing_keys text[], thing_names text[],
    ids uuid[], keys bytea[], subjects uuid[], predicates text[], predicate_names text[], objects text[],
    object_keys text[], object_entities uuid[], many boolean[], quarantined boolean[], since timestamptz[])
    RETURNS uuid[] LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    asker CONSTANT text := current_tenant();
    known uuid[];
    held uuid[] := '{}';
    named text[];
    inserted bigint;
    complete boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(key) FROM unnest(locks) AS wanted (key);
    known := ARRAY(SELECT new.id FROM unnest(ids, keys) AS new (id, key)
                   WHERE (SELECT true FROM fact AS f WHERE f.tenant = asker AND f.key = new.key LIMIT 1));
    IF known <> '{}' THEN
        held := ARRAY(SELECT new.id FROM unnest(ids, keys) AS new (id, key)
                      WHERE (SELECT true FROM fact AS f WHERE f.tenant = asker AND f.key = new.key AND f.id = new.id));
    END IF;
    INSERT INTO fact (id, tenant, scope, owner, session, execution, readers, reader_roles, key, subject, predicate,
                      predicate_name, object, object_key, object_entity, many, trust, status, valid_from, recorded_at)
    SELECT m.id, m.tenant, m.scope, m.owner, m.session, m.execution, m.readers, m.reader_roles, new.key, new.subject,
           new.predicate, new.predicate_name, new.object, new.object_key, new.object_entity, new.many, m.trust,
           CASE WHEN new.quarantined THEN 'quarantined' ELSE 'current' END, coalesce(new.since, m.occurred_at),
           m.recorded_at
    FROM unnest(ids, keys, subjects, predicates, predicate_names, objects, object_keys, object_entities, many,
                quarantined, since)
         AS new (id, key, subject, predicate, predicate_name, object, object_key, object_entity, many, quarantined, since)
    CROSS JOIN LATERAL (
        SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, trust, occurred_at, recorded_at
        FROM memory WHERE id = new.id OFFSET 0) AS m
    WHERE new.id <> ALL (held);
    GET DIAGNOSTICS inserted = ROW_COUNT;
    complete := inserted = cardinality(ids);
    named := ARRAY(SELECT e.key FROM entity AS e WHERE e.tenant = asker AND e.key = ANY (thing_keys));
    IF cardinality(named) < cardinality(thing_keys) THEN
        INSERT INTO entity (id, tenant, key, name)
        SELECT new.id, asker, new.key, new.name
        FROM unnest(things, thing_keys, thing_names) AS new (id, key, name)
        WHERE new.key NOT IN (SELECT unnest(named))
          AND (complete OR new.id IN (SELECT f.subject FROM fact AS f WHERE f.id = ANY (ids)
                                      UNION SELECT f.object_entity FROM fact AS f WHERE f.id = ANY (ids)))
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN CASE WHEN complete THEN known ELSE ids END;
END $$;
