-- The durable truth: every table carries its tenant and is guarded by row-level security, from the first migration on.
--
-- Two roles that own nothing do all the work.  lousa_app acts for one agent: it sees what that agent may see.
-- lousa_system is the relay and the jobs: it sees one tenant at a time, and the list of executions of all.
-- Who acts is told per transaction, in the settings lousa.tenant, lousa.agent, lousa.session, lousa.execution and
-- lousa.roles; a setting that was reset reads as '', which no row can carry.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lousa_app') THEN
        CREATE ROLE lousa_app NOLOGIN NOINHERIT;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lousa_system') THEN
        CREATE ROLE lousa_system NOLOGIN NOINHERIT;
    END IF;
    EXECUTE format('GRANT lousa_app, lousa_system TO %I', current_user);
END $$;

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
CREATE EXTENSION IF NOT EXISTS unaccent WITH SCHEMA public;

GRANT USAGE ON SCHEMA lousa TO lousa_app, lousa_system;
SET LOCAL search_path = lousa, public;

-- Who acts ----------------------------------------------------------------------------------------------------------

CREATE FUNCTION current_tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('lousa.tenant', true), '');
CREATE FUNCTION current_agent() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('lousa.agent', true), '');
CREATE FUNCTION current_session_name() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('lousa.session', true), '');
CREATE FUNCTION current_execution() RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('lousa.execution', true), '')::uuid;
CREATE FUNCTION current_roles() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN coalesce(nullif(current_setting('lousa.roles', true), '')::text[], '{}');

-- May the acting agent see a row of this scope?  An owner always sees its own; everything else is named whole.
CREATE FUNCTION visible(scope text, owner text, session text, execution uuid, readers text[], reader_roles text[])
    RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
    RETURN owner = current_agent()
        OR scope = 'tenant'
        OR (scope = 'shared' AND (session = current_session_name() OR execution = current_execution()))
        OR (scope = 'hierarchical' AND (current_agent() = ANY (readers) OR reader_roles && current_roles()));

-- Folding that compares names and words: NFC, lower case, no accents.
CREATE FUNCTION fold(words text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(public.unaccent('public.unaccent'::regdictionary, normalize(words, NFC)));

CREATE TEXT SEARCH CONFIGURATION portuguese_folded (COPY = pg_catalog.portuguese);
ALTER TEXT SEARCH CONFIGURATION portuguese_folded
    ALTER MAPPING FOR hword, hword_part, word WITH public.unaccent, portuguese_stem;
CREATE TEXT SEARCH CONFIGURATION english_folded (COPY = pg_catalog.english);
ALTER TEXT SEARCH CONFIGURATION english_folded
    ALTER MAPPING FOR hword, hword_part, word WITH public.unaccent, english_stem;

-- What a text is found by: its stems in both languages, unordered.  A Portuguese stemmer knows plurals by their accents,
-- which folding takes away, so the irregular plurals become singular first (licitações, licitação: one stem).
CREATE FUNCTION stems(words text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN strip(
        to_tsvector('lousa.portuguese_folded', regexp_replace(regexp_replace(regexp_replace(
            lousa.fold(words), '[ao]es\M', 'ao', 'g'), '([ae])is\M', '\1l', 'g'), 'ns\M', 'm', 'g'))
        || to_tsvector('lousa.english_folded', words));

-- Executions, effects, transcript, artifacts ------------------------------------------------------------------------

CREATE TABLE execution (
    id uuid PRIMARY KEY,
    tenant text NOT NULL CHECK (tenant <> ''),
    session text NOT NULL CHECK (session <> ''),
    pipeline text NOT NULL,
    source text,                                 -- the file or folder it was loaded from, so that it can be resumed
    goal jsonb NOT NULL,
    status text NOT NULL DEFAULT 'running'
        CHECK (status IN ('running', 'waiting', 'accepted', 'rejected', 'failed')),
    question jsonb,                              -- what a person was asked, with its evidence
    answer jsonb,
    result jsonb,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    audited_through text NOT NULL DEFAULT '0-0', -- the last change of its board that the ledger holds
    drained boolean NOT NULL DEFAULT false       -- ended, and all its changes are in the ledger
);
CREATE INDEX execution_open ON execution (id) WHERE NOT drained;
CREATE INDEX execution_of_tenant ON execution (tenant, id DESC);

CREATE TABLE effect (
    tenant text NOT NULL CHECK (tenant <> ''),
    execution uuid NOT NULL REFERENCES execution,
    key text NOT NULL,
    name text NOT NULL,
    agent text NOT NULL,
    task text NOT NULL,
    state text NOT NULL CHECK (state IN ('intended', 'done', 'failed')),
    result jsonb,
    intended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at timestamptz,
    PRIMARY KEY (tenant, execution, key)
);

CREATE TABLE transcript (
    id uuid PRIMARY KEY,
    tenant text NOT NULL CHECK (tenant <> ''),
    session text NOT NULL CHECK (session <> ''),
    execution uuid,
    agent text NOT NULL CHECK (agent <> ''),
    role text NOT NULL,
    body jsonb NOT NULL,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX transcript_of_session ON transcript (tenant, session, occurred_at, recorded_at);

CREATE TABLE artifact (
    tenant text NOT NULL CHECK (tenant <> ''),
    subject text NOT NULL,                       -- the data subject; '' when the value is about nobody
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    body bytea NOT NULL,
    size bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    taken_at timestamptz,                        -- when a field first took it up; an untaken one is collected
    PRIMARY KEY (tenant, subject, digest)
);
ALTER TABLE artifact ALTER COLUMN body SET STORAGE EXTERNAL;  -- up to 64 MB: compressing would take longer than writing

-- Memories ----------------------------------------------------------------------------------------------------------

CREATE TABLE memory (
    id uuid PRIMARY KEY,
    tenant text NOT NULL CHECK (tenant <> ''),
    scope text NOT NULL CHECK (scope IN ('private', 'shared', 'hierarchical', 'tenant')),
    owner text NOT NULL CHECK (owner <> ''),
    session text CHECK (session <> ''),
    execution uuid,
    readers text[] NOT NULL DEFAULT '{}',
    reader_roles text[] NOT NULL DEFAULT '{}',
    kind text NOT NULL CHECK (kind IN ('episodic', 'semantic', 'fact', 'procedural', 'block', 'decision')),
    text text NOT NULL,
    value jsonb,
    fact jsonb,                                  -- subject, predicate, object as stated; layer 3 is rebuilt from it
    category text,
    subject text,                                -- the data subject, when it is about a person
    source text NOT NULL CHECK (source IN ('user', 'tool', 'agent', 'web')),
    trust real NOT NULL CHECK (trust BETWEEN 0 AND 1),
    status text NOT NULL CHECK (status IN ('live', 'superseded', 'contested', 'quarantined', 'withdrawn')),
    superseded_by uuid,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    valid_from timestamptz,
    valid_to timestamptz,
    expires_at timestamptz,
    confirmed_at timestamptz NOT NULL,
    confirmations integer NOT NULL DEFAULT 1,
    used_at timestamptz,
    uses integer NOT NULL DEFAULT 0,
    content_key bytea NOT NULL,                  -- digest of the folded text within its scope: equal memories meet here
    sources uuid[] NOT NULL DEFAULT '{}',        -- the memories it was derived from
    metadata jsonb NOT NULL DEFAULT '{}',
    CHECK (scope <> 'shared' OR session IS NOT NULL OR execution IS NOT NULL)
);
CREATE INDEX memory_of_tenant ON memory (tenant, kind, status, recorded_at DESC);
CREATE INDEX memory_of_execution ON memory (tenant, execution) WHERE execution IS NOT NULL;
-- An equal memory confirms the first one.  A fact's key decides about a fact, and each decision is an event of its own.
CREATE UNIQUE INDEX memory_content ON memory (tenant, content_key)
    WHERE status = 'live' AND kind NOT IN ('fact', 'decision');
CREATE INDEX memory_expiry ON memory (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE tombstone (
    tenant text NOT NULL CHECK (tenant <> ''),
    id uuid NOT NULL,
    erased_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, id)
);

-- What a layer is still owed for a memory; commits with the memory itself.
CREATE TABLE debt (
    tenant text NOT NULL CHECK (tenant <> ''),
    memory uuid NOT NULL,
    layer text NOT NULL CHECK (layer IN ('context', 'knowledge')),
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    error text,
    PRIMARY KEY (tenant, memory, layer)
);
CREATE INDEX debt_due ON debt (due_at);

CREATE TABLE decision (
    id uuid PRIMARY KEY,                         -- the memory's id
    tenant text NOT NULL CHECK (tenant <> ''),
    execution uuid,
    agent text NOT NULL CHECK (agent <> ''),
    question text NOT NULL,
    outcome jsonb NOT NULL,
    reasons jsonb NOT NULL,
    evidence jsonb NOT NULL,
    decided_at timestamptz NOT NULL
);

-- Layer 2: words and vectors; ids only, no text ---------------------------------------------------------------------

CREATE TABLE memory_words (
    id uuid PRIMARY KEY,
    tenant text NOT NULL CHECK (tenant <> ''),
    scope text NOT NULL,
    owner text NOT NULL,
    session text,
    execution uuid,
    readers text[] NOT NULL,
    reader_roles text[] NOT NULL,
    kind text NOT NULL,
    words tsvector NOT NULL
);
CREATE INDEX memory_words_of_tenant ON memory_words (tenant);
CREATE INDEX memory_words_lexemes ON memory_words USING gin (words);

CREATE TABLE embedding_model (
    fingerprint text PRIMARY KEY,
    name text NOT NULL,
    dimensions integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One vector table a model, made by the owner of the schema; the fingerprint is in its name.
CREATE FUNCTION create_vector_table(fingerprint text, model text, dimensions integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text := 'memory_vector_' || fingerprint;
BEGIN
    IF fingerprint !~ '^[0-9a-f]{12}$' THEN
        RAISE EXCEPTION 'a fingerprint is 12 hexadecimal digits, not %', fingerprint;
    END IF;
    EXECUTE format($sql$
        CREATE TABLE IF NOT EXISTS lousa.%1$I (
            id uuid PRIMARY KEY,
            tenant text NOT NULL CHECK (tenant <> ''),
            scope text NOT NULL,
            owner text NOT NULL,
            session text,
            execution uuid,
            readers text[] NOT NULL,
            reader_roles text[] NOT NULL,
            kind text NOT NULL,
            embedding public.halfvec(%2$s) NOT NULL
        )$sql$, name, dimensions);
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON lousa.%I (tenant)', name || '_of_tenant', name);
    EXECUTE format('CREATE INDEX IF NOT EXISTS %I ON lousa.%I USING hnsw (embedding public.halfvec_cosine_ops)',
                   name || '_hnsw', name);
    PERFORM lousa.guard_table(format('lousa.%I', name)::regclass, true);
    INSERT INTO lousa.embedding_model (fingerprint, name, dimensions) VALUES (fingerprint, model, dimensions)
        ON CONFLICT DO NOTHING;
END $$;

-- Layer 3: entities and facts ---------------------------------------------------------------------------------------

CREATE TABLE entity (
    id uuid PRIMARY KEY,
    tenant text NOT NULL CHECK (tenant <> ''),
    key text NOT NULL,                           -- folded; compared
    name text NOT NULL,                          -- as first written; shown
    UNIQUE (tenant, key)
);

-- Assertions are immutable in subject, predicate, object, start, trust; the interval and status are derived from all
-- assertions of the same key and rewritten together, under one advisory lock on the key.
CREATE TABLE fact (
    id uuid PRIMARY KEY,                         -- the memory's id
    tenant text NOT NULL CHECK (tenant <> ''),
    scope text NOT NULL,
    owner text NOT NULL,
    session text,
    execution uuid,
    readers text[] NOT NULL,
    reader_roles text[] NOT NULL,
    key bytea NOT NULL,                          -- digest of tenant, scope qualifier, subject, predicate
    subject uuid NOT NULL,                       -- entity
    predicate text NOT NULL,                     -- folded
    predicate_name text NOT NULL,                -- as written
    object text NOT NULL,                        -- as written
    object_key text NOT NULL,                    -- folded
    object_entity uuid,                          -- entity, when the object was stated to be a thing and not a value
    many boolean NOT NULL,                       -- stated as one of several values at a time
    trust real NOT NULL,
    status text NOT NULL CHECK (status IN ('current', 'superseded', 'contested', 'quarantined', 'withdrawn')),
    valid_from timestamptz NOT NULL,
    valid_to timestamptz,
    recorded_at timestamptz NOT NULL,
    retired_at timestamptz,
    superseded_by uuid
);
CREATE INDEX fact_key ON fact (tenant, key, valid_from);
CREATE INDEX fact_subject ON fact (tenant, subject);
CREATE INDEX fact_object ON fact (tenant, object_key);

-- The ledger --------------------------------------------------------------------------------------------------------

CREATE TABLE ledger_entry (
    id uuid NOT NULL,                            -- UUIDv7, minted by the writer: a replay meets itself
    retention text NOT NULL CHECK (retention IN ('operational', 'standard', 'decision')),
    tenant text NOT NULL CHECK (tenant <> ''),
    execution uuid,
    session text,
    agent text NOT NULL CHECK (agent <> ''),
    agent_version text,
    on_behalf_of text,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    action text NOT NULL CHECK (action <> ''),
    memory uuid,
    field text,
    version_before bigint,
    version_after bigint,
    outcome text NOT NULL CHECK (outcome <> ''),
    basis jsonb NOT NULL DEFAULT '{}',           -- model, prompt hash, policy, memory ids read, confidence
    subject text NOT NULL,                       -- the data subject's pseudonym; its key can be destroyed
    trace_id text,
    span_id text,
    payload_digest bytea,                        -- SHA-256 of nonce and ciphertext beside it
    schema_version smallint NOT NULL DEFAULT 1,
    PRIMARY KEY (retention, id)
) PARTITION BY LIST (retention);
CREATE INDEX ledger_of_execution ON ledger_entry (tenant, execution, id);
CREATE INDEX ledger_of_memory ON ledger_entry (tenant, memory) WHERE memory IS NOT NULL;
CREATE INDEX ledger_of_tenant ON ledger_entry (tenant, id);

CREATE TABLE ledger_entry_operational PARTITION OF ledger_entry FOR VALUES IN ('operational') PARTITION BY RANGE (id);
CREATE TABLE ledger_entry_standard PARTITION OF ledger_entry FOR VALUES IN ('standard') PARTITION BY RANGE (id);
CREATE TABLE ledger_entry_decision PARTITION OF ledger_entry FOR VALUES IN ('decision') PARTITION BY RANGE (id);
CREATE TABLE ledger_entry_operational_rest PARTITION OF ledger_entry_operational DEFAULT;
CREATE TABLE ledger_entry_standard_rest PARTITION OF ledger_entry_standard DEFAULT;
CREATE TABLE ledger_entry_decision_rest PARTITION OF ledger_entry_decision DEFAULT;

-- The lowest UUIDv7 of a moment.
CREATE FUNCTION lowest_id(moment timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE
    RETURN (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid;

-- Makes the monthly partitions from this month on that do not exist yet; refuses nothing that already went to the
-- default partition, because twelve months ahead nothing can have.
CREATE FUNCTION extend_ledger(months integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    class text;
    month timestamptz;
    name text;
    made integer := 0;
BEGIN
    FOREACH class IN ARRAY ARRAY['operational', 'standard', 'decision'] LOOP
        FOR step IN 0 .. months LOOP
            month := date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' + make_interval(months => step);
            name := format('ledger_entry_%s_%s', class, to_char(month AT TIME ZONE 'UTC', 'YYYYMM'));
            IF to_regclass('lousa.' || name) IS NULL THEN
                EXECUTE format('CREATE TABLE lousa.%I PARTITION OF lousa.%I FOR VALUES FROM (%L) TO (%L)', name,
                    'ledger_entry_' || class, lousa.lowest_id(month), lousa.lowest_id(month + interval '1 month'));
                made := made + 1;
            END IF;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;
SELECT extend_ledger(12);

CREATE TABLE ledger_payload (
    entry uuid PRIMARY KEY,
    tenant text NOT NULL CHECK (tenant <> ''),
    agent text NOT NULL,                         -- who acted, and may read it; so may an auditor
    subject text NOT NULL,                       -- pseudonym
    nonce bytea NOT NULL,
    ciphertext bytea NOT NULL
);

-- One key a data subject; destroying the row makes its payloads unreadable and its pseudonym nobody's.
CREATE TABLE subject_key (
    tenant text NOT NULL CHECK (tenant <> ''),
    name text NOT NULL CHECK (name <> ''),
    pseudonym text NOT NULL,
    key bytea NOT NULL CHECK (octet_length(key) = 32),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, name),
    UNIQUE (tenant, pseudonym)
);

CREATE TABLE seal (
    id uuid PRIMARY KEY,
    tenant text NOT NULL CHECK (tenant <> ''),
    number bigint NOT NULL,
    previous bytea NOT NULL,
    root bytea NOT NULL,
    size integer NOT NULL,
    sealed_at timestamptz NOT NULL,
    public_key bytea NOT NULL,
    signature bytea NOT NULL,
    UNIQUE (tenant, number)
);
CREATE TABLE seal_leaf (
    tenant text NOT NULL CHECK (tenant <> ''),
    entry uuid NOT NULL,
    seal uuid NOT NULL REFERENCES seal,
    index integer NOT NULL,
    PRIMARY KEY (tenant, entry)
);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger only grows: % on % is refused', tg_op, tg_table_name;
END $$;
CREATE TRIGGER ledger_entry_only_grows BEFORE UPDATE OR DELETE ON ledger_entry
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON ledger_entry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER seal_only_grows BEFORE UPDATE OR DELETE ON seal FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER seal_leaf_only_grows BEFORE UPDATE OR DELETE ON seal_leaf FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Row-level security ------------------------------------------------------------------------------------------------

-- Guards a table: each role sees its own tenant only, and lousa_app of a scoped table only what its agent may see.
-- A writer may add or change only rows that it owns, so nobody speaks in another's name.
CREATE FUNCTION guard_table(name regclass, scoped boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    mine text := 'tenant = lousa.current_tenant()';
    seen text := ' AND lousa.visible(scope, owner, session, execution, readers, reader_roles)';
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY system ON %s TO lousa_system USING (%s)', name, mine);
    IF scoped THEN
        EXECUTE format('CREATE POLICY readable ON %s FOR SELECT TO lousa_app USING (%s)', name, mine || seen);
        EXECUTE format('CREATE POLICY insertable ON %s FOR INSERT TO lousa_app WITH CHECK (%s)', name,
                       mine || ' AND owner = lousa.current_agent()');
        EXECUTE format('CREATE POLICY changeable ON %s FOR UPDATE TO lousa_app USING (%s)', name, mine || seen);
        EXECUTE format('CREATE POLICY removable ON %s FOR DELETE TO lousa_app USING (%s)', name, mine || seen);
    ELSE
        EXECUTE format('CREATE POLICY tenant ON %s TO lousa_app USING (%s)', name, mine);
    END IF;
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO lousa_app, lousa_system', name);
EXCEPTION WHEN duplicate_object THEN
    NULL;  -- guarded before; create_vector_table runs at every start
END $$;

SELECT guard_table(name::regclass, name IN ('memory', 'memory_words', 'fact'))
FROM unnest(ARRAY['execution', 'effect', 'transcript', 'artifact', 'memory', 'tombstone', 'debt', 'decision',
                  'memory_words', 'entity', 'fact', 'ledger_entry', 'ledger_payload', 'subject_key',
                  'seal', 'seal_leaf']) AS name;
REVOKE UPDATE, DELETE, TRUNCATE ON ledger_entry, seal, seal_leaf FROM lousa_app, lousa_system;
REVOKE UPDATE, DELETE ON ledger_payload, subject_key FROM lousa_app;

-- What was said, by whom and for whom, never changes; only how it stands does.
REVOKE UPDATE ON memory, fact, decision, tombstone FROM lousa_app, lousa_system;
REVOKE DELETE ON execution, effect, transcript, memory, tombstone, decision FROM lousa_app;
GRANT UPDATE (status, superseded_by, source, trust, valid_from, valid_to, expires_at, confirmed_at, confirmations, used_at,
              uses) ON memory TO lousa_app, lousa_system;
GRANT UPDATE (status, valid_to, superseded_by, retired_at) ON fact TO lousa_app, lousa_system;

-- A payload is for the agent that acted and for auditors; a transcript for its own session.
DROP POLICY tenant ON ledger_payload;
CREATE POLICY readable ON ledger_payload FOR SELECT TO lousa_app USING (
    tenant = current_tenant() AND (agent = current_agent() OR 'auditor' = ANY (current_roles())));
CREATE POLICY insertable ON ledger_payload FOR INSERT TO lousa_app WITH CHECK (
    tenant = current_tenant() AND agent = current_agent());
DROP POLICY tenant ON transcript;
CREATE POLICY own_session ON transcript TO lousa_app USING (
    tenant = current_tenant() AND session = current_session_name());
GRANT SELECT ON embedding_model TO lousa_app, lousa_system;

-- Words are searched by functions of a role of their own: under row-level security a text match is no index condition,
-- because the matching operator is not leak-proof.  The role reads this table of ids and lexemes and nothing else, and
-- its functions ask for tenant and visibility themselves, of the caller's settings.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lousa_search') THEN
        CREATE ROLE lousa_search NOLOGIN NOINHERIT;
    END IF;
    EXECUTE format('GRANT lousa_search TO %I', current_user);
END $$;
GRANT USAGE, CREATE ON SCHEMA lousa TO lousa_search;
GRANT SELECT ON memory_words TO lousa_search;
CREATE POLICY searching ON memory_words FOR SELECT TO lousa_search USING (true);

-- How each term reads as a query (its stems in both languages; an identifier, which begins with =, as it is) and how
-- many memories that the caller may see hold it, counted up to a cap.  Function words of both languages give no row.
CREATE FUNCTION word_frequencies(terms text[], cap integer)
    RETURNS TABLE (term text, query text, frequency bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = lousa, public, pg_temp AS $$
BEGIN
    FOREACH term IN ARRAY terms LOOP
        SELECT string_agg(array_to_tsvector(ARRAY[lexeme])::text, ' | ') INTO query
        FROM unnest(CASE WHEN starts_with(term, '=') THEN ARRAY[term] ELSE tsvector_to_array(stems(term)) END)
            AS lexeme;
        CONTINUE WHEN query IS NULL;
        EXECUTE format('SELECT count(*) FROM (SELECT FROM memory_words WHERE words @@ %L::tsquery'
                       ' AND tenant = current_tenant()'
                       ' AND visible(scope, owner, session, execution, readers, reader_roles) LIMIT $1) AS found', query)
            INTO frequency USING cap;
        RETURN NEXT;
    END LOOP;
END $$;

-- Memories that hold any of the rarer terms, at most `bound` of them, by the sum of the weights of all terms they hold.
CREATE FUNCTION search_words(any_of text, queries text[], weights float8[], kinds text[], bound integer, k integer)
    RETURNS TABLE (id uuid, score float8)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = lousa, public, pg_temp AS $$
DECLARE
    summed text;
BEGIN
    SELECT string_agg(format('(words @@ %L::tsquery)::int * %s::float8', query, weight), ' + ') INTO summed
    FROM unnest(queries, weights) AS asked (query, weight);
    RETURN QUERY EXECUTE format(
        'SELECT id, %s AS score FROM (SELECT id, words FROM memory_words WHERE words @@ %L::tsquery'
        ' AND tenant = current_tenant() AND visible(scope, owner, session, execution, readers, reader_roles)'
        ' AND ($1 IS NULL OR kind = ANY ($1)) LIMIT $2) AS held ORDER BY score DESC, id LIMIT $3', summed, any_of)
        USING kinds, bound, k;
END $$;
ALTER FUNCTION word_frequencies OWNER TO lousa_search;
ALTER FUNCTION search_words OWNER TO lousa_search;
REVOKE ALL ON FUNCTION word_frequencies, search_words FROM PUBLIC;
GRANT EXECUTE ON FUNCTION word_frequencies, search_words TO lousa_app, lousa_system;
REVOKE CREATE ON SCHEMA lousa FROM lousa_search;

-- Takes memories out of layer 2: their words, and their vectors of every model.
CREATE FUNCTION unindex(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    model text;
BEGIN
    DELETE FROM lousa.memory_words WHERE id = ANY (ids);
    FOR model IN SELECT fingerprint FROM lousa.embedding_model LOOP
        EXECUTE format('DELETE FROM lousa.%I WHERE id = ANY ($1)', 'memory_vector_' || model) USING ids;
    END LOOP;
END $$;

-- The relay looks for executions of every tenant that still owe changes to the ledger, and for debts that are due.
CREATE POLICY listing ON execution FOR SELECT TO lousa_system USING (true);
CREATE POLICY listing ON debt FOR SELECT TO lousa_system USING (true);
