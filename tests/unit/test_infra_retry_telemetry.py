"""One retry loop, and spans that cost nothing where nobody listens."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest
from lousa.infra import telemetry
from lousa.infra.errors import ServerUnavailable
from lousa.infra.retry import retrying


async def test_what_is_transient_is_tried_again_until_it_succeeds(caplog: pytest.LogCaptureFixture) -> None:
    left = [ServerUnavailable("away"), ServerUnavailable("away")]

    async def attempt() -> str:
        if left:
            raise left.pop()
        return "here"

    answer = await retrying(attempt, transient=lambda error: isinstance(error, ServerUnavailable), what="a write")
    assert answer == "here"
    assert [record.getMessage().split(",")[0] for record in caplog.records] == ["a write failed (away)"] * 2


async def test_what_is_not_transient_passes_at_once_and_is_never_quoted(caplog: pytest.LogCaptureFixture) -> None:
    calls = 0

    async def attempt() -> None:
        nonlocal calls
        calls += 1
        raise ValueError("secret content") if calls > 1 else OSError("secret content")

    with pytest.raises(ValueError, match="secret"):
        await retrying(attempt, transient=lambda error: isinstance(error, OSError), what="a write")
    assert calls == 2
    assert "secret" not in caplog.text and "OSError" in caplog.text


async def test_trying_ends_with_the_last_error() -> None:
    async def attempt() -> None:
        raise ServerUnavailable("away for good")

    with pytest.raises(ServerUnavailable, match="for good"):
        await retrying(attempt, transient=lambda _: True, what="a write", within=timedelta(milliseconds=100))


def test_a_span_where_nobody_listens_imports_nothing() -> None:
    script = (
        "import sys; from lousa.infra import telemetry\n"
        "with telemetry.span('create_memory', {'lousa.kind': 'fact'}): assert telemetry.current_ids() == (None, None)\n"
        "assert not any(name.startswith('opentelemetry') for name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_span_carries_names_and_the_ids_that_the_ledger_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry import trace
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

    told: list[tuple[str, object]] = []

    class Tracer(trace.NoOpTracer):
        def start_as_current_span(self, name: str, *_: object, **given: object):  # pyright: ignore  # any tracer
            told.append((name, given["attributes"]))
            context = SpanContext(0x1234, 0x56, is_remote=False, trace_flags=TraceFlags(1))
            return use_span(NonRecordingSpan(context))

    class Provider(trace.NoOpTracerProvider):
        def get_tracer(self, *_: object, **__: object) -> trace.Tracer:
            return Tracer()

    monkeypatch.setattr(trace, "get_tracer_provider", Provider)
    monkeypatch.setattr(trace, "get_tracer", Provider().get_tracer)
    with telemetry.span("create_memory", {"lousa.kind": "fact", "lousa.scope": None}):
        assert telemetry.current_ids() == (f"{0x1234:032x}", f"{0x56:016x}")
    assert told == [("create_memory", {"lousa.kind": "fact", "gen_ai.operation.name": "create_memory"})]
    assert telemetry.current_ids() == (None, None)


def test_measures_go_to_the_provider_that_is_set_and_nowhere_before(monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry import metrics

    told: list[tuple[str, object, object]] = []

    class Instrument:
        def __init__(self, name: str) -> None:
            self.name = name

        def add(self, value: float, attributes: object) -> None:
            told.append((self.name, value, attributes))

        record = set = add

    class Provider:
        def get_meter(self, name: str) -> Provider:
            assert name == "lousa"
            return self

        def create_counter(self, name: str) -> Instrument:
            made.append(name)
            return Instrument(name)

        create_histogram = create_gauge = create_counter

    made: list[str] = []
    telemetry.count("lousa.test.count")  # nobody listens yet
    for provider in (Provider(), Provider()):
        monkeypatch.setattr(metrics, "get_meter_provider", lambda provider=provider: provider)
        for _ in range(2):
            telemetry.count("lousa.test.count", {"lousa.policy": "back"})
        telemetry.spread("lousa.test.spread", 3)
        telemetry.level("lousa.test.level", 4)
    names = ["lousa.test.count", "lousa.test.spread", "lousa.test.level"]
    assert made == names * 2
    assert (
        told
        == [
            ("lousa.test.count", 1, {"lousa.policy": "back"}),
            ("lousa.test.count", 1, {"lousa.policy": "back"}),
            ("lousa.test.spread", 3, None),
            ("lousa.test.level", 4, None),
        ]
        * 2
    )
