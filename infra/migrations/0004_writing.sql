-- Writing by id: a memory is looked up by its id alone, however small its tenant looked when the plan was made.
--
-- Row-level security offers every statement a tenant's index. Where a tenant seems to have a row or two, which is so for
-- every tenant while tables are small and for most of many tenants ever after, that costs as little as the primary key,
-- and a plan that chose it reads a whole tenant at each look-up once the tenant has grown. A hash index costs less than
-- either, so it is what every plan chooses. Words are looked up by their lexemes or by id, never by tenant.

SET LOCAL search_path = lousa, public;

CREATE INDEX memory_by_id ON memory USING hash (id);
DROP INDEX memory_words_of_tenant;
