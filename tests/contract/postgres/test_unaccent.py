"""The module that stands in for PostgreSQL's own on the older server of the tests gives its answers."""

from __future__ import annotations

from lousa.infra.embedded.supervisor import Endpoints
from psycopg import AsyncConnection
from servers import postgres

from .conftest import Cluster, fresh_database

# Every character of the first plane, alone and among letters; without NUL, the separators and the surrogates.
TEXTS = """
SELECT md5(string_agg(public.unaccent('public.unaccent'::regdictionary, 'a' || chr(n) || 'b' || chr(n)), ',' ORDER BY n)
           ),
       public.unaccent('public.unaccent'::regdictionary, ''), public.unaccent('Ação ½ “Œuvre” ™')
FROM generate_series(1, 65535) AS n WHERE n NOT BETWEEN 55296 AND 57343
"""


async def test_the_stand_in_answers_as_the_original_does(cluster: Cluster, servers: Endpoints) -> None:
    async with fresh_database(cluster) as database:
        ours = await database.run(postgres.SUPERUSER, TEXTS)
    async with await AsyncConnection.connect(servers.postgres_url) as connection:
        assert ours == await (await connection.execute(TEXTS.encode())).fetchall()
