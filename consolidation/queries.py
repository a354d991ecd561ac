"""The queries of consolidation, with the fragments that several share put in their places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import LiteralString

from ..infra.sql import load_queries

_RAW = load_queries(__package__ or "")


def _filled(query: LiteralString) -> LiteralString:
    for name in ("gone", "lapsed", "spared"):
        query = query.replace(f"{{{name}}}", _RAW[name])
    return query


QUERIES: Mapping[str, LiteralString] = {name: _filled(query) for name, query in _RAW.items()}
