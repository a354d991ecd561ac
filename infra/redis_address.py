"""Addresses of Redis: of one server, of a master that Sentinels name, of a Cluster.

    redis://USER:PASSWORD@host:6379/0                         one server; rediss:// with TLS, unix:// over a socket
    redis+sentinel://USER:PASSWORD@host,host:26379/master/0   the master of that name, as the Sentinels say who it is
    redis+cluster://USER:PASSWORD@host,host:6379              a Cluster, known from any of these nodes

``rediss+sentinel`` and ``rediss+cluster`` are the same with TLS, for Sentinels as well. Options behind ``?`` are those
of the driver (``ssl_ca_certs``, ``ssl_certfile``, ``ssl_keyfile``, …), the same for every server; ``sentinel_username``
and ``sentinel_password`` are for the Sentinels alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode

Node = tuple[str, int]

_FORM = re.compile(
    r"(?P<scheme>rediss?)\+(?P<kind>sentinel|cluster)://(?:(?P<user>[^/?#]*)@)?(?P<nodes>[^/?#@]*)"
    r"(?:/(?P<path>[^?#]*))?(?:\?(?P<query>[^#]*))?"
)
_NODE = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]\s]+))(?::(?P<port>\d{1,5}))?")
_REST = re.compile(r"[^:/?#@]*://(?P<hosts>[^/?#@]*)(?P<rest>[/?#].*)", re.DOTALL)
_OWN = ("sentinel_username", "sentinel_password")
_WAY = {
    "sentinel": "write redis+sentinel://host:26379,host:26379/name-of-the-master",
    "cluster": "write redis+cluster://host:6379,host:6379",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAddress:
    """Where Redis is. `nodes` are Sentinels or members of a Cluster; one server is its `url` alone."""

    kind: Literal["alone", "sentinel", "cluster"]
    url: str
    nodes: tuple[Node, ...] = ()
    master: str = ""
    scheme: str = "redis"
    user: str = ""
    database: int = 0
    query: str = ""
    sentinel_user: str = ""

    def of(self, node: Node) -> str:
        """The plain address of one server."""
        return self._plain(node, self.user, f"/{self.database}" if self.database else "")

    def of_sentinel(self, node: Node) -> str:
        """The plain address of one Sentinel."""
        return self._plain(node, self.sentinel_user, "")

    def _plain(self, node: Node, user: str, path: str) -> str:
        host = f"[{node[0]}]" if ":" in node[0] else node[0]
        return f"{self.scheme}://{user}{host}:{node[1]}{path}{self.query}"


def parse(url: str) -> RedisAddress:
    """What `url` says.

    Raises:
        ValueError: saying what an address looks like.
    """
    scheme = url.partition("://")[0]
    if scheme != "unix" and _torn(url):
        raise ValueError("in a name or a password, / is written %2F, ? is %3F, # is %23 and @ is %40")
    if scheme in ("redis", "rediss", "unix"):
        return RedisAddress(kind="alone", url=url)
    found = _FORM.fullmatch(url)
    if found is None:
        raise ValueError(
            "expected an address that begins with redis://, rediss://, unix://, redis+sentinel://, rediss+sentinel://,"
            " redis+cluster:// or rediss+cluster://"
        )
    kind: Literal["sentinel", "cluster"] = "sentinel" if found["kind"] == "sentinel" else "cluster"
    first, _, second = (found["path"] or "").strip("/").partition("/")
    master, database = (unquote(first), second) if kind == "sentinel" else ("", first)
    if kind == "sentinel" and not master:
        raise ValueError(f"the master has no name: {_WAY['sentinel']}")
    if database and (not database.isdecimal() or (kind == "cluster" and int(database))):
        raise ValueError(f"{database!r} is no number of a database" + " of a Cluster, which has 0 alone" * (not master))
    told = dict(parse_qsl(found["query"] or "", keep_blank_values=True))
    own = {name: told.pop(name, "") for name in _OWN}
    if kind == "cluster" and any(own.values()):
        raise ValueError("sentinel_username and sentinel_password are for redis+sentinel://")
    return RedisAddress(
        kind=kind,
        url=url,
        nodes=tuple(_node(each, kind) for each in found["nodes"].split(",")),
        master=master,
        scheme=found["scheme"],
        user=f"{found['user']}@" if found["user"] else "",
        database=int(database or 0),
        query="?" + urlencode(told) if told else "",
        sentinel_user=_user(own["sentinel_username"], own["sentinel_password"]),
    )


def _torn(url: str) -> bool:
    """Whether a user's password seems to end the hosts too early: what it says must not be repeated to anybody."""
    found = _REST.fullmatch(url)
    if found is None or "@" not in found["rest"]:
        return False
    path, _, query = found["rest"].partition("?")
    hosts = found["hosts"].split(",") if found["hosts"] else ()
    options = (option.partition("=")[0] for option in query.split("&"))
    return "@" in path or any("@" in name for name in options) or not all(map(_NODE.fullmatch, hosts))


def _node(told: str, kind: str) -> Node:
    found = _NODE.fullmatch(told)
    if found is None or not 0 < int(found["port"] or 1) < 65_536:
        raise ValueError(f"{told!r} is no host and port: {_WAY[kind]}")
    return found["six"] or found["name"], int(found["port"] or (26_379 if kind == "sentinel" else 6_379))


def _user(name: str, password: str) -> str:
    return f"{quote(name, safe='')}:{quote(password, safe='')}@" if password else ""
