"""Rights: the commands that a user of Redis needs for Lousa, and which of them it lacks.

`RULE` is what an administrator gives to such a user, and nothing in it is spare: keys and channels that begin with
``lousa:``, and these commands alone. What a user lacks is found by trying each command on one key that is taken away
again; a command that is allowed fails there in some other way, or does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoPermissionError, ResponseError

_KEY = "lousa:rights"
_PROBES: Mapping[str, tuple[str | int, ...]] = {
    "info": ("INFO", "server"),
    "time": ("TIME",),
    "set": ("SET", _KEY, 1, "PX", 60_000),
    "get": ("GET", _KEY),
    "incr": ("INCR", _KEY),
    "incrby": ("INCRBY", _KEY, 1),
    "exists": ("EXISTS", _KEY),
    "persist": ("PERSIST", _KEY),
    "pexpire": ("PEXPIRE", _KEY, 60_000),
    "hget": ("HGET", _KEY, "f"),
    "hgetall": ("HGETALL", _KEY),
    "hmget": ("HMGET", _KEY, "f"),
    "hscan": ("HSCAN", _KEY, 0),
    "hexists": ("HEXISTS", _KEY, "f"),
    "hset": ("HSET", _KEY, "f", "v"),
    "hsetnx": ("HSETNX", _KEY, "f", "v"),
    "hdel": ("HDEL", _KEY, "f"),
    "sadd": ("SADD", _KEY, "m"),
    "srem": ("SREM", _KEY, "m"),
    "smembers": ("SMEMBERS", _KEY),
    "rpush": ("RPUSH", _KEY, "e"),
    "lpop": ("LPOP", _KEY),
    "lindex": ("LINDEX", _KEY, 0),
    "lrange": ("LRANGE", _KEY, 0, 0),
    "xadd": ("XADD", _KEY, "*", "f", "v"),
    "xlen": ("XLEN", _KEY),
    "xrange": ("XRANGE", _KEY, "-", "+"),
    "xtrim": ("XTRIM", _KEY, "MAXLEN", 0),
    "xdel": ("XDEL", _KEY, "0-1"),
    "xsetid": ("XSETID", _KEY, "0-1"),
    "xread": ("XREAD", "STREAMS", _KEY, "0"),
    "xinfo|stream": ("XINFO", "STREAM", _KEY),
    "xinfo|consumers": ("XINFO", "CONSUMERS", _KEY, "g"),
    "xgroup|create": ("XGROUP", "CREATE", _KEY, "g", "0"),
    "xgroup|destroy": ("XGROUP", "DESTROY", _KEY, "g"),
    "xgroup|delconsumer": ("XGROUP", "DELCONSUMER", _KEY, "g", "c"),
    "xreadgroup": ("XREADGROUP", "GROUP", "g", "c", "STREAMS", _KEY, ">"),
    "xpending": ("XPENDING", _KEY, "g"),
    "xclaim": ("XCLAIM", _KEY, "g", "c", 0, "0-1"),
    "xack": ("XACK", _KEY, "g", "0-1"),
    "eval": ("EVAL", "return 1", 1, _KEY),
    "evalsha": ("EVALSHA", "0" * 40, 1, _KEY),
    "publish": ("PUBLISH", _KEY, "x"),
    "del": ("DEL", _KEY),
}
_AT_THE_DOOR = ("hello", "client|setinfo")
"""Asked for before anything can be tried."""
BEHIND_SENTINELS = ("role",)
IN_A_CLUSTER = ("cluster|slots", "asking", "subscribe")
FOR_THE_DOCTOR = ("config|get", "cluster|info")
"""Without these it says less, and everything else works."""
RULE = " ".join(
    ("resetkeys ~lousa:* resetchannels &lousa:* -@all", *(f"+{name}" for name in (*_AT_THE_DOOR, *_PROBES)))
)


async def lacking(client: Redis) -> list[str]:
    """The commands that this client's user needs and may not use."""
    denied: list[str] = []
    for name, words in _PROBES.items():
        if await _denied(client, words):
            denied.append(name)
    return denied


async def _denied(client: Redis, words: tuple[Any, ...]) -> bool:
    try:
        await client.execute_command(*words)  # pyright: ignore[reportUnknownMemberType]  # vague stubs
    except NoPermissionError:
        return True
    except ResponseError:
        return False
    return False
