-- insert_memories: New rows, and what layer 2 is owed for them; a live one that is equal in its own circle of readers is
-- confirmed instead, unless by an echo (confirmations 0) or by an agent where a user or a tool had said it; and one that was
-- forgotten before it came is left out (looked up one by one, never a tenant's all).
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(rows)s) AS given (
        id uuid, scope text, owner text, session text, execution uuid, readers text[], reader_roles text[], kind text,
        text text, value jsonb, fact jsonb, category text, subject text, speaker text, source text, trust real, status text,
        occurred_at timestamptz, recorded_at timestamptz, valid_from timestamptz, expires_at timestamptz,
        content_key bytea, sources uuid[], metadata jsonb, owed boolean, confirmed_at timestamptz, confirmations integer
    )
), held AS (
    INSERT INTO memory AS known (
        id, tenant, scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category, subject,
        speaker, source, trust, status, occurred_at, recorded_at, valid_from, expires_at, confirmed_at, confirmations,
        content_key, sources, metadata
    )
    SELECT id, current_tenant(), scope, owner, session, execution, readers, reader_roles, kind, text, value, fact,
        category, subject, speaker, source, trust, status, occurred_at, recorded_at, valid_from, expires_at,
        confirmed_at, confirmations, content_key, sources, metadata
    FROM given
    WHERE (SELECT count(*) FROM tombstone WHERE tombstone.tenant = current_tenant() AND tombstone.id = given.id) = 0
    ON CONFLICT (tenant, content_key) WHERE status = 'live' AND kind NOT IN ('fact', 'decision') DO UPDATE SET
        (confirmed_at, confirmations, source, trust, expires_at) = (SELECT
            CASE WHEN echo THEN known.confirmed_at ELSE greatest(known.confirmed_at, excluded.confirmed_at) END,
            CASE WHEN echo THEN known.confirmations ELSE known.confirmations + excluded.confirmations END,
            CASE WHEN NOT echo AND excluded.trust > known.trust THEN excluded.source ELSE known.source END,
            CASE WHEN echo THEN known.trust ELSE greatest(known.trust, excluded.trust) END,
            CASE WHEN echo THEN known.expires_at
                 WHEN known.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL
                 ELSE greatest(known.expires_at, excluded.expires_at) END
            FROM (SELECT excluded.confirmations = 0 OR excluded.source = 'agent' AND known.source <> 'agent') AS said (echo))
    RETURNING id, content_key
), owed AS (
    INSERT INTO debt (tenant, memory, layer, due_at)
    SELECT current_tenant(), id, 'context', clock_timestamp() + %(due_after)s::interval
    FROM held WHERE id IN (SELECT id FROM given WHERE owed)
    ON CONFLICT DO NOTHING
)
SELECT id, content_key FROM held

-- fetch_memories: What of some a recall may bring back; row-level security decides who sees it, this what is valid.
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category, subject,
    speaker, source, trust, status, occurred_at, recorded_at, expires_at, sources, nullif(metadata, '{}') AS metadata,
    confirmed_at, doubted IS NOT DISTINCT FROM confirmed_at AS to_confirm, told,
    coalesce(last_told_at, occurred_at) AS told_at
FROM memory
WHERE {which}
  AND (expires_at IS NULL OR expires_at > %(now)s)
  AND CASE WHEN %(as_of)s::timestamptz IS NULL
           THEN status IN ('live', 'contested')
                AND (valid_from IS NULL OR valid_from <= %(now)s) AND (valid_to IS NULL OR valid_to > %(now)s)
           ELSE status IN ('live', 'contested', 'superseded')
                AND (valid_from IS NULL OR valid_from <= %(as_of)s) AND (valid_to IS NULL OR valid_to > %(as_of)s)
      END

-- standing_memories: All of some kinds that the caller may see and that hold now, the newest confirmed first.
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category, subject,
    speaker, source, trust, status, occurred_at, recorded_at, expires_at, sources, metadata,
    confirmed_at, doubted IS NOT DISTINCT FROM confirmed_at AS to_confirm
FROM memory
WHERE tenant = current_tenant() AND kind = ANY (%(kinds)s) AND status IN ('live', 'contested')
  AND (expires_at IS NULL OR expires_at > %(now)s)
ORDER BY confirmed_at DESC, id DESC

-- get_memories: Whatever its status, for those who may see it.
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category, subject,
    speaker, source, trust, status, occurred_at, recorded_at, expires_at, sources, metadata,
    confirmed_at, doubted IS NOT DISTINCT FROM confirmed_at AS to_confirm
FROM memory
WHERE id = ANY (%(ids)s)

-- lock_memory: One memory, held until the transaction ends, so that two changes of its status take turns.
SELECT id, tenant, scope, owner, session, execution, readers, reader_roles, kind, text, value, fact, category, subject,
    speaker, source, trust, status, occurred_at, recorded_at, expires_at, sources, metadata,
    confirmed_at, doubted IS NOT DISTINCT FROM confirmed_at AS to_confirm
FROM memory
WHERE id = %(id)s
FOR UPDATE

-- set_status: A memory changes its standing.
UPDATE memory
SET status = %(status)s, superseded_by = coalesce(%(superseded_by)s, superseded_by),
    confirmed_at = CASE WHEN %(status)s = 'live' THEN clock_timestamp() ELSE confirmed_at END
WHERE id = ANY (%(ids)s)

-- touch_artifact: An artifact that is there already has another hour to be taken up.
UPDATE artifact SET created_at = clock_timestamp()
WHERE tenant = %(tenant)s AND subject = %(subject)s AND digest = %(digest)s
RETURNING size

-- put_artifact: Keep a body; two who put the same at once keep it once.
INSERT INTO artifact (tenant, subject, digest, body, size)
VALUES (%(tenant)s, %(subject)s, %(digest)s, %(body)s, %(size)s)
ON CONFLICT (tenant, subject, digest) DO UPDATE SET created_at = clock_timestamp()

-- get_artifact: The body.
SELECT body FROM artifact WHERE tenant = %(tenant)s AND subject = %(subject)s AND digest = %(digest)s

-- take_artifacts: Something refers to them now.
UPDATE artifact SET taken_at = coalesce(taken_at, clock_timestamp())
FROM unnest(%(subjects)s::text[], %(digests)s::bytea[]) AS wanted (subject, digest)
WHERE artifact.tenant = %(tenant)s AND artifact.subject = wanted.subject AND artifact.digest = wanted.digest

-- collect_artifacts: What nothing ever referred to.
DELETE FROM artifact
WHERE tenant = current_tenant() AND taken_at IS NULL AND created_at < clock_timestamp() - %(older_than)s::interval

-- subject_keys: The keys of data subjects, as far as they have one.
SELECT name, pseudonym, key FROM subject_key WHERE tenant = current_tenant() AND name = ANY (%(names)s)

-- create_subject_keys: A key for each subject that has none; whoever came first decided.
INSERT INTO subject_key (tenant, name, pseudonym, key)
SELECT current_tenant(), name, pseudonym, key
FROM unnest(%(names)s::text[], %(pseudonyms)s::text[], %(keys)s::bytea[]) AS new (name, pseudonym, key)
ON CONFLICT (tenant, name) DO NOTHING

-- append_entries: Entries, each with its payload; returns those that were not there yet.
WITH given AS (
    SELECT * FROM json_to_recordset(%(rows)s) AS given (
        id uuid, retention text, execution uuid, session text, agent text, agent_version text, on_behalf_of text,
        occurred_at timestamptz, action text, memory uuid, field text, version_before bigint, version_after bigint,
        outcome text, basis jsonb, subject text, trace_id text, span_id text, payload_digest bytea, nonce bytea,
        ciphertext bytea
    )
), fresh AS (
    INSERT INTO ledger_entry (
        id, retention, tenant, execution, session, agent, agent_version, on_behalf_of, occurred_at, action, memory,
        field, version_before, version_after, outcome, basis, subject, trace_id, span_id, payload_digest
    )
    SELECT id, retention, current_tenant(), execution, session, agent, agent_version, on_behalf_of, occurred_at, action,
        memory, field, version_before, version_after, outcome, basis, subject, trace_id, span_id, payload_digest
    FROM given
    {absorb}
    RETURNING id
), kept AS (
    INSERT INTO ledger_payload (entry, tenant, agent, subject, nonce, ciphertext)
    SELECT id, current_tenant(), agent, subject, nonce, ciphertext
    FROM given WHERE ciphertext IS NOT NULL AND id IN (SELECT id FROM fresh)
)
SELECT id FROM fresh

-- find_entries: What the ledger says of operations: a repeat is answered from here.
SELECT id, memory, outcome, basis FROM ledger_entry WHERE tenant = current_tenant() AND id = ANY (%(ids)s)

-- trail: An execution's entries in order; a payload only for those who may read it and while its key exists.
SELECT entry.*, payload.nonce, payload.ciphertext, subject_key.key
FROM ledger_entry AS entry
LEFT JOIN ledger_payload AS payload ON payload.entry = entry.id
LEFT JOIN subject_key ON subject_key.tenant = payload.tenant AND subject_key.pseudonym = payload.subject
WHERE entry.tenant = current_tenant() AND entry.execution = %(execution)s
ORDER BY entry.occurred_at, entry.recorded_at, entry.version_after, entry.id

-- create_execution: The row is there before the first change of its board, so every relay knows the stream.
INSERT INTO execution (id, tenant, session, pipeline, source, goal, started_at)
VALUES (%(id)s, current_tenant(), %(session)s, %(pipeline)s, %(source)s, %(goal)s, %(now)s)
ON CONFLICT (id) DO NOTHING
RETURNING id

-- get_execution: One execution.
SELECT id, session, pipeline, source, goal, status, question, answer, result, started_at, ended_at, drained,
    audited_through
FROM execution WHERE tenant = current_tenant() AND id = %(id)s

-- lock_execution: One execution, held until the transaction ends, so that its status moves one step at a time.
SELECT id, session, pipeline, source, goal, status, question, answer, result, started_at, ended_at, drained,
    audited_through
FROM execution WHERE tenant = current_tenant() AND id = %(id)s
FOR UPDATE

-- list_executions: The newest first.
SELECT id, session, pipeline, source, goal, status, question, answer, result, started_at, ended_at, drained,
    audited_through
FROM execution
WHERE tenant = current_tenant() AND (%(session)s::text IS NULL OR session = %(session)s)
  AND (%(status)s::text IS NULL OR status = %(status)s)
ORDER BY id DESC LIMIT %(limit)s

-- move_execution: A step of its status, with what came of it.
UPDATE execution
SET status = %(status)s, question = %(question)s, answer = %(answer)s, result = %(result)s, ended_at = %(ended_at)s,
    drained = false
WHERE id = %(id)s

-- end_execution: The last step of a running one.
UPDATE execution SET status = %(status)s, result = %(result)s, ended_at = %(ended_at)s, drained = false
WHERE tenant = current_tenant() AND id = %(id)s AND status IN ('running', 'waiting')
RETURNING id

-- intend_effect: Only one attempt ever gets to run an effect: the one whose row this is.
INSERT INTO effect (tenant, execution, key, name, agent, task, state, intended_at)
VALUES (current_tenant(), %(execution)s, %(key)s, %(name)s, %(agent)s, %(task)s, 'intended', %(now)s)
ON CONFLICT (tenant, execution, key) DO NOTHING
RETURNING key

-- lock_effect: What is known of an effect, held until the transaction ends.
SELECT name, agent, task, state, result, intended_at
FROM effect WHERE tenant = current_tenant() AND execution = %(execution)s AND key = %(key)s
FOR UPDATE

-- retake_effect: Whoever found out that it never happened tries again, in its own name.
UPDATE effect SET state = 'intended', result = NULL, ended_at = NULL, agent = %(agent)s, task = %(task)s,
    intended_at = %(now)s
WHERE tenant = current_tenant() AND execution = %(execution)s AND key = %(key)s

-- end_effect: How it ended.
UPDATE effect SET state = %(state)s, result = %(result)s, ended_at = %(now)s
WHERE tenant = current_tenant() AND execution = %(execution)s AND key = %(key)s

-- append_turns: Turns that are not there yet.
INSERT INTO transcript (id, tenant, session, execution, agent, role, body, occurred_at)
SELECT id, current_tenant(), session, execution, agent, role, body, occurred_at
FROM json_to_recordset(%(rows)s) AS given (
    id uuid, session text, execution uuid, agent text, role text, body jsonb, occurred_at timestamptz
)
ON CONFLICT (id) DO NOTHING

-- last_turns: The newest of a session, newest first.
SELECT id, session, execution, agent, role, body, occurred_at
FROM transcript
WHERE tenant = current_tenant() AND session = %(session)s
  AND (%(before)s::uuid IS NULL
       OR (occurred_at, recorded_at) < (SELECT occurred_at, recorded_at FROM transcript WHERE id = %(before)s))
ORDER BY occurred_at DESC, recorded_at DESC LIMIT %(limit)s

-- turns_after: Those of a session that are not known, in the order in which they arrived, by one clock whoever said them
-- when; those after a turn that arrived at a moment, the oldest of them or the newest.
SELECT id, session, execution, agent, role, body, occurred_at, recorded_at
FROM transcript
WHERE tenant = current_tenant() AND session = %(session)s
  AND (%(after)s::timestamptz IS NULL
       OR (recorded_at >= %(after)s AND (recorded_at, id) > (%(after)s, %(last)s::uuid)))
  AND id <> ALL (%(known)s::uuid[])
ORDER BY CASE WHEN %(newest)s THEN recorded_at END DESC, recorded_at, id LIMIT %(limit)s

-- insert_decisions: What was decided, beside the memory of it; nothing is a decision too, and JSON's null is no missing
-- value.
INSERT INTO decision (id, tenant, execution, agent, question, outcome, reasons, evidence, decided_at)
SELECT id, current_tenant(), execution, agent, question, coalesce(outcome, 'null'), reasons, evidence, decided_at
FROM json_to_recordset(%(rows)s) AS given (
    id uuid, execution uuid, agent text, question text, outcome jsonb, reasons jsonb, evidence jsonb,
    decided_at timestamptz
)
ON CONFLICT (id) DO NOTHING

-- list_decisions: Those whose memory the caller may see, newest first.
SELECT decision.id, decision.execution, decision.agent, decision.question, decision.outcome, decision.reasons,
    decision.evidence, decision.decided_at
FROM decision JOIN memory ON memory.id = decision.id
WHERE decision.tenant = current_tenant() AND memory.status IN ('live', 'contested')
  AND (%(execution)s::uuid IS NULL OR decision.execution = %(execution)s)
ORDER BY decision.id DESC LIMIT %(limit)s

-- begin_write: Writers of a tenant go side by side; whoever forgets waits for them, and they for it. A process that stops
-- in the middle loses its transaction, or what it had written would keep the others waiting. In the same trip, the keys
-- of the data subjects.
WITH held AS MATERIALIZED (
    SELECT pg_advisory_xact_lock_shared(hashtextextended('lousa.write.' || current_tenant(), 0)),
        set_config('idle_in_transaction_session_timeout', '3s', true), set_config('lock_timeout', '10s', true),
        set_config('lousa.due_after', %(due_after)s, true)
)
SELECT name, pseudonym, key FROM held LEFT JOIN subject_key ON tenant = current_tenant() AND name = ANY (%(names)s)

-- hold_tenant: Whoever forgets: no write of this tenant is under way, and none begins before this one ends.
SELECT pg_advisory_xact_lock(hashtextextended('lousa.write.' || current_tenant(), 0))

-- bury: Nothing late brings these ids back.
INSERT INTO tombstone (tenant, id) SELECT current_tenant(), unnest(%(ids)s::uuid[]) ON CONFLICT DO NOTHING

-- trust_of: How far these memories are trusted, one in quarantine no further than what comes from anywhere; and whether they
-- tell others what to do, and nobody vouched for it.
SELECT m.id, CASE WHEN m.status = 'quarantined' THEN least(m.trust, %(apart)s::real) ELSE m.trust END,
    coalesce(w.directs, false)
FROM memory AS m LEFT JOIN memory_words AS w ON w.id = m.id WHERE m.id = ANY (%(ids)s)

-- equal_live: The live memory that is equal to this one.
SELECT live.id FROM memory AS live JOIN memory AS this USING (tenant, content_key)
WHERE this.id = %(id)s AND live.id <> this.id AND live.status = 'live' AND live.kind NOT IN ('fact', 'decision')

-- release_memory: Out of quarantine, trusted enough to be found.
UPDATE memory SET status = 'live', trust = greatest(trust, %(trust)s), confirmed_at = %(now)s, vouched_at = %(now)s
WHERE id = %(id)s

-- vouch: What tells others what to do counts for what it says from now on, whoever brought or drew it; the id, the first time.
WITH counts AS (
    UPDATE memory_words SET directs = false WHERE id = %(id)s AND directs RETURNING id
)
UPDATE memory SET vouched_at = %(now)s FROM counts WHERE memory.id = counts.id RETURNING memory.id

-- owe: A layer is owed these memories.
SELECT owe(%(ids)s::uuid[], %(layer)s)

-- owing: Which debts these are just now.
SELECT memory, revision FROM debt WHERE tenant = current_tenant() AND memory = ANY (%(ids)s) AND layer = %(layer)s

-- paid: Debts that are settled, as they were read. One that was raised meanwhile stays, and is due at once, or it would wait
-- as if it had failed; one that somebody took off meanwhile is owed again, because ours may have come after theirs.
WITH given AS (
    SELECT * FROM unnest(%(ids)s::uuid[], %(revisions)s::integer[]) AS given (id, revision)
), settled AS (
    DELETE FROM debt USING given
    WHERE debt.tenant = current_tenant() AND debt.memory = given.id AND debt.layer = %(layer)s
      AND debt.revision = given.revision
    RETURNING given.id
)
INSERT INTO debt (tenant, memory, layer)
SELECT current_tenant(), id, %(layer)s FROM given WHERE id NOT IN (SELECT id FROM settled)
ON CONFLICT (tenant, memory, layer) DO UPDATE SET due_at = clock_timestamp()

-- put_off: Debts that were taken in vain, because the layer is away: due again soon, and as often tried as before.
UPDATE debt SET attempts = greatest(0, attempts - 1), due_at = clock_timestamp() + %(after)s::interval
WHERE tenant = current_tenant() AND memory = ANY (%(ids)s) AND layer = %(layer)s

-- forgiven: Nothing is owed for these any more.
DELETE FROM debt WHERE tenant = current_tenant() AND memory = ANY (%(ids)s)

-- debts_of: The layers that do not have a memory yet.
SELECT layer FROM debt
WHERE tenant = current_tenant() AND memory = %(id)s AND layer IN ('context', 'knowledge') ORDER BY layer

-- debtors: Tenants for whom something is due.
SELECT DISTINCT tenant FROM debt WHERE due_at <= clock_timestamp()

-- take_debts: Debts that are due, each for one relay at a time; one that dies leaves them to be taken again. What is to be
-- examined is taken once its vector is there: who looked too early would leave it for another second.
UPDATE debt SET attempts = attempts + 1,
    due_at = clock_timestamp() + interval '10 seconds' + least(power(2, attempts), 300) * interval '1 second'
WHERE (tenant, memory, layer) IN (
    SELECT tenant, memory, layer FROM debt
    WHERE tenant = current_tenant() AND layer = %(layer)s AND due_at <= clock_timestamp()
      AND (layer <> 'truth' OR NOT EXISTS (
          SELECT FROM debt AS before
          WHERE before.tenant = debt.tenant AND before.memory = debt.memory AND before.layer = 'context'))
    ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
RETURNING memory, revision

-- note_debts: Why they could not be paid, by the name of the error alone.
UPDATE debt SET error = %(error)s WHERE tenant = current_tenant() AND memory = ANY (%(ids)s) AND layer = %(layer)s

-- lock_audit: How far a board is audited, held until the transaction ends; left alone while another relay is at it. One
-- that stops in the middle loses its hold.
SELECT audited_through, set_config('idle_in_transaction_session_timeout', '3s', true)
FROM execution WHERE id = %(id)s AND NOT drained FOR UPDATE SKIP LOCKED

-- audited: Changes up to here are in the ledger.
UPDATE execution SET audited_through = %(through)s WHERE id = %(id)s

-- drained: All changes are in the ledger and the board is closed.
UPDATE execution SET drained = true WHERE id = %(id)s AND audited_through = %(through)s AND status NOT IN ('running', 'waiting')

-- tenants: Everyone who ever ran anything.
SELECT DISTINCT tenant FROM execution
