// put_facts: Facts with their ends, and who knows them; ends never change, the rest is overwritten by what is newer.
UNWIND $facts AS row
MERGE (f:Record {tenant: $tenant, id: row.id})
  ON CREATE SET f:Fact, f.revision = 0
  ON MATCH SET f.id = row.id  // locks it before its revision is read
FOREACH (_ IN CASE WHEN f.revision = 0 THEN [1] ELSE [] END |
  MERGE (s:Term {tenant: $tenant, key: row.subject_key})
    SET s:Entity, s.name = row.subject, s.lookup = $mark + row.subject_words
  MERGE (o:Term {tenant: $tenant, key: row.object_key})
    ON CREATE SET o.name = row.object
  CREATE (f)-[:SUBJECT]->(s)
  CREATE (f)-[:OBJECT]->(o)
  FOREACH (name IN row.thing | SET o:Entity, o.name = name, o.lookup = $mark + row.object_words)
  MERGE (a:Agent {tenant: $tenant, name: row.agent})
  CREATE (a)-[:KNOWS]->(f)
  FOREACH (name IN row.session |
    MERGE (c:Session {tenant: $tenant, name: name})
    CREATE (c)-[:CONTAINS]->(f)))
FOREACH (_ IN CASE WHEN f.revision < row.held.revision THEN [1] ELSE [] END | SET f += row.held)
RETURN collect([row.id, f.revision]) AS stand

// put_links: What took the place of these facts, and what contradicts them.
UNWIND $links AS row
MATCH (f:Record {tenant: $tenant, id: row.id}) WHERE f.revision = row.revision
CALL (f) { MATCH (f)<-[old:SUPERSEDES]-() DELETE old }
CALL (f) { MATCH (f)-[old:CONTRADICTS]-() DELETE old }
CALL (f, row) {
  UNWIND row.by AS id MATCH (new:Fact:Record {tenant: $tenant, id: id}) MERGE (new)-[:SUPERSEDES]->(f)
}
CALL (f, row) {
  UNWIND row.contested AS id MATCH (other:Fact:Record {tenant: $tenant, id: id}) MERGE (f)-[:CONTRADICTS]-(other)
}

// put_decisions: Decisions, who took them, and the facts they cite, as far as these are held.
UNWIND $decisions AS row
MERGE (d:Record {tenant: $tenant, id: row.id})
  ON CREATE SET d:Decision, d.revision = 0
  ON MATCH SET d.id = row.id
FOREACH (_ IN CASE WHEN d.revision = 0 THEN [1] ELSE [] END |
  MERGE (a:Agent {tenant: $tenant, name: row.agent})
  CREATE (a)-[:DECIDED]->(d)
  FOREACH (name IN row.session |
    MERGE (c:Session {tenant: $tenant, name: name})
    CREATE (c)-[:CONTAINS]->(d)))
SET d += row.held
WITH d, row
CALL (d, row) {
  UNWIND row.evidence AS id MATCH (f:Fact:Record {tenant: $tenant, id: id}) MERGE (f)-[:REFERENCED_IN]->(d)
}
RETURN collect([row.id, d.revision]) AS stand

// become_things: Names that were values of something, and are things by now.
UNWIND $things AS thing
MATCH (n:Term {tenant: $tenant, key: thing.key}) WHERE NOT n:Entity
SET n:Entity, n.lookup = $mark + thing.words

// remove: Facts and decisions, and the names that nothing else holds.
UNWIND $ids AS id
MATCH (r:Record {tenant: $tenant, id: id})
OPTIONAL MATCH (r)--(n) WHERE NOT n:Record
WITH collect(DISTINCT r) AS records, collect(DISTINCT n) AS around
FOREACH (r IN records | DETACH DELETE r)
WITH around UNWIND around AS n
WITH n WHERE NOT EXISTS { (n)--() }
DELETE n

// within_two: The facts at the things that some runs of words name, and those one step further, as far as the asker sees.
UNWIND range(0, size($runs) - 1) AS rank
WITH rank, $runs[rank] AS run
MATCH (n:Term {tenant: $tenant, key: run.key})
WHERE NOT $named OR (n:Entity AND EXISTS {
  MATCH (n)<-[:SUBJECT|OBJECT]-(f:Fact {tenant: $tenant})
  WHERE any(circle IN f.circles WHERE circle IN $circles) AND (f.expires_at IS NULL OR f.expires_at > $now)
})
WITH n, run ORDER BY rank
WITH reduce(seen = {places: [], things: []}, one IN collect({thing: n, places: run.places}) |
  CASE WHEN any(places IN one.places WHERE none(place IN places WHERE place IN seen.places)) THEN {
    places: seen.places + reduce(taken = [], places IN one.places |
      CASE WHEN none(place IN places WHERE place IN seen.places) THEN taken + places ELSE taken END),
    things: seen.things + one.thing
  } ELSE seen END).things AS things
CALL (things) {
  UNWIND things AS n
  MATCH (n)<-[:SUBJECT|OBJECT]-(f:Fact {tenant: $tenant})
  WHERE any(circle IN f.circles WHERE circle IN $circles) AND (f.expires_at IS NULL OR f.expires_at > $now)
    AND f.valid_from <= $at AND (f.valid_to IS NULL OR f.valid_to > $at)
  WITH DISTINCT f ORDER BY f.recorded_at DESC, f.id LIMIT $most
  RETURN collect(f) AS near
}
CALL (things, near) {
  UNWIND near AS passed
  MATCH (passed)-[:SUBJECT|OBJECT]->(n:Entity {tenant: $tenant}) WHERE NOT n IN things
  WITH DISTINCT n, near
  MATCH (n)<-[:SUBJECT|OBJECT]-(f:Fact {tenant: $tenant})
  WHERE any(circle IN f.circles WHERE circle IN $circles) AND (f.expires_at IS NULL OR f.expires_at > $now)
    AND f.valid_from <= $at AND (f.valid_to IS NULL OR f.valid_to > $at)
  WITH DISTINCT f, near ORDER BY f.recorded_at DESC, f.id LIMIT $most
  WHERE NOT f IN near
  RETURN collect(f.id) AS far
}
RETURN [f IN near | f.id] AS near, far

// touching: The facts that have one of these names at an end, the latest recorded first.
UNWIND $keys AS key
MATCH (n:Term {tenant: $tenant, key: key})<-[:SUBJECT|OBJECT]-(f:Fact {tenant: $tenant})
WHERE any(circle IN f.circles WHERE circle IN $circles) AND (f.expires_at IS NULL OR f.expires_at > $now)
  AND f.valid_from <= $at AND (f.valid_to IS NULL OR f.valid_to > $at)
WITH DISTINCT f ORDER BY f.recorded_at DESC, f.id LIMIT $most
RETURN collect(f.id) AS ids

// alike: Things by the beginnings of words of their names, the shortest first; the query names the tenant's mark.
CALL db.index.fulltext.queryNodes('lousa_names', $words) YIELD node AS n
WHERE n.tenant = $tenant AND EXISTS {
  MATCH (n)<-[:SUBJECT|OBJECT]-(f:Fact {tenant: $tenant})
  WHERE any(circle IN f.circles WHERE circle IN $circles) AND (f.expires_at IS NULL OR f.expires_at > $now)
}
WITH n.key AS key ORDER BY size(key), key LIMIT $most
RETURN collect(key) AS keys

// revisions: What is held of some ids.
UNWIND $ids AS id
MATCH (r:Record {tenant: $tenant, id: id})
RETURN collect([id, r.revision]) AS stand

// held: A page of all that is held of a tenant.
MATCH (r:Record) WHERE r.tenant = $tenant AND r.id > $after
WITH r ORDER BY r.id LIMIT $most
RETURN collect([r.id, r.revision]) AS stand

// count: How much is held of a tenant.
MATCH (r:Record) WHERE r.tenant = $tenant AND r.id > ''
RETURN count(r) AS held

// clear_records: Some of a tenant's facts and decisions.
MATCH (n:Record) WHERE n.tenant = $tenant AND n.id > ''
WITH n LIMIT $most
DETACH DELETE n
RETURN count(*) AS held

// clear_terms: Some of its names.
MATCH (n:Term) WHERE n.tenant = $tenant AND n.key > ''
WITH n LIMIT $most
DETACH DELETE n
RETURN count(*) AS held

// clear_agents: Some of its agents.
MATCH (n:Agent) WHERE n.tenant = $tenant AND n.name > ''
WITH n LIMIT $most
DETACH DELETE n
RETURN count(*) AS held

// clear_sessions: Some of its sessions.
MATCH (n:Session) WHERE n.tenant = $tenant AND n.name > ''
WITH n LIMIT $most
DETACH DELETE n
RETURN count(*) AS held

// migrations: Those that this graph has had.
MATCH (m:LousaMigration) RETURN m.number AS number, m.digest AS digest

// migrated: Another one.
MERGE (m:LousaMigration {number: $number}) SET m.digest = $digest, m.run_at = datetime()
