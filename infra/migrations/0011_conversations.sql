-- A memory may be a turn of a conversation, and texts name things: both help to find what answers a question.
--
-- A turn has a speaker.  The turns of a session lie in the order in which they were said, so that a recall finds those
-- beside a hit.  Names that a text holds lie in a table of their own, so that two memories that share a rare one are found
-- together.  Both are parts of the index of words: they come and go with it, and hold no text.

SET LOCAL search_path = lousa, public;

ALTER TABLE memory ADD COLUMN speaker text CHECK (speaker <> '');

ALTER TABLE memory_words ADD COLUMN speaker text;               -- folded; NULL for what is no turn
ALTER TABLE memory_words ADD COLUMN asks boolean;               -- whether it ends with a question
ALTER TABLE memory_words ADD COLUMN telling real;               -- how much it tells; below 0 for next to nothing
ALTER TABLE memory_words ADD COLUMN rule boolean;               -- whether a user said what must or may not be
ALTER TABLE memory_words ADD COLUMN said_at timestamptz;        -- of turns: when it was said, and when it was written
ALTER TABLE memory_words ADD COLUMN told_at timestamptz;
CREATE INDEX memory_words_turns ON memory_words (tenant, session, said_at, told_at, id) WHERE speaker IS NOT NULL;
CREATE INDEX memory_words_rules ON memory_words (tenant) WHERE rule;

CREATE TABLE memory_name (
    tenant text NOT NULL CHECK (tenant <> ''),
    name text NOT NULL,                          -- folded
    id uuid NOT NULL,
    PRIMARY KEY (tenant, name, id)
);
CREATE INDEX memory_name_of ON memory_name (id);
SELECT guard_table('memory_name', false);
GRANT SELECT ON memory_name TO lousa_search;
CREATE POLICY searching ON memory_name FOR SELECT TO lousa_search USING (true);

-- As before; names go with words.  A turn is embedded behind the one before it: of what goes, no trace stays in the next.
CREATE OR REPLACE FUNCTION unindex(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    space record;
    behind uuid[];
BEGIN
    SELECT array_agg(later.id) INTO behind
    FROM lousa.memory_words AS gone
    CROSS JOIN LATERAL (
        SELECT w.id FROM lousa.memory_words AS w
        WHERE w.tenant = gone.tenant AND w.session = gone.session AND w.speaker IS NOT NULL AND w.id <> ALL (ids)
          AND (w.said_at, w.told_at, w.id) > (gone.said_at, gone.told_at, gone.id)
          AND w.said_at < gone.said_at + interval '1 hour'
        ORDER BY w.said_at, w.told_at, w.id LIMIT 1
    ) AS later
    WHERE gone.id = ANY (ids) AND gone.speaker IS NOT NULL;
    DELETE FROM lousa.memory_words WHERE id = ANY (ids);
    DELETE FROM lousa.memory_name WHERE id = ANY (ids);
    FOR space IN SELECT name, store, state FROM lousa.layer_space WHERE layer = 'context' LOOP
        BEGIN
            EXECUTE format('DELETE FROM lousa.%I WHERE id = ANY ($1)', 'memory_vector_' || space.name) USING ids || behind;
        EXCEPTION WHEN undefined_table THEN
            CONTINUE;
        END;
        IF space.store <> 'postgres' THEN
            PERFORM lousa.owe(ids, CASE space.state WHEN 'serving' THEN 'context' ELSE 'rebuild' END);
        END IF;
    END LOOP;
    IF behind IS NOT NULL THEN
        PERFORM lousa.owe(behind, 'context');
    END IF;
END $$;
