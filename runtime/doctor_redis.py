"""What the Redis in use promises, and what is missing of it: asked of every server that holds keys.

A managed Redis, or a user with few rights, does not say how the server is set. Then the server's own report tells what
it can, and what stays unknown is a note.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from ..infra.connections import Connections
from ..infra.redis import servers_of
from ..infra.redis_address import RedisAddress, parse
from ..infra.redis_rights import lacking
from ..infra.settings import Settings
from ..infra.text import without_password
from ..memory_layers.conversation.script import command
from .check import Check

_SLOTS = 16_384
_ORDER = ("ok", "note", "wrong")


async def redis_checks(settings: Settings, connections: Connections) -> AsyncIterator[Check]:
    """Everything about Redis that can be looked at while it answers."""
    address = parse(connections.redis_url)
    everyone = await servers_of(connections.redis)
    answers = await asyncio.gather(*(command(server, "INFO") for server in everyone), return_exceptions=True)
    away = [answer for answer in answers if isinstance(answer, BaseException)]
    if away:
        yield Check(what="redis", state="wrong", said=f"{len(away)} of {len(answers)} do not answer: {away[0]}")
    reached = [(server, answer) for server, answer in zip(everyone, answers, strict=True) if answer not in away]
    if not reached:
        return
    servers, told = [server for server, _ in reached], [cast(Mapping[str, Any], answer) for _, answer in reached]
    name = "Valkey" if "valkey_version" in told[0] else "Redis"
    versions = sorted({str(each.get("valkey_version", each.get("redis_version"))) for each in told})
    where = "embedded" if settings.redis_url is None else without_password(settings.redis_url)
    many = f", {len(servers)} primaries" if address.kind == "cluster" else ""
    yield Check(what="redis", state="ok", said=f"{name} {', '.join(versions)}, {where}{many}")
    promises: list[Check] = []
    evictions: list[Check] = []
    for server, said in zip(servers, told, strict=True):
        config = await _config(server)
        promises.append(redis_promise(config) if config else promise_by_report(said))
        evictions.append(eviction(config or {name.replace("_", "-"): str(value) for name, value in said.items()}))
    yield _worst(promises)
    yield _worst(evictions)
    for check in followers(address, told):
        yield check
    if address.kind == "cluster":
        yield await _coverage(servers)
    if settings.redis_url is not None:
        denied = await lacking(servers[0])
        if denied:
            lacks = f"its user may not use {', '.join(denied)}: give it the rule of docs/redis.md"
            yield Check(what="redis rights", state="wrong", said=lacks)
        else:
            yield Check(what="redis rights", state="ok", said="its user may do all that is needed")


async def _config(server: Redis) -> Mapping[str, str]:
    """What the server says of its settings; nothing where that is refused, or left empty."""
    try:
        told = cast(
            "dict[object, object]",
            await server.config_get("appendonly", "appendfsync", "maxmemory-policy", "maxmemory"),  # pyright: ignore[reportUnknownMemberType]
        )
    except ResponseError:
        return {}
    found = {_text(key): _text(value) for key, value in told.items()}
    return found if "appendonly" in found else {}


def redis_promise(told: Mapping[str, str]) -> Check:
    """What an acknowledged write is worth on that server."""
    match told.get("appendonly"), told.get("appendfsync"):
        case "yes", "always":
            return Check(what="redis promises", state="ok", said="appendfsync always: what is acknowledged is on disk")
        case "yes", "everysec":
            said = "appendfsync everysec: may lose what it acknowledged in its last second"
            return Check(what="redis promises", state="note", said=said)
        case "yes", other:
            said = f"appendfsync {other}: may lose half a minute; set appendfsync to always, or to everysec"
            return Check(what="redis promises", state="wrong", said=said)
        case _:
            said = "appendonly is off: a restart loses running executions; set appendonly to yes"
            return Check(what="redis promises", state="wrong", said=said)


def promise_by_report(told: Mapping[str, Any]) -> Check:
    """The same by what a server reports that hides its settings."""
    hidden = "the server does not say how it is set (CONFIG is refused)"
    match told.get("aof_enabled"):
        case 1:
            said = f"{hidden}: it keeps an append-only file, and how often that is synced cannot be known"
            return Check(what="redis promises", state="note", said=said)
        case 0:
            said = f"{hidden}, and reports no append-only file: a restart may lose running executions; turn on AOF"
            return Check(what="redis promises", state="wrong", said=said)
        case _:
            said = f"{hidden}: what it promises cannot be known; see its provider's console"
            return Check(what="redis promises", state="note", said=said)


def eviction(told: Mapping[str, str]) -> Check:
    """Whether a full server throws away what it promised to keep."""
    policy = told.get("maxmemory-policy", "unknown")
    if policy == "unknown":
        said = "the server does not say whether it evicts: see that its maxmemory-policy is noeviction"
        return Check(what="redis eviction", state="note", said=said)
    if policy != "noeviction" and told.get("maxmemory", "0") != "0":
        said = (
            f"maxmemory-policy {policy}: a full server throws boards and unaudited changes away; set it to noeviction"
        )
        return Check(what="redis eviction", state="wrong", said=said)
    return Check(what="redis eviction", state="ok", said=f"maxmemory-policy {policy}")


def followers(address: RedisAddress, told: list[Mapping[str, Any]]) -> Iterator[Check]:
    """Whether a failover would find a replica, and what it may lose."""
    if address.kind == "alone":
        return
    alone = [each for each in told if not each.get("connected_slaves")]
    if alone:
        many = f" of {len(alone)} of {len(told)} primaries" if address.kind == "cluster" else " of the master"
        said = f"no replica{many}: when it dies, nobody takes over; add one"
        yield Check(what="redis replicas", state="wrong", said=said)
    elif any(each.get("min_slaves_good_slaves") is None for each in told):
        said = "min-replicas-to-write is 0: one that is cut off acknowledges what a failover drops; set it to 1"
        yield Check(what="redis replicas", state="note", said=said)
    else:
        yield Check(what="redis replicas", state="ok", said="a write is refused where no replica follows")


async def _coverage(servers: Any) -> Check:
    try:
        told = [await server.execute_command("CLUSTER", "INFO") for server in servers]
    except ResponseError:
        said = "its user may not ask CLUSTER INFO: whether all slots are served cannot be known"
        return Check(what="redis cluster", state="note", said=said)
    return coverage([_pairs(each) for each in told])


def coverage(told: list[Mapping[str, str]]) -> Check:
    """Whether every key has a server."""
    served = min(int(each.get("cluster_slots_ok", 0)) for each in told)
    if served < _SLOTS or any(each.get("cluster_state") != "ok" for each in told):
        said = f"{served:,} of {_SLOTS:,} slots are served: boards and journals in the others are away; repair it"
        return Check(what="redis cluster", state="wrong", said=said)
    return Check(what="redis cluster", state="ok", said="all slots are served")


def _pairs(told: object) -> Mapping[str, str]:
    lines = (line.partition(":") for line in _text(told).splitlines())
    return {name: value.strip() for name, _, value in lines}


def _worst(checks: list[Check]) -> Check:
    return max(checks, key=lambda check: _ORDER.index(check.state))


def _text(said: object) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
