"""An address of Redis says which kind it is, is read as written, and is never shown with a password."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from lousa.infra.errors import SettingsError
from lousa.infra.redis import unusable
from lousa.infra.redis_address import parse
from lousa.infra.settings import load
from lousa.infra.text import without_password


def test_sentinels_are_a_list_of_hosts_with_the_name_of_their_master() -> None:
    found = parse("rediss+sentinel://ana:p%40ss@one,two:7000,[::1]:7001/my%20master/3?ssl_ca_certs=/ca.pem")
    assert (found.kind, found.master, found.database) == ("sentinel", "my master", 3)
    assert found.nodes == (("one", 26_379), ("two", 7_000), ("::1", 7_001))
    assert found.of(("h", 1)) == "rediss://ana:p%40ss@h:1/3?ssl_ca_certs=%2Fca.pem"
    assert found.of_sentinel(("::1", 7_001)) == "rediss://[::1]:7001?ssl_ca_certs=%2Fca.pem"


def test_sentinels_may_have_a_user_of_their_own() -> None:
    found = parse("redis+sentinel://:secret@s/m?sentinel_username=leitor&sentinel_password=ã/@")
    assert unquote(found.of_sentinel(("s", 1))) == "redis://leitor:ã/@@s:1"
    assert found.of(("h", 1)) == "redis://:secret@h:1"


def test_a_cluster_is_known_from_any_of_its_nodes() -> None:
    found = parse("redis+cluster://one,two:7000")
    assert (found.kind, found.nodes) == ("cluster", (("one", 6_379), ("two", 7_000)))
    assert found.of(found.nodes[1]) == "redis://two:7000"
    assert parse("redis+cluster://one/0").kind == "cluster"


@pytest.mark.parametrize("url", ["redis://h:1/2?ssl=1", "rediss://u:p@h", "unix:///tmp/a b.sock"])
def test_one_server_is_its_address_as_it_stands(url: str) -> None:
    assert parse(url).url == url and parse(url).kind == "alone"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis+sentinel://s:1", "name-of-the-master"),
        ("redis+sentinel://s:1/", "name-of-the-master"),
        ("redis+sentinel://s:1/m/x", "number of a database"),
        ("redis+sentinel:///m", "no host and port"),
        ("redis+sentinel://s:0/m", "no host and port"),
        ("redis+cluster://h:99999", "no host and port"),
        ("redis+cluster://h,,i", "no host and port"),
        ("redis+cluster://h/1", "has 0 alone"),
        ("redis+cluster://h?sentinel_password=x", "for redis\\+sentinel"),
        ("redis+tls://h", "expected an address"),
        ("http://h", "expected an address"),
        ("", "expected an address"),
    ],
)
def test_what_is_no_address_is_refused_with_the_way_out(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(url)


def test_a_wrong_address_is_refused_under_the_name_of_its_setting_and_without_its_password() -> None:
    with pytest.raises(SettingsError, match="LOUSA_REDIS_URL") as told:
        load(redis_url="redis+sentinel://:hidden@s:1")
    assert "hidden" not in str(told.value)


@pytest.mark.parametrize("sign", ["/", "?", "#", "/?", "a/@", "1?"])
@pytest.mark.parametrize("place", ["redis://{}@h:1/0", "redis+cluster://{}@h", "redis+sentinel://{}@h,i/m?db=0"])
def test_a_password_that_is_not_escaped_is_said_so_and_not_repeated(sign: str, place: str) -> None:
    for password in (f"hidden{sign}hidden", f"12{sign}hidden"):
        with pytest.raises(ValueError, match="%2F") as told:
            parse(place.format(f"u:{password}"))
        assert "hidden" not in str(told.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://h?password=a@b",
        "redis:///0?password=a@b",
        "redis://[::1]:1/0?password=a@b",
        "redis://u:a@b@h/0",
        "unix:///tmp/a@b",
        "redis+sentinel://h,i:1/m?sentinel_password=a@b",
        "redis+cluster://u:a%2Fb@h?ssl_ca_certs=a@b",
    ],
)
def test_an_at_sign_where_it_may_be_is_taken(url: str) -> None:
    assert parse(url).kind in ("alone", "sentinel", "cluster")


@pytest.mark.parametrize(
    "url",
    [
        "redis://:hidden@h:1/0",
        "redis+cluster://u:hidden@h:1,i:2",
        "redis+sentinel://u:hidden@h/m?sentinel_password=hidden&db=0",
        "rediss://h?password=hidden",
        "rediss://h?ssl_ca_certs=a&ssl_password=hidden",
    ],
)
def test_no_password_is_shown(url: str) -> None:
    assert "hidden" not in without_password(url)


@pytest.mark.parametrize(
    ("told", "clustered", "words"),
    [
        ({"redis_version": "6.2.14"}, False, "upgrade to Redis 7.0"),
        ({"redis_version": "7.0.0", "redis_mode": "cluster"}, False, "redis\\+cluster"),
        ({"redis_version": "7.2.4", "redis_mode": "standalone"}, True, "redis://"),
        ({"redis_version": "7.2.4", "redis_mode": "sentinel"}, False, "redis\\+sentinel"),
        ({"redis_version": "7.2.4", "redis_mode": "standalone", "role": "slave"}, False, "is a replica"),
    ],
)
def test_a_server_that_cannot_be_used_is_refused_with_the_way_out(
    told: dict[str, str], clustered: bool, words: str
) -> None:
    assert re.search(words, unusable(told, clustered=clustered) or "")


@pytest.mark.parametrize("version", ["7.0.0", "7.4.1", "8.2.0", "10.0.0"])
def test_redis_since_seven_is_taken(version: str) -> None:
    assert unusable({"redis_version": version, "redis_mode": "standalone", "role": "master"}, clustered=False) is None
