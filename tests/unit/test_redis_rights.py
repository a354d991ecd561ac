"""The rule for a user of Redis names what the code asks for, no less and no more, and is the one that is documented."""

from __future__ import annotations

import re
from pathlib import Path

from lousa.infra import redis_rights
from lousa.infra.redis_rights import RULE

ROOT = Path(redis_rights.__file__).parent.parent
ALLOWED = set(re.findall(r"\+(\S+)", RULE))


def test_every_command_of_every_script_is_allowed() -> None:
    called = {
        call.lower()
        for script in (ROOT / "memory_layers").rglob("*.lua")
        for call in re.findall(r"redis\.call\('([A-Z]+)'", script.read_text(encoding="utf-8"))
    }
    assert len(called) > 25
    assert called <= {command.partition("|")[0] for command in ALLOWED}


def test_nothing_is_allowed_that_nothing_asks_for() -> None:
    places = [ROOT / "memory_layers", ROOT / "runtime", ROOT / "infra"]
    sources = [path for place in places for path in (*place.rglob("*.py"), *place.rglob("*.lua"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources if path.name != "redis_rights.py")
    spoken_by_the_driver = {"hello", "client|setinfo"}
    for command in ALLOWED - spoken_by_the_driver:
        name = command.partition("|")[0]
        assert re.search(rf"['\"]{name.upper()}['\"]|\.{name}(_iter)?\(", text), command


def test_the_rule_that_is_documented_is_the_rule() -> None:
    page = (ROOT / "docs" / "redis.md").read_text(encoding="utf-8")
    documented = " ".join(page.replace("\\\n", " ").split())
    assert RULE in documented
    for more in (*redis_rights.BEHIND_SENTINELS, *redis_rights.IN_A_CLUSTER, *redis_rights.FOR_THE_DOCTOR):
        assert f"+{more}" in documented
