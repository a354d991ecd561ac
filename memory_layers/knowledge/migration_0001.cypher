// Everything is found by tenant and key; the community edition has constraints of uniqueness, and no others.
//
//   (:Term)    a name in a tenant, compared folded; also :Entity where it is a thing and no mere value
//   (:Fact)    a statement with its interval: (:Fact)-[:SUBJECT]->(:Entity), (:Fact)-[:OBJECT]->(:Term)
//   (:Record)  the other label of facts and decisions: what has an id in Lousa's record
//   (:Agent)-[:KNOWS]->(:Fact), (:Agent)-[:DECIDED]->(:Decision), (:Session)-[:CONTAINS]->(:Record)
//   (:Fact)-[:SUPERSEDES]->(:Fact), (:Fact)-[:CONTRADICTS]-(:Fact), (:Fact)-[:REFERENCED_IN]->(:Decision)

CREATE CONSTRAINT lousa_term IF NOT EXISTS FOR (n:Term) REQUIRE (n.tenant, n.key) IS UNIQUE;
CREATE CONSTRAINT lousa_record IF NOT EXISTS FOR (n:Record) REQUIRE (n.tenant, n.id) IS UNIQUE;
CREATE CONSTRAINT lousa_agent IF NOT EXISTS FOR (n:Agent) REQUIRE (n.tenant, n.name) IS UNIQUE;
CREATE CONSTRAINT lousa_session IF NOT EXISTS FOR (n:Session) REQUIRE (n.tenant, n.name) IS UNIQUE;
CREATE CONSTRAINT lousa_migration IF NOT EXISTS FOR (n:LousaMigration) REQUIRE n.number IS UNIQUE;
// Names begin with a mark of their tenant, because an index of words knows no other way to keep tenants apart.
CREATE FULLTEXT INDEX lousa_names IF NOT EXISTS FOR (n:Entity) ON EACH [n.lookup]
    OPTIONS { indexConfig: { `fulltext.analyzer`: 'standard-folding' } };
CALL db.awaitIndexes(30);
