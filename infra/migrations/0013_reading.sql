-- What a language model has read of what was said, and what came of it; and when a promotion last looked at an episode.
--
-- A source is a memory or a turn of the transcript, and is kept before anybody reads it.  One without a row here was not
-- read yet, so nothing is written for those who have no model.  A row holds no word of what was said.

SET LOCAL search_path = lousa, public;

CREATE TABLE extraction (
    tenant text NOT NULL CHECK (tenant <> ''),
    source uuid NOT NULL,                        -- the id of the memory, or of the turn
    state text NOT NULL CHECK (state IN ('stored', 'extracted', 'failed')),
    version text NOT NULL,                       -- of the model and the prompt that read it last
    attempts integer NOT NULL,
    error text,                                  -- of which kind the last failure was
    kept integer NOT NULL DEFAULT 0,             -- memories that came of it
    dropped integer NOT NULL DEFAULT 0,          -- what the model said and the text did not bear out
    held_until timestamptz,                      -- while somebody reads it; whoever dies leaves it to the next
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, source)
);
CREATE INDEX extraction_open ON extraction (tenant, changed_at) WHERE state <> 'extracted';
SELECT guard_table('extraction', false);
REVOKE ALL ON extraction FROM lousa_app;

ALTER TABLE memory ADD COLUMN judged_at timestamptz;  -- when a promotion left it as it is; used or told again, it is judged anew
GRANT UPDATE (judged_at) ON memory TO lousa_system;
