"""Through the front door: the CRM has the last word on a discount, and an agent that repeats itself proves nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import lousa
import pytest
from lousa import Memory, Ruling
from lousa.infra.embedded.supervisor import Endpoints
from lousa.infra.errors import SettingsError

PAGE = Path(__file__).resolve().parents[2] / "docs/evidence.md"


def settings(servers: Endpoints, folder: Path) -> dict[str, Any]:
    return {
        "redis_url": servers.redis_url,
        "postgres_url": servers.postgres_url,
        "home": folder / "home",
        "tenant": f"tenant-{uuid4().hex[:12]}",
        "consolidate": False,
    }


async def test_the_page_s_example_does_what_the_page_says(
    servers: Endpoints, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [block] = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    code = block.replace("lousa.open(", "lousa.open(**given, ")
    body = "\n".join(f"    {line}" for line in code.splitlines())
    names: dict[str, Any] = {}
    exec(f"async def example(given):\n{body}", names)
    await names["example"](settings(servers, tmp_path))
    assert capsys.readouterr().out == "rejected the CRM says 5 %\n"
    assert "# rejected the CRM says 5 %" in block


async def test_what_the_crm_does_not_confirm_is_in_no_recall(servers: Endpoints, tmp_path: Path) -> None:
    async def crm(memory: Memory) -> Ruling:
        assert memory.fact is not None
        return Ruling.accept() if memory.fact.object == "5 %" else Ruling.quarantine("not what the CRM says")

    async with lousa.open(validators={"discount": crm}, **settings(servers, tmp_path)) as runtime:
        desk = runtime.desk("seller")
        assert (await desk.state_fact("Acme", "discount", "50 %", source="user")).state == "quarantined"
        assert len(await desk.recall("which discount has Acme?")) == 0
        assert (await desk.state_fact("Acme", "discount", "5 %", source="user")).state == "stored"
        [hit] = await desk.recall("which discount has Acme?")
        assert hit.text == "Acme · discount · 5 %"


async def test_an_agent_that_writes_down_what_it_recalled_is_told_that_it_was_known(
    servers: Endpoints, tmp_path: Path
) -> None:
    async with lousa.open(**settings(servers, tmp_path)) as runtime:
        desk = runtime.desk("assistant")
        first = await (await desk.remember("Ana prefere reuniões de manhã", source="user")).settled()
        [hit] = await desk.recall("quando a Ana prefere reuniões?")
        again = await (await desk.remember(f"A usuária disse: {hit.text}")).settled()
        assert (again.state, again.id) == ("duplicate", first.id)
        assert len(await desk.recall("quando a Ana prefere reuniões?")) == 1


async def test_a_validator_that_cannot_be_called_is_refused_at_the_door(servers: Endpoints, tmp_path: Path) -> None:
    given: Any = {"discount": "the CRM"}
    with pytest.raises(SettingsError, match="discount"):
        async with lousa.open(validators=given, **settings(servers, tmp_path)):
            pass
