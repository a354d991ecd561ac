-- Things are found by the beginnings of the words of their names, which are folded already; signs only part words.

SET LOCAL search_path = lousa, public;

CREATE FUNCTION words_of(key text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN to_tsvector('simple'::regconfig, regexp_replace(key, '[[:punct:]]+', ' ', 'g'));
CREATE INDEX entity_words ON entity USING gin (words_of(key));
