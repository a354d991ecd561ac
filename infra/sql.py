"""Queries are prose in files of their own: `queries.sql` beside the module that runs them.

A block begins, after an empty line, with `-- name: what it does` (in Cypher `// name: …`) and ends where the next one
begins. Other comments stay where they are. Parameters of SQL are psycopg's: ``%(name)s``; a literal percent sign is
written twice.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import LiteralString, cast

_HEAD = re.compile(r"(?:\A|(?<=\n\n))(?:--|//) (?P<name>[a-z]\w*): \S.*\n")


def load_queries(package: str, file: str = "queries.sql") -> dict[str, LiteralString]:
    """The queries of a package: name → SQL.

    Raises:
        ValueError: two blocks share a name, or one is empty.
    """
    return dict(_parsed(package, file))


@cache
def _parsed(package: str, file: str) -> dict[str, LiteralString]:
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    queries: dict[str, LiteralString] = {}
    for head, end in zip(heads, ends, strict=True):
        name, body = head["name"], text[head.end() : end].strip()
        if name in queries or not body:
            raise ValueError(f"{package}/{file}: query {name!r} is {'there twice' if name in queries else 'empty'}")
        # Shipped with the program and never built at run time: as trustworthy as a literal in the source.
        queries[name] = cast(LiteralString, body)
    return queries
