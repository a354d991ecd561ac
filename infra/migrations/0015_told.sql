-- What a memory tells is kept with it, as it was read when it was examined, so that a recall need not read it again: of
-- two answers to one question that tell different values of one sort, the one that was told later comes first.

SET LOCAL search_path = lousa, public;

-- [sort, value, whether the text says that it is so] of each value; NULL where none was read.
ALTER TABLE memory ADD COLUMN told jsonb;
GRANT UPDATE (told) ON memory TO lousa_system;
