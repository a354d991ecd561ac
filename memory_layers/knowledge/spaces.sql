-- standing: How the graph in this store stands, if it is the one that is owed what changes; and whether there is anything.
SELECT (SELECT state FROM layer_space WHERE layer = 'knowledge' AND store = %(store)s AND store <> 'postgres'),
       (SELECT string_agg(store, ', ') FROM layer_space WHERE layer = 'knowledge' AND store <> 'postgres'),
       pg_relation_size('fact') + pg_relation_size('decision') > 0

-- adopt: It is owed what changes from now on.
SELECT adopt_graph(%(store)s, %(patience)s)

-- serve: It is read from now on.
SELECT serve_graph(%(store)s)
