"""docs/production.md tells of things that exist: variables, ports, images, settings, measures, pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from compose import Stack
from lousa.infra.settings import Settings

STACK = Stack.read()


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs/production.md").read_text(encoding="utf-8")


def test_every_variable_port_and_image_of_the_stack_is_told(page: str) -> None:
    asked = {name for name, _ in STACK.variables()}
    assert set(re.findall(r"^\| `(\w+_PASSWORD)`", page, re.M)) == asked
    ports = {port.split(":")[1] for service in STACK.services.values() for port in service["ports"]}
    assert {port for port in ports if f"127.0.0.1:{port}" not in page} == set()
    assert {service["image"] for service in STACK.services.values() if f"`{service['image']}`" not in page} == set()


def test_every_setting_that_is_named_exists(page: str) -> None:
    known = {f"LOUSA_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"\bLOUSA_[A-Z_]+\b", page)) <= known


def test_every_measure_has_an_alarm_and_no_other_is_named(root: Path, page: str) -> None:
    measures = re.findall(r"^\| `(lousa\.[\w.]+)`", (root / "docs/back-pressure.md").read_text(encoding="utf-8"), re.M)
    assert sorted(re.findall(r"^\| `(lousa\.[\w.]+)`", page, re.M)) == sorted(measures)


def test_every_link_within_the_repository_leads_somewhere(root: Path, page: str) -> None:
    lost: list[str] = []
    for target, anchor in re.findall(r"\]\((?!https:)([^)#\s]*)(?:#([\w-]+))?\)", page):
        path = root / "docs" / (target or "production.md")
        headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M) if path.is_file() else []
        slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        if not path.exists() or (anchor and anchor not in slugs):
            lost.append(f"{target}#{anchor}")
    assert lost == []
